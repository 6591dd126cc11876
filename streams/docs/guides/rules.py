"""Tables of rules, each with an example that is played and the answer it got."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.rules import Rule
from streams.docs.guides.examples import RuleExample, rule_examples
from streams.docs.markdown import code, grid
from streams.protocols.commands import COMMANDS

Examples = Mapping[tuple[str | None, str], RuleExample]


def rules_section(protocol: str, *words: str) -> str:
    """Return the rules of a protocol with examples.

    words: the name of one of its lists of rules, and stages; without them all.
    """
    (side,) = (each for each in COMMANDS if each.name == protocol)
    groups = [group for group in side.rules if group in words] or list(side.rules)
    stages = [word for word in words if word not in side.rules]
    examples = rule_examples(protocol)
    rows = [
        _row(rule, group, examples, side.rule_numbers)
        for group in groups
        for rule in side.rules[group]
        if not stages or rule.stage in stages
    ]
    return grid(("rule", "at", *side.rule_numbers, "meaning", "example", "answer"), rows)


def example_of(examples: Examples, group: str, rule: Rule) -> RuleExample | None:
    return examples.get((group, rule.code)) or examples.get((None, rule.code))


def _row(
    rule: Rule, group: str, examples: Examples, numbers: Mapping[str, Mapping[str, int]]
) -> tuple[str, ...]:
    played = example_of(examples, group, rule)
    return (
        code(rule.code),
        rule.where,
        *(str(column.get(rule.code, "")) for column in numbers.values()),
        rule.meaning,
        played.example if played else "",
        _answer(played),
    )


def _answer(example: RuleExample | None) -> str:
    if example is None or example.reply is None:
        return ""
    path, message = example.reply
    return f"{code(path)}: {message}" if path else message
