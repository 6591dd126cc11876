"""An example agent: it reads `sap.inbox` and answers on `sap.results`, as any agent would.

    python -m streams.agents --agent-id A-ml-001 --capability consult.align

It is what the demo and the tests let work; its answers say back what a payload says.
"""

from streams.agents.echo_agent import EchoAgent
from streams.agents.serve import serve

__all__ = ["EchoAgent", "serve"]
