"""A bound on what a fetched batch of records may inflate to.

Brokers bound the compressed size of a batch only, and 10 KB of zstd can be 300 MB.  A batch beyond
the bound is replaced, before the client inflates it, by one of records without content: in a worker
each of them becomes a dead letter that names its position, and the partition goes on.
"""

from __future__ import annotations

import gzip
import io
import logging
import struct
import threading
from collections.abc import Callable
from mmap import mmap
from typing import NamedTuple

import cramjam
from aiokafka.codec import _detect_xerial_stream
from aiokafka.record import default_records
from aiokafka.record._crecords import default_records as compiled_records
from aiokafka.record.default_records import _DefaultRecordBatchPy as Batch
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.record.util import encode_varint

log = logging.getLogger(__name__)

INFLATED_BYTES = 64 << 20
"""What a batch may inflate to; librdkafka, which all other readers use, bounds zstd alike."""
MAX_EMPTY_RECORDS = 1_000_000
"""Records of one batch that get a dead letter each; the rest of it is passed over."""
SMALL_LZ4 = 16 << 10
"""Bytes that lz4 makes 4 MiB of at most."""
_LENGTH_AT, _ATTRIBUTES_AT = 8, 21
_CHUNK = 1 << 20
_XERIAL_HEADER = 16
_BUFFER = threading.Lock()
"""Held while a buffer of the bound exists: one for all readers of a process."""


class BoundedBatches(NamedTuple):
    """Batches of which each inflates within the bound.

    largest: bytes that one of them inflates to at most.
    """

    data: bytes
    largest: int


def replace_bombs(data: bytes, bound: int = INFLATED_BYTES) -> BoundedBatches:
    """Return the batches, with those that inflate to more than `bound` bytes replaced."""
    batches, parts, replaced, end, largest = _MemoryRecordsPy(data), [], False, 0, 0
    while batches.has_next():
        raw = bytes(batches._next_slice)
        end += len(raw)
        size = _inflated_size(raw, bound)
        if size > bound:
            raw, replaced = _without_content(raw), True
            size = len(raw)
        parts.append(raw)
        largest = max(largest, size)
        batches.next_batch()
    return BoundedBatches(b"".join(parts) + data[end:] if replaced else data, largest)


def _inflated_size(raw: bytes, bound: int) -> int:
    """Return the most bytes that a batch can inflate to; more than `bound` if it exceeds that."""
    body = raw[Batch.HEADER_STRUCT.size :]
    if raw[16] < 2:
        return 0  # brokers convert or refuse these old formats
    codec = struct.unpack_from(">h", raw, _ATTRIBUTES_AT)[0] & Batch.CODEC_MASK
    if codec not in _SIZES:
        return min(len(body), bound)
    if codec in _MAX_RATIOS and len(body) * _MAX_RATIOS[codec] <= bound:
        return len(body) * _MAX_RATIOS[codec]
    return _SIZES[codec](body, bound)


def _gzip_size(body: bytes, bound: int) -> int:
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as stream:
            while size <= bound and (chunk := stream.read(_CHUNK)):
                size += len(chunk)
    except (OSError, EOFError):
        return 0  # it is corrupt, which the client reports
    return size


def _snappy_size(body: bytes, bound: int) -> int:
    """Sum the sizes that the blocks state; a block cannot inflate to more than it states."""
    if not _detect_xerial_stream(body):
        return cramjam.snappy.decompress_raw_len(body)
    size, start = 0, _XERIAL_HEADER
    while start < len(body):
        (length,) = struct.unpack_from(">i", body, start)
        block = body[start + 4 : start + 4 + length]
        size += cramjam.snappy.decompress_raw_len(block)
        start += 4 + len(block)
    return size


def _lz4_size(body: bytes, bound: int) -> int:
    return _size_in_buffer(cramjam.lz4.decompress_into, body, bound)


def _zstd_size(body: bytes, bound: int) -> int:
    return _size_in_buffer(cramjam.zstd.decompress_into, body, bound)


def _size_in_buffer(inflate: Callable[[bytes, mmap], int], body: bytes, bound: int) -> int:
    """Inflate into a buffer of `bound` bytes; return how many it took, or one more than `bound`.

    It is mapped, since a bytearray would be filled with zeros first, for each batch.
    """
    with _BUFFER, mmap(-1, bound) as buffer:
        try:
            return inflate(body, buffer)
        except cramjam.DecompressionError as exc:
            return bound + 1 if "failed to write whole buffer" in str(exc) else 0


def install() -> None:
    """Have aiokafka inflate without copies that grow, of which there were four at a time."""
    for module in (default_records, compiled_records):
        module.lz4_decode, module.zstd_decode = inflate_lz4, inflate_zstd


def inflate_lz4(body: bytes) -> bytes:
    """Inflate a batch within the bound."""
    if len(body) <= SMALL_LZ4:
        return bytes(cramjam.lz4.decompress(body))
    return _inflate(cramjam.lz4.decompress_into, body)


def inflate_zstd(body: bytes) -> bytes:
    """Inflate a batch within the bound."""
    return _inflate(cramjam.zstd.decompress_into, body)


def _inflate(inflate: Callable[[bytes, mmap], int], body: bytes) -> bytes:
    with _BUFFER, mmap(-1, INFLATED_BYTES) as buffer:
        return buffer[: inflate(body, buffer)]


_SIZES = {
    Batch.CODEC_GZIP: _gzip_size,
    Batch.CODEC_SNAPPY: _snappy_size,
    Batch.CODEC_LZ4: _lz4_size,
    Batch.CODEC_ZSTD: _zstd_size,
}
_MAX_RATIOS = {Batch.CODEC_GZIP: 1040, Batch.CODEC_LZ4: 256}
"""The most that these formats can compress; smaller batches need no check."""


def _without_content(raw: bytes) -> bytes:
    """Return the batch uncompressed, with its offsets and as many records, all of them empty."""
    header = bytearray(raw[: Batch.HEADER_STRUCT.size])
    batch = Batch(raw)
    log.warning(
        "%d records from offset %d on inflate to more than %d bytes: they are read without content",
        batch._num_records,
        batch.base_offset,
        INFLATED_BYTES,
    )
    count = min(batch._num_records, MAX_EMPTY_RECORDS)
    body = b"".join(map(_empty_record, range(count)))
    struct.pack_into(">i", header, _LENGTH_AT, len(header) - _LENGTH_AT - 4 + len(body))
    struct.pack_into(">h", header, _ATTRIBUTES_AT, batch.attributes & ~Batch.CODEC_MASK)
    struct.pack_into(">i", header, len(header) - 4, count)
    return bytes(header) + body


def _empty_record(delta: int) -> bytes:
    """Return a record with an empty value: a missing one would withdraw what its key names."""
    fields = bytearray(b"\0\0")  # attributes, time
    encode_varint(delta, fields.append)
    fields += b"\1\0\0"  # no key, a value of no bytes, no headers
    record = bytearray()
    encode_varint(len(fields), record.append)
    return bytes(record + fields)
