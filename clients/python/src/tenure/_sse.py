"""Parser of server-sent events: accepts pieces of any size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SentEvent:
    name: str
    id: str | None
    """The last id, of this event or an earlier one."""
    text: str


class EventReader:
    """Assembles events from the pieces of a stream.

    >>> reader = EventReader()
    >>> reader.push(b"id: 1\\nevent: log\\nda")
    []
    >>> reader.push(b"ta: one\\ndata: two\\n\\n")
    [SentEvent(name='log', id='1', text='one\\ntwo')]
    """

    def __init__(self, last_id: str | None = None) -> None:
        self.last_id = last_id
        self.retry: float | None = None
        """How many seconds the server wants a client to wait before it connects again."""
        self._rest = b""
        self._after_return = False
        self._name = ""
        self._lines: list[str] = []

    def push(self, piece: bytes) -> list[SentEvent]:
        """Takes the next piece and returns the events that it completes."""
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_return = piece.endswith(b"\r")
        lines = (self._rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop()
        ended = (self._end_line(line.decode("utf-8", "replace")) for line in lines)
        return [event for event in ended if event]

    def _end_line(self, line: str) -> SentEvent | None:
        if not line:
            return self._end_event()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._lines.append(value)
        elif field == "id" and "\0" not in value:
            self.last_id = value
        elif field == "retry" and value.isdecimal():
            self.retry = int(value) / 1000
        return None

    def _end_event(self) -> SentEvent | None:
        name, lines, self._name, self._lines = self._name, self._lines, "", []
        return SentEvent(name or "message", self.last_id, "\n".join(lines)) if lines else None
