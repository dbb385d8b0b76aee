"""Errors of the api, and of the way to it."""

import time
from email.utils import parsedate_to_datetime
from typing import Any, Optional

# Codes of the api's errors, as docs/errors.md has them. An api of a later version may have others.
ERROR_CODES = (
    "bad_request",
    "bad_target",
    "missing_target",
    "unknown_operator",
    "batch_refused",
    "bad_header",
    "reserved_event",
    "bad_content_type",
    "bad_utf8",
    "bad_value",
    "value_too_large",
    "request_in_progress",
    "idempotency_mismatch",
    "unauthorized",
    "token_expired",
    "forbidden",
    "origin_refused",
    "rate_limited",
    "unavailable",
    "timeout",
    "draining",
    "method_not_allowed",
    "not_found",
    "internal",
)

# Codes of answers that are not the api's, for instance of a proxy, by status.
_BY_STATUS = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "value_too_large",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}


class InkcastError(Exception):
    """status is 0 without an answer, and for one publication of a batch. retry_in: seconds, if it is known."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        retry_in: Optional[float] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.retryable = retryable
        self.retry_in = retry_in

    @property
    def unknown_outcome(self) -> bool:
        """Whether the record may have been published, or the order carried out."""
        return self.code in ("timeout", "internal")


def error_of_answer(status: int, retry_after: Optional[str], body: Any) -> InkcastError:
    error = body.get("error") if isinstance(body, dict) else None
    wait = _wait_of(retry_after)
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        return error_of_entry(error, status, wait)
    code = _BY_STATUS.get(status, "timeout" if status >= 500 else "bad_request")
    message = f"the answer is {status}, and not of inkcast"
    return InkcastError(code, message, status=status, retryable=status >= 500 or status == 429, retry_in=wait)


def error_of_entry(error: dict, status: int = 0, wait: Optional[float] = None) -> InkcastError:
    retry_in = error["retryInMs"] / 1000 if "retryInMs" in error else wait
    retryable = bool(error.get("retryable"))
    return InkcastError(error["code"], str(error.get("message")), status=status, retryable=retryable, retry_in=retry_in)


def _wait_of(header: Optional[str]) -> Optional[float]:
    """Retry-After has seconds or a date."""
    if not header:
        return None
    if header.isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
