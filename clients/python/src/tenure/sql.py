"""Jobs in the transaction of an application: `tenure.enqueue`, `tenure.cancel` and `tenure.signal` of PostgreSQL.

The job exists if and only if the transaction commits. The connection is one of psycopg 3, or a connection or session
of SQLAlchemy; the functions ending in `_async` take their asynchronous counterparts::

    with psycopg.connect(url) as connection:
        connection.execute("insert into orders ...")
        id = sql.enqueue(connection, "charge_card", {"order": 42})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any
from uuid import UUID

__all__ = ["cancel", "cancel_async", "enqueue", "enqueue_async", "signal", "signal_async"]

SCHEMA = "tenure"


def enqueue(
    connection: Any,
    type: str,
    payload: Any = None,
    *,
    key: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    run_at: datetime | None = None,
    user_id: str | None = None,
    correlation_id: str | None = None,
    schema: str = SCHEMA,
) -> UUID:
    """Requests a job and returns its id. Tenure judges the request after the commit."""
    call = _enqueue(schema, type, payload, key, queue, priority, run_at, user_id, correlation_id)
    return _id(_run(connection, *call))


async def enqueue_async(
    connection: Any,
    type: str,
    payload: Any = None,
    *,
    key: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    run_at: datetime | None = None,
    user_id: str | None = None,
    correlation_id: str | None = None,
    schema: str = SCHEMA,
) -> UUID:
    """The same with an asynchronous connection or session."""
    call = _enqueue(schema, type, payload, key, queue, priority, run_at, user_id, correlation_id)
    return _id(await _run_async(connection, *call))


def cancel(
    connection: Any, job: UUID | str, mode: str = "soft", reason: str | None = None, *, schema: str = SCHEMA
) -> None:
    """Requests the cancel of a job."""
    _run(connection, *_cancel(schema, job, mode, reason))


async def cancel_async(
    connection: Any, job: UUID | str, mode: str = "soft", reason: str | None = None, *, schema: str = SCHEMA
) -> None:
    """The same with an asynchronous connection or session."""
    await _run_async(connection, *_cancel(schema, job, mode, reason))


def signal(connection: Any, job: UUID | str, name: str, note: Any = None, *, schema: str = SCHEMA) -> None:
    """Requests a signal to a job."""
    _run(connection, *_signal(schema, job, name, note))


async def signal_async(connection: Any, job: UUID | str, name: str, note: Any = None, *, schema: str = SCHEMA) -> None:
    """The same with an asynchronous connection or session."""
    await _run_async(connection, *_signal(schema, job, name, note))


def _enqueue(
    schema: str,
    type: str,
    payload: Any,
    key: str | None,
    queue: str | None,
    priority: int | None,
    run_at: datetime | None,
    user_id: str | None,
    correlation_id: str | None,
) -> tuple[str, dict[str, Any]]:
    """
    >>> _enqueue("tenure", "charge", {"order": 1}, None, None, 5, None, None, None)
    ('select "tenure".enqueue(type => :type, payload => cast(:payload as json), priority => :priority)', \
{'type': 'charge', 'payload': '{"order": 1}', 'priority': 5})
    """
    values: dict[str, Any] = {
        "type": type,
        "payload": None if payload is None else json.dumps(payload),
        "idempotency_key": key,
        "queue": queue,
        "priority": priority,
        "run_at": run_at,
        "user_id": user_id,
        "correlation_id": correlation_id,
    }
    return _call(schema, "enqueue", {name: value for name, value in values.items() if value is not None})


def _cancel(schema: str, job: UUID | str, mode: str, reason: str | None) -> tuple[str, dict[str, Any]]:
    values = {"job": str(job), "mode": mode, "reason": reason}
    return _call(schema, "cancel", {name: value for name, value in values.items() if value is not None})


def _signal(schema: str, job: UUID | str, name: str, note: Any) -> tuple[str, dict[str, Any]]:
    values = {"job": str(job), "name": name}
    if note is not None:
        values["note"] = json.dumps(note)
    return _call(schema, "signal", values)


_CASTS = {"payload": "json", "note": "json", "job": "uuid", "run_at": "timestamptz"}


def _call(schema: str, function: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if not schema.replace("_", "").isalnum():
        raise ValueError(f"{schema!r} is not the name of a schema")
    arguments = ", ".join(
        f"{name} => cast(:{name} as {_CASTS[name]})" if name in _CASTS else f"{name} => :{name}" for name in values
    )
    return f'select "{schema}".{function}({arguments})', dict(values)


def _is_sqlalchemy(connection: Any) -> bool:
    return any(base.__module__.startswith("sqlalchemy.") for base in type(connection).__mro__)


def _statement(connection: Any, sql: str, values: Mapping[str, Any]) -> Any:
    """The statement in the parameter style of the connection: that of SQLAlchemy, or of psycopg."""
    if _is_sqlalchemy(connection):
        return import_module("sqlalchemy").text(sql)
    for name in values:
        sql = sql.replace(f":{name} as", f"%({name})s as").replace(f"=> :{name}", f"=> %({name})s")
    return sql


def _executor(connection: Any) -> Any:
    """What executes the statement: for psycopg a cursor with tuples, whatever rows the connection makes."""
    if _is_sqlalchemy(connection):
        return connection
    return connection.cursor(row_factory=import_module("psycopg.rows").tuple_row)


def _run(connection: Any, sql: str, values: dict[str, Any]) -> Any:
    return _executor(connection).execute(_statement(connection, sql, values), values).fetchone()[0]


async def _run_async(connection: Any, sql: str, values: dict[str, Any]) -> Any:
    result = await _executor(connection).execute(_statement(connection, sql, values), values)
    if _is_sqlalchemy(connection):
        return result.fetchone()[0]
    return (await result.fetchone())[0]


def _id(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(str(value))
