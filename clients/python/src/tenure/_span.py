"""Durations: texts such as `500ms` or `1m 30s` in the API, seconds or `timedelta` in Python."""

from __future__ import annotations

import re
from datetime import timedelta

Span = str | float | timedelta
"""A duration: a text such as `"5s"`, a number of seconds, or a `timedelta`."""

_PART = re.compile(r" *(\d+) *(ms|s|m|h|d) *")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(span: Span) -> float:
    """The length of a duration in seconds.

    >>> seconds("1m 30s"), seconds(2), seconds(timedelta(milliseconds=500))
    (90.0, 2.0, 0.5)
    """
    if isinstance(span, timedelta):
        return span.total_seconds()
    if not isinstance(span, str):
        return float(span)
    parts = list(_PART.finditer(span))
    if not parts or "".join(part.group() for part in parts) != span:
        raise ValueError(f"{span!r} is not a duration: write it like 500ms, 2s or 1m 30s")
    return float(sum(int(part[1]) * _SECONDS[part[2]] for part in parts))


def span_text(span: Span) -> str:
    """A duration as the API expects it.

    >>> span_text(1.5), span_text("1h")
    ('1500ms', '1h')
    """
    return span if isinstance(span, str) else f"{max(0, round(seconds(span) * 1000))}ms"
