"""The official JavaScript client of A2A, against a real gateway."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.a2a_wire import message, register, reply
from tests.integration.system import Live
from tests.interop.node_tools import NodeTools
from tests.processes import wait_for
from tests.unit.protocols.summit.queries.stage import OUTPUT, manifest, progress, result

pytestmark = pytest.mark.slow
TASK_OF = "headrace:a2a:/{agent}/m-1"
"""What the id of the task of message m-1 is made of, without tokens."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> NodeTools:
    return NodeTools(tmp_path_factory.mktemp("interop"), "a2a")


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_javascript_client_is_served(system: Live, tools: NodeTools, binding: str) -> None:
    """Send a message twice, follow its task to the end, and resume the stream."""
    agent_id = f"a-{uuid.uuid4().hex[:8]}"
    task_id = str(uuid.uuid5(uuid.NAMESPACE_URL, TASK_OF.format(agent=agent_id)))
    register(system, manifest(agent_id))
    card = f"{system.url}/a2a/{agent_id}/.well-known/agent-card.json"
    order = {"card": card, "binding": binding, **message("m-1")}
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(tools.ask_json, "client.js", order)
        wait_for(lambda: answer.done() or has_run(system, task_id), "the message is sent")
        replies = progress(task_id, agent=agent_id), result(task_id, agent=agent_id)
        reply(system, *replies)
        got = answer.result()
    assert got["first"][-2:] == [["artifactUpdate", "3a"], ["statusUpdate", "3"]]
    assert got["resumed"] == [["task", "1"], ["statusUpdate", "2"], *got["first"][-2:]]
    assert got["refusal"].endswith("TaskNotCancelableError")
    assert (got["id"], got["state"]) == (task_id, "TASK_STATE_COMPLETED")
    assert got["listed"] == [task_id]
    assert got["output"] == [OUTPUT]
    assert got["history"][0] == [True, 1]


def has_run(system: Live, task_id: str) -> bool:
    with system.client as http:
        return http.get(f"/v1/summit/runs/{task_id}").status_code == 200
