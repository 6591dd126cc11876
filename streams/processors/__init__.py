"""The processors of a worker: pure functions that judge records and keep state machines."""

from __future__ import annotations

from streams import alignment
from streams.engine.processor import Processor
from streams.processors.apc import ApcProcessor
from streams.processors.apc_lineage import ApcLineageProcessor
from streams.processors.asap import AsapProcessor
from streams.processors.rtes import RtesProcessor
from streams.processors.saop import SaopProcessor
from streams.processors.sap import SapProcessor, authorization
from streams.processors.sap_cache import SapCacheProcessor
from streams.processors.sap_learning import SapLearningProcessor
from streams.processors.summit import SummitProcessor
from streams.settings import Settings


def all_processors() -> list[Processor]:
    """One new instance of each, for one task.

    Of timers that are due at one time those of the first fire first: a deadline before the end of
    a wait.
    """
    return [
        ApcProcessor(),
        ApcLineageProcessor(),
        SaopProcessor(),
        RtesProcessor(),
        SapProcessor(),
        SapCacheProcessor(),
        SapLearningProcessor(),
        AsapProcessor(),
        SummitProcessor(),
    ]


def bind_files(settings: Settings) -> None:
    """Read the files that the processors go by, at the start of a service.

    Raises SettingsError for one that does not parse.
    """
    alignment.bind(settings.sap_constitution)
    authorization.bind(settings.sap_authorization)
