"""The official Python client against the door, in both bindings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from a2a.client import Client
from a2a.client.client import ClientCallContext
from a2a.types import a2a_pb2
from a2a.utils import errors
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.unit.doors.a2a.bench import EXT, HTTP_JSON, JSONRPC, A2aBench, a2a_bench, sending
from tests.unit.protocols.summit.queries.stage import OUTPUT, progress, words

TASK = "adaa3e69-07a4-506f-9423-e7166b1f2f47"
"""The task of message m-1 to word-stats without tokens, as the specification prints it."""
COMPLETED = a2a_pb2.TASK_STATE_COMPLETED
BINDINGS = pytest.mark.parametrize("binding", [JSONRPC, HTTP_JSON])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path_factory.mktemp("a2a")) as each:
        each.agent(lambda call: [progress(call["params"]["runId"], message="half"), *words(call)])
        yield each


async def send(client: Client, **more: Any) -> list[a2a_pb2.StreamResponse]:
    request = ParseDict(sending(**more), a2a_pb2.SendMessageRequest())
    return [each async for each in client.send_message(request)]


@BINDINGS
def test_client_sends_and_reads(bench: A2aBench, binding: str) -> None:
    """Check that a message is answered with its completed task, which is then read and listed."""

    async def work(client: Client) -> tuple[Any, Any, Any]:
        (sent,) = await send(client)
        task = await client.get_task(a2a_pb2.GetTaskRequest(id=TASK))
        request = a2a_pb2.ListTasksRequest(context_id=TASK, page_size=1)
        return sent.task, task, await client.list_tasks(request)

    sent, task, listed = bench.use(work, binding, streaming=False)
    assert (sent.id, sent.status.state) == (TASK, COMPLETED)
    assert MessageToDict(sent.artifacts[0].parts[0].data) == {**OUTPUT, "words": 6.0}
    assert task == sent
    assert [each.id for each in listed.tasks] == [TASK]
    assert listed.total_size == 1


@BINDINGS
def test_client_resumes_a_stream(bench: A2aBench, binding: str) -> None:
    """Check that a client that knows the id of an event gets what came after it, and no more."""

    async def work(client: Client) -> list[Any]:
        (task, *_) = await send(client, message_id="streamed")
        request = a2a_pb2.SubscribeToTaskRequest(id=task.task.id)
        context = ClientCallContext(service_parameters={"Last-Event-ID": "2"})
        return [each async for each in client.subscribe(request, context=context)]

    first, artifact, status = bench.use(work, binding)
    assert first.task.status.message.parts[0].text == "half"
    assert artifact.artifact_update.last_chunk
    assert status.status_update.status.state == COMPLETED
    ids = [dict(each.metadata[EXT])["id"] for each in (first.task, status.status_update)]
    assert ids == ["2", "3"]


@BINDINGS
def test_client_tells_errors_apart(bench: A2aBench, binding: str) -> None:
    """Check that the client raises the error that A2A has for each case."""

    async def work(client: Client) -> None:
        await send(client)
        with pytest.raises(errors.TaskNotFoundError):
            await client.get_task(a2a_pb2.GetTaskRequest(id="none"))
        with pytest.raises(errors.TaskNotCancelableError):
            await client.cancel_task(a2a_pb2.CancelTaskRequest(id=TASK))
        with pytest.raises(errors.InvalidParamsError) as caught:
            await send(client, text="other")
        assert (caught.value.data or {})["rule"] == "run.conflict"
        with pytest.raises(errors.ContentTypeNotSupportedError):
            await send(client, parts=[{"url": "https://a.example/f"}])
        with pytest.raises(errors.PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(
                a2a_pb2.TaskPushNotificationConfig(task_id=TASK, url="https://a.example/hook")
            )

    bench.use(work, binding, streaming=False)
