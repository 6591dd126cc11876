"""The page on masking."""

from __future__ import annotations

from streams.docs.markdown import codes, fenced, grid
from streams.masking import vocabulary
from streams.masking.rules import ALL, NO_LETTER_OR_DIGIT, B, Rule

_INTRODUCTION = """\
# Masking

Secrets in SANDBOX_PULSE lines, tool arguments, rejections and dead letters are replaced by
`[REDACTED:<rule>]`; with `HEADRACE_MASK_KEY` set, by `[REDACTED:<rule>:<8 hex>]`, the beginning of
the HMAC-SHA256 of what was replaced, so that two secrets can be told apart. `headrace rtes mask`
does the same to any text. Matches that overlap become one, named after the first of them, then the
longer, then the earlier rule of this page. Masking a masked text changes nothing.

## Keys

A value is anything behind `=`, `:`, `=>`, `:=` or `==` after a key, or behind a blank after a
command-line flag. A quoted one ends at its closing quote, also where JSON has escaped the quotes
once or more often. Any other ends at white space, a quote or `;`; in JSON also at `,`, `}` and `]`,
in the query of a URL also at `&` and `#`. With `:` behind a key that stands first on its line, and
for headers, it is the rest of the line.
"""
_NEVER = """\
Never replaced are empty values, placeholders (`$NAME`, `${…}`, `{{…}}`, `%NAME%`, `<words>`,
`****`), punctuation alone, what tools print in place of a value they hide, and these words:
"""
_EXAMPLES = """
What lies between `«` and `»` is replaced. `{36}` stands for 36 letters and digits, `{A16}` for 16
capitals and digits, `{x8}` for 8 hex digits, `{d12}` for 12 digits, `{b64:…}` for text in base64.
In patterns, `<B>` stands for the start of the line or a place behind anything but `[A-Za-z0-9_-]`,
behind `\\n`, `\\r` or `\\t` in two characters, or behind `%` and two hex digits; `<N>` for a place
not behind a letter or digit. Where a pattern has a group `secret`, only that is replaced.
"""


def _keys() -> str:
    rows = (
        ("secret, at the end of a key", codes(vocabulary.SECRET_ENDINGS)),
        ("secret, as the last part of a key", codes((vocabulary.SECRET_PART,))),
        ("secret, as a header", codes(vocabulary.HEADER_KEYS)),
        ("not secret, before `token`", codes((*vocabulary.VOCABULARY, *vocabulary.COUNTED))),
        ("not secret, when they hold a path", codes(vocabulary.DIRECTORY_KEYS)),
        ("may look random, at the end of a key", codes(vocabulary.PUBLIC_ENDINGS)),
        ("may look random, as the last part of a key", codes(vocabulary.PUBLIC_PARTS)),
    )
    return (
        "\nEndings are compared in lower case, without `_`, `.` and `-`.\n\n"
        f"{grid(('what a key says of its value', 'words'), rows)}"
        f"\n{_NEVER.rstrip()} {codes(vocabulary.LITERALS)}.\n"
    )


def _rule(rule: Rule) -> str:
    examples = "\n".join((*rule.masked, *(f"{example}    (kept)" for example in rule.unmasked)))
    triggers = codes((*rule.triggers, *rule.words)) or "a long run behind a separator"
    return (
        f"\n### {rule.name}\n\nReplaces {rule.meaning}. Found as {rule.kind}.\n"
        f"Only searched for in a text with: {triggers}.\n\n"
        + _patterns(rule)
        + fenced("text", examples)
    )


def _patterns(rule: Rule) -> str:
    if not rule.patterns:
        return ""
    patterns = (
        pattern.replace(B, "<B>").replace(NO_LETTER_OR_DIGIT, "<N>") for pattern in rule.patterns
    )
    return fenced("text", "\n".join(patterns)) + "\n"


def masking_page() -> str:
    return _INTRODUCTION + _keys() + "\n## Rules\n" + _EXAMPLES + "".join(map(_rule, ALL))
