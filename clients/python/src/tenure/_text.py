"""Fits texts to the protocol's limits: length, and no U+0000."""

from __future__ import annotations

MESSAGE_BYTES_MAX = 16 << 10
NAME_BYTES_MAX = 255
LINE_BYTES_MAX = 64 << 10


def truncate(text: str, bytes_max: int) -> str:
    """The first bytes of a text, up to a character boundary.

    >>> truncate("grün", 3)
    'gr'
    """
    return chunks(text, bytes_max)[0]


def chunks(text: str, bytes_max: int) -> list[str]:
    """The text in chunks of at most this many bytes; an empty text is one chunk.

    >>> chunks("grün", 3), chunks("a\\0b", 9), chunks("", 3)
    (['gr', 'ün'], ['a?b'], [''])
    """
    data = text.replace("\0", "?").encode("utf-8", "replace")
    parts = []
    while len(data) > bytes_max:
        end = bytes_max
        while data[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(data[:end].decode())
        data = data[end:]
    return [*parts, data.decode()]
