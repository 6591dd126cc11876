"""Agent cards, made of the manifests of agents in force."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from streams.doors.a2a.mapping import AgentMapping, mapping_of
from streams.doors.a2a.protocol import (
    CARD_PATH,
    EXTENSION,
    HTTP_JSON,
    JSON_MODE,
    JSONRPC,
    ROOT,
    TEXT_MODE,
    VERSION,
    Json,
)
from streams.settings.service import ServiceSettings

_MEANING = "Positions, versions, figures and evidence of tasks; budgets and parents of calls."
_BEARER: Json = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}


def is_exposed(settings: ServiceSettings, agent_id: str) -> bool:
    """Return whether an agent may be called by A2A."""
    return any(fnmatchcase(agent_id, each) for each in settings.a2a_agents.split(","))


def has_extended_card(settings: ServiceSettings) -> bool:
    """Return whether callers with a token get more than the public card."""
    return settings.a2a_public_cards and settings.tokens is not None


def base_url(settings: ServiceSettings, host: str) -> str:
    """Return the address of the gateway.  host: the header of the request, checked before."""
    return (settings.public_url or f"http://{host}").rstrip("/")


def card_url(base: str, agent_id: str) -> str:
    return f"{base}{ROOT}{agent_id}{CARD_PATH}"


def description_of(row: Json) -> str:
    """Return what an agent says of itself.  row: SummitAgent, JSON."""
    description = row["manifest"]["metadata"].get("description")
    return description or f"Summit agent {row['agentId']}"


def make_card(row: Json, settings: ServiceSettings, base: str, *, whole: bool = False) -> Json:
    """Return the card of an agent.

    row: SummitAgent, JSON.  whole: also what a public card leaves out.
    """
    agent_id, mapping = row["agentId"], mapping_of(row["manifest"])
    card: Json = {
        "name": agent_id,
        "description": description_of(row),
        "version": row["version"],
        "supportedInterfaces": [
            {
                "url": f"{base}{ROOT}{agent_id}",
                "protocolBinding": binding,
                "protocolVersion": VERSION,
            }
            for binding in (JSONRPC, HTTP_JSON)
        ],
        "capabilities": _capabilities(row, mapping, settings, whole),
        "defaultInputModes": mapping.input_modes,
        "defaultOutputModes": [JSON_MODE, TEXT_MODE],
        "skills": [_skill(row, mapping)],
    }
    if settings.tokens is None:
        return card
    schemes: list[Json] = [{"schemes": {"bearer": {"list": []}}}]
    return {**card, "securitySchemes": _BEARER, "securityRequirements": schemes}


def _capabilities(row: Json, mapping: AgentMapping, settings: ServiceSettings, whole: bool) -> Json:
    extension: Json = {"uri": EXTENSION, "description": _MEANING, "required": False}
    is_public = has_extended_card(settings)
    if whole or not is_public:
        extension["params"] = _params(row, mapping)
    extended = {"extendedAgentCard": True} if is_public else {}
    pushes = {"pushNotifications": True} if settings.gateway_key is not None else {}
    return {"streaming": True, **pushes, "extensions": [extension], **extended}


def _params(row: Json, mapping: AgentMapping) -> Json:
    interface = row["manifest"]["spec"]["interface"]
    params: dict[str, Any] = {
        "inputSchema": interface["inputSchema"],
        "outputSchema": interface["outputSchema"],
        "manifestHash": row["manifestHash"],
    }
    return {**params, "a2aIgnored": True} if mapping.is_ignored else params


def _skill(row: Json, mapping: AgentMapping) -> Json:
    spec, agent_id = row["manifest"]["spec"], row["agentId"]
    skill: Json = {
        "id": agent_id,
        "name": agent_id,
        "description": description_of(row),
        "tags": [spec["role"], *spec["capabilities"]],
    }
    return {**skill, "examples": list(mapping.examples)} if mapping.examples else skill
