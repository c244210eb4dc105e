"""The worker: lets the model make a picture, and stores it with the job."""

from typing import Any

import model
from tenure import Job, Reject, Transient, Worker

worker = Worker(slots=1)


@worker.on("generate_image")
def generate_image(job: Job[dict[str, Any]]) -> dict[str, str]:
    size = job.payload.get("params", {}).get("size", 64)
    try:
        picture = model.generate(job.payload["prompt"], size, job.attempt)
    except model.Unsafe as unsafe:
        # Not a failure: no retry, no refund, and an entry SAFE_BLOCK in the audit log.
        raise Reject(unsafe) from unsafe
    except TimeoutError as timeout:
        raise Transient("API_TIMEOUT", timeout) from timeout
    asset = job.asset("original.png", picture, asset_type="original").result()
    return {"url": asset.url}


worker.run()
