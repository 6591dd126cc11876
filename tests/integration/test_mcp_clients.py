"""The official clients of MCP for Go and Java, built here, against a real gateway."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.integration.system import Live
from tests.integration.test_mcp_foreign import NEW, OLD, sent_packet
from tests.interop.go_tools import GoTool
from tests.interop.maven import HERE, files_of
from tests.unit.protocols.sap.queries.stage import result, task

pytestmark = pytest.mark.slow
RUN_LIMIT_S = 180


@pytest.fixture
def order(system: Live, tmp_path: Path) -> Path:
    """Write down what a client is to ask."""
    envelope, waited = ({**task(), "taskId": str(uuid.uuid4())} for _ in range(2))
    members = {
        "url": f"{system.url}/mcp",
        "node": sent_packet(system),
        "task": envelope,
        "result": result(envelope),
        "waited": waited,
        "results": [result(waited, "RUNNING"), result(waited)],
    }
    file = tmp_path / "order.json"
    file.write_text(json.dumps(members))
    return file


def check(answer: Any, order: Path, version: str) -> None:
    """Check what every client gets: tools, a state, a refusal, results, progress, a resource."""
    expected = json.loads(order.read_text())
    assert (answer["server"], answer["version"]) == ("headrace", version)
    assert {"send", "explain", "state"} <= set(answer["tools"])
    assert answer["state"]["node"] == expected["node"]
    assert (answer["refused"], answer["refusal"]["rule"]) == (True, "node_unknown")
    for name, sent in (("outcome", "task"), ("waited", "waited")):
        outcome = answer[name]["outcome"]
        assert (outcome["taskId"], outcome["status"]) == (expected[sent]["taskId"], "SUCCEEDED")
    assert answer["progress"] == ["QUEUED", "RUNNING"]
    assert answer["resource"]["node"] == expected["node"]
    assert "token_missing" in answer["completed"]


def test_the_go_client_follows_a_task_to_its_result(order: Path, tmp_path: Path) -> None:
    ran = GoTool("./mcp", tmp_path).run(str(order), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-3000:]
    answer = json.loads(ran.stdout)
    assert answer["statuses"] == ["working", "completed"]
    check(answer, order, NEW)


def test_the_java_client_gets_a_result_by_sending_the_task_again(
    order: Path, tmp_path: Path
) -> None:
    java = shutil.which("java")
    if java is None or shutil.which("mvn") is None:
        pytest.skip("Java and Maven are not installed: the Java client was not asked")
    jars = files_of(HERE / "java_mcp/pom.xml", tmp_path)
    ran = subprocess.run(
        [java, "-cp", ":".join(jars), str(HERE / "java_mcp/Client.java"), str(order)],
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    answer = json.loads(ran.stdout)
    assert answer["verdicts"] == ["accepted", "duplicate"]
    check(answer, order, OLD)
