"""The differences between ASAP's envelopes and their Avro records."""

from __future__ import annotations

from schemas.json_mapping.mapping import Codes, Discriminator, JsonMapping, OpenJson

NAMESPACE = "dev.headrace.asap"
ASAP = f"{NAMESPACE}.Asap"
"""The prefix of the names of ASAP's records; a payload's record adds its payload_type."""

PAYLOAD_RECORDS = {
    payload_type: ASAP + payload_type
    for payload_type in (
        "TaskRequest",
        "TaskResponse",
        "TaskUpdate",
        "TaskCancel",
        "MessageSend",
        "StateQuery",
        "StateRestore",
        "ArtifactNotify",
        "McpToolCall",
        "McpToolResult",
        "McpResourceFetch",
        "McpResourceData",
    )
}
"""payload_type → the record of AsapEnvelope.payload, in the order of the union."""

PARTS = {
    f"{ASAP}{word.capitalize()}Part": word
    for word in ("text", "data", "file", "resource", "template")
}
"""Record of a part → the member `type` of its JSON form."""

MAPPING = JsonMapping(
    namespaces=(NAMESPACE,),
    tags=PARTS,
    discriminators={
        f"{ASAP}Envelope": Discriminator(
            "payload_type",
            "payload",
            PAYLOAD_RECORDS,
            unknown="is no payload type",
            repeated=True,
        )
    },
    open=OpenJson(pointed=True),
    codes=Codes(
        {
            "json_invalid": "bad_json",
            "branch_unknown": "unknown_payload_type",
            "root_type": "malformed_envelope",
        },
        below={"/payload/": "bad_payload"},
        otherwise="malformed_envelope",
    ),
)
