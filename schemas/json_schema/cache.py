"""A cache that is bounded by the total weight of its entries, not by their number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class WeightedCache(Generic[Value]):
    """A cache of values made from texts, which drops those that were not used for the longest time.

    The newest entry stays, whatever its weight.
    """

    def __init__(
        self, make: Callable[[str], Value], weigh: Callable[[Value], int], max_weight: int
    ) -> None:
        self._make = make
        self._weigh = weigh
        self._max_weight = max_weight
        self._entries: OrderedDict[str, Value] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, text: str) -> Value:
        with self._lock:
            if text in self._entries:
                self._entries.move_to_end(text)
                return self._entries[text]
            value = self._entries[text] = self._make(text)
            self._weight += self._weigh(value)
            while self._weight > self._max_weight and len(self._entries) > 1:
                self._weight -= self._weigh(self._entries.popitem(last=False)[1])
            return value
