"""Calls a Publisher: each line of the input is [method, arguments, options], each line of the output a result."""

import json
import sys

from inkcast import InkcastError, Publisher, verify_webhook
from inkcast.request import Clock


class PassingTime(Clock):
    """Time that passes only while a publisher waits."""

    def __init__(self):
        self.now = 0.0
        self.pauses = []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.pauses.append(round(seconds, 3))
        self.now += seconds

    def random(self):
        return 1.0


def described(error):
    return {
        "code": error.code,
        "status": error.status,
        "retryable": error.retryable,
        "retry_in": error.retry_in,
        "unknown_outcome": error.unknown_outcome,
    }


clock = PassingTime()
publisher = Publisher(sys.argv[1], token=lambda: "secret", clock=clock)
for line in sys.stdin:
    method, arguments, options = json.loads(line)
    arguments = [bytes(one["bytes"]) if isinstance(one, dict) and "bytes" in one else one for one in arguments]
    try:
        if method == "pauses":
            result = clock.pauses
        elif method == "verify":
            result = verify_webhook(arguments[0], arguments[1], arguments[2].encode(), **options)
        else:
            result = getattr(publisher, method)(*arguments, **options)
        print(json.dumps({"result": result}, default=described), flush=True)
    except InkcastError as error:
        print(json.dumps({"error": described(error)}), flush=True)
