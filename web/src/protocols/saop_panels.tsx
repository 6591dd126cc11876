import type { Schemas } from "../api/client";
import { Confidence } from "../parts/confidence";
import { NodeLink } from "../parts/link";
import { Text } from "../parts/text";
import { address } from "../state/url";
import { writeCounts } from "./cells";
import type { Items } from "./items";
import { type Describe, fact, type PanelFact, presentFact, textFact } from "./panel_fact";

type Task = Items<"/v1/saop/tasks">;
type Turn = Schemas["headrace.saop.SaopTurnLogged"];
type Escalation = Schemas["headrace.saop.SaopEscalation"];
type Session = Items<"/v1/saop/sessions">;
type Rewind = Schemas["headrace.saop.SaopRewindLogged"];

/** The first item of the list that describes a thing. */
function firstItem<T>(details: object): T | undefined {
  return (details as { items?: T[] }).items?.[0];
}

const taskNode = (id: string): string => `saop:task:${id}`;

export const describeTask: Describe = (details) => {
  const task = firstItem<Task>(details);
  if (!task) return [];
  return [
    textFact("profile", task.profile),
    fact("transitions", `${task.transitions}, ${task.failures} failures`),
    textFact("commit", task.head_hash),
    presentFact("confidence", <Confidence task={task.task_id} />),
  ];
};

export const describeTurn: Describe = (details) => {
  const logged = firstItem<Turn>(details);
  if (!logged) return [];
  const { content, metadata } = logged.turn;
  const words = (["thought", "action", "observation"] as const).map((name) =>
    textFact(name, content[name]),
  );
  return [
    ...words,
    textFact("confidence", `${metadata.confidence}, complexity ${metadata.estimated_complexity}`),
    fact("task", <NodeLink node={taskNode(metadata.task_id)} label={metadata.task_id} />),
    logged.gap
      ? fact("missing before", `turns ${logged.gap.missing_from} to ${logged.gap.missing_to}`)
      : null,
  ];
};

/** The escalation of a thing among those of its task: the details list them all. */
export const describeEscalation: Describe = (details, thing) => {
  const { items } = details as { items: Escalation[] };
  const escalation = items.find(({ escalation_id }) => thing.node.endsWith(`:${escalation_id}`));
  if (!escalation) return [];
  const { task_id, slope, decline, thresholds, failures, run_length } = escalation;
  return [
    textFact("rules", escalation.rules.join(", ")),
    textFact("outcome", escalation.outcome.replaceAll("_", " ")),
    fact("task", <NodeLink node={taskNode(task_id)} label={task_id} />),
    textFact("slope", slope),
    textFact("decline", decline),
    textFact("same observation", run_length),
    textFact("failures", failures),
    textFact(
      "thresholds",
      Object.entries(thresholds)
        .map(([name, value]) => `${name} ${value}`)
        .join(", "),
    ),
    escalation.detector === "confidence" ? fact("confidence", <Confidence task={task_id} />) : null,
  ];
};

export const describeSession: Describe = (details) => {
  const session = firstItem<Session>(details);
  if (!session) return [];
  const { session_id } = session;
  return [
    textFact("events", writeCounts(session.events_by_type)),
    textFact("tasks", writeCounts(session.tasks_by_state)),
    fact("refused, duplicate", `${session.rejected}, ${session.duplicates}`),
    fact("tail", <a href={address(["live"], { session_id, from: "earliest" })}>live</a>),
  ];
};

function describeMoves(moved: Rewind["moved"]): PanelFact | null {
  if (moved.length === 0) return null;
  return fact(
    "moved",
    <ul class="lines">
      {moved.map(({ task_id, from_state, to_state }) => (
        <li key={task_id}>
          <NodeLink node={taskNode(task_id)} label={task_id} />{" "}
          <Text value={`${from_state} → ${to_state}`} code />
        </li>
      ))}
    </ul>,
  );
}

export const describeRewind: Describe = (details) => {
  const rewind = details as Rewind;
  return [
    rewind.target_task_id
      ? fact(
          "back to",
          <NodeLink node={taskNode(rewind.target_task_id)} label={rewind.target_task_id} />,
        )
      : null,
    textFact("commit", rewind.git_hash),
    textFact("cut after event", rewind.cut_sequence),
    describeMoves(rewind.moved),
    textFact("left as they are", rewind.unchanged.length),
    textFact("asked for by", rewind.requested_by),
  ];
};
