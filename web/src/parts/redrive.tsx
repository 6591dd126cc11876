import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { api, type Problem, readProblem, type Schemas, UNREACHABLE } from "../api/client";
import { Verdict } from "./chip";
import { PositionLink } from "./link";
import { ErrorBox } from "./states";
import { Text } from "./text";

/** The positions of the letters that are chosen. */
export type Chosen = Signal<ReadonlySet<string>>;

type Result = Schemas["RedriveResult"];

interface Outcome {
  dryRun: boolean;
  results: readonly Result[];
}

/** Send the chosen dead letters again, for a reason, or try what would come of it. */
export function Redrive({ chosen, onSent }: { chosen: Chosen; onSent: () => void }) {
  const [reason, setReason] = useState("");
  const [again, setAgain] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [outcome, setOutcome] = useState<Outcome>();
  const send = async (dryRun: boolean): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    const body = { positions: [...chosen.value], dry_run: dryRun, again, reason: reason || null };
    try {
      const { data, error, response } = await api.POST("/v1/dead-letters/redrive", { body });
      if (data === undefined) setProblem(readProblem(error, response));
      else {
        setOutcome({ dryRun, results: data.results });
        if (!dryRun) {
          chosen.value = new Set();
          onSent();
        }
      }
    } catch {
      setProblem(UNREACHABLE);
    } finally {
      setBusy(false);
    }
  };
  const count = chosen.value.size;
  return (
    <section class="card redrive" aria-label="Sending again">
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault();
          void send(false);
        }}
      >
        <span>{count === 0 ? "Choose letters to send them again." : `${count} chosen`}</span>
        <input
          class="text"
          aria-label="Reason"
          placeholder="reason, kept in the audit"
          maxLength={1000}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={again}
            onChange={(event) => setAgain(event.currentTarget.checked)}
          />{" "}
          also those that failed again
        </label>
        <button type="button" disabled={count === 0 || busy} onClick={() => void send(true)}>
          Dry run
        </button>
        <button
          type="submit"
          class="primary"
          disabled={count === 0 || busy || reason.trim() === ""}
          title={reason.trim() === "" ? "A redrive needs a reason." : undefined}
        >
          Redrive
        </button>
      </form>
      {problem && <ErrorBox problem={problem} />}
      {outcome && <Results outcome={outcome} />}
    </section>
  );
}

function Results({ outcome }: { outcome: Outcome }) {
  return (
    <div role="status">
      <h2>{outcome.dryRun ? "What would come of it; nothing is sent" : "What was sent"}</h2>
      <ul class="lines">
        {outcome.results.map(({ position, state, sent, verdict }) => (
          <li key={position} data-key={position}>
            <PositionLink position={position} /> <span class="state">{state}</span>{" "}
            {sent && (
              <>
                sent as <PositionLink position={sent} />
              </>
            )}
            {verdict && (
              <>
                <Verdict verdict={verdict.verdict} rule={verdict.rule} />{" "}
                <Text value={verdict.message ?? ""} />
              </>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
