"""The span around a handler, where OpenTelemetry is installed. Its parent is the trace context of the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ._wire import JobRecord

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    trace = None  # type: ignore[assignment]


class Ended(Protocol):
    """Records how the attempt ended."""

    def __call__(self, verb: str, error_code: str | None) -> None: ...


@contextmanager
def span_of(record: JobRecord) -> Iterator[Ended]:
    """The span of an attempt's handler."""
    if trace is None:
        yield lambda verb, error_code: None
        return
    parent = TraceContextTextMapPropagator().extract({"traceparent": record.traceparent or ""})
    tracer = trace.get_tracer("tenure")
    with tracer.start_as_current_span(f"run {record.type}", parent, attributes=_attributes(record)) as span:

        def ended(verb: str, error_code: str | None) -> None:
            if verb in ("fail", "reject"):
                span.set_attribute("error.type", error_code or verb)
                span.set_status(trace.StatusCode.ERROR)

        yield ended


def _attributes(record: JobRecord) -> dict[str, Any]:
    return {
        "messaging.system": "tenure",
        "messaging.message.id": record.id,
        "messaging.destination.name": record.queue,
        "tenure.job.type": record.type,
        "tenure.job.attempt": record.attempt,
    }
