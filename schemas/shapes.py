"""The shapes of pydantic models as plain rules, which the compiled check of `native/` walks.

A value that plainly fits needs no model: nothing is made of it, and each member is looked at once.
Any other value is given to the model, which finds out what is wrong, if anything is.  So a shape
may be stricter than its model, never more tolerant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Rule = list[Any]
"""A kind and its parameters, as JSON: `["text", min_length, max_length]`; null is no limit."""
Formats = Mapping[Any, str]
"""The kinds that functions of models stand for, by function: `uuid` or `time`, both of texts."""

_IGNORED = frozenset({"type", "metadata", "ref", "strict", "serialization", "cls"})
_CONFIG = frozenset({"title", "extra_fields_behavior", "allow_inf_nan", "frozen"})


class Unsupported(ValueError):
    """An error for a model with a part that has no rule."""


def rule_of(model: type[BaseModel], formats: Formats) -> Rule:
    """Return the rule of a model.  Raises Unsupported."""
    return _rule(model.__pydantic_core_schema__, formats)


def _rule(schema: Any, formats: Formats) -> Rule:
    match schema["type"]:
        case "any":
            return ["any"]
        case "bool":
            return ["flag", *_limits(schema)]
        case "str":
            return ["text", *_limits(schema, "min_length", "max_length")]
        case "int":
            return ["integer", *_limits(schema, "ge", "le")]
        case "float":
            return ["number", *_limits(schema, "ge", "le")]
        case "literal":
            return ["word", _words(schema)]
        case "nullable":
            return ["nullable", _rule(schema["schema"], formats)]
        case "list":
            limits = _limits(schema, "min_length", "max_length", known=("items_schema",))
            return ["list", _rule(schema["items_schema"], formats), *limits]
        case "dict":
            return _map(schema, formats)
        case "function-after":
            return _format(schema, formats)
        case "model":
            return _object(schema, formats)
        case "tagged-union":
            return _tagged(schema, formats)
        case kind:
            raise Unsupported(f"no rule for {kind}")


def _limits(schema: Any, *names: str, known: tuple[str, ...] = ()) -> list[Any]:
    """Return the schema's members of these names, None for absent ones."""
    unknown = schema.keys() - _IGNORED - {*names, *known}
    if unknown:
        raise Unsupported(f"no rule for {sorted(unknown)} of {schema['type']}")
    return [schema.get(name) for name in names]


def _words(schema: Any) -> list[str]:
    words = schema["expected"]
    if not all(isinstance(word, str) for word in words):
        raise Unsupported("no rule for literals that are no strings")
    return [str(word) for word in words]


def _map(schema: Any, formats: Formats) -> Rule:
    _limits(schema, known=("keys_schema", "values_schema"))
    if _rule(schema["keys_schema"], formats) != ["text", None, None]:
        raise Unsupported("no rule for keys that are not any string")
    return ["map", _rule(schema["values_schema"], formats)]


def _format(schema: Any, formats: Formats) -> Rule:
    function = schema["function"]
    kind = formats.get(function["function"]) if function["type"] == "no-info" else None
    if kind is None or _rule(schema["schema"], formats) != ["text", None, None]:
        raise Unsupported(f"no rule for the function {function['function']}")
    return [kind]


def _object(schema: Any, formats: Formats) -> Rule:
    config, fields = schema["config"], schema["schema"]
    is_closed = config.get("extra_fields_behavior") == "forbid"
    if not is_closed or config.get("allow_inf_nan") is not False or config.keys() - _CONFIG:
        raise Unsupported(f"no rule for {config}")
    if schema["custom_init"] or schema["root_model"] or "post_init" in schema:
        raise Unsupported(f"no rule for {schema['cls']}")
    if fields["type"] != "model-fields" or fields["computed_fields"]:
        raise Unsupported(f"no rule for the fields of {schema['cls']}")
    members = {}
    for name, field in fields["fields"].items():
        alias = field.get("validation_alias", name)
        if not isinstance(alias, str):
            raise Unsupported(f"no rule for the names of {name}")
        members[alias] = _member(field["schema"], formats)
    return ["object", members]


def _member(schema: Any, formats: Formats) -> list[Any]:
    """Return whether the member is required, and its rule."""
    if schema["type"] != "default":
        return [True, _rule(schema, formats)]
    if "default_factory" in schema or schema.get("validate_default"):
        raise Unsupported("no rule for a default that is made or validated")
    return [False, _rule(schema["schema"], formats)]


def _tagged(schema: Any, formats: Formats) -> Rule:
    tag = schema["discriminator"]
    if not isinstance(tag, str):
        raise Unsupported("no rule for a discriminator that is no member")
    choices = schema["choices"].items()
    return ["tagged", tag, {str(word): _rule(choice, formats) for word, choice in choices}]
