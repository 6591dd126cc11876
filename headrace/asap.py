"""All of ASAP 0.1 (ASAP guide, 1.3): what `streams.asap` has."""

from streams.asap import *  # noqa: F403
from streams.asap import __all__ as __all__
