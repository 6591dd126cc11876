import { useState } from "preact/hooks";
import type { Problem, QueryOf } from "../api/client";
import type { paths } from "../api/schema";
import { useUrl } from "../state/url";
import { Icon } from "./icons";
import { plain, Text } from "./text";

/** A filter of a list: a parameter of its route. */
export interface Filter {
  name: string;
  label: string;
  /** The values to choose from; without them it is a text. */
  values?: readonly string[];
  /** How the command takes it, where not by an option of its name; null: not at all. */
  option?: string | null;
}

/** A filter whose name, and values if it has some, are those of a route. */
export type FilterOf<P extends keyof paths> = {
  [Name in keyof QueryOf<P> & string]: Filter & {
    name: Name;
    values?: readonly (NonNullable<QueryOf<P>[Name]> & string)[];
  };
}[keyof QueryOf<P> & string];

/** A filter that the command takes as its argument, and needs. */
export const ARGUMENT = "argument";
/** A filter that the command takes as its argument, and does not need. */
export const OPTIONAL_ARGUMENT = "optional argument";

interface Props {
  filters: readonly Filter[];
  problem: Problem | undefined;
  /** Whether there are rows to look for text in. */
  withText?: boolean;
}

/** The filters of a list as chips, and a field for text.  All of it stands in the address. */
export function FilterBar({ filters, problem, withText = true }: Props) {
  const { query, change } = useUrl();
  const active = filters.filter((each) => query[each.name]);
  return (
    <search class="filters">
      {active.map((filter) => (
        <FilterChip
          filter={filter}
          value={query[filter.name] ?? ""}
          refusal={problem?.path === filter.name ? problem : undefined}
          key={filter.name}
          onClear={() => change({ [filter.name]: undefined })}
        />
      ))}
      {filters
        .filter((each) => !query[each.name])
        .map((filter) => (
          <FilterField
            filter={filter}
            key={filter.name}
            onValue={(value) => change({ [filter.name]: value }, false)}
          />
        ))}
      {withText && (
        <input
          class="text"
          type="search"
          aria-label="Text in the rows"
          placeholder="text in the rows"
          value={query["q"] ?? ""}
          onInput={(event) => change({ q: event.currentTarget.value })}
        />
      )}
    </search>
  );
}

interface ChipProps {
  filter: Filter;
  value: string;
  /** What the API says of the value where it refuses it. */
  refusal: Problem | undefined;
  onClear: () => void;
}

function FilterChip({ filter, value, refusal, onClear }: ChipProps) {
  return (
    <span class={refusal ? "chip refused" : "chip"} data-filter={filter.name}>
      <span class="muted">{filter.label}</span> <Text value={value} code />
      {refusal && (
        <strong title={plain(refusal.detail)}>
          <Text value={refusal.code} code />
        </strong>
      )}
      <button type="button" class="bare" aria-label={`Clear ${filter.label}`} onClick={onClear}>
        <Icon name="close" />
      </button>
    </span>
  );
}

function FilterField({ filter, onValue }: { filter: Filter; onValue: (value: string) => void }) {
  const [text, setText] = useState("");
  if (filter.values) {
    return (
      <select
        aria-label={filter.label}
        value=""
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        <option value="">{filter.label}</option>
        {filter.values.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    );
  }
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== "") onValue(text);
      }}
    >
      <input
        aria-label={filter.label}
        placeholder={filter.label}
        size={Math.max(8, filter.label.length)}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
