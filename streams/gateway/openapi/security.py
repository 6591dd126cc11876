"""What the document says of tokens, where the gateway needs them."""

from __future__ import annotations

from streams.api.openapi import Json, problems
from streams.gateway.access import everything

_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `headrace tokens new`; the scopes named are roles, of which it must"
    " have one. `operator` has what the others have.",
}


def secure(document: Json) -> None:
    """Add to each operation the roles that it needs."""
    document["components"]["securitySchemes"] = {"bearer": _BEARER}
    for method, path, need in everything():
        operation = document["paths"].get(path, {}).get(method.lower())
        if operation is None or need.is_open:
            continue
        operation["security"] = [{"bearer": [str(role)]} for role in need.roles]
        if not need.own:
            operation["responses"] = {**problems(401, 403, 429), **operation["responses"]}
