"""Replaces an image API: makes a PNG from a prompt, and fails like such an API."""

import hashlib
import struct
import zlib


class Unsafe(Exception):
    """The safety filter rejected the prompt."""


def generate(prompt, size, attempt):
    """Returns a PNG file as bytes. Some prompts fail on purpose."""
    if "outage" in prompt or ("hiccup" in prompt and attempt == 1):
        raise TimeoutError("the image API does not answer")
    if "undressed" in prompt:
        raise Unsafe("nsfw: the safety filter stopped it")
    return png(size, hashlib.sha256(prompt.encode()).digest())


def png(size, seed):
    """A gradient between two colours taken from the seed."""
    rows = []
    for y in range(size):
        pixels = bytearray()
        for x in range(size):
            part = (x + y) / (2 * size)
            pixels += bytes(int(seed[i] * (1 - part) + seed[i + 3] * part) for i in range(3))
        rows.append(b"\0" + pixels)  # each row begins with its filter type: 0, none
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)  # 8 bits for each of red, green and blue
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
