"""Compares what a scenario expects with what the server or the worker says."""

from __future__ import annotations

import re
from typing import Any


def mismatch(expected: Any, actual: Any, path: str = "") -> str | None:
    """The first difference, in words; `None` if there is none.

    Of an object only the expected members count; a list must have the same length. A text that begins with `~` is a
    regular expression, `*` is any value but null, and `null` is null, which TOML cannot say.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        pairs = [(f"{path}.{name}".lstrip("."), value, actual.get(name)) for name, value in expected.items()]
        return _first(pairs)
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return _first([(f"{path}[{index}]", *pair) for index, pair in enumerate(zip(expected, actual, strict=True))])
    return None if _is_equal(expected, actual) else f"{path or 'value'} is {actual!r}, not {expected!r}"


def _first(pairs: list[tuple[str, Any, Any]]) -> str | None:
    return next((found for path, expected, actual in pairs if (found := mismatch(expected, actual, path))), None)


def _is_equal(expected: Any, actual: Any) -> bool:
    if expected == "*":
        return actual is not None
    if expected == "null":
        return actual is None
    if isinstance(expected, str) and expected.startswith("~"):
        return isinstance(actual, str) and re.search(expected[1:], actual) is not None
    return isinstance(expected, bool) == isinstance(actual, bool) and bool(expected == actual)


def expanded(value: Any, names: dict[str, str]) -> Any:
    """The value with each text `$name` replaced."""
    if isinstance(value, dict):
        return {key: expanded(member, names) for key, member in value.items()}
    if isinstance(value, list):
        return [expanded(member, names) for member in value]
    if isinstance(value, str) and value.startswith("$"):
        return names[value[1:]]
    return value
