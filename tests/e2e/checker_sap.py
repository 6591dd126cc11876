"""What a run of SAP must have left, whatever happened to the workers meanwhile.

Every rule is told from the log alone, by its own words and not by the processors' code: what is
decided by a pure function of the project (a key, a hash, the fold of learning) is called again on
what the log holds.

Source: SAP guide, 1, 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e import sap_check_cache, sap_check_commands, sap_check_learning, sap_check_tasks
from tests.e2e.sap_history import SapHistory


def check(history: SapHistory) -> list[str]:
    """Everything that is wrong."""
    return list(faults(history))


def faults(history: SapHistory) -> Iterator[str]:
    yield from sap_check_commands.check(history)
    yield from sap_check_tasks.check(history)
    yield from sap_check_cache.check(history)
    yield from sap_check_learning.check(history)


def changed(before: SapHistory, after: SapHistory) -> list[str]:
    """Records of the first that are not, byte for byte, in the second."""
    problems = []
    for name, entries in before.entries.items():
        later = {entry.place: entry for entry in after.entries[name]}
        for entry in entries:
            now = later.get(entry.place)
            if now is None:
                problems.append(f"{entry.place} is gone")
            elif (now.key, now.raw, now.headers) != (entry.key, entry.raw, entry.headers):
                problems.append(f"{entry.place} has changed")
    return problems
