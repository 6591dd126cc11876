"""Charges a run with what its model calls use and cost, call by call."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from schemas.decimals import product, total
from schemas.summit.results import money, rounded_usd
from streams.summit.serving.run import RunFacts

Json = dict[str, Any]
Amount = str | int | Decimal
ANY_MODEL = "*"
UNKNOWN, NONE = "unknown", "none"
_PER_TOKEN = Decimal("0.000001")
"""Prices are per million tokens."""


class PriceUnknown(Exception):
    """There are prices, but none for a model that was called, and none for any model (`*`)."""


class UsageMissing(Exception):
    """A model call reported no tokens, and the run has a budget of dollars or tokens."""


@dataclass(frozen=True)
class Price:
    """Prices of a model in USD per million tokens, as decimals: `Price("2.50", "10")`.

    Raises ValueError for what is no decimal, or is negative.
    """

    input: Amount
    output: Amount

    def __post_init__(self) -> None:
        self.cost(0, 0)

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return the cost of one call in USD, rounded half-even to 9 places."""
        paid = (
            product(_price(price), product(Decimal(tokens), _PER_TOKEN))
            for price, tokens in ((self.input, input_tokens), (self.output, output_tokens))
        )
        return money(total(*paid))


def _price(amount: Amount) -> Decimal:
    if isinstance(amount, float):
        raise ValueError(f"a price is a decimal as text, as '0.15', not the float {amount}")
    try:
        price = Decimal(amount)
    except (InvalidOperation, TypeError, ValueError) as exc:
        raise ValueError(f"a price is a decimal as text, as '0.15', not {amount!r}") from exc
    if not (price.is_finite() and price >= 0):
        raise ValueError(f"a price is at least 0, not {amount}")
    return price


@dataclass
class _Model:
    """The calls of one model so far.  cost_usd: exact."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = field(default_factory=Decimal)

    def to_json(self, name: str) -> Json:
        return {
            "model": name,
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": rounded_usd(self.cost_usd),
        }


class Meter:
    """The model calls of one run; any thread may report one.

    prices: by model; None where nothing has a price.
    """

    def __init__(self, run: RunFacts, prices: Mapping[str, Price] | None) -> None:
        self._run, self._prices = run, prices
        self._lock = threading.Lock()
        self._models: dict[str, _Model] = {}
        self._usage_missing = False
        self._broken: Exception | None = None

    def before_call(self) -> None:
        """Raise what an earlier call broke, where a library has gone on in spite of it."""
        if self._broken is not None:
            raise self._broken

    def charge(
        self, model: str | None, usage: tuple[int, int] | None, requested: str | None
    ) -> None:
        """Charge one call to the run.

        model: the name that the answer gives, None without one.  usage: input and output tokens,
        None if the answer has none.  requested: the name by which the model was called, which has a
        price where the other has none.

        Raises BudgetExceeded, PriceUnknown or UsageMissing, when the call is charged.
        """
        try:
            self._charge(model or requested or UNKNOWN, usage, requested)
        except Exception as exc:
            self._broken = exc
            raise

    def _charge(self, name: str, usage: tuple[int, int] | None, requested: str | None) -> None:
        tokens = usage or (0, 0)
        price = self._price_of(name, requested)
        cost = Decimal(0) if price is None else price.cost(*tokens)
        with self._lock:
            model = self._models.setdefault(name, _Model())
            model.calls += 1
            model.input_tokens += tokens[0]
            model.output_tokens += tokens[1]
            model.cost_usd = total(model.cost_usd, cost)
            self._usage_missing |= usage is None
        self._run.charge(sum(tokens), float(cost))
        if usage is None and self._is_bounded():
            raise UsageMissing(f"{name} reported no tokens, and this run has a budget of them")
        if price is None and self._prices is not None:
            raise PriceUnknown(f"there is no price for {name}; give one for it or for `*`")

    def _price_of(self, name: str, requested: str | None) -> Price | None:
        prices = self._prices or {}
        names = (name, requested or name, ANY_MODEL)
        return next((prices[key] for key in names if key in prices), None)

    def _is_bounded(self) -> bool:
        budget = self._run.budget or {}
        return any(budget.get(name) is not None for name in ("usd", "tokens"))

    @property
    def model(self) -> str:
        """Name the models in the order of their first calls; `none` without a call."""
        with self._lock:
            return ", ".join(self._models) or NONE

    def provenance(self) -> Json:
        """Return the members of a reply's provenance that tell of the calls."""
        with self._lock:
            models = [model.to_json(name) for name, model in self._models.items()]
        members: Json = {"models": models}
        if self._prices is None:
            members["priced"] = False
        if self._usage_missing:
            members["usage"] = "missing"
        return members
