"""What the generated run of a fleet comes to, as a page and a picture.

python -m bench.evolution_report [--check] Plays `streams.demo.fleet_simulation` on the in-memory
log and writes docs/evolution.md and docs/evolution.png.
With --check it writes nothing, and exits 1 if the page differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.demo.fleet_simulation import (
    GENERATIONS,
    PROTOCOLS,
    SWARMS,
    USE_CASES,
    Run,
    Story,
    Sums,
    run,
    tell,
)
from streams.docs.markdown import code, grid
from streams.protocols.apc.lineage.effectiveness import measure
from streams.settings import Settings

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "evolution.md", DOCS / "evolution.png"
NOTICE = "<!-- Written by `python -m bench.evolution_report`; do not edit. -->"
OFTEN = 18
"""The number of lessons from which an arrow is thick."""


@contextmanager
def played() -> Iterator[Run]:
    """Run the page's story; it requires the drift checks, so that every rule occurs."""
    story = tell(checks_drift=True)
    settings = Settings(apc_require_anti_drift=True)
    with tempfile.TemporaryDirectory() as folder, run(story, Path(folder), settings) as done:
        yield done


def page(done: Run) -> str:
    story = done.story
    sections = (
        _introduction(story),
        _protocols(done),
        _decays(done),
        _picture(done),
        _rules(done),
        _afterwards(done),
    )
    return f"{NOTICE}\n\n" + "\n".join(sections)


def _introduction(story: Story) -> str:
    return f"""# A fleet over {GENERATIONS} generations

{len(SWARMS)} swarms work on {len(USE_CASES)} use cases. For ten generations they research; then
they transfer {len(PROTOCOLS)} protocols to each other, measure the results, veto, retract,
arbitrate, and keep sending what the rules reject. The run is generated from a seed:
{len(story.packets)} packets, made by `streams.demo.fleet_simulation`, decided by the real
processors.

`headrace demo` sends the same run through Kafka and a worker, as its second act, and checks each
verdict. The tests run it on the in-memory log and compare the figures below with a count of the
facts. `python -m bench.evolution_report` writes this page, with `HEADRACE_APC_REQUIRE_ANTI_DRIFT`
set.

![Effectiveness of each protocol after every generation]({PICTURE.name})
"""


def _protocols(done: Run) -> str:
    totals = done.account.totals()
    ranked = sorted(PROTOCOLS, key=lambda p: (-_sums(totals, p.name).score, p.name))
    rows = []
    for protocol in ranked:
        sums = _sums(totals, protocol.name)
        measurements = measure(sums._asdict())
        rows.append(
            (
                code(protocol.name),
                protocol.home,
                ", ".join(code(parent) for parent in protocol.parents) or "–",
                sums.transfers,
                sums.accepted,
                sums.cross,
                f"{float(measurements.avg_outcome or 0):.2f}",
                f"{float(measurements.drift_used):.2f}",
                f"{float(measurements.score):.2f}",
                _fate(done, protocol.name),
            )
        )
    header = (
        "protocol",
        "found in",
        "derived from",
        "transfers",
        "taken over",
        "to another use case",
        "outcome",
        "drift",
        "effectiveness",
        "at the end",
    )
    return (
        "## Protocols\n\n"
        "Only transfers that count: rejected, expired and later retracted ones are left out.\n\n"
        + grid(header, [tuple(map(str, row)) for row in rows])
    )


def _sums(totals: dict[str, Sums], name: str) -> Sums:
    return totals.get(name, Sums())


def _fate(done: Run, name: str) -> str:
    if done.standings[name][-1].row["blocked"]:
        return "decayed"
    return "recovered" if any(d["protocol_id"] == name for _, d in done.decays) else "sound"


def _decays(done: Run) -> str:
    rows = [
        (
            str(generation),
            code(decision["protocol_id"]),
            "decayed" if decision["decay"]["blocked"] else "recovered",
            ", ".join(map(code, decision["decay"]["reasons"])) or "–",
            str(decision["decay"]["transfer_count"]),
            f"{decision['decay']['effectiveness_score']:.3f}",
            f"{decision['decay']['drift_used']:.3f}",
        )
        for generation, decision in done.decays
    ]
    header = ("generation", "protocol", "", "because of", "transfers", "effectiveness", "drift")
    return (
        "## Decay\n\n"
        "Until generation 20 a decayed protocol is only flagged, since early generations should\n"
        "explore; from 21 on its transfers are refused. Decay is not permanent: better figures\n"
        f"end it.\n\n{grid(header, rows)}"
    )


def _picture(done: Run) -> str:
    """Return a flowchart: teachers on the left, students on the right, lessons as arrows."""
    taught: Counter[tuple[str, str]] = Counter()
    learned: Counter[tuple[str, str]] = Counter()
    for (teacher, name, student), count in done.account.lessons().items():
        taught[_swarm(teacher), name] += count
        learned[name, _swarm(student)] += count
    lines = ["flowchart LR"]
    lines += [f'  from_{swarm}(["{swarm}"])' for swarm in SWARMS]
    for number, protocol in enumerate(PROTOCOLS):
        fate = _fate(done, protocol.name)
        mark = "" if fate == "sound" else f"<br/><i>{fate}</i>"
        lines.append(f'  p{number}["{protocol.name}{mark}"]:::{fate}')
    lines += [f'  to_{swarm}(["{swarm}"])' for swarm in SWARMS]
    for number, protocol in enumerate(PROTOCOLS):
        decayed = _fate(done, protocol.name) == "decayed"
        for swarm in SWARMS:
            if count := taught[swarm, protocol.name]:
                lines.append(f"  from_{swarm} {_arrow(count, decayed)}|{count}| p{number}")
        for swarm in SWARMS:
            if count := learned[protocol.name, swarm]:
                lines.append(f"  p{number} {_arrow(count, decayed)}|{count}| to_{swarm}")
    lines += [
        "  classDef sound fill:#e6f2ea,stroke:#2e7d4f,color:#123",
        "  classDef recovered fill:#fdf3d8,stroke:#b7791f,color:#123",
        "  classDef decayed fill:#fbe3e1,stroke:#b3261e,color:#123,stroke-dasharray:5 3",
    ]
    diagram = "\n".join(lines)
    return (
        "## Who taught whom\n\n"
        "Teachers on the left, students on the right, and how often a student took a protocol\n"
        f"over. Thick arrows stand for {OFTEN} lessons or more, dotted ones for decayed protocols."
        f"\n\n```mermaid\n{diagram}\n```\n"
    )


def _swarm(name: str) -> str:
    return name.removeprefix("swarm-")


def _arrow(count: int, decayed: bool) -> str:
    return "-.->" if decayed else "==>" if count >= OFTEN else "-->"


def _rules(done: Run) -> str:
    rows = [(code(rule), str(count)) for rule, count in _ranked(done.account.rules)]
    return f"## Verdicts\n\n{grid(('rule', 'packets'), rows)}"


def _afterwards(done: Run) -> str:
    promoted = sum(1 for _ in done.account.promoted())
    counts = done.account.seen + Counter(promoted=promoted, arbitrated=done.arbitrations)
    rows = [(what, str(count)) for what, count in _ranked(counts)]
    return (
        "## What became of accepted packets\n\n"
        "Besides those that nothing else happened to; `arbitrated` counts arbitrations.\n\n"
        + grid(("", "packets"), rows)
    )


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    with played() as done:
        text = page(done)
        if options.check:
            same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
            print(f"{PAGE.name} {'is as it should be' if same else 'differs'}")
            return 0 if same else 1
        from bench.evolution_plot import plot

        PAGE.write_text(text, encoding="utf-8")
        plot(done, PICTURE)
    print(f"wrote {PAGE.name}, and {PICTURE.name} of {PICTURE.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
