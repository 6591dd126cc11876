"""Says where something was found without saying what: also names on the way to it may be secret.

Source: SAP spec, 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams.protocols.sap.constitution.denied import holds
from streams.protocols.sap.constitution.pii import holds_pii
from streams.protocols.sap.constitution.texts import Place, folded, shown


def place_of(
    place: Place, denylist: Sequence[str], own: Callable[[str], bool] | None = None
) -> str:
    """A pointer without names that hold personal data, terms of the constitution's denylist, or
    what the caller itself looks for."""
    terms = [folded(term) for term in denylist]
    return shown(
        place,
        lambda name: holds_pii(name) or holds(name, terms) or (own is not None and own(name)),
    )
