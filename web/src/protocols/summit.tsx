import {
  countColumn,
  nodeColumn,
  nodePart,
  positionColumn,
  stateColumn,
  textColumn,
  timeColumn,
  WINDOW,
  writeDollars,
} from "./cells";
import { defineItems, type ProtocolList } from "./define";
import { TREE } from "./summit_tree";

const runs = defineItems("/v1/summit/runs", {
  empty: "No agent was called yet. `headrace summit invoke` calls one.",
  rowKey: (row) => row.runId,
  filters: [
    {
      name: "state",
      label: "state",
      values: ["queued", "running", "completed", "failed", "cancelled", "budget_exceeded"],
    },
    { name: "kind", label: "kind", values: ["invoke", "tool"] },
    { name: "agentId", label: "agent", option: "--agent" },
    { name: "caller", label: "caller" },
    { name: "parentRunId", label: "parent", option: "--parent" },
    { name: "traceId", label: "trace", option: "--trace" },
    ...WINDOW,
  ],
  columns: [
    timeColumn("created", (row) => row.createdAt),
    nodeColumn(
      "run",
      (row) => ({ node: `summit:run:${nodePart(row.runId)}`, label: row.runId }),
      true,
    ),
    stateColumn("state", (row) => row.status),
    textColumn("agent", (row) => row.agentId),
    textColumn("tool", (row) => row.toolName),
    textColumn("verification", (row) => row.verificationStatus),
    countColumn("tokens", (row) => row.metrics.tokens),
    { label: "cost", number: true, cell: (row) => writeDollars(row.metrics.cost_usd) },
    textColumn("message", (row) => row.message),
    timeColumn("due", (row) => row.dueAt),
  ],
});

const agents = defineItems("/v1/summit/agents", {
  empty: "No agent is registered. `headrace summit register FILE` registers one.",
  rowKey: (row) => row.agentId,
  filters: [
    { name: "state", label: "state", values: ["registered", "withdrawn"] },
    { name: "role", label: "role" },
    { name: "capability", label: "capability" },
  ],
  columns: [
    nodeColumn(
      "agent",
      (row) => ({
        node: `summit:manifest:${nodePart(row.agentId)}/${nodePart(row.version)}`,
        label: row.agentId,
      }),
      true,
    ),
    textColumn("version", (row) => row.version),
    stateColumn("state", (row) => row.state),
    textColumn("role", (row) => row.manifest.spec.role),
    textColumn("capabilities", (row) => row.manifest.spec.capabilities.join(", ")),
    textColumn("tools", (row) => row.manifest.spec.tools.map((each) => each.name).join(", ")),
    positionColumn("manifest", (row) => row.position),
    timeColumn("registered", (row) => row.at),
  ],
});

export const SUMMIT: readonly ProtocolList[] = [runs, TREE, agents];
