import { expect, test } from "vitest";
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
  expect(listPanelFacts("summit:run", details).map(({ label }) => label)).toEqual([
    "budget",
    "model",
    "call",
  ]);
});

test("a kind without a panel has no facts, nor has a thing without details", () => {
  expect(listPanelFacts("apc:packet", {})).toEqual([]);
  expect(listPanelFacts("sap:task", null)).toEqual([]);
});
