import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Problem, readProblem, UNREACHABLE } from "../api/client";
import type { Action, CommandResult } from "../protocols/action";
import { service } from "../state/service";
import { Field } from "./field";
import { ErrorBox } from "./states";
import { Text } from "./text";

/** The name of who acts where the gateway takes no tokens. */
const NOBODY = "operator";

interface Props {
  action: Action;
  onClose: () => void;
  onSent: (result: CommandResult) => void;
}

/** Say what a command will do, ask for what it takes, and send it.  An error stays in the dialog. */
export function ActionDialog({ action, onClose, onSent }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [sendOnce] = useState(() => action.prepare());
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    const principal = service.value.data?.caller?.principal ?? NOBODY;
    try {
      const { data, error, response } = await sendOnce({ values, principal });
      if (data === undefined) setProblem(readProblem(error, response));
      else {
        dialog.current?.close();
        onSent(data);
      }
    } catch {
      setProblem(UNREACHABLE);
    } finally {
      setBusy(false);
    }
  };
  const complete = action.fields.every(({ name, required }) => !required || values[name]?.trim());
  return (
    <dialog ref={dialog} class="find action" aria-labelledby="action-title" onClose={onClose}>
      <form onSubmit={send}>
        <h2 id="action-title">{action.label}</h2>
        <p>
          <Text value={action.effect} />
        </p>
        {action.fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            onValue={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        {problem && <ErrorBox problem={problem} />}
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy || !complete}>
            {action.label}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </p>
      </form>
    </dialog>
  );
}
