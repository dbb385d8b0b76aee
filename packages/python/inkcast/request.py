"""One try, and its repetition."""

import json
import random
import time
from typing import Any, Callable, Dict, Optional, TypeVar

import urllib3

from .errors import InkcastError, error_of_answer

# First pause between two tries, and the longest one, seconds.
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0

T = TypeVar("T")


class Clock:
    """Time and random numbers; tests give others."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    random = staticmethod(random.random)


def with_retries(attempt: Callable[[float], T], deadline: float, timeout: float, clock: Clock) -> T:
    """Tries until it succeeds, the error is final, or the next try would begin after the deadline.

    Pauses double, with jitter; they are at least as long as the api asks for. A deadline of 0 is one try.
    """
    end = clock.monotonic() + deadline
    pause = FIRST_PAUSE
    while True:
        try:
            left = end - clock.monotonic()
            return attempt(timeout if deadline == 0 else min(timeout, max(0.001, left)))
        except InkcastError as error:
            wait = (error.retry_in or 0) + pause * (0.5 + clock.random() / 2)
            if not error.retryable or clock.monotonic() + wait >= end:
                raise
        clock.sleep(wait)
        pause = min(LONGEST_PAUSE, pause * 2)


def try_once(
    pool: urllib3.PoolManager, method: str, url: str, headers: Dict[str, str], body: Optional[bytes], timeout: float
) -> Any:
    """Returns the body of the answer. Raises InkcastError for an answer other than 2xx, and without an answer."""
    try:
        answer = pool.request(
            method,
            url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(total=timeout),
            retries=False,  # the caller repeats, with the same key
            redirect=False,  # the token is for this address
        )
    except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
        raise InkcastError("unavailable", str(error), retryable=True) from error
    except urllib3.exceptions.LocationValueError as error:
        raise InkcastError("bad_request", str(error)) from error
    except urllib3.exceptions.HTTPError as error:
        raise InkcastError("timeout", str(error), retryable=True) from error
    except ValueError as error:  # http.client refuses a header
        raise InkcastError("bad_header", str(error)) from error
    parsed = _parse(answer.data)
    if 200 <= answer.status < 300 and isinstance(parsed, dict) and parsed.get("ok") is True:
        return parsed
    raise error_of_answer(answer.status, answer.headers.get("retry-after"), parsed)


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
