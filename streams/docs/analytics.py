"""The page on the views and macros of `headrace sql`."""

from __future__ import annotations

from collections.abc import Sequence

from streams.analytics.views import COLUMNS, MACROS, VIEWS, macros
from streams.docs.markdown import code, grid

_CALLS = {
    "ancestors": "ancestors('apc:packet:x')",
    "descendants": "descendants('trace:x')",
    "states_at": "states_at(TIMESTAMPTZ '2026-01-01')",
    "effectiveness": "effectiveness()",
}
_LONG = 40


def analytics_page() -> str:
    from streams.analytics.reference import describe  # needs the extra `analytics`

    columns = describe([*VIEWS, *_CALLS.values()])
    views = "\n".join(
        f"## `{name}`\n\nOne row for each {about}.\n\n{_columns(columns[name])}"
        for name, about in VIEWS.items()
    )
    heads = {each.name.partition("(")[0]: each.name for each in macros()}
    tables = "\n".join(
        f"## `{heads[name]}`\n\n{about}\n\n{_columns(columns[_CALLS[name]])}"
        for name, about in MACROS.items()
    )
    return (
        "# Views and macros of `headrace sql`\n\n"
        "What they are for, and how they are asked: [SQL over the log](../analytics.md). Each"
        " exported topic\nis there too, under its name with `_` for `.` and `-`. Times are UTC.\n\n"
        f"{views}\n{tables}"
    )


def _columns(columns: Sequence[tuple[str, str]]) -> str:
    rows = [(code(name), _type(kind), COLUMNS.get(name, "")) for name, kind in columns]
    return grid(("column", "type", "meaning"), rows)


def _type(name: str) -> str:
    return name if len(name) <= _LONG else f"{name.partition('(')[0]}(…)"
