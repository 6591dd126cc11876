"""A gateway whose processors work by themselves, and agents that post to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from schemas.asap import Envelope, canonical_form
from tests.processes import wait_for
from tests.unit.asap.support import AGENT, PAYLOADS, PLANNER, Json, call, envelope_json
from tests.unit.gateway.bench import GatewayBench

SERVICE = "urn:asap:agent:headrace"


class AsapBench(GatewayBench):
    """at_work: processors decide what comes, as a worker does."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        come, stopped = threading.Event(), threading.Event()

        def work() -> None:
            while not stopped.is_set():
                come.wait()
                come.clear()
                self.run_until_idle()

        thread = threading.Thread(target=work, name="worker")
        self.bench.log.on_append = lambda record: come.set()
        thread.start()
        come.set()
        try:
            yield
        finally:
            stopped.set()
            come.set()
            thread.join()
            self.bench.log.on_append = None

    def run_until_idle(self) -> None:
        self.bench.host.run()

    def rpc(self, of: Json, id: object = 1, prefer: int | None = None, **more: Any) -> Json:
        """The answer to one envelope."""
        return self.rpc_all([(of, id, prefer)], **more)[0]

    def rpc_all(self, calls: list[tuple[Json, object, int | None]], **more: Any) -> list[Json]:
        sends = []
        for of, id, prefer in calls:
            headers = {} if prefer is None else {"Prefer": f"wait={prefer}"}
            sends.append(("POST", "/asap", {"json": call(of, id, **more), "headers": headers}))
        return [_body(answer) for answer in self.ask_all(sends)]

    def meanwhile(self, of: Json, prefer: int | None, then: Callable[[], object]) -> httpx.Response:
        """The answer to one envelope; something is done once it is on the log and decided."""
        before, headers = self.decided(), {} if prefer is None else {"Prefer": f"wait={prefer}"}

        def work() -> None:
            wait_for(lambda: self.decided() > before, "it is decided")
            then()

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            answer = self.ask("POST", "/asap", json=call(of), headers=headers)
            working.result()
        return answer

    def decided(self) -> int:
        return len(self.bench.records("asap.events"))

    def result(self, of: Json, prefer: int | None = None) -> Json:
        """Of an envelope that is taken."""
        answer = self.rpc(of, prefer=prefer)
        assert "result" in answer, answer
        rpc_result: Json = answer["result"]
        return rpc_result

    def refusal(self, of: Json, prefer: int | None = None) -> tuple[int, Json]:
        """Code and data for one that is not."""
        answer = self.rpc(of, prefer=prefer)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"]["data"]


def _body(answer: httpx.Response) -> Json:
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


@contextmanager
def asap_bench(folder: Path, **settings: Any) -> Iterator[AsapBench]:
    with AsapBench(folder, **settings) as bench, bench.at_work():
        yield bench


def from_worker(payload_type: str, task: str, **payload: Any) -> Json:
    """An envelope of the worker about this task."""
    whole = {"task_id": task, **payload}
    more = {"sender": AGENT, "recipient": PLANNER, "correlation_id": task}
    return envelope_json(payload_type, payload=whole, **more)


def from_requester(payload_type: str, task: str, **payload: Any) -> Json:
    return envelope_json(payload_type, payload={"task_id": task, **payload})


def begun(bench: AsapBench, **config: Any) -> str:
    """A task that the worker has begun."""
    task = submitted(bench, **config)
    bench.result(from_worker("TaskUpdate", task, update_type="progress", status="working"))
    return task


def submitted(bench: AsapBench, **config: Any) -> str:
    payload = {**PAYLOADS["TaskRequest"], "config": config or None}
    return str(bench.result(envelope_json(payload=payload))["task_id"])


def done(task: str, status: str = "completed", **more: Any) -> Json:
    return from_worker("TaskResponse", task, status=status, result={"n": 1}, **more)


def status(result: Json) -> str:
    return str(result["envelope"]["payload"]["status"])


def recorded(of: Json) -> Json:
    """As the log keeps it."""
    return canonical_form(Envelope.model_validate(of))
