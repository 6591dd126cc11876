"""The mapping between packets of APC/1.0 and their Avro records."""

from __future__ import annotations

from schemas.json_mapping.mapping import Discriminator, JsonMapping, Repetition

NAMESPACE = "headrace.apc"

PAYLOADS = {
    packet_type: f"{NAMESPACE}.{record}Payload"
    for packet_type, record in {
        "TASK_IR": "TaskIr",
        "IDEA": "Idea",
        "CLAIM": "Claim",
        "ARTIFACT": "Artifact",
        "SIGNAL": "Signal",
        "HEARTBEAT": "Signal",
        "EVAL": "Eval",
        "TRANSFER": "Transfer",
        "ARBITRATION": "Arbitration",
        "DECISION": "Decision",
        "RETRACTION": "Retraction",
        "ACK": "Ack",
        "NACK": "Ack",
        "ERROR": "Error",
    }.items()
}
"""packet_type → the record of ApcPacket.payload."""

IR_TYPES = {
    f"{NAMESPACE}.Ir{word}": word
    for word in ("Claim", "Falsifier", "Decision", "Constraint", "Evidence")
}
"""Record of an object of a task's IR → the word its JSON form has as member `type`."""

_TRANSITION = f"{NAMESPACE}.Transition"

MAPPING = JsonMapping(
    namespaces=(NAMESPACE,),
    tags=IR_TYPES,
    discriminators={
        f"{NAMESPACE}.ApcPacket": Discriminator(
            "packet_type", "payload", PAYLOADS, unknown="is no packet type"
        )
    },
    sparse=frozenset({f"{NAMESPACE}.ApcPacket", *IR_TYPES, *PAYLOADS.values()}),
    # A transition leaves out what equals its fact's or its row's (APC guide, 2.6).
    repetitions={
        f"{NAMESPACE}.ApcEvent": Repetition(
            "transitions", _TRANSITION, {"at": "at", "cause": "cause"}
        ),
        f"{NAMESPACE}.ApcPacketState": Repetition(
            "history", _TRANSITION, {"at": "logged_at", "cause": "position"}
        ),
    },
    kept_names=frozenset({"ast_json"}),
)
