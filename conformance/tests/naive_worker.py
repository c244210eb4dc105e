"""A worker without any care: no heartbeats, no retries, no stop signal, no drain. The suite must find that out."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

OPTIONS = json.loads(os.environ["TENURE_CONFORMANCE"])


def post(path: str, body: Any) -> Any:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(os.environ["TENURE_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def show(line: str, **members: Any) -> None:
    sys.stdout.write(json.dumps({"line": line, **members}) + "\n")
    sys.stdout.flush()


def main() -> None:
    worker, types = OPTIONS["name"], OPTIONS["types"]
    while True:
        claim = {"worker": worker, "types": types, "queues": [OPTIONS["queue"]], "max": 10, "wait": "1s", "start": True}
        for job in post("/api/claims", claim)["jobs"]:
            show("started", job=job["id"], attempt=job["attempt"], fence=job["lease"]["fence"])
            last = (job["payload"]["attempts"][0] or [{}])[-1]
            body = {"worker": worker, "fence": job["lease"]["fence"], "result": last.get("result")}
            post(f"/api/jobs/{job['id']}/succeed", body)


if __name__ == "__main__":
    main()
