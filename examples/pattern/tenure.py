"""A small client and worker for Tenure over HTTP; uses only the standard library."""

import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("TENURE_URL", "http://127.0.0.1:7117")
KEY = os.environ.get("TENURE_KEY")


class Refused(Exception):
    """The server refused the call; `problem` is its answer as a dictionary."""

    def __init__(self, problem):
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem


def read(method, path, body=None, content_type="application/json"):
    """Makes one call and returns the bytes of the answer."""
    request = urllib.request.Request(URL + path, data=body, method=method)
    request.add_header("Content-Type", content_type)
    if KEY:
        request.add_header("Authorization", f"Bearer {KEY}")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise Refused(json.load(error)) from None


def call(method, path, body=None):
    """Makes one call with JSON in and out."""
    return json.loads(read(method, path, None if body is None else json.dumps(body).encode()))


def ended(mount, job_id):
    """Waits until the job is finished (its stream then closes) and returns it, in the form of this lifecycle API."""
    read("GET", f"{mount}/{job_id}/stream")
    return call("GET", f"{mount}/{job_id}")


class Job:
    """A job that this worker has leased."""

    def __init__(self, worker, claimed):
        self.id, self.payload, self.attempt = claimed["id"], claimed["payload"], claimed["attempt"]
        # Sent with every report: the server refuses reports under an expired lease.
        self.lease = {"worker": worker, "fence": claimed["lease"]["fence"]}

    def report(self, verb, **more):
        """Reports progress, a result (`succeed`, `partial`, `fail`, …) or a heartbeat."""
        return call("POST", f"/api/jobs/{self.id}/{verb}", {**self.lease, **more})

    def upload(self, asset_type, name, content):
        """Stores a file with the job and returns the asset."""
        query = urllib.parse.urlencode({"asset_type": asset_type, "name": name, **self.lease})
        return json.loads(read("POST", f"/api/jobs/{self.id}/assets?{query}", content, "application/octet-stream"))


def work(worker, handlers):
    """Claims jobs of these types, one at a time, and calls the handler of each. Does not return."""
    while True:
        # The server answers when there is work, or after 20 s.
        request = {"worker": worker, "types": list(handlers), "max": 1, "wait": "20s"}
        for claimed in call("POST", "/api/claims", request)["jobs"]:
            attempt(Job(worker, claimed), handlers[claimed["type"]])


def attempt(job, handler):
    done = threading.Event()
    threading.Thread(target=heartbeat, args=(job, done), daemon=True).start()
    try:
        handler(job)
    except Exception as error:  # every error is reported
        try:
            job.report("fail", error={"code": type(error).__name__, "message": str(error)})
        except Refused as refused:
            print(f"{job.id}: report refused: {refused}")
    finally:
        done.set()


def heartbeat(job, done):
    """Renews the lease while the handler runs: after two missed heartbeats the job is lost."""
    while not done.wait(5):
        try:
            job.report("heartbeat")
        except Refused:
            return  # the lease has ended
