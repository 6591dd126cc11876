"""Measure what the console costs: first view, lists, graph, live tail, routes, open pages.

python -m bench.console [--packets N] [--rate N] [--seconds N] [--rounds N]
A worker, a gateway and Chromium run on this machine.  Times of the first view count from the start
of the navigation, without a cache.  The time to a row is from producing an event to its row in the
page, so the worker's part is in it.  The routes are asked one after the other over one connection.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from urllib.parse import quote, urlsplit

from bench.cluster import Bench, bench, percentile, wait_ready, worker
from bench.console_large import measure_graph, measure_list
from bench.console_pages import first_view, measure_overviews, measure_rows, measure_tail
from bench.gateway import Client, gateway_url
from bench.packets import outputs, packets
from bench.results import ROOT, Recorder, parse, record_runs
from schemas import encode, from_json
from streams.engine.records import Output
from tests.console.browser import chromium, find_chromium
from topology.apc import APC_PACKETS

LISTEN = "streams.cli gateway --listen 127.0.0.1:0"
ASSETS = ROOT / "streams/doors/console/assets"
SAMPLE = 50
CATCH_UP_S = 300.0
ANSWER_S = 60.0
"""How long an answer, or a command, may take."""


def built_kb(folder: Path) -> float:
    """Return the kilobytes of all files of the page, as gzip makes them."""
    return sum(file.stat().st_size for file in folder.rglob("*.gz")) / 1000


def routes(count: int) -> dict[str, list[str]]:
    """Return the requests of the main routes of pages, by the page."""
    ids = [packet["packet_id"] for packet in packets(min(SAMPLE, count))]
    return {
        "overview": ["/v1/overview"],
        "verdicts, 100": ["/v1/verdicts?limit=100"],
        "APC packets, 100": ["/v1/apc/packets?limit=100&include_events=false"],
        "APC packets, 100, with histories": ["/v1/apc/packets?limit=100"],
        "agents": ["/v1/agents"],
        "a thing": [thing_path(f"apc:packet:{each}") for each in ids],
        "search": [f"/v1/search?q={each[:8]}" for each in ids],
    }


def thing_path(node: str) -> str:
    return f"/v1/things/{quote(node, safe='')}"


class Asker:
    """A connection that asks one request after the other, and times each."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=ANSWER_S
        )

    def ask(self, path: str, headers: Mapping[str, str]) -> tuple[float, int, str]:
        """Return the milliseconds to the last byte, the status and the ETag."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers=dict(headers))
        answer = self._connection.getresponse()
        answer.read()
        took_ms = (time.perf_counter() - began) * 1000
        return took_ms, answer.status, answer.getheader("ETag") or ""

    def times(self, paths: list[str], count: int, *, tagged: bool = False) -> list[float]:
        """Return the milliseconds of each request.  tagged: with the ETag of the answer before.

        Raises RuntimeError for an answer of another status than 200, or 304 with an ETag.
        """
        took: list[float] = []
        for number in range(count):
            path = paths[number % len(paths)]
            tag = self.ask(path, {})[2] if tagged else ""
            took_ms, status, _ = self.ask(path, {"If-None-Match": tag} if tagged else {})
            if status != (304 if tagged else 200):
                raise RuntimeError(f"{path}: {status}")
            took.append(took_ms)
        return took


def fill(env: Bench, url: str, count: int) -> None:
    """Write packets, a twentieth of them to be refused; wait until the view has all verdicts."""
    refused = count // 20
    ideas = (packet for packet in packets(refused * 2, seed=17) if packet["packet_type"] == "IDEA")
    wrong = [{**packet, "run_phase": "EXECUTION"} for packet in islice(ideas, refused)]
    name, record = env.settings.prefix + APC_PACKETS.name, APC_PACKETS.record or ""
    env.log.append(outputs(count - refused, env.settings.prefix))
    env.log.append(
        [
            Output(
                name, one["trace"]["session_id"].encode(), encode(record, from_json(record, one))
            )
            for one in wrong
        ]
    )
    client, deadline = Client(url), time.monotonic() + CATCH_UP_S
    while json.loads(client.ask("GET", "/v1/overview?fresh=true"))["commands"] < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the view was not complete after {CATCH_UP_S:.0f} s")
        time.sleep(0.2)


def measure_routes(
    runs: Recorder, url: str, paths_by_page: Mapping[str, list[str]], count: int
) -> None:
    """Ask each route so many times."""
    asker = Asker(url)
    for name, paths in paths_by_page.items():
        asker.times(paths, len(paths))
        _add_times(runs, f"route: {name}", asker.times(paths, count))
    tagged = asker.times(paths_by_page["overview"], count, tagged=True)
    _add_times(runs, "route: overview, 304", tagged)


def _add_times(runs: Recorder, name: str, took: list[float]) -> None:
    runs.add(name, p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99), max_ms=max(took))


def measure_command(runs: Recorder, url: str, rounds: int) -> None:
    """Time a command of the terminal that asks the gateway."""
    took: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "streams.cli", "overview", "--gateway", url, "--json"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=ANSWER_S,
        )
        took.append((time.perf_counter() - began) * 1000)
    runs.add("command: overview", p50_ms=statistics.median(took), max_ms=max(took))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=20_000)
    parser.add_argument("--requests", type=int, default=300, help="of each route")
    parser.add_argument("--rate", type=int, default=1000, help="events/s of the fast tail")
    parser.add_argument("--seconds", type=int, default=30, help="of the fast tail")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=20, help="seconds")
    quick = {"packets": 1000, "requests": 30, "seconds": 3, "rounds": 1, "warm_up": 2}
    options = parse(parser, arguments, quick)
    path = find_chromium()
    if path is None:
        parser.error("Chromium is missing: `make browser` installs it, or CHROMIUM names one")
    with (
        record_runs("console", __doc__, options) as runs,
        bench() as env,
        worker(env, "streams.cli worker", "worker"),
        worker(env, LISTEN, "gateway") as served,
    ):
        wait_ready(env, "worker")
        url = gateway_url(env)
        fill(env, url, options.packets)
        runs.add("all files, gzip", size_kb=built_kb(ASSETS))
        measure_routes(runs, url, routes(options.packets), options.requests)
        measure_command(runs, url, options.rounds)
        with chromium(path) as browser:
            first_view(runs, browser, url, options.rounds)
            measure_list(runs, browser, url, options.packets)
            measure_graph(runs, browser, url)
            measure_rows(runs, browser, url, env.settings, options.warm_up)
            measure_tail(runs, browser, url, env.settings, options.rate, options.seconds)
            measure_overviews(runs, browser, url, served, options.seconds)


if __name__ == "__main__":
    main()
