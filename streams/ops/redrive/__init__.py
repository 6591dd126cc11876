"""Redrive of dead letters: sending them back to their topics, and a dry run of that."""

from streams.ops.redrive.letters import Letter as Letter
from streams.ops.redrive.letters import Standing as Standing
from streams.ops.redrive.letters import Wanted as Wanted
from streams.ops.redrive.letters import letters as letters
from streams.ops.redrive.redrive import Order as Order
from streams.ops.redrive.redrive import Redrive as Redrive
from streams.ops.redrive.redrive import sent_back as sent_back
from streams.ops.redrive.trial import Verdict as Verdict
from streams.ops.redrive.trial import tried as tried
