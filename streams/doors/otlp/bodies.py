"""The body of a request, decompressed within bounds."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from streams.doors.otlp.errors import OtlpRefused

_WINDOWS: Mapping[str, int] = {"gzip": 31, "deflate": 15}
"""The arguments of zlib by content encoding."""
ENCODINGS = ("identity", *_WINDOWS)


def decompress(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return the decompressed body; decompression stops above the bound.  Raises OtlpRefused."""
    if encoding == "identity":
        return body
    decompressor = zlib.decompressobj(_WINDOWS[encoding])
    try:
        whole = decompressor.decompress(body, max_bytes + 1)
    except zlib.error as exc:
        message = f"the body is not {encoding}"
        raise OtlpRefused(400, "otlp_invalid", message, "body") from exc
    if len(whole) > max_bytes:
        raise OtlpRefused(413, "too_large", f"the body is above {max_bytes} bytes")
    if not decompressor.eof:
        raise OtlpRefused(400, "otlp_invalid", "the compressed body ends early", "body")
    return whole
