"""Payloads as the type that a handler's annotation names: a pydantic model, a dataclass, a TypedDict or a JSON type."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def payload_type(handler: Callable[..., Any], job_class: type, *, is_batch: bool = False) -> Any:
    """The `P` of the `Job[P]`, or list of them, that a handler accepts; `Any` without an annotation."""
    parameters = list(inspect.signature(handler).parameters.values())
    if not parameters:
        raise TypeError(f"{handler!r} accepts no job: give it a parameter")
    function = handler if inspect.isroutine(handler) else type(handler).__call__
    try:
        hint = get_type_hints(function).get(parameters[0].name, Any)
    except NameError as error:
        raise TypeError(f"annotation of {handler!r} cannot be read: {error}; define it at module level") from error
    if is_batch and get_args(hint):
        hint = get_args(hint)[0]
    return get_args(hint)[0] if get_origin(hint) is job_class else Any


def convert(type_: Any, value: Any) -> Any:
    """The value as this type; raises `ValueError` if it does not match. Members that a class does not have are ignored.

    >>> convert(list[int], [1, 2])
    [1, 2]
    >>> convert(dict[str, int], {"a": "b"})
    Traceback (most recent call last):
    ValueError: a: expected int, got str
    """
    if type_ is Any or isinstance(type_, str):
        return value
    if hasattr(type_, "model_validate"):
        return type_.model_validate(value)
    if is_dataclass(type_) and isinstance(type_, type):
        return _dataclass(type_, value)
    if is_typeddict(type_):
        return _typed_dict(type_, value)
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        return _union(arguments, value)
    if origin is Literal:
        return _expect(value in arguments, f"one of {arguments}", value)
    if origin is list:
        _expect(isinstance(value, list), "list", value)
        return [_at(index, arguments[0], item) for index, item in enumerate(value)]
    if origin is dict:
        _expect(isinstance(value, dict), "object", value)
        return {name: _at(name, arguments[1], item) for name, item in value.items()}
    return _scalar(type_, value)


def _scalar(type_: Any, value: Any) -> Any:
    if type_ is None:
        type_ = type(None)
    if type_ is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_ is int and isinstance(value, bool):
        return _expect(False, "int", value)
    if not isinstance(type_, type):
        raise ValueError(f"{type_!r} is not a type of JSON: use a pydantic model")
    return _expect(isinstance(value, type_), type_.__name__, value)


def _dataclass(type_: type, value: Any) -> Any:
    _expect(isinstance(value, dict), "object", value)
    hints = get_type_hints(type_)
    values = {}
    for field in fields(type_):
        if not field.init:
            continue
        if field.name in value:
            values[field.name] = _at(field.name, hints[field.name], value[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{field.name}: is missing")
    return type_(**values)


def _typed_dict(type_: Any, value: Any) -> Any:
    _expect(isinstance(value, dict), "object", value)
    hints = get_type_hints(type_)
    if missing := sorted(type_.__required_keys__ - value.keys()):
        raise ValueError(f"{missing[0]}: is missing")
    return {name: _at(name, hints.get(name, Any), each) for name, each in value.items()}


def _union(choices: tuple[Any, ...], value: Any) -> Any:
    problems = []
    for choice in choices:
        try:
            return convert(choice, value)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError(" or ".join(problems))


def _at(place: object, type_: Any, value: Any) -> Any:
    try:
        return convert(type_, value)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _expect(matches: bool, expected: str, value: Any) -> Any:
    if not matches:
        raise ValueError(f"expected {expected}, got {type(value).__name__}")
    return value
