"""The records of `summit.calls` and `summit.replies`, parsed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from schemas import Problem, canonical_json, summit
from schemas.summit.caps import NO_CAPS, BudgetCaps
from streams.engine.processor import AvroValue, Message
from topology.summit import SUMMIT_AUTO_CALLS

Json = dict[str, Any]

_MAX_NAME = 1024
"""The most characters of an id in its fact; longer ids are invalid."""


class Inbound(ABC):
    """A parsed record.

    value: Avro, as received.  json: its JSON form, without absent members.
    problem: the first violated rule of those that need only the record.
    hash: `callHash` or `replyHash`.
    """

    subject: str

    def __init__(self, message: Message, json: Json, problem: Problem | None, hash: str) -> None:
        self.value: AvroValue = message.value
        self.json = json
        self.problem = problem
        self.hash = hash
        self.key_text = text_of(message.record.key)

    @property
    @abstractmethod
    def run_id(self) -> str: ...

    @property
    def key(self) -> str:
        """Return the key of the record's fact."""
        return self.run_id if self.key_text is None else self.key_text

    @property
    @abstractmethod
    def members(self) -> Json:
        """Return the members of the fact that describe the record."""


class Call(Inbound):
    """A SummitCall.

    params: its record in JSON form.  is_automatic: the service made it, to judge a run; the caps
    of the policy are not for such calls.
    """

    subject = "call"

    def __init__(self, message: Message, caps: BudgetCaps) -> None:
        self.is_automatic = message.topic is SUMMIT_AUTO_CALLS
        validated = summit.judge_call(message.value, NO_CAPS if self.is_automatic else caps)
        super().__init__(message, validated.json, validated.problem, validated.hash)

    @property
    def judged_run(self) -> str | None:
        """Return the run that an automatic call is to judge."""
        return str(self.params["inputs"]["runId"]) if self.is_automatic else None

    @property
    def method(self) -> str:
        method: str = self.value["method"]
        return method

    @property
    def avro_params(self) -> AvroValue:
        params: AvroValue = self.value["params"][1]
        return params

    @property
    def params(self) -> Json:
        params: Json = self.json["params"]
        return params

    @property
    def run_id(self) -> str:
        run_id: str = self.avro_params["runId"]
        return run_id

    @property
    def agent_id(self) -> str | None:
        """Return the agent; None for a cancel without one."""
        agent_id: str | None = self.avro_params["agentId"]
        return agent_id

    @property
    def caller(self) -> str | None:
        caller: str | None = self.value["caller"]
        return caller

    @property
    def members(self) -> Json:
        return {
            "runId": cut_name(self.run_id),
            "agentId": cut_name(self.agent_id),
            "caller": cut_name(self.caller),
            "method": cut_name(self.method),
            "contentHash": self.hash,
        }


class Reply(Inbound):
    """A SummitReply."""

    subject = "reply"

    def __init__(self, message: Message) -> None:
        validated = summit.judge_reply(message.value)
        super().__init__(message, validated.json, validated.problem, validated.hash)

    @property
    def run_id(self) -> str:
        run_id: str = self.value["runId"]
        return run_id

    @property
    def reply_id(self) -> str:
        reply_id: str = self.value["replyId"]
        return reply_id

    @property
    def agent_id(self) -> str:
        """Return the sender."""
        agent_id: str = self.value["agentId"]
        return agent_id

    @property
    def kind(self) -> str:
        kind: str = self.value["kind"]
        return kind

    @property
    def members(self) -> Json:
        return {
            "runId": cut_name(self.run_id),
            "agentId": cut_name(self.agent_id),
            "replyId": cut_name(self.reply_id),
            "replyKind": self.kind,
            "contentHash": self.hash,
        }


def cut_name(text: str | None) -> str | None:
    """Truncate a name to the greatest length of a name in facts."""
    return None if text is None else text[:_MAX_NAME]


def text_of(key: bytes | None) -> str | None:
    """Decode the key of a record; None without a key, and for one that is not UTF-8."""
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError:
        return None


def extra_json(value: summit.JsonObject, named: Collection[str]) -> str | None:
    """Return the members that Summit does not define, as one object in RFC 8785; None without any.

    They are stored and delivered, but never interpreted.
    """
    extra = {name: member for name, member in value.items() if name not in named}
    return canonical_json(extra).decode() if extra else None
