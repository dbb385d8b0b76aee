"""Publishes over the HTTP api of inkcast."""

import json
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode

import urllib3

from .batch import Result, send_batch
from .errors import InkcastError
from .request import Clock, try_once, with_retries

# Headers by option.
HEADERS = {
    "uid": "x-uid",
    "event": "x-event",
    "except_": "x-except",
    "receipt": "x-receipt",
    "ephemeral": "x-ephemeral",
    "keep": "x-keep",
    "key": "x-key",
    "ttl": "x-ttl",
    "trace_id": "x-trace-id",
    "traceparent": "traceparent",
    "timestamp": "x-timestamp",
}


class Publisher:
    """A client of the api; several threads may use it.

    token: of this caller; a function is called for each try. deadline: seconds for all tries of a call together, with
    their pauses; 0 is one try. timeout: seconds for one try. pool: for instance with a proxy or a client certificate.

    Each method takes `idempotency_key` (default: a random one, which all tries of the call share), `trace_id`,
    `traceparent`, `timestamp` (ms since 1970) and `deadline`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Union[str, Callable[[], str], None] = None,
        deadline: float = 30.0,
        timeout: float = 15.0,
        pool: Optional[urllib3.PoolManager] = None,
        clock: Optional[Clock] = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._deadline = deadline
        self._timeout = timeout
        self._pool = pool if pool is not None else urllib3.PoolManager()
        self._clock = clock if clock is not None else Clock()

    def publish(self, guid: str, value: Any, **options: Any) -> Dict[str, Any]:
        """Publishes to everyone who has the document open. value: JSON, or bytes of msgpack.

        Options: event, except_, receipt, ephemeral, key.
        """
        return self._post(["documents", guid, "broadcast"], value, options)

    def publish_to_user(self, uid: str, value: Any, **options: Any) -> Dict[str, Any]:
        """Publishes to every connection of a user; with keep=True also into the log of the user.

        Options: event, except_, receipt, keep, key.
        """
        return self._post(["users", uid, "send"], value, options)

    def publish_to_device(self, device: str, value: Any, **options: Any) -> Dict[str, Any]:
        """Publishes to one device of the user uid (default: a device without a token).

        Options: uid, event, except_, receipt, keep, key.
        """
        return self._post(["devices", device, "send"], value, options)

    def publish_to_connection(self, sid: str, value: Any, **options: Any) -> Dict[str, Any]:
        """Publishes to one connection. Options: event, except_, receipt."""
        return self._post(["sockets", sid, "send"], value, options)

    def publish_to_everyone(self, value: Any, **options: Any) -> Dict[str, Any]:
        """Publishes to every connection. Options: event, except_, receipt."""
        return self._post(["broadcast"], value, options)

    def batch(self, publications: Sequence[Mapping[str, Any]], *, deadline: Optional[float] = None) -> List[Result]:
        """Publishes up to 1,000 publications. Those that failed for the moment are sent again, with the same keys.

        Returns one result for each: {"ok": True, "traceId", "position"?} or {"ok": False, "error": InkcastError}.
        """

        def send(entries: List[Dict[str, Any]], timeout: float) -> Any:
            body = _json({"publications": entries})
            return self._try("POST", "/v1/publish", {"content-type": "application/json"}, body, timeout)

        return send_batch(publications, send, lambda attempt: self._retry(attempt, deadline))

    def kick(self, uid: str, **options: Any) -> Dict[str, Any]:
        """Disconnects a user everywhere."""
        return self._order("DELETE", ["users", uid, "connections"], options)

    def ban(self, uid: str, ttl: int, **options: Any) -> Dict[str, Any]:
        """Disconnects a user, and refuses every handshake for ttl seconds."""
        return self._order("DELETE", ["users", uid, "connections"], {**options, "ttl": ttl})

    def unban(self, uid: str, **options: Any) -> Dict[str, Any]:
        """Ends a ban."""
        return self._order("POST", ["users", uid, "restore"], options)

    def kick_device(self, device: str, **options: Any) -> Dict[str, Any]:
        """Disconnects one device. Options: uid."""
        return self._order("DELETE", ["devices", device], options)

    def kick_connection(self, sid: str, **options: Any) -> Dict[str, Any]:
        """Disconnects one connection."""
        return self._order("DELETE", ["sockets", sid], options)

    def revoke(self, guid: str, uid: str, **options: Any) -> Dict[str, Any]:
        """Makes a user leave a document; older tokens do not open it again. With ttl (seconds) no token does."""
        return self._order("POST", ["documents", guid, "revoke"], options, {"uid": uid})

    def restore(self, guid: str, uid: str, **options: Any) -> Dict[str, Any]:
        """Takes a revoke back."""
        return self._order("POST", ["documents", guid, "restore"], options, {"uid": uid})

    def close_document(self, guid: str, **options: Any) -> Dict[str, Any]:
        """Everyone leaves the document. Clients get code and reason."""
        return self._order("DELETE", ["documents", guid, "connections"], options)

    def join(self, uid: str, guid: str, **options: Any) -> Dict[str, Any]:
        """Opens a document on the connections of a user, if the user may read it."""
        return self._order("POST", ["users", uid, "documents", guid], options)

    def leave(self, uid: str, guid: str, **options: Any) -> Dict[str, Any]:
        """Makes the connections of a user leave a document. They get code and reason."""
        return self._order("DELETE", ["users", uid, "documents", guid], options)

    def _post(self, path: List[str], value: Any, options: Dict[str, Any]) -> Dict[str, Any]:
        packed = isinstance(value, bytes)
        body = value if packed else _json(value)
        content_type = "application/msgpack" if packed else "application/json"
        return self._request("POST", _path_of(path), options, content_type, body)

    def _order(
        self, method: str, path: List[str], options: Dict[str, Any], body: Optional[Dict[str, str]] = None
    ) -> Dict[str, Any]:
        query = {name: options[name] for name in ("code", "reason") if options.get(name) is not None}
        rest = {name: value for name, value in options.items() if name not in ("code", "reason")}
        target = _path_of(path) + (f"?{urlencode(query)}" if query else "")
        return self._request(method, target, rest, "application/json" if body else None, _json(body) if body else None)

    def _request(
        self, method: str, target: str, options: Dict[str, Any], content_type: Optional[str], body: Optional[bytes]
    ) -> Dict[str, Any]:
        key = options.pop("idempotency_key", None) or str(uuid.uuid4())
        deadline = options.pop("deadline", None)
        headers = {"idempotency-key": f'"{key}"'}
        if content_type is not None:
            headers["content-type"] = content_type
        for name, value in options.items():
            if value is None:
                continue
            if name not in HEADERS:
                raise InkcastError("bad_request", f"there is no option {name}")
            headers[HEADERS[name]] = _header_of(value)
        return self._retry(lambda timeout: self._try(method, target, headers, body, timeout), deadline)

    def _retry(self, attempt: Callable[[float], Any], deadline: Optional[float]) -> Any:
        return with_retries(attempt, self._deadline if deadline is None else deadline, self._timeout, self._clock)

    def _try(self, method: str, target: str, headers: Dict[str, str], body: Optional[bytes], timeout: float) -> Any:
        token = self._token() if callable(self._token) else self._token
        authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        return try_once(self._pool, method, self._url + target, {**headers, **authorization}, body, timeout)


def _path_of(parts: List[str]) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InkcastError("bad_value", str(error)) from error


def _header_of(value: Any) -> str:
    """The bytes of its UTF-8, as http.client writes a header: in latin-1."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = str(value) if isinstance(value, (str, int)) else ",".join(value)
    return text.encode().decode("latin-1")
