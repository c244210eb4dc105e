"""What a Python program says to Tenure: a few calls over HTTP, with the standard library alone."""

import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("TENURE_URL", "http://127.0.0.1:7117")
KEY = os.environ.get("TENURE_KEY")


class Refused(Exception):
    """The server said no: the problem that it answered, as a dictionary."""

    def __init__(self, problem):
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem


def read(method, path, body=None, content_type="application/json"):
    """One call; the answer's bytes."""
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
    """One call with JSON in and out."""
    return json.loads(read(method, path, None if body is None else json.dumps(body).encode()))


def ended(door, job_id):
    """Waits for the job's end, which is when its stream closes; then the job, in the words of this door."""
    read("GET", f"{door}/{job_id}/stream")
    return call("GET", f"{door}/{job_id}")


class Job:
    """A job in the hands of this worker, on a lease."""

    def __init__(self, worker, told):
        self.id, self.payload, self.attempt = told["id"], told["payload"], told["attempt"]
        # Goes with every report: once the lease is over it is refused, whatever this process believes.
        self.lease = {"worker": worker, "fence": told["lease"]["fence"]}

    def report(self, verb, **more):
        """Says how it goes (`progress`), how it ended (`succeed`, `partial`, `fail`, …), or that we live."""
        return call("POST", f"/api/jobs/{self.id}/{verb}", {**self.lease, **more})

    def upload(self, asset_type, name, content):
        """Stores a file with the job, and answers the asset."""
        query = urllib.parse.urlencode({"asset_type": asset_type, "name": name, **self.lease})
        return json.loads(read("POST", f"/api/jobs/{self.id}/assets?{query}", content, "application/octet-stream"))


def work(worker, handlers):
    """Claims jobs of these types for ever, one at a time, and hands each to its handler."""
    while True:
        # Waits at the server until there is work.
        asked = {"worker": worker, "types": list(handlers), "max": 1, "wait": "20s"}
        for told in call("POST", "/api/claims", asked)["jobs"]:
            attempt(Job(worker, told), handlers[told["type"]])


def attempt(job, handler):
    done = threading.Event()
    threading.Thread(target=beat, args=(job, done), daemon=True).start()
    try:
        handler(job)
    except Exception as error:  # whatever went wrong is told, never swallowed
        try:
            job.report("fail", error={"code": type(error).__name__, "message": str(error)})
        except Refused as refused:
            print(f"{job.id} is no longer ours: {refused}")
    finally:
        done.set()


def beat(job, done):
    """Keeps the lease alive while the handler works: after two missed heartbeats the job is someone else's."""
    while not done.wait(5):
        try:
            job.report("heartbeat")
        except Refused:
            return  # it is over, one way or the other
