"""A client of the lifecycle API at /jobs: three exports, one for each outcome, and their files."""

import csv

from tenure import Client

client = Client()

GOOD = [{"number": 1, "customer": "Ada", "cents": 1250}, {"number": 2, "customer": "Bob", "cents": 990}]
BAD = {"number": 3, "customer": "Eve", "cents": "much"}


def export(orders, status, error_message=None):
    created = client.call("POST", "/jobs/", {"job_type": "export", "user_id": "u1", "parameters": {"orders": orders}})
    assert created["status"] == "queued", created
    client.wait(created["id"], timeout="20s")
    job = client.call("GET", f"/jobs/{created['id']}")
    print(f"{job['status']}: {job['progress']:.0f} %, {job['result']}, {job['error_message']}")
    assert (job["status"], job["error_message"]) == (status, error_message), job
    assert job["completed_at"], job
    return job


def files(job):
    """The contents of the job's assets."""
    assets = client.call("GET", f"/jobs/{job['id']}/assets")["assets"]
    return [client.download(job["id"], asset["id"]).decode() for asset in assets]


job = export(GOOD, "completed")
[text] = files(job)
print(text)
assert [row["customer"] for row in csv.DictReader(text.splitlines())] == ["Ada", "Bob"]

# Progress is telemetry: it is listed between the numbered events. The worker sends the newest and skips what it replaces.
events = client.call("GET", f"/jobs/{job['id']}/events?telemetry=true")["events"]
steps = [event["payload"]["progress"] for event in events if event["type"] == "job_progress"]
assert steps == sorted(steps) and steps[-1] == 75, events

job = export([*GOOD, BAD], "partial", "BAD_ORDERS: 1 of 3 orders have no amount")
assert len(files(job)) == 1

job = export([BAD], "failed", "ValueError: no order has an amount")
assert job["progress"] == 25 and files(job) == []
print("all checks passed")
