"""`headrace sap explain`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.sap.explanation_text import show_explanation
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.engine.records import Output
    from streams.protocols.sap.constitution import Constitution

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("explain")
@click.argument("task_id", metavar="[TASKID]", required=False)
@click.option("--task", "task_file", type=_FILE, metavar="FILE", help="A file with an unsent task.")
@click.option("--result", "result_file", type=_FILE, metavar="FILE", help="A result for that task.")
@text.options
@common.read_options
@click.pass_context
def command(
    ctx: click.Context,
    task_id: str | None,
    task_file: Path | None,
    result_file: Path | None,
    after: str | None,
) -> None:
    """Explain the verdict on a task: every check in order, and the results of the constitution.

    With --task nothing is sent: the task and its result go through the same processors in this
    process, as if they were sent now to an empty system.  Exits with 1 when one is rejected.

    \b
    Examples:
      headrace sap explain 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a
      headrace sap explain --task task.json --result result.json
    """
    if (task_id is None) == (task_file is None):
        raise UsageError("give either a TASKID or --task FILE")
    if result_file is not None and task_file is None:
        raise UsageError("--result goes with --task")
    if task_id is not None:
        answer = _ask_explanation(task_id, after)
    else:
        assert task_file is not None
        answer = _explain_files([path for path in (task_file, result_file) if path is not None])
    text.show(answer, show_explanation, _show)
    refused = [each for each in answer["commands"] if each["verdict"] == "rejected"]
    if task_file is not None and refused:
        ctx.exit(1)


def _ask_explanation(task_id: str, after: str | None) -> Any:
    path = f"/v1/sap/tasks/{quote(task_id, safe='')}/explain"
    return common.ask(path, common.query_of({"after": after}), Settings.load())


def _explain_files(paths: list[Path]) -> Any:
    """Explain a task and, if there is one, its result; both are read from files."""
    from schemas.sap import rules
    from streams.cli.envelopes import encode_envelope
    from streams.engine.headers import iso
    from streams.errors import InvalidInput
    from streams.protocols.sap.constitution import load
    from streams.protocols.sap.queries.explain import malformed_command

    settings, now = Settings.load(), common.now_ms()
    constitution = load(settings.sap_constitution)
    values = [common.read_value(path, rules.BAD_JSON.code) for path in paths]
    outputs: list[Output] = []
    malformed: list[Any] = []
    names: dict[str, None] = {}
    for subject, value in zip(("TASK", "RESULT"), values, strict=False):
        try:
            outputs.append(encode_envelope(subject, value, settings))
            names[value["taskId"]] = None
        except InvalidInput as exc:
            malformed.append(malformed_command(subject, exc.problems, iso(now).decode()))
    answer = _explain_in_memory(outputs, names, settings, constitution, now)
    task_is_malformed = bool(malformed) and malformed[0]["subject"] == "TASK"
    commands = answer["commands"]
    answer["commands"] = [*malformed, *commands] if task_is_malformed else [*commands, *malformed]
    return answer


def _explain_in_memory(
    outputs: list[Output],
    names: Iterable[str],
    settings: Settings,
    constitution: Constitution,
    now: int,
) -> Any:
    from streams.cli.envelopes import run_in_memory
    from streams.log.fetching import PATIENCE_S
    from streams.protocols.sap.queries.explain import explain, values_from
    from streams.protocols.sap.queries.tasks import task_key

    if not outputs:
        nothing: Any = {"commands": [], "lookups": [], "outcomes": []}
        return {"taskId": None, "state": None, "constitution": constitution.label, **nothing}
    with run_in_memory(outputs, settings, now) as (log, view):
        values = values_from(log, PATIENCE_S)
        explanations = [
            explain(view, name, values, settings.as_work())
            for name in dict.fromkeys(map(task_key, names))
        ]
    for other in explanations[1:]:  # the result belongs to another task
        explanations[0]["commands"] += other["commands"]
    return explanations[0]


def _show(answer: Any) -> None:
    common.echo(f"task {answer['taskId'] or '-'} is {answer['state'] or 'not known'}")
    for each in answer["commands"]:
        _show_command(each, answer["constitution"])
    for verdict in answer["lookups"]:
        _show_lookup(verdict)
    for outcome in answer["outcomes"]:
        _show_outcome(outcome)


def _show_command(each: Any, constitution: str) -> None:
    common.echo()
    common.echo(f"{each['subject'].lower()} {each['position'] or '-'} at {each['at']}")
    for check in each["checks"]:
        common.echo(f"  {check['check']:<22}{check['outcome']}")
        if check.get("reason"):
            common.echo(f"    {check['rule']}: {check['reason']}")
        if check.get("figures"):
            common.echo(f"    figures {common.json_line(check['figures'])}")
        for error in (check.get("errors") or [])[1:]:
            common.echo(f"    {error['rule']} at {error['path'] or '/'}: {error['message']}")
    common.echo(f"  {each['verdict']}, rule {each['rule']}")
    for warning in each["warnings"]:
        common.echo(f"  warning: {warning}")
    if each.get("accepted"):
        common.echo(f"  fixed: {common.json_line(each['accepted'])}")
    if each.get("evaluation"):
        _show_evaluation(each["evaluation"], constitution)


def _show_evaluation(evaluation: Any, constitution: str) -> None:
    recorded = evaluation["constitution"]
    other = "" if recorded == constitution else f", weighed now by {constitution}"
    common.echo(f"  constitution {recorded}{other}: {evaluation['alignment']}")
    for step in evaluation["steps"]:
        cells = (step.get(name) for name in ("name", "status", "vote", "notes"))
        common.echo("    " + "  ".join(str(part) for part in (step["step"], *cells) if part))


def _show_lookup(verdict: Any) -> None:
    leads = ", leads" if verdict["leader"] else ""
    common.echo()
    common.echo(f"cache {verdict['verdict']}{leads} at {verdict['at']}: {verdict['reason']}")
    for each in verdict["candidates"]:
        fresh = "fresh" if each["fresh"] else "stale"
        aligned = "" if each["alignment"] is None else f", {each['alignment']}"
        common.echo(f"  version {each['version']}: {each['ageSec']} s old, {fresh}{aligned}")
    for check in verdict["checks"] or []:
        common.echo(
            f"    {check['principle']}  {check['status']}  {check.get('notes', '')}".rstrip()
        )
    for violation in verdict["violations"] or []:
        common.echo(f"    violation of {violation['principle']}, {violation['severity']}")


def _show_outcome(outcome: Any) -> None:
    common.echo()
    common.echo(
        f"outcome {outcome['seq']}: {outcome['status']}, {outcome['alignment']},"
        f" rule {outcome['rule']}, of {outcome['cause']}"
    )
    if outcome["error"]:
        common.echo(f"  {outcome['error'].get('code')}: {outcome['error'].get('message')}")
