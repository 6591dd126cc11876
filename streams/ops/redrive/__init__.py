"""Redrive of dead letters: sending them back to their topics, and a dry run of that."""

from streams.ops.redrive.dead_letters import SOURCES as SOURCES
from streams.ops.redrive.dead_letters import DeadLetter as DeadLetter
from streams.ops.redrive.dead_letters import RedriveStatus as RedriveStatus
from streams.ops.redrive.dead_letters import Selection as Selection
from streams.ops.redrive.dead_letters import dead_letter_of as dead_letter_of
from streams.ops.redrive.dead_letters import dead_letters as dead_letters
from streams.ops.redrive.dead_letters import is_oversize as is_oversize
from streams.ops.redrive.redrive import Redrive as Redrive
from streams.ops.redrive.redrive import RedriveRequest as RedriveRequest
from streams.ops.redrive.redriven import SentBack as SentBack
from streams.ops.redrive.redriven import sent_back as sent_back
from streams.ops.redrive.trial import Verdict as Verdict
from streams.ops.redrive.trial import simulate as simulate
