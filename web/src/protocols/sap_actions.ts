import { api, mapAnswer, type Schemas } from "../api/client";
import type { FieldSpec } from "../parts/field";
import type { Action, CommandResult, ListActions } from "./action";

type Signal = Schemas["sap.signal"];
type Decision = NonNullable<Signal["decision"]>;
type Task = Schemas["SapTaskAnswer"];
type Sent = Schemas["headrace.sap.SapAck"] | Schemas["SapPending"] | Schemas["Positions"];

const WAIT = "wait=10";
const NOTE = { name: "note", characters: 4000 };
const REASON: FieldSpec = { ...NOTE, label: "Reason", required: true };
const REMARK: FieldSpec = { ...NOTE, label: "Note", required: false };
const RATING: FieldSpec = {
  name: "rating",
  label: "Rating, from 1 (bad) to 5 (good)",
  required: true,
  values: ["1", "2", "3", "4", "5"],
};
const LEARNED = "What is learned of such tasks counts it. The outcome of this task stays.";

/** Return the command of a signal about a task.  decision: that of an approval. */
function signalAction(
  { taskId, correlationId }: Task,
  kind: Signal["kind"],
  words: Pick<Action, "label" | "effect" | "fields">,
  decision?: Decision,
): Action {
  const prepare: Action["prepare"] = () => {
    const signalId = crypto.randomUUID();
    const sentAt = `${new Date().toISOString().slice(0, 19)}Z`;
    return async ({ values, principal }) => {
      const { note, rating } = values;
      const body: Signal = {
        protocolVersion: "2.0",
        signalId,
        taskId,
        correlationId: correlationId ?? "",
        sentAt,
        operator: { agentId: principal, agentKind: "user" },
        kind,
        ...(decision && { decision }),
        ...(note && { note }),
        ...(rating && { rating: Number(rating) }),
      };
      const params = { header: { Prefer: WAIT } };
      return mapAnswer(await api.POST("/v1/sap/signals", { params, body }), readSent);
    };
  };
  return { ...words, prepare };
}

function readSent(sent: Sent): CommandResult {
  if ("verdict" in sent) return { verdict: sent.verdict, rule: sent.rule, position: sent.position };
  return { verdict: null, rule: null, position: String(sent.positions[0]) };
}

/** The signals of operators: cancel what is open, judge what has ended, say something of either. */
export const listSapActions: ListActions = ({ terminal, details }) => {
  const task = details as Task;
  if (task.correlationId === null) return [];
  const note = signalAction(task, "note", {
    label: "Add note",
    effect: "The note is kept with what was sent about this task, and learning counts it.",
    fields: [{ ...REMARK, required: true }],
  });
  if (!terminal) {
    const cancel = signalAction(task, "cancel", {
      label: "Cancel task",
      effect: "The task ends with the outcome CANCELLED. Results that come later are refused.",
      fields: [REASON],
    });
    return [cancel, note];
  }
  const judge = (label: string, decision: Decision, field: FieldSpec): Action =>
    signalAction(
      task,
      "approval",
      { label, effect: `The result is ${decision}. ${LEARNED}`, fields: [field] },
      decision,
    );
  return [
    judge("Approve result", "approved", REMARK),
    judge("Reject result", "rejected", REASON),
    signalAction(task, "rating", {
      label: "Rate result",
      effect: `The result gets a rating. ${LEARNED}`,
      fields: [RATING, REMARK],
    }),
    note,
  ];
};
