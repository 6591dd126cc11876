import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import type { Action, CommandResult } from "../protocols/action";
import { listActions } from "../protocols/actions";
import { isOperator, service } from "../state/service";
import { ActionDialog } from "./action_dialog";
import { Verdict } from "./chip";
import { PositionLink } from "./link";
import "../style/action.css";

interface Outcome {
  label: string;
  result: CommandResult;
}

/** What an operator may send about a thing, and what came of it.  Others see nothing of it. */
export function OperatorActions({ thing }: { thing: Schemas["Thing"] }) {
  const [open, setOpen] = useState<Action>();
  const [outcome, setOutcome] = useState<Outcome>();
  const actions = isOperator(service.value) ? listActions(thing) : [];
  if (actions.length === 0 && !outcome && !open) return null;
  return (
    <section class="operator" aria-label="For operators">
      {actions.map((action) => (
        <button type="button" key={action.label} onClick={() => setOpen(action)}>
          {action.label}…
        </button>
      ))}
      {outcome && <OutcomeLine outcome={outcome} />}
      {open && (
        <ActionDialog
          action={open}
          onClose={() => setOpen(undefined)}
          onSent={(result) => setOutcome({ label: open.label, result })}
        />
      )}
    </section>
  );
}

/** What a command came to.  It takes the focus: the button of the command may be gone by then. */
function OutcomeLine({ outcome }: { outcome: Outcome }) {
  const line = useRef<HTMLParagraphElement>(null);
  useEffect(() => line.current?.focus(), [outcome]);
  const { label, result } = outcome;
  return (
    <p role="status" tabIndex={-1} ref={line}>
      {label}:{" "}
      {result.verdict === null ? (
        "on the log, without a verdict yet"
      ) : (
        <Verdict verdict={result.verdict} rule={result.rule} />
      )}{" "}
      <PositionLink position={result.position} />
    </p>
  );
}
