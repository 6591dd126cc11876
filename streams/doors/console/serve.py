"""The files of the console over HTTP.

They show nothing that anybody sent, so they need no token.  All are read when the gateway starts:
a request touches no path of the file system.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import no_route, problem
from streams.doors.console.build import FOLDER, NAME, BuildInvalid, read_built
from streams.gateway.endpoints import Endpoint
from streams.gateway.entity_tags import tag_response
from streams.gateway.http_response import make_response
from streams.gateway.request_parts import accepts_coding

log = logging.getLogger(__name__)

ROOT = "/console/"
INDEX = "index.html"
HASHED = "assets/"
"""The folder of files whose names contain their hash."""
HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
"""The headers of every answer below `/console/`, and of that of `/`."""
_IMMUTABLE = "public, max-age=31536000, immutable"
_NO_CACHE = "no-cache"
_HASHED_NAME = re.compile(r"assets/[^/]+-[A-Za-z0-9_-]{6,}\.[a-z0-9]+")
_CODINGS = {"br": ".br", "gzip": ".gz"}
"""The content codings that files are stored in, the preferred one first, with their endings."""
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


class Asset(NamedTuple):
    """A built file.  coded: its content by coding, where that is stored."""

    content: bytes
    coded: Mapping[str, bytes]


class Site:
    """The files of the console.

    folder: another one than the wheel's is read again when its `BUILD.json` changes.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder or FOLDER
        self._is_watched = folder is not None
        self._stamp = self._read_stamp()
        self._files = self._load()

    def read_files(self) -> Mapping[str, Asset] | None:
        """Return the files by path; None if they are missing, or not those of `BUILD.json`."""
        if self._is_watched and (stamp := self._read_stamp()) != self._stamp:
            self._stamp, self._files = stamp, self._load()
        return self._files

    def _load(self) -> Mapping[str, Asset] | None:
        try:
            files = read_built(self._folder)
            if INDEX not in files:
                raise BuildInvalid(f"{self._folder} has no {INDEX}")
        except BuildInvalid as exc:
            log.warning("/console/ is not served: %s", exc)
            return None
        return {
            name: Asset(content, _select_coded(files, name))
            for name, content in files.items()
            if Path(name).suffix not in _CODINGS.values()
        }

    def _read_stamp(self) -> tuple[int, int] | None:
        try:
            stat = (self._folder / NAME).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size


def _select_coded(files: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    return {
        coding: files[name + ending]
        for coding, ending in _CODINGS.items()
        if name + ending in files
    }


def make_redirect() -> Endpoint:
    """Return the endpoint of `/`, which leads to the console."""

    async def answer(request: Request) -> HttpResponse:
        return HttpResponse(status_code=302, headers={"location": ROOT, **HEADERS})

    return answer


def make_page(site: Site) -> Endpoint:
    """Return the endpoint of all paths below `/console/`."""

    async def answer(request: Request) -> HttpResponse:
        response = respond(site.read_files(), request)
        response.headers.update(HEADERS)
        return response

    return answer


def respond(files: Mapping[str, Asset] | None, request: Request) -> HttpResponse:
    """Return the file of a path, or the page itself, which shows what the path names."""
    path = request.path_params["path"]
    if files is None:
        detail = "the files of the console are missing, or not those that were built"
        return make_response(problem(503, detail, "console_missing"))
    if path.startswith(HASHED) and path not in files:
        return make_response(no_route(f"there is no {request.scope['path']}", ()))
    name = path if path in files else INDEX
    asset, accepted = files[name], request.headers.get("accept-encoding", "")
    coding = next((each for each in asset.coded if accepts_coding(accepted, each)), None)
    headers = {
        "cache-control": _IMMUTABLE if _HASHED_NAME.fullmatch(name) else _NO_CACHE,
        "content-type": _MEDIA_TYPES.get(Path(name).suffix, "application/octet-stream"),
    }
    if asset.coded:
        headers["vary"] = "accept-encoding"
    if coding is not None:
        headers["content-encoding"] = coding
    content = asset.content if coding is None else asset.coded[coding]
    return tag_response(request, HttpResponse(content, 200, headers), asset.content)
