"""The mapping of messages to the inputs of an agent, and of its output to parts.

A manifest may steer it by `metadata.a2a`: `input` (`auto` or `message`), `textInput` and
`textOutput` (the name of a property), `examples` (texts for the card).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas import canonical_json
from streams.doors.a2a.errors import A2aError
from streams.doors.a2a.protocol import JSON_MODE, TEXT_MODE, Json

_AUTO, _MESSAGE = "auto", "message"
_NAMES = frozenset({"input", "textInput", "textOutput", "examples"})
_CONTENT = ("text", "raw", "url", "data")


class AgentMapping(NamedTuple):
    """The mapping of one version of an agent.

    takes_message: its inputs are the message itself.  text_input, text_output: the properties that
    hold text, None if there are none.  is_ignored: the manifest steers it in a way that is not
    defined, so the defaults hold.
    """

    takes_message: bool
    text_input: str | None
    text_output: str | None
    examples: tuple[str, ...] = ()
    is_ignored: bool = False

    @property
    def input_modes(self) -> list[str]:
        takes_text = self.takes_message or self.text_input is not None
        return [JSON_MODE, TEXT_MODE] if takes_text else [JSON_MODE]

    def read_inputs(self, message: Json) -> Json:
        """Return the inputs that a message says.  message: without its context and task ids.

        Raises A2aError for parts that the agent does not take.
        """
        if self.takes_message:
            return {"message": message}
        data: Json | None = None
        texts: list[str] = []
        for number, part in enumerate(message["parts"]):
            kind, path = _content_of(part), f"/message/parts/{number}"
            if kind == "text":
                texts.append(part["text"])
            elif kind != "data":
                detail = "the agent takes text and data" if kind else "the part holds nothing"
                raise A2aError("a2a.content_type" if kind else "a2a.parts", detail, path)
            elif data is not None or not isinstance(part["data"], dict):
                raise A2aError("a2a.parts", "one part holds data, and it is an object", path)
            else:
                data = part["data"]
        inputs = data or {}
        return {**inputs, **self._name_text(texts, inputs)} if texts else inputs

    def _name_text(self, texts: list[str], inputs: Json) -> Json:
        """Return the texts of a message as the input that takes them.  Raises A2aError."""
        if self.text_input is None:
            raise A2aError("a2a.content_type", "the agent takes no text", "/message/parts")
        if self.text_input in inputs:
            detail = f"text and data both give {self.text_input}"
            raise A2aError("a2a.parts", detail, "/message/parts")
        return {self.text_input: "\n".join(texts)}

    def show_output(self, output: Json, modes: tuple[str, ...]) -> list[Json]:
        """Return the parts of an output, of the media types that the client accepts."""
        text = None if self.text_output is None else output.get(self.text_output)
        parts: list[Json] = []
        if TEXT_MODE in modes:
            if isinstance(text, str):
                parts.append({"text": text, "mediaType": TEXT_MODE})
            elif JSON_MODE not in modes:
                parts.append({"text": canonical_json(output).decode(), "mediaType": TEXT_MODE})
        if JSON_MODE in modes:
            parts.append({"data": output, "mediaType": JSON_MODE})
        return parts


ALL_MODES = (JSON_MODE, TEXT_MODE)


def accepted_modes(names: list[str]) -> tuple[str, ...]:
    """Return the media types of output that a client accepts; without any it accepts all.

    Raises A2aError if it accepts none that the door has.
    """
    modes = tuple(mode for mode in ALL_MODES if mode in names) if names else ALL_MODES
    if not modes:
        detail = f"outputs are {JSON_MODE} or {TEXT_MODE}"
        raise A2aError("a2a.content_type", detail, "/configuration/acceptedOutputModes")
    return modes


def mapping_of(manifest: Mapping[str, Any]) -> AgentMapping:
    """Return the mapping of an agent by its manifest, in its JSON form."""
    interface = manifest["spec"]["interface"]
    schemas = interface["inputSchema"], interface["outputSchema"]
    steering = manifest["metadata"].get("a2a")
    is_valid = steering is None or _is_valid(steering)
    members: Mapping[str, Any] = steering if steering is not None and is_valid else {}
    text_input, text_output = (
        members.get(name) or _text_property(schema)
        for name, schema in zip(("textInput", "textOutput"), schemas, strict=True)
    )
    return AgentMapping(
        members.get("input") == _MESSAGE,
        text_input,
        text_output,
        tuple(members.get("examples", ())),
        not is_valid,
    )


def _content_of(part: Json) -> str | None:
    return next((name for name in _CONTENT if name in part), None)


def _is_valid(steering: Any) -> bool:
    """Return whether `metadata.a2a` has members that are defined, of their types."""
    if not isinstance(steering, dict) or not steering.keys() <= _NAMES:
        return False
    examples = steering.get("examples", [])
    texts = [steering.get(name, "x") for name in ("textInput", "textOutput")]
    return (
        steering.get("input", _AUTO) in (_AUTO, _MESSAGE)
        and all(isinstance(text, str) for text in texts)
        and isinstance(examples, list)
        and all(isinstance(example, str) for example in examples)
    )


def _text_property(schema: Mapping[str, Any]) -> str | None:
    """Return the property that holds text: the only required one, else the only text, else none."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    texts = [name for name, each in properties.items() if _is_text(each)]
    match schema.get("required"):
        case [str(name)] if name in texts:
            return name
    return texts[0] if len(texts) == 1 else None


def _is_text(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "string"
