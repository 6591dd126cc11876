"""Dead letters sent back to where they came from: what that would do, and doing it."""

from streams.redriving.letters import Letter as Letter
from streams.redriving.letters import Standing as Standing
from streams.redriving.letters import Wanted as Wanted
from streams.redriving.letters import letters as letters
from streams.redriving.redrive import Order as Order
from streams.redriving.redrive import Redrive as Redrive
from streams.redriving.redrive import sent_back as sent_back
from streams.redriving.trial import Verdict as Verdict
from streams.redriving.trial import tried as tried
