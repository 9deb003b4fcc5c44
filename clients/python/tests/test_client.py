"""The client against a service that fails in every way: `python3 -m unittest discover -s tests`."""

import gzip
import json
import os
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from auditlog import Client

KEY = "ak_test"


class Service(ThreadingHTTPServer):
    """Stores each batch once by its key. `faults` answer first, one a request; True: the batch was answered."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.stored = []
        self.keys = {}
        self.requests = []
        self.faults = []
        self.guard = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        events = [json.loads(line) for line in body.split(b"\n")]
        key = self.headers["Idempotency-Key"]
        assert self.path == "/api/v1/audit?maxErrors=10000" and self.headers["X-API-Key"] == KEY
        assert self.headers["Content-Type"] == "application/x-ndjson"
        with self.server.guard:
            self.server.requests.append((key, body))
            fault = self.server.faults.pop(0) if self.server.faults else None
        if fault is not None and fault(self, events):
            return
        with self.server.guard:
            if key not in self.server.keys:
                self.server.keys[key] = body
                self.server.stored.extend(event["n"] for event in events)
            assert self.server.keys[key] == body
        self.answer(202, {"accepted": len(events), "rejected": 0, "errors": []})

    def answer(self, status, value, headers=()):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    def cut(self):
        self.close_connection = True
        self.connection.close()
        return True

    def log_message(self, *_):
        pass


def lost(handler, events):
    """Stores the batch, and its answer is lost."""
    key, body = handler.server.requests[-1]
    handler.server.keys[key] = body
    handler.server.stored.extend(event["n"] for event in events)
    return handler.cut()


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.errors = []
        self.rejections = []
        self.addCleanup(self.service.server_close)
        self.addCleanup(self.service.shutdown)

    def client(self, **more):
        options = {
            "retry_delay_min": 0.001,
            "retry_delay_max": 0.01,
            "on_error": lambda error, events: self.errors.append((error.code, error.status, events)),
            "on_rejected": self.rejections.extend,
            **more,
        }
        made = Client(self.service.url, KEY, **options)
        self.addCleanup(made.close, 0)
        return made

    def test_sends_batches_in_order(self):
        client = self.client(batch_events=100)
        for n in range(250):
            self.assertTrue(client.record({"n": n, "text": "é\n"}))
        report = client.flush()
        self.assertTrue(report.complete)
        self.assertEqual(report.acknowledged, 250)
        self.assertEqual(self.service.stored, list(range(250)))
        self.assertEqual(client.close().acknowledged, 0)

    def test_sends_after_the_delay_and_by_bytes(self):
        client = self.client(batch_delay=0.02, batch_bytes=200)
        client.record({"n": 1})
        while client.counts()["pending"] > 0:
            time.sleep(0.005)
        for n in range(10):
            client.record({"n": n, "text": "x" * 80})
        self.assertTrue(client.flush().complete)
        self.assertTrue(all(len(body) <= 200 for _, body in self.service.requests))

    def test_repeats_with_the_same_key_and_bytes(self):
        self.service.faults = [
            lambda handler, _: handler.cut(),
            lambda handler, _: handler.answer(503, {}, [("Retry-After", "0")]),
            lambda handler, _: handler.answer(500, {}),
            lambda handler, _: handler.answer(429, b""),
            lambda handler, _: handler.answer(200, b"no JSON"),
            lambda handler, _: handler.answer(202, {"accepted": 1}),
            lost,
        ]
        client = self.client()
        for n in range(3):
            client.record({"n": n})
        self.assertTrue(client.flush().complete)
        self.assertEqual(self.service.stored, [0, 1, 2])
        self.assertEqual(len(set(self.service.requests)), 1)
        self.assertEqual(len(self.service.requests), 8)

    def test_waits_as_long_as_the_service_says(self):
        self.service.faults = [lambda handler, _: handler.answer(503, {}, [("Retry-After", "1")])]
        client = self.client()
        begun = time.monotonic()
        client.record({"n": 1})
        self.assertTrue(client.flush().complete)
        self.assertGreaterEqual(time.monotonic() - begun, 1)

    def test_tells_what_was_refused(self):
        error = {"index": 1, "error": "/message: is required"}
        self.service.faults = [
            lambda handler, _: handler.answer(202, {"accepted": 1, "rejected": 1, "errors": [error]}),
            lambda handler, _: handler.answer(400, {"accepted": 0, "rejected": 2, "errors": [error]}),
            lambda handler, _: handler.answer(401, {}),
        ]
        client = self.client(batch_events=2)
        for n in range(6):
            client.record({"n": n})
        report = client.flush()
        self.assertEqual((report.acknowledged, report.rejected, report.failed), (1, 3, 2))
        told = [(one.event["n"], one.error) for one in self.rejections]
        self.assertEqual(told, [(1, error["error"]), (2, None), (3, error["error"])])
        self.assertEqual(self.errors, [("http", 401, 2)])

    def test_divides_what_is_too_large(self):
        def too_large(handler, events):
            return len(events) > 1 and handler.answer(413, {})

        self.service.faults = [too_large] * 20
        client = self.client()
        for n in range(5):
            client.record({"n": n})
        self.assertTrue(client.flush().complete)
        self.assertEqual(sorted(self.service.stored), list(range(5)))

    def test_holds_no_more_than_its_queue(self):
        held = threading.Event()
        self.service.faults = [lambda handler, _: not held.wait(10)]
        client = self.client(queue_events=10, batch_events=5)
        taken = [client.record({"n": n}) for n in range(12)]
        self.assertEqual(taken, [True] * 10 + [False] * 2)
        held.set()
        report = client.flush()
        self.assertEqual((report.acknowledged, report.dropped, report.complete), (10, 2, False))
        self.assertEqual(self.errors, [("queue_full", None, 1)] * 2)

    def test_gives_up_after_its_time(self):
        self.service.faults = [lambda handler, _: handler.answer(503, {})] * 1000
        client = self.client(give_up_after=0.05)
        client.record({"n": 1})
        self.assertEqual(client.flush().failed, 1)
        self.assertEqual(self.errors, [("http", 503, 1)])

    def test_never_raises(self):
        def fails(*_):
            raise RuntimeError("a handler that fails")

        client = self.client(on_error=fails, on_rejected=fails, on_retry=fails)
        loop = {}
        loop["loop"] = loop
        with self.assertLogs("auditlog", "ERROR"):
            for event in (loop, {"x": object()}, {"x": float("nan")}, {"x": "\ud800"}, [], None, "x"):
                self.assertFalse(client.record(event))
        client.record({"n": 1})
        client.close()
        with self.assertLogs("auditlog", "ERROR"):
            self.assertFalse(client.record({"n": 2}))
        self.assertEqual(client.counts()["dropped"], 8)
        self.assertEqual(self.service.stored, [1])

    def test_close_keeps_its_time(self):
        self.service.faults = [lambda handler, _: handler.answer(503, {}, [("Retry-After", "60")])]
        client = self.client(batch_events=2)
        for n in range(3):
            client.record({"n": n})
        begun = time.monotonic()
        report = client.close(0.05)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual((report.pending, report.complete), (3, False))

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_forked_child_sends_its_own_and_nothing_else(self):
        held = threading.Event()
        self.service.faults = [lambda handler, _: not held.wait(10)]
        client = self.client()
        client.record({"n": 1})
        while not self.service.requests:
            time.sleep(0.005)
        child = os.fork()
        if child == 0:
            client.record({"n": 2})
            os._exit(0 if client.close().acknowledged == 1 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        held.set()
        self.assertTrue(client.flush().complete)
        self.assertEqual(sorted(self.service.stored), [1, 2])

    def test_refuses_options_that_cannot_work(self):
        for url, key, more in (
            ("ftp://x", KEY, {}),
            ("http://a:b@x", KEY, {}),
            ("http://x", "a b", {}),
            ("http://x", KEY, {"batch_events": 0}),
            ("http://x", KEY, {"give_up_after": 1e9}),
        ):
            with self.assertRaises(ValueError):
                Client(url, key, **more)


if __name__ == "__main__":
    unittest.main()
