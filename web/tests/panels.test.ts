import { expect, test } from "vitest";
import { byAgent, toPoints } from "../src/parts/confidence_figures";
import { listPanelFacts } from "../src/protocols/panels";

test("a run says what it used of its budget", () => {
  const details = {
    budget: { usd: 1 },
    metrics: { tokens: 5, cost_usd: 0.5 },
    provenance: { model: "m", timestamp: "" },
    verification: null,
    parentRunId: null,
    evidence: { callPosition: "summit.calls/0/0", replyPosition: null },
  };
  expect(
    listPanelFacts({ node: "", kind: "summit:run", details, verdicts: [] }).map(
      ({ label }) => label,
    ),
  ).toEqual(["budget", "provenance", "tree", "evidence", "call"]);
});

test("a conversation has its participants and what was said in each of its tasks", () => {
  const details = { conversation: { participants: ["a", "b"] }, tasks: ["t-1", "t-2"] };
  const facts = listPanelFacts({ node: "", kind: "asap:conversation", details, verdicts: [] });
  expect(facts.map(({ label }) => label)).toEqual(["participants", "tasks", "messages"]);
});

test("a playbook has what was learned of its tasks", () => {
  const item = {
    statusCounts: { SUCCEEDED: 2 },
    alignmentCounts: {},
    violationCounts: {},
    ratings: { mean: null },
    bestTaskId: "t-1",
    notes: [],
    playbook: null,
  };
  const facts = listPanelFacts({
    node: "",
    kind: "sap:playbook",
    details: { items: [item] },
    verdicts: [],
  });
  expect(facts.map(({ label }) => label)).toEqual([
    "outcomes",
    "states",
    "approved, refused",
    "best task",
  ]);
});

test("a kind without a panel has no facts, nor has a thing without details", () => {
  expect(listPanelFacts({ node: "", kind: "trace", details: {}, verdicts: [] })).toEqual([]);
  expect(listPanelFacts({ node: "", kind: "sap:task", details: null, verdicts: [] })).toEqual([]);
});

test("a packet says who has acknowledged it, and how its throttle and gates stood", () => {
  const acks = {
    required: true,
    recipients: ["a", "b"],
    accepted: ["a"],
    pending: ["b"],
    attempt: 1,
  };
  const details = {
    acks: { ...acks, deadline_at: "2026-01-01T00:00:00.000Z", ack_due_at: null },
    transfer: { protocol_id: "px", to_swarm: "swarm-b", selection: null },
    verification: { mode: "deferred", outcome: "pass", by: "c" },
    gates: { met: true, checks: [] },
    generation: 3,
  };
  const labels = listPanelFacts({ node: "", kind: "apc:packet", details, verdicts: [] }).map(
    ({ label }) => label,
  );
  expect(labels).toEqual(["acknowledgements", "transfer", "gates", "verification", "generation"]);
});

test("a turn is a thought, an action and an observation", () => {
  const turn = {
    content: { thought: "t", action: "a", observation: "o" },
    metadata: { confidence: 0.9, estimated_complexity: "low", task_id: "t-1" },
  };
  const details = { items: [{ turn, gap: null }] };
  const facts = listPanelFacts({ node: "", kind: "saop:turn", details, verdicts: [] });
  expect(facts.map(({ label }) => label)).toEqual([
    "thought",
    "action",
    "observation",
    "confidence",
    "task",
  ]);
});

test("a point of the confidence has the rules that its turn escalated", () => {
  const turn = (turn_index: number, confidence: number) => ({
    turn: { turn_index, agent_id: "architect", metadata: { confidence } } as never,
  });
  const raised = [{ turn_index: 2, agent_id: "architect" as const, rules: ["confidence_slope"] }];
  const points = toPoints([turn(1, 0.9), turn(2, 0.4)], raised);
  expect(points.map(({ confidence, rules }) => [confidence, rules])).toEqual([
    [0.9, []],
    [0.4, ["confidence_slope"]],
  ]);
  expect(byAgent(points).map(([agent, line]) => [agent, line.length])).toEqual([["architect", 2]]);
});

test("a look back shows no fact that is known of now alone", () => {
  const present = (kind: string, details: object) =>
    listPanelFacts({ node: "", kind, details, verdicts: [] })
      .filter((each) => each.present)
      .map(({ label }) => label);
  const task = { task: { id: "t" }, snapshot_version: null };
  expect(present("asap:task", task)).toEqual(["messages", "artifacts"]);
  expect(present("sap:task", { cache: null, outcomes: [], target: { capability: "c" } })).toEqual([
    "learning",
  ]);
  expect(present("saop:task", { items: [{ task_id: "t" }] })).toEqual(["confidence"]);
  const run = {
    runId: "r",
    budget: null,
    metrics: {},
    provenance: null,
    verification: null,
    evidence: { callPosition: "summit.calls/0/0", replyPosition: null },
  };
  expect(present("summit:run", run)).toEqual(["tree", "evidence"]);
});
