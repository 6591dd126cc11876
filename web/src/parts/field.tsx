import { useId } from "preact/hooks";
import "../style/field.css";

/** What a form asks for: a text, or one of some words. */
export interface FieldSpec {
  name: string;
  label: string;
  /** Whether it may stay empty; where a whole form is optional, nothing is said of that. */
  required?: boolean;
  values?: readonly string[];
  /** The most characters of a text of several lines. */
  characters?: number;
}

interface Props {
  field: FieldSpec;
  value: string;
  onValue: (value: string) => void;
}

/** A field of a form below its label. */
export function Field({ field, value, onValue }: Props) {
  const { label, required = false, values, characters } = field;
  const common = { id: useId(), value, required };
  return (
    <div class="field">
      <label for={common.id}>
        {label} {field.required === false && <span class="muted">(optional)</span>}
      </label>
      {values ? (
        <select {...common} onChange={(event) => onValue(event.currentTarget.value)}>
          <option value="" />
          {values.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : characters ? (
        <textarea
          {...common}
          rows={3}
          maxLength={characters}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      ) : (
        <input {...common} onInput={(event) => onValue(event.currentTarget.value)} />
      )}
    </div>
  );
}
