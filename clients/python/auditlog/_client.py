"""The client: a bounded queue, and a thread that sends it in batches."""

from __future__ import annotations

import atexit
import gzip
import json
import logging
import os
import random
import threading
import time
import uuid
import weakref
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Mapping, Optional, Sequence

from ._transport import AuditlogError, Transport

__all__ = ["AuditlogError", "Client", "Rejection", "Report"]

_log = logging.getLogger("auditlog")

#: The service remembers idempotency keys for 24 h; a repetition after that could be stored twice.
GIVE_UP_SECONDS_MAX = 23 * 3600.0


@dataclass(frozen=True)
class Report:
    """What became of events since the report before."""

    acknowledged: int
    """Stored, and on disk."""
    rejected: int
    """Refused by the service for what is in them."""
    failed: int
    """Given up with their batch."""
    dropped: int
    """Never queued: the queue was full, the client closed, or the event no JSON."""
    pending: int
    """Still queued, or cut off by ``close``: these may have been stored or not."""

    @property
    def complete(self) -> bool:
        """Whether every event has been stored."""
        return self.rejected + self.failed + self.dropped + self.pending == 0


@dataclass(frozen=True)
class Rejection:
    """An event that the service refused, and why where it named it (it names up to 10,000 of a batch)."""

    event: Any
    error: Optional[str]


class Client:
    """Records events; ``record`` returns at once and never raises. Safe to use from any thread, and after a fork.

    Raises ValueError for options that cannot work. Times are seconds, sizes bytes.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout: float = 30.0,
        batch_events: int = 500,
        batch_bytes: int = 1024 * 1024,
        batch_delay: float = 0.2,
        queue_events: int = 10_000,
        queue_bytes: int = 16 * 1024 * 1024,
        retry_delay_min: float = 0.2,
        retry_delay_max: float = 2.0,
        give_up_after: float = 900.0,
        gzip_bytes_min: int = 1024,
        on_error: Optional[Callable[[AuditlogError, int], None]] = None,
        on_rejected: Optional[Callable[[Sequence[Rejection]], None]] = None,
        on_retry: Optional[Callable[[AuditlogError, int, float], None]] = None,
    ) -> None:
        _check("timeout", timeout, 0.001, 290)
        _check("batch_events", batch_events, 1, 10_000)
        _check("batch_bytes", batch_bytes, 1, 2**53)
        _check("batch_delay", batch_delay, 0, 3600)
        _check("queue_events", queue_events, 1, 2**53)
        _check("queue_bytes", queue_bytes, 1, 2**53)
        _check("retry_delay_min", retry_delay_min, 0.001, 3600)
        _check("retry_delay_max", retry_delay_max, retry_delay_min, 3600)
        _check("give_up_after", give_up_after, 0, GIVE_UP_SECONDS_MAX)
        self._new_transport = lambda: Transport(url, api_key, timeout)
        self._batch_events = batch_events
        self._batch_bytes = batch_bytes
        self._batch_delay = batch_delay
        self._queue_events = queue_events
        self._queue_bytes = queue_bytes
        self._retry_delay = (retry_delay_min, retry_delay_max)
        self._give_up_after = give_up_after
        self._gzip_bytes_min = gzip_bytes_min
        self._on_error = on_error
        self._on_rejected = on_rejected
        self._on_retry = on_retry
        self._begin()
        _clients.add(self)

    def _begin(self) -> None:
        """State of a process: a child that was forked begins with an empty queue, as its parent sends its own."""
        self._lock = threading.Condition(threading.Lock())
        self._transport = self._new_transport()
        self._ending = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._queue: deque[tuple[bytes, float]] = deque()
        self._waiting_bytes = 0
        self._held = [0, 0]  # events and bytes, with those on their way
        self._recorded = 0
        self._settled = 0
        self._flush_to = 0
        self._closed = False
        self._counts = {"acknowledged": 0, "rejected": 0, "failed": 0, "dropped": 0}
        self._reported = dict(self._counts)
        self._cut_off = 0

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(self, event: Mapping[str, Any]) -> bool:
        """Queues a source event to be sent. False: it was dropped, which is counted and told to ``on_error``."""
        try:
            line = _line_of(event)
        except Exception:  # An object of the application's may raise anything.
            return self._drop("not_json", "the event cannot be written as JSON")
        size = len(line) + 1
        with self._lock:
            if self._closed:
                reason = ("closed", "the client is closed")
            elif (
                self._held[0] >= self._queue_events or self._held[1] + size > self._queue_bytes
            ):
                reason = ("queue_full", "the queue is full; the event was dropped")
            else:
                self._queue.append((line, time.monotonic()))
                self._waiting_bytes += size
                self._held[0] += 1
                self._held[1] += size
                self._recorded += 1
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="auditlog", daemon=True
                    )
                    self._thread.start()
                # The first begins the delay, and a full batch need not wait for its end.
                if len(self._queue) == 1 or self._is_full():
                    self._lock.notify_all()
                return True
        return self._drop(*reason)

    def flush(self, timeout: float = 30.0) -> Report:
        """Sends what is queued without delay, and waits until all recorded so far is stored or given up."""
        with self._lock:
            self._wait_settled(timeout)
            return self._report()

    def close(self, timeout: float = 10.0) -> Report:
        """``flush``, then gives up what is left and takes nothing more."""
        with self._lock:
            self._closed = True
            self._wait_settled(timeout)
            self._ending.set()
            self._lock.notify_all()
            thread = self._thread
        self._transport.abort()
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)
        with self._lock:
            return self._report()

    def counts(self) -> dict[str, int]:
        """Of events since the client was made."""
        with self._lock:
            return {**self._counts, "pending": self._held[0] + self._cut_off}

    def _wait_settled(self, timeout: float) -> None:
        target = self._recorded
        self._flush_to = max(self._flush_to, target)
        self._lock.notify_all()
        self._lock.wait_for(lambda: self._settled >= target or self._ending.is_set(), timeout)

    def _report(self) -> Report:
        since = {name: count - self._reported[name] for name, count in self._counts.items()}
        self._reported = dict(self._counts)
        return Report(**since, pending=self._held[0] + self._cut_off)

    def _drop(self, code: str, message: str) -> bool:
        with self._lock:
            self._counts["dropped"] += 1
        self._tell(self._on_error, AuditlogError(code, message), 1)
        return False

    def _run(self) -> None:
        while True:
            with self._lock:
                lines = self._next_batch()
            if lines is None:
                self._transport.drop()
                return
            self._deliver(lines)
            with self._lock:
                self._settled += len(lines)
                self._held[0] -= len(lines)
                self._held[1] -= sum(len(line) + 1 for line in lines)
                self._lock.notify_all()

    def _next_batch(self) -> Optional[list[bytes]]:
        """Waits until a batch is due by count, bytes, age or a flush; None at the end."""
        while not self._ending.is_set():
            if not self._queue:
                self._lock.wait()
                continue
            age = time.monotonic() - self._queue[0][1]
            is_due = age >= self._batch_delay or self._settled < self._flush_to
            if is_due or self._is_full():
                return self._take()
            self._lock.wait(self._batch_delay - age)
        return None

    def _is_full(self) -> bool:
        return len(self._queue) >= self._batch_events or self._waiting_bytes >= self._batch_bytes

    def _take(self) -> list[bytes]:
        lines: list[bytes] = []
        size = 0
        while self._queue and len(lines) < self._batch_events:
            line = self._queue[0][0]
            if lines and size + len(line) + 1 > self._batch_bytes:
                break
            self._queue.popleft()
            lines.append(line)
            size += len(line) + 1
        self._waiting_bytes -= size
        return lines

    def _deliver(self, lines: list[bytes]) -> None:
        """Never raises: the counts and the callbacks have the outcome."""
        try:
            answer = self._post(lines)
        except AuditlogError as error:
            if error.status == 413 and len(lines) > 1:
                middle = len(lines) // 2
                self._deliver(lines[:middle])
                self._deliver(lines[middle:])
            elif error.status == 400 and error.errors is not None:
                self._reject(lines, len(lines), error.errors)
            elif error.code == "aborted":
                with self._lock:
                    self._cut_off += len(lines)
            else:
                self._fail(error, len(lines))
        except Exception as error:  # A fault here must not end the thread that sends.
            _log.exception("sending a batch failed")
            self._fail(AuditlogError("network", f"sending failed: {type(error).__name__}"), len(lines))
        else:
            with self._lock:
                self._counts["acknowledged"] += answer["accepted"]
            if answer["rejected"] > 0:
                self._reject(lines, answer["rejected"], answer.get("errors") or [])

    def _post(self, lines: list[bytes]) -> dict[str, Any]:
        """Repeats a batch, with the same bytes and the same key, until it is answered or its time is over."""
        plain = b"\n".join(lines)
        gzipped = len(plain) >= self._gzip_bytes_min
        body = gzip.compress(plain, compresslevel=1) if gzipped else plain
        key = str(uuid.uuid4())
        begun = time.monotonic()
        attempt = 0
        while True:
            try:
                answer = self._transport.post(body, key, gzipped)
                accepted, rejected = answer.get("accepted"), answer.get("rejected")
                if isinstance(accepted, int) and isinstance(rejected, int):
                    if accepted + rejected == len(lines):
                        return answer
                raise AuditlogError("protocol", "the answer is not what the service sends")
            except AuditlogError as error:
                if not error.is_transient:
                    raise
                step = min(self._retry_delay[1], self._retry_delay[0] * 2 ** min(attempt, 30))
                # Full jitter: clients that failed together do not come back together.
                delay = (error.retry_after or 0.0) + random.uniform(0, step)
                if time.monotonic() - begun + delay > self._give_up_after:
                    raise
                attempt += 1
                self._tell(self._on_retry, error, attempt, delay)
                if self._ending.wait(delay):
                    raise AuditlogError("aborted", "aborted by close") from error

    def _reject(self, lines: list[bytes], rejected: int, errors: list[dict[str, Any]]) -> None:
        with self._lock:
            self._counts["rejected"] += rejected
        named = {one.get("index"): one.get("error") for one in errors if isinstance(one, dict)}
        # When all were refused, those that are not named are known as well.
        rejections = [
            Rejection(json.loads(line), named.get(index))
            for index, line in enumerate(lines)
            if rejected == len(lines) or index in named
        ]
        self._tell(self._on_rejected, rejections)

    def _fail(self, error: AuditlogError, events: int) -> None:
        with self._lock:
            self._counts["failed"] += events
        self._tell(self._on_error, error, events)

    def _tell(self, callback: Optional[Callable[..., None]], *args: Any) -> None:
        if callback is None:
            return
        try:
            callback(*args)
        except Exception:  # A handler of the caller's must not end a batch half way.
            _log.exception("a callback of the auditlog client raised")


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name}: from {least} to {most}")


def _line_of(event: Mapping[str, Any]) -> bytes:
    if not isinstance(event, Mapping):
        raise TypeError("not an object")
    text = json.dumps(
        dict(event), default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return text.encode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _close_all() -> None:
    for client in list(_clients):
        if not client._closed:
            client.close()


def _forget_parent() -> None:
    for client in list(_clients):
        client._begin()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
