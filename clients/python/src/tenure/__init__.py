"""The Python SDK of Tenure, a durable job engine: clients with a method for each call of the HTTP API, and the worker.

>>> created = client.create("greet", {"name": "Ada"})
>>> worker = Worker(url=client.url)
>>> @worker.on("greet")
... async def greet(job: Job[dict[str, str]]) -> str:
...     job.log("on its way")
...     return f"Hello {job.payload['name']}"
>>> run_until_idle(worker)
>>> client.wait(created.id, timeout="10s").result
'Hello Ada'

A handler may run more than once for a job, never under two live leases at once. `Job.id`, `Job.attempt` and `Job.fence`
are there to make its effects safe.
"""

from ._async_client import AsyncClient
from ._client import Client
from ._errors import Problem, ProtocolError, TenureError, Unreachable
from ._fail import Cancelled, Fail, Partial, Permanent, Reject, Release, Transient
from ._held_job import Upload
from ._job import Job
from ._stop import Stop
from ._values import FinalStatus, Holder, Page
from ._wire import Asset, Event, JobError, JobRecord, JobRequest, LogLine
from ._worker import Worker

__all__ = [
    "Asset",
    "AsyncClient",
    "Cancelled",
    "Client",
    "Event",
    "Fail",
    "FinalStatus",
    "Holder",
    "Job",
    "JobError",
    "JobRecord",
    "JobRequest",
    "LogLine",
    "Page",
    "Partial",
    "Permanent",
    "Problem",
    "ProtocolError",
    "Reject",
    "Release",
    "Stop",
    "TenureError",
    "Transient",
    "Unreachable",
    "Upload",
    "Worker",
]
