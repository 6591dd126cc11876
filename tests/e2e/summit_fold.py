"""The facts of Summit, folded in their order into runs and all that they promise.

On the way each fact is compared with what the guide says of its command as things stood then.

Source: Summit guide, 4 and 5.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple

from tests.e2e import summit_facts
from tests.e2e.outputs import Json
from tests.e2e.summit_calls import queued
from tests.e2e.summit_history import (
    Entry,
    Logged,
    call_hash,
    reply_hash,
)
from tests.e2e.summit_judge import FINAL, Judge, Ruling
from tests.e2e.summit_model import Run, money, stamp
from tests.e2e.summit_registry import Registry
from topology.summit import (
    SUMMIT_CALLS,
    SUMMIT_EVENTS,
    SUMMIT_MANIFESTS,
    SUMMIT_REPLIES,
    SUMMIT_RUNS,
    SUMMIT_TREE,
)

Edge = tuple[str, str, str]


class Promise(NamedTuple):
    """A delivery to an inbox, by one decision."""

    cause: str
    agent_id: str
    id: str
    call: Json


class Report(NamedTuple):
    """What a decision tells RTES, as the n-th."""

    event_id: str
    n: int
    session: str
    payload: Json


class Fold:
    """timeout_s: of runs whose calls give them no time."""

    def __init__(self, history: Logged, timeout_s: int) -> None:
        self.registry = Registry(history)
        self.faults: list[str] = []
        self.runs: dict[str, Run] = {}
        self.promises: list[Promise] = []
        self.reports: list[Report] = []
        self.edges: list[tuple[str, Edge]] = []
        self._timeout_s = timeout_s
        self._judge = Judge(self.registry, self.runs)
        self._rows = history.rows(SUMMIT_RUNS)
        topics = (SUMMIT_MANIFESTS, SUMMIT_CALLS, SUMMIT_REPLIES)
        self._commands = {entry.place: entry for topic in topics for entry in history.of(topic)}
        self._tree_records = {entry.place: entry for entry in history.of(SUMMIT_TREE)}
        self._tree_causes: list[str] = []
        self._last: dict[tuple[str, int, bytes | None], int] = {}
        facts = history.of(SUMMIT_EVENTS)
        for entry in facts:
            if entry.value["subject"] == "manifest":
                self._command(entry)
        for entry in facts:
            if entry.value["subject"] == "timer":
                self._timer(entry)
            elif entry.value["subject"] == "tree":
                self._tree(entry)
            elif entry.value["subject"] != "manifest":
                self._command(entry)
        self._check_told()
        self.edges += self.registry.edges

    def _fault(self, text: str) -> None:
        self.faults.append(text)

    def _command(self, entry: Entry) -> None:
        fact = entry.value
        command = self._commands.get(fact["cause"])
        withdrawn = fact["subject"] == "manifest" and command is not None and not command.is_broken
        if command is None or (command.json is None and not withdrawn):
            self._fault(f"{entry.place} is about {fact['cause']}, which cannot be judged")
            return
        self._in_turn(entry, command)
        ruling = getattr(self._judge, fact["subject"])(command, fact)
        self.faults += (f"{command.place} {text}" for text in ruling.faults)
        if (fact["rule"], fact["verdict"]) != (ruling.rule, ruling.verdict):
            was = f"{fact['verdict']} by {fact['rule']}"
            self._fault(f"{command.place} is {was}, it is to be {ruling.verdict} by {ruling.rule}")
        self.faults += (
            f"{entry.place} {text}" for text in summit_facts.faults(entry, command, ruling)
        )
        if ruling.verdict == fact["verdict"] == "accepted":
            getattr(self, f"_{fact['subject']}")(entry, command, ruling)
        else:
            self._without_effect(entry)

    def _in_turn(self, entry: Entry, command: Entry) -> None:
        """Records of one topic and key are decided in their order."""
        place = entry.value["subject"], command.partition, command.key
        if self._last.get(place, -1) >= command.offset:
            self._fault(f"{command.place} is decided after a later one of its key")
        self._last[place] = command.offset

    def _without_effect(self, entry: Entry) -> None:
        fact = entry.value
        if {"fromState", "toState", "inputs", "output"} & fact.keys():
            self._fault(f"{entry.place} is {fact['verdict']}, and has an effect")
        run = self.runs.get(fact.get("runId", ""))
        version = fact.get("runVersion")
        if version is not None and (run is None or run.row["version"] != version):
            self._fault(f"{entry.place} names version {version}, which the run does not have")

    def _moved(self, entry: Entry, before: str, after: str) -> None:
        fact = entry.value
        steps = (before, after) if before != after else (None, None)
        if (fact.get("fromState"), fact.get("toState")) != steps:
            actual = fact.get("fromState"), fact.get("toState")
            self._fault(f"{entry.place} goes by {actual} where {steps} was due")

    def _manifest(self, entry: Entry, command: Entry, _: Ruling) -> None:
        before, after = self.registry.accept(command, command.at)
        self._moved(entry, before, after)

    def _call(self, entry: Entry, command: Entry, ruling: Ruling) -> None:
        call, fact = command.value, entry.value
        if call["method"] == "agent.cancel":
            run = self.runs[call["params"]["runId"]]
            before = run.row["state"]
            run.cancel(call, command.place, command.at)
            self._changed(entry, run, before)
            self._draw(entry, f"summit:call:{command.place}", "retracts", f"summit:run:{run.id}")
            return
        evidence = self._rows.get(call["params"]["runId"], {}).get("evidence", {})
        seen = next(
            (one for one in ruling.seen if one.row["position"] == evidence.get("manifestPosition")),
            ruling.seen[-1],
        )
        hash = call_hash(call)
        run = queued(call, ruling.inputs, hash, command.place, command.at, seen, self._timeout_s)
        self.runs[run.id] = run
        if fact.get("inputs") != ruling.inputs:
            self._fault(f"{entry.place} has other inputs than {ruling.inputs}")
        self._moved(entry, "none", "queued")
        self._figures(entry, {"dueAt": run.row["dueAt"]})
        self._report(entry, run, "none")
        self._deliver(entry, run, ruling.inputs, call)
        node = f"summit:run:{run.id}"
        if "parentRunId" in run.row:
            self._draw(entry, node, "child_of", f"summit:run:{run.row['parentRunId']}")
        if "traceId" in run.row:
            self._draw(entry, node, "same_trace", f"trace:{run.row['traceId']}")
        version = run.row["evidence"]["manifestVersion"]
        manifest = f"summit:manifest:{run.row['agentId']}/{version}"
        self._draw(entry, node, "derived_from", manifest)

    def _deliver(self, entry: Entry, run: Run, inputs: Json, call: Json) -> None:
        params = call["params"]
        if run.tool is None:
            params = {**params, "inputs": inputs}
        else:
            params = {**params, "toolCall": {**run.tool, "arguments": inputs}}
        sent = {**call, "params": params, "delivery": run.delivery(run.row["kind"])}
        self.promises.append(Promise(entry.value["cause"], run.row["agentId"], run.id, sent))

    def _reply(self, entry: Entry, command: Entry, _: Ruling) -> None:
        reply, fact = command.value, entry.value
        run, hash = self.runs[reply["runId"]], reply_hash(command.value)
        before, node = run.row["state"], f"summit:reply:{reply['runId']}/{reply['replyId']}"
        if reply["kind"] == "verification":
            run.apply_verification(reply, hash, command.place, command.at)
            self._draw(entry, node, "evaluates", f"summit:run:{run.id}")
        elif reply["kind"] == "progress":
            run.progress(reply, hash, command.at)
        else:
            run.final(reply, hash, command.place, command.at)
            self._draw(entry, node, "answers", f"summit:run:{run.id}")
        self._changed(entry, run, before)
        output = reply.get("output") if run.row["state"] == "completed" else None
        if reply["kind"] in FINAL and fact.get("output") != output:
            self._fault(f"{entry.place} shows the output {fact.get('output')}, not {output}")
        if reply["kind"] != "verification":
            used = {name: run.row["metrics"][name] for name in ("cost_usd", "tokens")}
            self._figures(entry, used)

    def _tree(self, entry: Entry) -> None:
        """Check a fact on what a run told another: in this traffic, one that is not there."""
        fact = entry.value
        self._tree_causes.append(fact["cause"])
        record = self._tree_records.get(fact["cause"])
        if record is None or record.value["runId"] != fact["runId"]:
            self._fault(f"{entry.place} is about {fact['cause']}, which says nothing to that run")
            return
        if (fact["verdict"], fact["rule"]) != ("rejected", "tree.unknown"):
            self._fault(f"{entry.place} is {fact['verdict']} by {fact['rule']}, the run is unknown")
        self._without_effect(entry)

    def _check_told(self) -> None:
        """Check that each run with a parent told it of itself and of all that it spent, once."""
        if sorted(self._tree_causes) != sorted(self._tree_records):
            self._fault("not each record of summit.tree has one fact")
        by_origin: dict[str, list[Json]] = defaultdict(list)
        for entry in self._tree_records.values():
            by_origin[entry.value["origin"]].append(entry.value)
        parents = {
            id: run.row["parentRunId"] for id, run in self.runs.items() if "parentRunId" in run.row
        }
        if parents.keys() != by_origin.keys():
            self._fault(f"runs that told a parent: {by_origin.keys() ^ parents.keys()} differ")
        for id, records in by_origin.items():
            run = self.runs.get(id)
            kinds = [record["kind"] for record in records]
            if kinds != ["link", *["spend"] * (len(kinds) - 1)]:
                self._fault(f"{id} told {kinds}")
            if run is None or {record["runId"] for record in records} != {parents.get(id)}:
                self._fault(f"{id} told another run than its parent")
                continue
            last, metrics = records[-1], run.row["metrics"]
            reported = Decimal(last["usd"]), last["tokens"], last["ended"]
            if reported != (money(metrics["cost_usd"]), metrics["tokens"], not run.open):
                self._fault(f"{id} told {reported}, it used {metrics}")

    def _timer(self, entry: Entry) -> None:
        fact, run = entry.value, self.runs.get(entry.text_key)
        if run is None or not run.open:
            self._fault(f"{entry.place} ends a run that is not open")
            return
        due, begun = run.row["dueAt"], run.row["evidence"]["callPosition"]
        late = self._commands.get(fact["cause"])
        by_tick = fact["cause"] == begun and fact["at"] == due
        by_record = late is not None and late.at == fact["at"] > due and late.key == entry.key
        if not (by_tick or by_record):
            self._fault(f"{entry.place} is by {fact['cause']} at {fact['at']}, due was {due}")
        before = run.row["state"]
        rule = run.time_out(fact["at"])
        if (fact["verdict"], fact["rule"]) != ("fired", rule):
            self._fault(f"{entry.place} is {fact['verdict']} by {fact['rule']}, not by {rule}")
        if fact["eventId"] != f"{begun}/timeout":
            self._fault(f"{entry.place} is named {fact['eventId']}")
        self._changed(entry, run, before)
        self._figures(entry, {"dueAt": due})

    def _changed(self, entry: Entry, run: Run, before: str) -> None:
        """What every change of a run owes."""
        fact, row = entry.value, run.row
        self._moved(entry, before, row["state"])
        if fact.get("runVersion") != row["version"]:
            self._fault(f"{entry.place} has version {fact.get('runVersion')}, not {row['version']}")
        if before == row["state"]:
            return
        self._report(entry, run, before)
        if not run.open and fact.get("replyKind") not in FINAL:
            stop = run.stop_record()
            id = f"{run.id}/stop"
            self.promises.append(Promise(fact["cause"], row["agentId"], id, stop))

    def _report(self, entry: Entry, run: Run, before: str) -> None:
        fact, row = entry.value, run.row
        step = {"task_id": run.id, "from_state": before, "to_state": row["state"]}
        payloads: list[Json] = [step]
        call_id = (
            f"{run.id}/{(run.tool or {}).get('id', '').replace('%', '%25').replace('/', '%2F')}"
        )
        tool: Json = {"call_id": call_id, "tool": row.get("toolName")}
        if run.tool is not None and before == "none":
            payloads.append({**tool, "arguments": run.inputs})
        elif run.tool is not None and not run.open:
            timed_out = row["reason"] in ("run.timeout", "budget.seconds")
            other = "timeout" if timed_out else "failure"
            status = "success" if row["state"] == "completed" else other
            took = row["finishedAt"] - row["createdAt"]
            payloads.append({**tool, "status": status, "duration_ms": took})
        at = {"timestamp": stamp(fact["at"])}
        self.reports += [
            Report(fact["eventId"], n, run.session, one | at) for n, one in enumerate(payloads)
        ]

    def _draw(self, entry: Entry, *edge: str) -> None:
        source, relation, target = edge
        self.edges.append((entry.value["cause"], (source, relation, target)))

    def _figures(self, entry: Entry, expected: Json) -> None:
        figures = entry.value["figures"]
        if any(figures.get(name) != number for name, number in expected.items()):
            self._fault(f"{entry.place} has the figures {figures}, not {expected}")
