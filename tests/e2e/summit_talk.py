"""What the caller, the agent and a critic say of one run."""

from __future__ import annotations

import random
from typing import Any

from tests.e2e.outputs import Json
from topology.declarations import Topic
from topology.summit import SUMMIT_CALLS, SUMMIT_REPLIES

Said = tuple[Topic, Json]
TIME = "2026-03-02T09:00:00.410Z"


class Talk:
    """known: the last change of each agent that could be read when it is called."""

    def __init__(
        self, run_id: str, agent_id: str, dice: random.Random, known: dict[str, str]
    ) -> None:
        self.run_id, self.agent_id = run_id, agent_id
        self.caller: str | None = dice.choice(("desk-7", "desk-8", None))
        self._dice, self._known = dice, known
        self._replies = 0

    def _context(self, agent_id: str, members: Json) -> Json:
        after = self._known.get(agent_id)
        return {"context": {**members, **({} if after is None else {"after": after})}}

    def _call(self, method: str, params: Json) -> Said:
        head: Json = {"jsonrpc": "2.0", "id": self._dice.choice((7, "q-31")), "method": method}
        named = {} if self.caller is None else {"caller": self.caller}
        return SUMMIT_CALLS, {**head, **named, "params": params}

    def invoke(self, inputs: Json | None = None, **context: Any) -> Said:
        inputs = {"text": f"of {self.run_id}"} if inputs is None else inputs
        params = {"agentId": self.agent_id, "runId": self.run_id, "inputs": inputs}
        return self._call("agent.invoke", params | self._context(self.agent_id, context))

    def tool(self, name: str, arguments: Json | None = None, **context: Any) -> Said:
        call: Json = {"id": self._dice.choice(("c-1", "a/b%c")), "name": name}
        call["arguments"] = {"title": self.run_id} if arguments is None else arguments
        params = {"agentId": self.agent_id, "runId": self.run_id, "toolCall": call}
        return self._call("tool.call", params | self._context(self.agent_id, context))

    def cancel(self, by: str | None = None, **params: Any) -> Said:
        """by: who cancels, if not the run's caller."""
        topic, call = self._call("agent.cancel", {"runId": self.run_id, **params})
        if by is not None:
            call["caller"] = by
        if self._dice.random() < 0.3:
            del call["id"]
        return topic, call

    def metrics(self, tokens: int, usd: float, latency_ms: float | None = None) -> Json:
        latency = {} if latency_ms is None else {"latency_ms": latency_ms}
        return {"tokens": tokens, "cost_usd": usd, **latency}

    def _reply(self, kind: str, more: Json) -> Said:
        self._replies += 1
        names = {"replyId": f"r{self._replies}", "runId": self.run_id, "kind": kind}
        whole = {**names, "agentId": self.agent_id, **more}
        return SUMMIT_REPLIES, {name: each for name, each in whole.items() if each is not None}

    def provenance(self, **more: Any) -> Json:
        return {"provenance": {"model": "m-1", "timestamp": TIME, **more}}

    def progress(self, tokens: int = 1, usd: float = 0.1, **more: Any) -> Said:
        metrics = {"metrics": self.metrics(tokens, usd, self._dice.choice((None, 2.5)))}
        message = self._dice.choice(({}, {"message": "on it"}, self.provenance(step=tokens)))
        return self._reply("progress", metrics | message | more)

    def result(self, tokens: int = 3, usd: float = 0.2, **more: Any) -> Said:
        metrics = {"metrics": self.metrics(tokens, usd, self._dice.choice((None, 7)))}
        output = {"output": {"words": 2, "lines": 1}}
        return self._reply("result", metrics | self.provenance() | output | more)

    def error(self, **more: Any) -> Said:
        error = {"error": {"code": 1, "message": "no words"}}
        metrics = {"metrics": self.metrics(2, 0.2)}
        return self._reply("error", error | metrics | self.provenance() | more)

    def verification(self, critic: str, **more: Any) -> Said:
        members = {"agentId": critic, "verification": self.checked()}
        after = self._known.get(critic)
        stamped = self.provenance(**({} if after is None else {"after": after}))
        return self._reply("verification", members | stamped | more)

    def checked(self) -> Json:
        dice = self._dice
        checks = [{"name": name, "passed": dice.random() < 0.8} for name in ("tone", "sources")]
        status = dice.choice(("passed", "flagged", "failed"))
        return {"status": status, "checks": checks[: dice.randrange(3)]}
