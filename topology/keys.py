"""Keys and partitions.

A record's key decides its partition, and the partition decides which task judges it.  So clients
and processors must agree on both to the bit: murmur2 as Kafka's Java clients compute it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from schemas.text_cache import cache_short
from topology.declarations import KeyOf, Topic

_UINT32 = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


class KeyUnknown(ValueError):
    """The value lacks what the key of its topic is made of, or the topic's keys are not its."""


def composite(*parts: str) -> str:
    """Parts joined with `/`; inside a part `%` is written `%25` and `/` is written `%2F`."""
    joined = "/".join(parts)
    if "%" not in joined and joined.count("/") == len(parts) - 1:
        return joined
    return "/".join([part.replace("%", "%25").replace("/", "%2F") for part in parts])


def split(key: str) -> list[str]:
    """Split a composite key into its parts."""
    return [part.replace("%2F", "/").replace("%25", "%") for part in key.split("/")]


def text_of(value: object, path: str) -> str:
    """Return the string at a path of member names; raise KeyUnknown if there is none."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(value, str):
        raise KeyUnknown(f"the record key is made of {path}, which is not there or no string")
    return value


def integer_of(value: Mapping[str, Any], name: str) -> int:
    """Return the integer value of a member; raise KeyUnknown if it has none."""
    number = value.get(name)
    if not isinstance(number, int):
        raise KeyUnknown(f"the record key is made of {name}, which is not there or no integer")
    return number


def member(path: str) -> KeyOf:
    """Keys that are one member of the value."""
    return lambda value: text_of(value, path)


def key_of(topic: Topic, json_value: object) -> str:
    """Return the record key of a value (in its JSON form) on the topic.

    Raises KeyUnknown when a member of the key is missing or no string, and for topics whose
    keys do not come from the value (dead letters, the changelog).
    """
    key = topic.key_of
    if key is None:
        raise KeyUnknown(f"the keys of {topic.name} are not made of its values")
    if not isinstance(json_value, Mapping):
        raise KeyUnknown(f"a record of {topic.name} is an object")
    return key(json_value)


def murmur2(key: bytes) -> int:
    """Return the 32 bits of Kafka's murmur2, as an unsigned int."""
    length = len(key)
    whole = length & ~3
    h = _SEED ^ length
    for (k,) in struct.iter_unpack("<I", key[:whole]):
        k = k * _M & _UINT32
        k ^= k >> 24
        h = h * _M & _UINT32 ^ k * _M & _UINT32
    if length > whole:
        h ^= int.from_bytes(key[whole:], "little")
        h = h * _M & _UINT32
    h ^= h >> 13
    h = h * _M & _UINT32
    return h ^ h >> 15


@cache_short(1 << 12)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a record key, as Java's default partitioner computes it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
