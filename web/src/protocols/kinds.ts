/** The kinds of things that are shown as they were, too. */
export const KINDS_WITH_AS_OF: ReadonlySet<string> = new Set([
  "apc:packet",
  "asap:task",
  "saop:session",
  "saop:task",
  "sap:cache",
  "sap:outcome",
  "sap:signal",
  "sap:task",
  "summit:call",
  "summit:reply",
  "summit:run",
]);

/** The topics whose records nobody is shown, without their prefix. */
const HIDDEN_TOPICS = [
  "apc.outcomes",
  "apc.transfers",
  "asap.links",
  "headrace.changelog",
  "otel.spans",
  "push.deliveries",
  "push.subscriptions",
  "rtes.raw",
  "saop.task-signals",
  "sap.learning-signals",
  "sap.lookups",
  "summit.auto-calls",
  "summit.tree",
];

/** Whether the records of a topic may be shown.  topic: with its prefix. */
export const isShownTopic = (topic: string): boolean =>
  !HIDDEN_TOPICS.some((name) => topic.endsWith(name));

/** The list that shows what a protocol accepted in a window, by `from` and `to`. */
export const WINDOWED_LISTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  apc: { tab: "packets", verdict: "accepted" },
  sap: {},
  asap: {},
  summit: {},
  saop: {},
};

/** The list that shows the open things of a kind, and its filter of the state. */
export const LISTS_OF_KINDS: Readonly<Record<string, { tab: string; state: string }>> = {
  "apc:packet": { tab: "packets", state: "state" },
  "sap:task": { tab: "tasks", state: "state" },
  "asap:task": { tab: "tasks", state: "status" },
  "summit:run": { tab: "runs", state: "state" },
  "saop:task": { tab: "tasks", state: "state" },
};
