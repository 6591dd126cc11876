"""Graphs as agents."""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from streams.adapters import Price
from streams.adapters.langgraph import from_graph
from tests.unit.adapters.support import Json, final_of, made, replies_of
from tests.unit.adapters.test_langchain import answering


def chat(*texts: str) -> Any:
    """A graph of two nodes that are asked in turn; the second is synchronous."""
    model = answering(*texts)

    async def draft(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def check(state: MessagesState) -> Json:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("draft", draft)
    graph.add_node("check", check)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "check")
    graph.add_edge("check", END)
    return graph.compile()


def test_the_last_message_is_the_output_and_each_node_is_progress() -> None:
    replies = replies_of(
        from_graph(chat("a draft", "checked"), prices={"*": Price("1", "1")}), {"text": "Write."}
    )
    assert replies[-1]["output"] == {"text": "checked"}
    assert [reply.get("message") for reply in replies[1:-1]] == [
        "draft has finished",
        "check has finished",
    ]
    assert [reply["metrics"]["tokens"] for reply in replies[1:]] == [120, 240, 240]
    assert made(replies[-1])["models"][0]["calls"] == 2


def test_a_broken_budget_stops_a_synchronous_node() -> None:
    final = final_of(from_graph(chat("a", "b")), {"text": "Write."}, {"tokens": 200})
    assert (final["status"], final["metrics"]["tokens"]) == ("budget_exceeded", 240)
    final = final_of(from_graph(chat("a", "b")), {"text": "Write."}, {"tokens": 100})
    assert (final["status"], final["metrics"]["tokens"]) == ("budget_exceeded", 120)


class Sum(TypedDict):
    a: int
    b: int
    total: int


def adding(node: Any) -> Any:
    graph = StateGraph(Sum)
    graph.add_node("add", node)
    graph.add_edge(START, "add")
    return graph.compile()


def test_a_graph_without_messages_takes_the_inputs_and_gives_its_state() -> None:
    handler = from_graph(adding(lambda state: {"total": state["a"] + state["b"]}))
    final = final_of(handler, {"a": 1, "b": 2})
    assert final["output"] == {"a": 1, "b": 2, "total": 3}


def test_inputs_of_the_callers_own_form() -> None:
    handler = from_graph(
        chat("a", "b"), inputs=lambda inputs: {"messages": [HumanMessage(inputs["question"])]}
    )
    assert final_of(handler, {"question": "Why?"})["output"] == {"text": "b"}


def test_a_graph_that_asks_a_person_fails_the_run() -> None:
    def ask(state: Sum) -> Json:
        return {"total": interrupt("how much?")}

    graph = StateGraph(Sum)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    compiled = graph.compile(checkpointer=InMemorySaver())
    handler = from_graph(compiled.with_config({"configurable": {"thread_id": "1"}}))
    final = final_of(handler, {"a": 1, "b": 2})
    assert "takes no second message" in final["error"]["message"]
