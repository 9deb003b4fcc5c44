"""One POST to the service: a connection that is kept, answers that are bounded, errors that say whether to repeat."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import threading
import time
from email.utils import parsedate_to_datetime
from typing import Any, Optional
from urllib.parse import urlsplit

ANSWER_BYTES_MAX = 16 * 1024 * 1024
RETRY_AFTER_SECONDS_MAX = 600.0
#: The service closes a connection that is idle for 8 to 12 s.
IDLE_SECONDS_MAX = 5.0


class AuditlogError(Exception):
    """What every failure of the client is. Its text never has a key or an event in it.

    ``code``: ``http`` (the service answered with an error: ``status``), ``network``, ``timeout``, ``protocol`` (an answer
    that the service does not give), ``aborted``; ``queue_full``, ``closed``, ``not_json`` of an event that was not queued.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: Optional[int] = None,
        retry_after: Optional[float] = None,
        errors: Optional[list[dict[str, Any]]] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retry_after = retry_after
        self.errors = errors

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        if self.status is None:
            return self.code in ("network", "timeout", "protocol")
        return self.status in (408, 425, 429) or (self.status >= 500 and self.status != 501)


class Transport:
    """Sends bodies one after the other; ``abort`` may be called from another thread."""

    def __init__(self, url: str, api_key: str, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url: must be an http(s) address")
        if parts.username is not None or parts.password is not None:
            raise ValueError("url: must not contain credentials")
        if not re.fullmatch(r"[\x21-\x7e]+", api_key):
            raise ValueError("api_key: not a key")
        self._https = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port
        self._path = parts.path.rstrip("/") + "/api/v1/audit?maxErrors=10000"
        self._headers = {
            "X-API-Key": api_key,
            "Accept": "application/json",
            "Content-Type": "application/x-ndjson",
        }
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: Optional[http.client.HTTPConnection] = None
        self._used = 0.0
        self._aborted = False

    def abort(self) -> None:
        """Ends the request under way and refuses every other."""
        with self._lock:
            self._aborted = True
            sock = self._connection.sock if self._connection is not None else None
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It has ended by itself.

    def post(self, body: bytes, key: str, gzipped: bool) -> dict[str, Any]:
        """The answer to a batch as JSON. Raises AuditlogError; an answer other than 2xx is one too."""
        headers = {**self._headers, "Idempotency-Key": key}
        if gzipped:
            headers["Content-Encoding"] = "gzip"
        try:
            status, retry_after, text = self._exchange(body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.drop()
            if self._aborted:
                raise AuditlogError("aborted", "aborted by close") from error
            code = "timeout" if isinstance(error, (socket.timeout, TimeoutError)) else "network"
            raise AuditlogError(code, f"no answer: {type(error).__name__}") from error
        answer = _object_of(text)
        if not 200 <= status < 300:
            errors = answer.get("errors") if answer is not None else None
            raise AuditlogError(
                "http",
                f"the service answered {status}",
                status,
                _seconds_of(retry_after),
                errors if isinstance(errors, list) else None,
            )
        if answer is None:
            raise AuditlogError("protocol", "the answer is not what the service sends")
        return answer

    def _exchange(self, body: bytes, headers: dict[str, str]) -> tuple[int, Optional[str], bytes]:
        if time.monotonic() - self._used > IDLE_SECONDS_MAX:
            self.drop()
        connection = self._open()
        connection.request("POST", self._path, body, headers)
        with connection.getresponse() as response:
            text = response.read(ANSWER_BYTES_MAX + 1)
            if len(text) > ANSWER_BYTES_MAX or response.will_close:
                self.drop()
            self._used = time.monotonic()
            return response.status, response.getheader("Retry-After"), text

    def _open(self) -> http.client.HTTPConnection:
        with self._lock:
            if self._aborted:
                raise AuditlogError("aborted", "aborted by close")
            if self._connection is None:
                self._connection = self._new()
            return self._connection

    def _new(self) -> http.client.HTTPConnection:
        if not self._https:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=context
        )

    def drop(self) -> None:
        """Closes the connection; the next request opens another."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _object_of(text: bytes) -> Optional[dict[str, Any]]:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _seconds_of(header: Optional[str]) -> Optional[float]:
    """``Retry-After``: seconds, or a date of HTTP."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}", header):
        return min(float(header), RETRY_AFTER_SECONDS_MAX)
    try:
        seconds = parsedate_to_datetime(header).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return min(max(0.0, seconds), RETRY_AFTER_SECONDS_MAX)
