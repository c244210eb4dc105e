"""The worker: lets the model make a picture, and stores it with the job."""

import os

import model
from tenure import work


def generate_image(job):
    size = job.payload.get("params", {}).get("size", 64)
    try:
        picture = model.generate(job.payload["prompt"], size, job.attempt)
    except model.Unsafe as unsafe:
        # Not a failure: no retry, no refund, and an entry SAFE_BLOCK in the audit log.
        job.report("reject", reason=str(unsafe))
        return
    except TimeoutError as timeout:
        job.report("fail", error={"code": "API_TIMEOUT", "message": str(timeout), "class": "transient"})
        return
    asset = job.upload("original", "original.png", picture)
    job.report("succeed", result={"url": asset["url"]})


work(f"painter-{os.getpid()}", {"generate_image": generate_image})
