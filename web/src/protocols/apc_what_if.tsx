import { useState } from "preact/hooks";
import { api, type Problem, queryOf, readProblem, type Schemas, UNREACHABLE } from "../api/client";
import { Verdict } from "../parts/chip";
import { Field, type FieldSpec } from "../parts/field";
import { ErrorBox } from "../parts/states";
import { Text } from "../parts/text";

type Packet = Schemas["headrace.apc.ApcPacketState"];
type Counterfactual = Schemas["Counterfactual"];

const PATH = "/v1/apc/sessions/{session_id}/packets/{packet_id}/explain";
const STANDING = "standing";
const FIELDS: readonly FieldSpec[] = [
  { name: "sender_score", label: "sender score" },
  { name: "receiver_score", label: "receiver score" },
  { name: "top_k", label: "top k" },
  { name: "generation", label: "generation" },
  { name: "min_generation", label: "first generation" },
  { name: "threshold_multiplier", label: "threshold multiplier" },
  { name: "to_swarm", label: "to swarm" },
  {
    name: "run_phase",
    label: "phase",
    values: [
      "RESEARCH",
      "DISCOVERY",
      "REFINEMENT",
      "CONVERGENCE",
      "ARBITRATION",
      "EXECUTION",
      "VALIDATION",
      "PROMOTION",
    ],
  },
  {
    name: "mode",
    label: "mode",
    values: ["WINNER_TO_LOSERS", "CROSS_USE_CASE", "COMMONS_SEED", "SELECTIVE_IMPORT"],
  },
  { name: "cross_use_case", label: "across use cases", values: ["true", "false"] },
  { name: STANDING, label: "receivers and decay", values: ["recorded", "now"] },
];

/** Ask what the verdict on a transfer would have been with other values.  Nothing is sent. */
export function WhatIf({ thing }: { thing: Schemas["Thing"] }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState<Problem>();
  const [answer, setAnswer] = useState<Counterfactual>();
  if (thing.kind !== "apc:packet" || !thing.details) return null;
  const { packet_type, session_id, packet_id } = thing.details as unknown as Packet;
  if (packet_type !== "TRANSFER") return null;
  const given = Object.entries(values).filter(([, value]) => value.trim() !== "");
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    const query = queryOf<typeof PATH>(Object.fromEntries(given));
    setProblem(undefined);
    setAnswer(undefined);
    try {
      const params = { path: { session_id, packet_id }, query };
      const { data, error, response } = await api.GET(PATH, { params });
      if (data === undefined) setProblem(readProblem(error, response));
      else if ("counterfactual" in data) setAnswer(data.counterfactual);
    } catch {
      setProblem(UNREACHABLE);
    }
  };
  return (
    <details class="card what-if">
      <summary>What if</summary>
      <p class="muted">
        The checks of this transfer with other values. What is left empty stays as it was; nothing
        is sent.
      </p>
      <form onSubmit={ask}>
        {FIELDS.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            onValue={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        <button type="submit" class="primary" disabled={given.every(([name]) => name === STANDING)}>
          Evaluate
        </button>
      </form>
      {problem && <ErrorBox problem={problem} />}
      {answer && <Answer answer={answer} />}
    </details>
  );
}

function Answer({ answer }: { answer: Counterfactual }) {
  const { passes, decided_by, standing, changed } = answer;
  const state = standing === "recorded" ? "as recorded then" : "of now";
  return (
    <div role="status">
      <p>
        <Verdict verdict={passes ? "accepted" : "rejected"} rule={decided_by} />, with receivers and
        decay {state}
      </p>
      {changed.length > 0 && (
        <p>
          Checks that end otherwise: <Text value={changed.join(", ")} code />
        </p>
      )}
    </div>
  );
}
