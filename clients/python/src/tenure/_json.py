"""JSON: bodies of requests, and answers as classes of `_wire`. Members that a class does not have are ignored."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ._errors import Problem, ProtocolError
from ._wire import JobRecord

T = TypeVar("T")
Converter = Callable[[Any], Any]


def dump(what: str, value: Any) -> bytes:
    """A value as JSON; dataclasses and pydantic models become objects."""
    try:
        text = json.dumps(value, default=_encodable, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"{what} cannot be written as JSON: {error}") from error


def _encodable(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def decode(type_: type[T], value: Any) -> T:
    """A JSON value as an instance of a class, or of a list of them."""
    try:
        return cast(T, _converter(cast(Any, type_))(value))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"answer cannot be read as {type_}: {error!r}") from error


def parse(body: bytes) -> Any:
    """The JSON of an answer; no body is null."""
    try:
        return json.loads(body) if body else None
    except ValueError as error:
        raise ProtocolError(f"answer is not JSON: {error}") from error


@cache
def _converter(type_: Any) -> Converter:
    if type_ is Problem:
        return Problem
    if is_dataclass(type_):
        return _object_converter(cast(type, type_))
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is list:
        item = _converter(arguments[0])
        return lambda value: [item(each) for each in value]
    if origin is dict:
        member = _converter(arguments[1])
        return lambda value: {name: member(each) for name, each in value.items()}
    if origin in (Union, types.UnionType):
        inner = [each for each in arguments if each is not type(None)]
        convert = _converter(inner[0]) if len(inner) == 1 else _first_of(inner)
        return lambda value: None if value is None else convert(value)
    return _same


def _first_of(types_: list[Any]) -> Converter:
    """The first class whose required members the value has; other values stay as they are."""
    classes: list[Any] = [each for each in types_ if is_dataclass(each)]
    converters = [_converter(each) for each in classes]

    def convert(value: Any) -> Any:
        for converter in converters:
            try:
                return converter(value)
            except (AttributeError, KeyError, TypeError):
                continue
        return value

    return convert


def _same(value: Any) -> Any:
    return value


def _object_converter(class_: type) -> Converter:
    hints = get_type_hints(class_)
    members = [(field.name, field.name.rstrip("_"), _converter(hints[field.name])) for field in fields(class_)]

    def convert(value: dict[str, Any]) -> Any:
        values = {}
        for name, wire_name, member in members:
            given = value.get(wire_name)
            values[name] = None if given is None else member(given)
        return class_(**values)

    return convert


@dataclass(frozen=True)
class UnreadableJob:
    """A claimed job that cannot be read: what is needed to report it."""

    id: str
    fence: int
    why: str


def read_claimed(body: bytes) -> list[JobRecord | UnreadableJob]:
    """The jobs of a claim. One that cannot be read does not affect the others."""
    try:
        return [_read_job(job) for job in parse(body)["jobs"]]
    except (KeyError, TypeError) as error:
        raise ProtocolError(f"answer to a claim cannot be read: {error!r}") from error


def _read_job(job: dict[str, Any]) -> JobRecord | UnreadableJob:
    try:
        return decode(JobRecord, job)
    except ProtocolError as error:
        return UnreadableJob(job["id"], job["lease"]["fence"], str(error))
