"""Security requirements in the document, for a gateway that requires tokens."""

from __future__ import annotations

from streams.api.openapi import Json, problem_responses
from streams.gateway.access import list_access_rules

_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `headrace tokens new`; the scopes named are roles, of which it must"
    " have one. `operator` has what the others have.",
}


def secure(document: Json) -> None:
    """Add the required roles to each operation."""
    document["components"]["securitySchemes"] = {"bearer": _BEARER}
    for method, path, rule in list_access_rules():
        operation = document["paths"].get(path, {}).get(method.lower())
        if operation is None or rule.is_open:
            continue
        operation["security"] = [{"bearer": [str(role)]} for role in rule.roles]
        if rule.optional:
            operation["security"].append({})
        elif not rule.checked_by_endpoint:
            operation["responses"] = {**problem_responses(401, 403, 429), **operation["responses"]}
