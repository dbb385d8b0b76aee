"""The check of webhooks (Standard Webhooks, docs/webhooks.md)."""

import base64
import hashlib
import hmac
import json
import re
import time
from typing import Any, List, Mapping, Optional, Sequence, Union

from .errors import InkcastError

# Seconds by which the clocks of the two machines may differ.
TOLERANCE = 300


def verify_webhook(
    secrets: Union[str, Sequence[str]],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: Optional[float] = None,
) -> List[Any]:
    """Checks signature and time of a request, and returns its events.

    secrets: `whsec_…`, one or several of which one has to fit. body: as it arrived.
    Raises InkcastError (`unauthorized`): answer 401 then.
    """
    given = {name.lower(): value for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    request_id, timestamp, signatures = (given.get(name) or "" for name in names)
    if not request_id or not signatures or not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise InkcastError("unauthorized", "a header of the signature is missing")
    if abs(int(timestamp) - (time.time() if now is None else now)) > tolerance:
        raise InkcastError("unauthorized", "the time of the request is not near")
    signed = f"{request_id}.{timestamp}.".encode() + body
    fits = False
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret)
        right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        for one in signatures.split(" "):
            fits = hmac.compare_digest(one.encode(), right.encode()) or fits
    if not fits:
        raise InkcastError("unauthorized", "the signature does not fit")
    return json.loads(body)
