"""Compresses snapshots."""

import zlib

_COMPRESSION_LEVEL = 1
_MAX_BYTES = 1 << 30


def compress(body: bytes) -> bytes:
    """Compress; about 10 ms a megabyte."""
    return zlib.compress(body, _COMPRESSION_LEVEL)


def decompress(compressed: object) -> bytes | None:
    """Return the state in a stored snapshot; None if it is damaged or larger than 1 GiB."""
    if not isinstance(compressed, bytes):
        return None
    decompressor = zlib.decompressobj()
    try:
        body = decompressor.decompress(compressed, _MAX_BYTES)
    except zlib.error:
        return None
    return body if decompressor.eof else None
