"""The worker: has the model paint, and stores the picture with the job."""

import os

import model
from tenure import work


def generate_image(job):
    size = job.payload.get("params", {}).get("size", 64)
    try:
        picture = model.generate(job.payload["prompt"], size, job.attempt)
    except model.Unsafe as unsafe:
        # Not a failure: it is not tried again, it is not refunded, and the audit trail says SAFE_BLOCK.
        job.report("reject", reason=str(unsafe))
        return
    except TimeoutError as timeout:
        job.report("fail", error={"code": "API_TIMEOUT", "message": str(timeout), "class": "transient"})
        return
    asset = job.upload("original", "original.png", picture)
    job.report("succeed", result={"url": asset["url"]})


work(f"painter-{os.getpid()}", {"generate_image": generate_image})
