"""The members of the client for Summit v1 (Summit guide, 6.5)."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from schemas.formats import iso_ms
from streams.api.jsonrpc import build_request
from streams.client.summit_transport import SummitTransport, refusal, rejection
from streams.errors import InvalidInput
from streams.summit.errors import ManifestRejected
from streams.summit.manifests import manifest_rejected, read_manifest
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_REPLIES

Json = dict[str, Any]


class SummitCalls(ABC):
    """Calls, manifests and judgements; JSON as it goes on the wire, in and out.

        async with Client() as hr:
            result = await hr.invoke("word-stats", {"text": "to be"}, context={"traceId": "tr-1"})

    wait: seconds, by default HEADRACE_SUMMIT_WAIT_S, over a gateway 30; `math.inf` is without
    limit.  Sending again is safe with the same run_id (reply_id, version of a manifest).  All
    raise ProduceUnknown, BrokerUnavailable, GatewayUnavailable, and VerdictPending when the wait
    is over before the verdict is seen.
    """

    @abstractmethod
    def _desk(self) -> SummitTransport: ...

    async def register(self, manifest: Any, *, wait: float | None = None) -> Json:
        """Register an agent and return the SummitEvent that accepts its manifest or reports it as
        known.

        manifest: a `summit.SummitManifest`, its JSON, its YAML text or the path of a file.
        Raises ManifestRejected.
        """
        parsed_manifest = read_manifest(manifest)
        name, value = parsed_manifest.metadata.name, parsed_manifest.to_json()
        return await self._manifest_judged(name, value, wait)

    async def withdraw(self, agent_id: str, *, wait: float | None = None) -> Json:
        """Withdraw an agent and return the SummitEvent.  New calls are refused, open runs continue.

        Raises ManifestRejected.
        """
        return await self._manifest_judged(agent_id, None, wait)

    async def _manifest_judged(self, key: str, value: Json | None, wait: float | None) -> Json:
        desk = self._desk()
        wait_s = desk.wait_s if wait is None else wait
        try:
            event = await desk.send_command(SUMMIT_MANIFESTS.name, key, value, wait_s)
        except InvalidInput as exc:
            raise manifest_rejected(exc.problems) from exc
        if event["verdict"] == "rejected":
            raise ManifestRejected(event["rule"], event.get("errors") or (), event["message"])
        return event

    async def invoke(
        self,
        agent_id: str,
        inputs: Mapping[str, Any],
        run_id: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        trace_id: str | None = None,
        parent_run_id: str | None = None,
        budget: Mapping[str, Any] | None = None,
        caller: str | None = None,
        id: str | int | None = None,
        wait: float | None = None,
    ) -> Json:
        """Call an agent and return its RunResult, however the run ended.

        run_id: default `run-<uuid4>`.  context: an object with any members; trace_id, parent_run_id
        and budget (`usd`, `tokens`, `seconds`) are added to it.
        caller: the sender.  id: that of the request; default: the run_id.
        Raises CallRejected, RunPending when the run has not ended in time, BrokerUnavailable, and
        Gone when it ended long ago and its reply is no longer on the log.
        """
        whole = _context(context, trace_id, parent_run_id, budget)
        params = _params(agent_id, run_id, whole)
        params["inputs"] = dict(inputs)
        return await self.ended("agent.invoke", params, caller=caller, id=id, wait=wait)

    async def call_tool(
        self,
        agent_id: str,
        name: str,
        arguments: Mapping[str, Any],
        run_id: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        trace_id: str | None = None,
        parent_run_id: str | None = None,
        budget: Mapping[str, Any] | None = None,
        caller: str | None = None,
        id: str | int | None = None,
        wait: float | None = None,
    ) -> Json:
        """Call a tool and return the ToolResult, `{id, output}` or `{id, error}`.

        call_id: default: the run_id.  Raises as `invoke`.
        """
        whole = _context(context, trace_id, parent_run_id, budget)
        params = _params(agent_id, run_id, whole)
        of = params["runId"] if call_id is None else call_id
        params["toolCall"] = {"id": of, "name": name, "arguments": dict(arguments)}
        return await self.ended("tool.call", params, caller=caller, id=id, wait=wait)

    async def ended(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        caller: str | None = None,
        id: str | int | None = None,
        wait: float | None = None,
        traceparent: str | None = None,
    ) -> Json:
        """`invoke` and `call_tool` with the params as they go on the wire.

        traceparent: W3C trace context, which the record carries.
        """
        request_id = params["runId"] if id is None else id
        call = _call(method, params, caller, request_id)
        desk = self._desk()
        try:
            return await desk.ended(call, desk.wait_s if wait is None else wait, traceparent)
        except InvalidInput as exc:
            raise refusal(exc) from exc

    async def cancel(
        self,
        run_id: str,
        agent_id: str | None = None,
        reason: str | None = None,
        *,
        caller: str | None = None,
        wait: float | None = None,
    ) -> Json:
        """Cancel a run and return `{runId, status: "cancelled"}`, also for a run cancelled before.

        Raises CallRejected.
        """
        members = {"runId": run_id, "agentId": agent_id, "reason": reason}
        params = {name: value for name, value in members.items() if value is not None}
        call = _call("agent.cancel", params, caller, None)
        await self._judged(SUMMIT_CALLS.name, run_id, call, wait)
        return {"runId": run_id, "status": "cancelled"}

    async def status(
        self, run_id: str | None = None, agent_id: str | None = None, *, after: str | None = None
    ) -> Json:
        """Return the result of `agent.status` for a run or an agent.

        after: a position; the result has the effects of that record.
        Raises CallRejected, e.g. `run.unknown`.
        """
        members = {"runId": run_id, "agentId": agent_id, "after": after}
        return await self._desk().status({k: v for k, v in members.items() if v is not None})

    async def judge(
        self,
        run_id: str,
        agent_id: str,
        verification: Mapping[str, Any],
        *,
        reply_id: str | None = None,
        model: str = "none",
        metrics: Mapping[str, Any] | None = None,
        wait: float | None = None,
    ) -> Json:
        """Send a critic's verification of a completed run and return the SummitEvent about it.

        agent_id: the critic.  reply_id: default `judge-<agent_id>`, cut to 128 characters.
        Raises CallRejected, e.g. `judge.not_critic`.
        """
        now = iso_ms(time.time_ns() // 1_000_000)
        reply: Json = {
            "replyId": reply_id or f"judge-{agent_id}"[:128],
            "runId": run_id,
            "agentId": agent_id,
            "kind": "verification",
            "provenance": {"model": model, "timestamp": now},
            "verification": dict(verification),
        }
        if metrics is not None:
            reply["metrics"] = dict(metrics)
        return await self._judged(SUMMIT_REPLIES.name, run_id, reply, wait)

    async def _judged(self, topic: str, key: str, value: Json, wait: float | None) -> Json:
        desk = self._desk()
        try:
            event = await desk.send_command(
                topic, key, value, desk.wait_s if wait is None else wait
            )
        except InvalidInput as exc:
            raise refusal(exc) from exc
        if event["verdict"] == "rejected":
            raise rejection(event)
        return event


def _context(
    context: Mapping[str, Any] | None,
    trace_id: str | None,
    parent_run_id: str | None,
    budget: Mapping[str, Any] | None,
) -> Json | None:
    """Return the context of a call, None if it has no members."""
    members = {"traceId": trace_id, "parentRunId": parent_run_id, "budget": budget}
    named = {name: value for name, value in members.items() if value is not None}
    return None if context is None and not named else {**(context or {}), **named}


def _params(agent_id: str, run_id: str | None, context: Json | None) -> Json:
    made: Json = {"agentId": agent_id, "runId": run_id or f"run-{uuid.uuid4()}"}
    return made if context is None else {**made, "context": context}


def _call(method: str, params: Mapping[str, Any], caller: str | None, id: str | int | None) -> Json:
    call = build_request(method, params, id)
    return call if caller is None else {**call, "caller": caller}
