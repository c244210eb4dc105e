"""A client of the lifecycle API at /image/jobs: possible results of a prompt, and what each costs."""

from tenure import Client, Problem

USER = "u1"

client = Client()


def create(prompt):
    return client.call("POST", "/image/jobs", {"type": "generate_image", "userId": USER, "request": {"prompt": prompt}})


def generate(prompt, status):
    created = create(prompt)
    client.wait(created["jobId"], timeout="20s")
    job = client.call("GET", f"/image/jobs/{created['jobId']}")
    print(f"{prompt}: {job['status']} after {job['retryCount']} failures, {job['resultUrl']}")
    assert job["status"] == status, job
    return job


def refused(prompt, code):
    try:
        create(prompt)
    except Problem as refusal:
        print(f"{prompt}: {refusal}")
        assert refusal.code == code, refusal
    else:
        raise AssertionError(f"{prompt} was not refused")


def credits():
    account = client.credits(USER)
    return account.available, account.spent


client.grant(USER, 3, "the first three are free")

# Rejected by the guard: no job, no charge.
refused("my password is on it", "guard_rejected")
assert credits() == (3, 0)

# Refunded: it was not the user's fault.
generate("an outage", "dead_letter")
assert credits() == (3, 0)

# The same request twice within a minute, as a double click sends it: one job, one charge.
job = generate("a lake at dawn", "completed")
assert create("a lake at dawn")["jobId"] == job["jobId"]
[asset] = client.assets(job["jobId"])
assert asset.url == job["resultUrl"], asset
picture = client.download(job["jobId"], asset.id)
assert picture.startswith(b"\x89PNG"), picture[:8]
print(f"a PNG of {len(picture)} bytes")

# The first attempt fails, the second does not.
assert generate("a hiccup in the rain", "completed")["retryCount"] == 1

# Rejected by the model's filter: the credits are spent, and the audit log has an entry.
job = generate("undressed trees", "rejected")
assert credits() == (0, 3)
lines = client.audit().rows
assert any(line.action == "SAFE_BLOCK" and line.job_id == job["jobId"] for line in lines), lines

refused("a fourth picture", "insufficient_credits")
print("all checks passed")
