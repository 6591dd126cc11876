"""The command side of SAP 2.0, for a worker, `play` and `verify`."""

from __future__ import annotations

from schemas.sap import rules
from streams.processing.command_side import CommandSide
from streams.protocols.sap import checks, constitution, ingress, row_checks
from streams.protocols.sap.cache import SapCacheProcessor
from streams.protocols.sap.fold import FOLD
from streams.protocols.sap.learning import SapLearningProcessor
from streams.protocols.sap.newest_versions import NEWEST_VERSIONS
from streams.protocols.sap.processor import SapProcessor, authorization
from streams.protocols.sap.settings import SapSettings
from streams.replay.checks import FactCheck, codes
from streams.settings.service import ServiceSettings
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE_TABLE,
    SAP_HEURISTICS_TABLE,
    SAP_LEARNING_HEADS,
    SAP_OUTCOMES,
    SAP_VERDICTS,
)


def _load_files(settings: ServiceSettings) -> None:
    """Read the constitution and who may ask for what.  Raises SettingsError."""
    sap_settings = SapSettings.of(settings)
    constitution.bind(sap_settings.sap_constitution)
    authorization.bind(sap_settings.sap_authorization)


SAP = CommandSide(
    name="sap",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"SAP": rules.ALL},
    processors=(SapProcessor, SapCacheProcessor, SapLearningProcessor),
    folds=(FOLD,),
    checks={
        SAP_ACKS: FactCheck(checks.ack, codes(rules.ALL), "ackId"),
        SAP_OUTCOMES: FactCheck(checks.outcome, relative=True),
        SAP_VERDICTS: FactCheck(checks.cache_verdict, id_member="verdictId", relative=True),
    },
    row_checks={
        SAP_CACHE_TABLE: row_checks.cache,
        SAP_HEURISTICS_TABLE: row_checks.heuristics,
        SAP_LEARNING_HEADS: row_checks.learning_heads,
    },
    total_checks=(row_checks.learning, row_checks.newest_heuristics),
    log_checks=(NEWEST_VERSIONS,),
    load_files=_load_files,
)
