"""The masking of spans (OTel guide, 3.3): as tool arguments, at every edge and in the processor.

Names, ids and numbers that a span is known by are not masked: `conventions.UNMASKED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.masking import Masker
from streams.masking.json_values import count_leaves
from streams.protocols.otel.conventions import UNMASKED

Json = dict[str, Any]


def mask_span(span: Mapping[str, Any], masker: Masker) -> Json:
    """Return a span with its secrets masked, and `masked`, how many values hold a token.

    span: the JSON form of a valid OtelSpan.  A span that is masked already stays as it is.
    """
    changes: Json = {
        name: _mask_attributes(span[name], masker)
        for name in ("attributes", "resource")
        if name in span
    }
    for name in ("events", "links"):
        if name in span:
            changes[name] = [_mask_part(part, masker) for part in span[name]]
    if span.get("status_message") is not None:
        changes["status_message"] = masker.text(span["status_message"])
    return {**span, **changes, "masked": count_leaves(changes, masker.has_token)}


def mask_refused(span: Mapping[str, Any], masker: Masker) -> Json:
    """Return a span of any shape with every text masked, but for its own name and ids."""
    masked: Json = masker.everything(dict(span))
    unmasked = {
        name: span[name]
        for name in ("name", "kind", "start_time_unix_nano", "end_time_unix_nano", "status")
        if name in span
    }
    return {**masked, **unmasked, "masked": count_leaves(masked, masker.has_token)}


def _mask_attributes(attributes: Json, masker: Masker) -> Json:
    masked: Json = masker.everything(attributes)
    return {**masked, **{name: attributes[name] for name in UNMASKED & attributes.keys()}}


def _mask_part(part: Json, masker: Masker) -> Json:
    """Mask an event or a link; its own name and ids are kept."""
    attributes = part.get("attributes", {})
    others = {name: member for name, member in part.items() if name != "attributes"}
    return {**others, "attributes": _mask_attributes(attributes, masker)}
