"""How an attempt ends without a result: a handler raises one of these, and the lifecycle determines the transition."""

from __future__ import annotations

from typing import Any, ClassVar

from ._span import Span, span_text
from ._text import MESSAGE_BYTES_MAX, NAME_BYTES_MAX, truncate
from ._wire import ReasonCode, Stage

Pause = tuple[str, Span]
"""A resource of flow control, and how long no job that uses the same bucket of it is claimed: `("openai", "30s")`."""


class Fail(Exception):
    """The base of what a handler raises to end its attempt without a result."""

    verb: ClassVar[str]

    def __init__(self, message: object, **members: Any) -> None:
        super().__init__(truncate(str(message), MESSAGE_BYTES_MAX))
        self.members = {name: value for name, value in members.items() if value is not None}
        """The members of the report."""

    @property
    def code(self) -> str | None:
        """The code of the error, for failures that have one."""
        code: str | None = self.members.get("error", {}).get("code")
        return code


def _pause(pause: Pause | None) -> dict[str, str] | None:
    return None if pause is None else {"resource": pause[0], "for": span_text(pause[1])}


class _WithError(Fail):
    """A failure with an error: a short, stable code, a message, and where in the work it occurred."""

    error_class: ClassVar[str] = "transient"

    def __init__(
        self,
        code: str,
        message: object = "",
        *,
        stage: Stage | None = None,
        details: Any = None,
        reason_code: ReasonCode | None = None,
        **members: Any,
    ) -> None:
        error = {"code": truncate(code, NAME_BYTES_MAX) or "ERROR"}
        error |= {"message": truncate(str(message), MESSAGE_BYTES_MAX), "class": self.error_class}
        more = {"stage": stage, "details": details, "reason_code": reason_code}
        error |= {name: value for name, value in more.items() if value is not None}
        super().__init__(message, error=error, **members)


class Transient(_WithError):
    """Another attempt may succeed; `retry_after` replaces the type's backoff.

    `pause` keeps all jobs that use the same bucket of a resource waiting, for example because the service behind it
    asked to.

    >>> Transient("PAINTER_BUSY", "try later", retry_after="5s").members["retry_after"]
    '5s'
    >>> Transient("RATE_LIMITED", "try later", pause=("openai", 30)).members["pause"]
    {'resource': 'openai', 'for': '30000ms'}
    """

    verb = "fail"

    def __init__(
        self,
        code: str,
        message: object = "",
        *,
        retry_after: Span | None = None,
        pause: Pause | None = None,
        **error: Any,
    ) -> None:
        retry_after = None if retry_after is None else span_text(retry_after)
        super().__init__(code, message, retry_after=retry_after, pause=_pause(pause), **error)


class Permanent(_WithError):
    """No attempt will succeed. `pause`: as of `Transient`."""

    verb = "fail"
    error_class = "permanent"

    def __init__(self, code: str, message: object = "", *, pause: Pause | None = None, **error: Any) -> None:
        super().__init__(code, message, pause=_pause(pause), **error)


class Partial(_WithError):
    """A part succeeded: `result` is that part."""

    verb = "partial"

    def __init__(self, code: str, message: object = "", *, result: Any = None, **error: Any) -> None:
        super().__init__(code, message, result=result, **error)


class Reject(Fail):
    """The job should not be executed at all."""

    verb = "reject"

    def __init__(self, reason: object) -> None:
        super().__init__(reason, reason=truncate(str(reason), MESSAGE_BYTES_MAX))


class Release(Fail):
    """Returns the job to its queue; does not count as a failure. The next attempt gets the checkpoint.

    `pause`: as of `Transient`.
    """

    verb = "release"

    def __init__(self, *, checkpoint: Any = None, delay: Span | None = None, pause: Pause | None = None) -> None:
        delay = None if delay is None else span_text(delay)
        super().__init__("released", checkpoint=checkpoint, delay=delay, pause=_pause(pause))


class Cancelled(Fail):
    """Confirms a soft cancel."""

    verb = "cancel-confirm"

    def __init__(self, *, checkpoint: Any = None, result: Any = None) -> None:
        super().__init__("cancelled", checkpoint=checkpoint, result=result)
