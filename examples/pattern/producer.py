"""A client of the door /jobs: three exports, one of each end, and the files that they left."""

import csv

from tenure import call, ended, read

GOOD = [{"number": 1, "customer": "Ada", "cents": 1250}, {"number": 2, "customer": "Bob", "cents": 990}]
BAD = {"number": 3, "customer": "Eve", "cents": "much"}


def export(orders, status, error_message=None):
    created = call("POST", "/jobs/", {"job_type": "export", "user_id": "u1", "parameters": {"orders": orders}})
    assert created["status"] == "queued", created
    job = ended("/jobs", created["id"])
    print(f"{job['status']}: {job['progress']:.0f} %, {job['result']}, {job['error_message']}")
    assert (job["status"], job["error_message"]) == (status, error_message), job
    assert job["completed_at"], job
    return job


def files(job):
    """What the job left: each asset's text."""
    assets = call("GET", f"/jobs/{job['id']}/assets")["assets"]
    return [read("GET", f"/jobs/{job['id']}/assets/{asset['id']}/content").decode() for asset in assets]


job = export(GOOD, "completed")
[text] = files(job)
print(text)
assert [row["customer"] for row in csv.DictReader(text.splitlines())] == ["Ada", "Bob"]

# Progress is telemetry: it stands beside the numbered events.
told = call("GET", f"/jobs/{job['id']}/events?telemetry=true")["events"]
steps = [event["payload"]["progress"] for event in told if event["type"] == "job_progress"]
assert steps == [25, 50, 75], told

job = export([*GOOD, BAD], "partial", "BAD_ORDERS: 1 of 3 orders have no amount")
assert len(files(job)) == 1

job = export([BAD], "failed", "ValueError: not one order has an amount")
assert job["progress"] == 25 and files(job) == []
print("as README.md says")
