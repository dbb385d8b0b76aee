"""Batches: docs/api.md#after-a-failed-batch."""

import base64
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .errors import InkcastError, error_of_entry

# Fields by argument.
FIELDS = {
    "operator": "operator",
    "guid": "guid",
    "uid": "uid",
    "sid": "sid",
    "device": "device",
    "event": "event",
    "except": "except",
    "except_": "except",
    "ephemeral": "ephemeral",
    "keep": "keep",
    "receipt": "receipt",
    "key": "key",
    "trace_id": "traceId",
    "traceparent": "traceparent",
    "timestamp": "timestamp",
    "idempotency_key": "idempotencyKey",
}

Result = Dict[str, Any]


def send_batch(
    publications: Sequence[Mapping[str, Any]],
    send: Callable[[List[Dict[str, Any]], float], Any],
    retry: Callable[[Callable[[float], None]], None],
) -> List[Result]:
    """Sends publications until each has succeeded or is refused, or the time is over."""
    entries = [_entry_of(publication) for publication in publications]
    results: List[Result] = [{} for _ in entries]
    open_entries = list(range(len(entries)))
    repeating: Optional[InkcastError] = None

    def attempt(timeout: float) -> None:
        nonlocal open_entries, repeating
        answers = send([entries[i] for i in open_entries], timeout)["results"]
        for i, answer in zip(open_entries, answers):
            results[i] = answer if answer["ok"] else {"ok": False, "error": error_of_entry(answer["error"])}
        open_entries = _to_repeat(open_entries, entries, results)
        if open_entries:
            repeating = _pause_for([results[i]["error"] for i in open_entries])
            raise repeating

    try:
        retry(attempt)
    except InkcastError as error:
        if repeating is None:
            raise
        # a part was published before: each result says what is known of its publication
        if error is not repeating:
            for i in open_entries:
                results[i] = {"ok": False, "error": error}
    return results


def _entry_of(publication: Mapping[str, Any]) -> Dict[str, Any]:
    entry: Dict[str, Any] = {"idempotencyKey": str(uuid.uuid4())}
    for name, value in publication.items():
        if name == "value" or value is None:
            continue
        if name not in FIELDS:
            raise InkcastError("bad_request", f"a publication has no field {name}")
        entry[FIELDS[name]] = list(value) if name.startswith("except") else value
    value = publication.get("value")
    if isinstance(value, bytes):
        entry.update(valueBase64=base64.b64encode(value).decode(), contentType="application/msgpack")
    else:
        entry["value"] = value
    return entry


def _to_repeat(sent: List[int], entries: List[Dict[str, Any]], results: List[Result]) -> List[int]:
    """What failed for the moment, and publications that were refused only for one of them."""
    failed = [i for i in sent if not results[i]["ok"]]
    final = {
        entries[i].get("guid")
        for i in failed
        if not results[i]["error"].retryable and results[i]["error"].code != "batch_refused"
    }
    return [
        i
        for i in failed
        if results[i]["error"].retryable
        or (results[i]["error"].code == "batch_refused" and entries[i].get("guid") not in final)
    ]


def _pause_for(errors: List[InkcastError]) -> InkcastError:
    """With the longest time that one of them asks for."""
    retry_in = max(error.retry_in or 0 for error in errors)
    return InkcastError(errors[0].code, str(errors[0]), retryable=True, retry_in=retry_in)
