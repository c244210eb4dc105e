"""Errors of calls: a refusal by the server, a server that cannot be reached, or a message that breaks the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._span import seconds

_BASE = {"type", "title", "status", "detail", "instance", "code", "retry_after"}


class TenureError(Exception):
    """The base of all errors of calls."""

    retry_after: float | None = None
    """How many seconds to wait before the next try, if the server gave a time."""

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return False


class Unreachable(TenureError):
    """No answer: no connection, a broken one, a timeout, or a proxy that reports that the server is down."""

    @property
    def is_retryable(self) -> bool:
        return True


class ProtocolError(TenureError):
    """The answer, or the request, does not follow the protocol."""


class Problem(TenureError):
    """The server refused the call. The members that belong to the code are attributes too.

    >>> refusal = Problem({"code": "insufficient_credits", "status": 402, "cost": 3, "available": 1})
    >>> refusal.code, refusal.status, refusal.available
    ('insufficient_credits', 402, 1)
    """

    def __init__(self, document: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.code: str = document["code"]
        self.status: int = document["status"]
        self.title: str = document.get("title", self.code)
        self.detail: str = document.get("detail") or self.title
        self.members = {name: value for name, value in document.items() if name not in _BASE}
        """The members of the code, such as `errors` or `current_state`."""
        if retry_after is None and document.get("retry_after") is not None:
            retry_after = seconds(document["retry_after"])
        self.retry_after = retry_after
        super().__init__(f"{self.code}: {self.detail}")

    def __getattr__(self, name: str) -> Any:
        # `members` is missing while a copy is being made.
        try:
            return self.__dict__["members"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __reduce__(self) -> tuple[Any, ...]:
        document = {"code": self.code, "status": self.status, "title": self.title, "detail": self.detail}
        return Problem, ({**document, **self.members}, self.retry_after)

    @property
    def is_retryable(self) -> bool:
        return self.status >= 500 or self.code == "rate_limited"

    @property
    def is_lease_conflict(self) -> bool:
        """Whether the caller no longer holds the lease."""
        return self.code == "lease_conflict"
