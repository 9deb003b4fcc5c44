"""Records numbered events: example.py URL COUNT [EVENTS PER SECOND], with the key in AUDITLOG_API_KEY."""

import dataclasses
import json
import os
import sys
import time
from datetime import datetime, timezone

from auditlog import Client


def main() -> int:
    url, count = sys.argv[1], int(sys.argv[2])
    pause = 1 / float(sys.argv[3]) if len(sys.argv) > 3 else 0
    audit = Client(
        url,
        os.environ["AUDITLOG_API_KEY"],
        on_error=lambda error, events: print(f"{events} events lost: {error}", file=sys.stderr),
    )
    for n in range(count):
        now = datetime.now(timezone.utc)
        audit.record({"time": now, "message": {"action": 1001, "extra": {"n": n}}})
        if n == count // 2:
            print("half", flush=True)
        time.sleep(pause)
    report = audit.close(timeout=600)
    print(json.dumps(dataclasses.asdict(report)))
    return 0 if report.complete else 1


if __name__ == "__main__":
    sys.exit(main())
