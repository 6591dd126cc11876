import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Problem, readProblem, UNREACHABLE } from "../api/client";
import type { Action, ActionField, CommandResult } from "../protocols/action";
import { service } from "../state/service";
import { ErrorBox } from "./states";

/** The name of who acts where the gateway takes no tokens. */
const NOBODY = "operator";
const MOST_CHARACTERS = 4000;

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
        <p>{action.effect}</p>
        {action.fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
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

interface FieldProps {
  field: ActionField;
  value: string;
  onChange: (value: string) => void;
}

function Field({ field, value, onChange }: FieldProps) {
  const { label, required, values } = field;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label} {!required && <span class="muted">(optional)</span>}
      </label>
      {values ? (
        <select
          id={id}
          value={value}
          required
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          <option value="" />
          {values.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        <textarea
          id={id}
          rows={3}
          maxLength={MOST_CHARACTERS}
          required={required}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </div>
  );
}
