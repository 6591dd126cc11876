"""`GET /v1/views`: the views that a team has saved in the file of HEADRACE_CONSOLE_VIEWS."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.access.file_stamp import FileStamp, stamp_file
from streams.api.problems import Response
from streams.errors import ViewsInvalid
from streams.gateway.endpoints import Endpoint, with_problems
from streams.gateway.entity_tags import tag_response
from streams.gateway.http_response import make_response
from streams.gateway.request_parts import read_query
from streams.views.keys import key
from streams.views.pages import Entries, page_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, limit

log = logging.getLogger(__name__)

PATH = "/v1/views"
PARAMETERS: tuple[Parameter, ...] = (limit(100, 1000), CURSOR)
MAX_VIEWS = 1000
MAX_NAME = 200
MAX_PATH = 4096
_BEGINNING = "/console/"
_MEMBERS = {"name", "path"}
_PREFIX = key("views")
_SPACE = " \t\r\n"


class SavedView(NamedTuple):
    """A saved view.  path: of the console, with its query."""

    name: str
    path: str


class ViewsFile:
    """The views of a file, read again when it changes.

    A changed file that is not valid is logged once, and the earlier views stay.
    Raises ViewsInvalid if the file is not valid at the start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: FileStamp = stamp_file(path)
        self._views = load_views(path)

    def read_views(self) -> Sequence[SavedView]:
        stamp = stamp_file(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._views = load_views(self._path)
            except ViewsInvalid as exc:
                log.error("the saved views are as they were: %s", exc)
        return self._views


def load_views(path: Path) -> Sequence[SavedView]:
    """Read a file of views.  Raises ViewsInvalid, which names the line."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise ViewsInvalid(f"HEADRACE_CONSOLE_VIEWS: {path}: {exc}") from exc
    views: list[SavedView] = []
    names: set[str] = set()
    try:
        for line, value in parse_items(text):
            fault = _find_fault(value, names)
            if fault is None and len(views) == MAX_VIEWS:
                fault = f"more than {MAX_VIEWS} views"
            if fault is not None:
                raise ViewsInvalid(f"HEADRACE_CONSOLE_VIEWS: {path}, line {line}: {fault}")
            names.add(value["name"])
            views.append(SavedView(value["name"], value["path"]))
    except json.JSONDecodeError as exc:
        message = f"HEADRACE_CONSOLE_VIEWS: {path}, line {exc.lineno}: {exc.msg}"
        raise ViewsInvalid(message) from exc
    except RecursionError as exc:
        raise ViewsInvalid(f"HEADRACE_CONSOLE_VIEWS: {path}: nested too deeply") from exc
    except ValueError as exc:  # a number of thousands of digits
        raise ViewsInvalid(f"HEADRACE_CONSOLE_VIEWS: {path}: {exc}") from exc
    return tuple(views)


def parse_items(text: str) -> Iterator[tuple[int, Any]]:
    """Yield each item of a JSON list with the line on which it begins.  Raises JSONDecodeError."""
    decoder = json.JSONDecoder()
    end = _skip_space(text, 0)
    if text[end : end + 1] != "[":
        raise json.JSONDecodeError("not a list of views", text, end)
    end = _skip_space(text, end + 1)
    is_first = True
    while text[end : end + 1] != "]":
        if not is_first:
            if text[end : end + 1] != ",":
                raise json.JSONDecodeError("a comma or ] is missing", text, end)
            end = _skip_space(text, end + 1)
        line = text.count("\n", 0, end) + 1
        value, end = decoder.raw_decode(text, end)
        yield line, value
        end, is_first = _skip_space(text, end), False
    if _skip_space(text, end + 1) != len(text):
        raise json.JSONDecodeError("text after the list", text, end + 1)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _find_fault(value: Any, names: set[str]) -> str | None:
    """Return what is wrong with an item of the list.  names: those of the items before it."""
    if not isinstance(value, dict) or set(value) != _MEMBERS:
        return 'a view is {"name": …, "path": …}'
    name, path = value["name"], value["path"]
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        return f"name is a text of 1 to {MAX_NAME} characters that can be printed"
    if not name.strip():
        return "name is blank"
    if name in names:
        return f"the name {name} stands there twice"
    if not isinstance(path, str) or not path.startswith(_BEGINNING):
        return f"path does not begin with {_BEGINNING}"
    if not path.isascii() or not path.isprintable() or " " in path or len(path) > MAX_PATH:
        return f"path has characters that no address has, or more than {MAX_PATH}"
    return None


def make_list(file: ViewsFile | None) -> Endpoint:
    """Return the endpoint that lists the views.  file: None where none is set."""

    async def answer(request: Request) -> HttpResponse:
        params = QueryParams(read_query(request), PARAMETERS)
        views = () if file is None else file.read_views()

        def entries(after_key: bytes | None) -> Entries:
            numbered = ((_PREFIX + key(n), view._asdict()) for n, view in enumerate(views))
            return (entry for entry in numbered if after_key is None or entry[0] > after_key)

        page = page_of(params, _PREFIX, entries)
        return tag_response(request, make_response(Response(200, page)))

    return with_problems(answer)
