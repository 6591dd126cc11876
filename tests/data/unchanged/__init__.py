"""What users of headrace see, as digests that are committed, so that code can be moved in safety.

`contract.txt` holds what no change of the code alone may change: what comes of each scenario, what
edges answer, schemas and their ids, topics, rights.  `prose.txt` holds what is written for people,
and changes with it: help, reference pages, the documents that describe HTTP and Kafka.

    python -m tests.data.unchanged                      names what differs
    python -m tests.data.unchanged --since COMMIT       shows it, beside what that commit makes
    python -m tests.data.unchanged --write prose        commits to it: the difference is meant
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.data.unchanged import declarations, pages
from tests.data.unchanged.envelopes import judge_envelopes
from tests.data.unchanged.manifest import Texts
from tests.data.unchanged.scenarios import run_scenarios

CONTRACT, PROSE = "contract", "prose"


def _make_contract() -> Texts:
    return {**run_scenarios(), **judge_envelopes(), **declarations.describe()}


MANIFESTS: Mapping[str, Callable[[], Texts]] = {CONTRACT: _make_contract, PROSE: pages.render}
"""How the texts of each are made."""
