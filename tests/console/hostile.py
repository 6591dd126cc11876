"""Hostile text in every answer that a page reads, and what is left of it in the page."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from playwright.sync_api import Page, Route

from tests.words import terms

SEEN = "hostile7"
"""A word of the text that a person sees."""

HOSTILE = (
    f"{SEEN}<img src=x onerror=\"window.ran = 'img'\"><script>window.ran = 'script'</script>"
    "</textarea></title>javascript:window.ran='link' {{7*7}} ${7*7}"
    " \x1b[31mred\x1b]0;title\x07 \x00\x08\x0b\x7f\x85\x9b \u202egnp.exe\u202c \u2066x\u2069"
    + "W"
    * 400
)
LONG = f"{SEEN} {'long text ' * 1000}END"
"""Above 4 KiB: it is clipped."""

OWN_ROUTES = re.compile(r"/v1/(service|machines|rules|views|session)\b.*")
"""Routes whose words are headrace's own."""

OWN_MEMBERS = frozenset({"schema"})
"""Members that headrace writes."""

FIXED = terms(
    "protocol kind state verdict machine relation direction role outcome event from to type next"
    " stage status match detector signature packet_type run_phase protocols"
)
"""Members with declared words."""

_FIXED_FORMS = re.compile(r"-?[\d.]+|\d{4}-\d\d-\d\dT[\d:.]+Z|[a-z_.]+/\d+/\d+", re.ASCII)
"""Numbers, times and positions."""

INSPECT = """
word => {
  const control = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/u;
  const found = [];
  const show = text => JSON.stringify(text.slice(0, 80));
  const name = element => `${element.tagName}.${element.getAttribute('class') ?? ''}`;
  const nodes = document.createNodeIterator(document.documentElement, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const around = node.parentElement;
    if (control.test(node.data)) found.push(`control in ${name(around)}: ${show(node.data)}`);
    const apart = around.closest('bdi, [data-json], svg, title, textarea, [role=status]');
    if (node.data.includes(word) && !apart) found.push(`no bdi in ${name(around)}`);
  }
  for (const element of document.querySelectorAll('*')) {
    for (const { name: attribute, value } of element.attributes) {
      const isAddress = ['href', 'src', 'srcdoc', 'action', 'style'].includes(attribute);
      const isShown = !/^(data-|id$|aria-activedescendant)/u.test(attribute);
      const isOwn = /^(\\/console\\/|\\/v1\\/|#|data:)/u.test(value) || attribute === 'style';
      if (isShown && control.test(value)) found.push(`control in ${name(element)} ${attribute}`);
      if (attribute.startsWith('on')) found.push(`handler in ${name(element)}`);
      if (isAddress && value.includes('<')) found.push(`markup in ${name(element)} ${attribute}`);
      if (isAddress && document.body.contains(element) && !isOwn) found.push(`address ${value}`);
    }
  }
  if (document.querySelector('main img, main script, main iframe, main textarea:not([id])')) {
    found.push('an element of the text');
  }
  return found;
}
"""


def spoil(value: Any, text: str = HOSTILE, member: str = "") -> Any:
    """Return a JSON value with a hostile text behind each string that is not of a fixed form."""
    if isinstance(value, dict):
        return {
            name: each if name in OWN_MEMBERS else spoil(each, text, name)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [spoil(each, text, member) for each in value]
    is_free = isinstance(value, str) and member not in FIXED and not _FIXED_FORMS.fullmatch(value)
    return value + text if is_free else value


def clean(address: str, text: str = HOSTILE) -> str:
    """Return the address of a request without the hostile text."""
    url = urlsplit(address)
    segments = (quote(unquote(each).replace(text, ""), safe="") for each in url.path.split("/"))
    query = urlencode([(name, value.replace(text, "")) for name, value in parse_qsl(url.query)])
    return url._replace(path="/".join(segments), query=query).geturl()


class SpoiledAnswers:
    """Answers of a gateway with hostile text in them."""

    def __init__(self, page: Page, text: str = HOSTILE, routes: str = "**/v1/**") -> None:
        self._text = text
        page.route(routes, self._answer)

    def _answer(self, route: Route) -> None:
        address = clean(route.request.url, self._text)
        path = urlsplit(address).path
        if path == "/v1/rtes/stream":
            route.continue_()
            return
        response = route.fetch(url=address)
        if response.status != 200 or OWN_ROUTES.fullmatch(path):
            route.fulfill(response=response)
            return
        route.fulfill(response=response, body=json.dumps(spoil(response.json(), self._text)))
