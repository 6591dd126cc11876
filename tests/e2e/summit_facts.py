"""What each fact says of its command, and of the ruling on it.

Source: Summit guide, 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e.summit_history import Entry, call_hash, manifest_hash, reply_hash
from tests.e2e.summit_judge import Ruling


def faults(entry: Entry, command: Entry, ruling: Ruling) -> Iterator[str]:
    """entry: the fact."""
    fact, envelope = entry.value, command.json or {}
    if fact["eventId"] != f"{command.place}/0" or entry.cause != command.place:
        yield f"is named {fact['eventId']}, by {entry.cause}"
    if fact["at"] != command.at:
        yield f"is dated {fact['at']}, its command {command.at}"
    if (fact.get("fault") == "sender") != (ruling.verdict == "rejected"):
        yield f"blames {fact.get('fault')}"
    if not fact["message"].startswith(f"{fact['rule']}: "):
        yield f"has the message {fact['message']}"
    if fact["errors"] != ruling.errors:
        yield f"has the errors {fact['errors']}, not {ruling.errors}"
    if ruling.errors:
        first = ruling.errors[0]
        if fact["message"] != f"{ruling.rule}: {first['path']}: {first['keyword']}":
            yield f"does not name the first error: {fact['message']}"
    names = {"replyId": envelope.get("replyId"), "replyKind": envelope.get("kind")}
    names |= {"method": envelope.get("method"), "caller": envelope.get("caller")}
    if fact["subject"] != "manifest" and {name: fact.get(name) for name in names} != names:
        yield f"does not name {names}"
    hashes = {"manifest": manifest_hash, "call": call_hash, "reply": reply_hash}
    if envelope and fact.get("contentHash") != hashes[fact["subject"]](envelope):
        yield f"has a hash that is not that of {command.place}"
    if (
        "runId" in fact
        and envelope.get("runId", envelope.get("params", {}).get("runId")) != fact["runId"]
    ):
        yield f"is about the run {fact['runId']}"
