import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { announce } from "../state/announce";
import { address, thingAddress, useUrl } from "../state/url";
import { type SavedView, savedViews } from "../state/views";
import { PLACES } from "./places";
import { useTeamViews } from "./team_views";
import { plain, Text } from "./text";

interface Choice {
  key: string;
  kind: string;
  label: string;
  detail: string;
  href: string;
}

const SHORTEST = 3;

function matches(label: string, text: string): boolean {
  return label.toLowerCase().includes(text.toLowerCase());
}

function listPages(text: string, team: readonly SavedView[]): Choice[] {
  const pages = PLACES.map((each) => ({
    key: `page ${each.name}`,
    kind: "page",
    label: each.label,
    detail: "",
    href: address(each.segments),
  }));
  const views = [...savedViews.value, ...team].map((each) => ({
    key: `view ${each.name}`,
    kind: "view",
    label: each.name,
    detail: each.path,
    href: each.path,
  }));
  const own = {
    key: "page saved-views",
    kind: "page",
    label: "Saved views",
    detail: "",
    href: address(["saved-views"]),
  };
  return [...views, ...pages, own].filter((each) => matches(each.label, text));
}

/** The address of what a search names: a trace, a record, an agent or a thing. */
export function addressOf(kind: string, node: string): string {
  if (node.startsWith("trace:")) return address(["traces", node.slice("trace:".length)]);
  if (kind === "position") return address(["records", ...node.split("/")]);
  if (kind === "agent") return address(["verdicts"], { agent: node.replace(/^agent:/, "") });
  return thingAddress(node);
}

/** Find any id or its beginning, any page, any saved view. */
export function Find({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const { go } = useUrl();
  // Before the next key arrives: what is typed at once belongs into the field.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const term = text.trim();
  const search = useApi(
    term.length >= SHORTEST && term.length <= 200 ? `/v1/search?q=${term}` : null,
    (signal) => api.GET("/v1/search", { params: { query: { q: term, limit: 20 } }, signal }),
    false,
  );
  const team = useTeamViews();
  const choices = useMemo(() => {
    const things = (search.data?.items ?? []).map((each) => ({
      key: each.node,
      kind: each.kind,
      label: each.title,
      detail: each.node,
      href: addressOf(each.kind, each.node),
    }));
    return [...things, ...listPages(term, team)];
  }, [search.data, term, team]);
  const at = Math.min(index, choices.length - 1);
  useEffect(() => announce(`${choices.length} choices`), [choices.length]);
  const open = (choice: Choice | undefined): void => {
    if (!choice) return;
    onClose();
    go(choice.href);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setIndex(Math.max(0, Math.min(choices.length - 1, at + step)));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      open(choices[at]);
    }
  };
  return (
    <dialog ref={dialog} class="find" aria-label="Find" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-activedescendant={at >= 0 ? `choice-${at}` : undefined}
        aria-label="Id, page or view"
        placeholder="An id or its beginning, a page, a view"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={onKey}
      />
      <div role="listbox" id="choices" aria-label="Choices" class="choices" tabIndex={-1}>
        {choices.map((choice, position) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field above has the focus
          <div
            role="option"
            id={`choice-${position}`}
            key={choice.key}
            aria-selected={position === at}
            title={plain(choice.detail)}
            onClick={() => open(choice)}
          >
            <span class="kind">{choice.kind}</span> <Text value={choice.label} />
          </div>
        ))}
      </div>
      <p class="muted">{search.problem ? search.problem.detail : hint(term, choices.length)}</p>
    </dialog>
  );
}

function hint(term: string, count: number): string {
  if (term.length > 0 && term.length < SHORTEST) return "An id needs three characters.";
  return count === 0 ? "Nothing begins like this." : "Arrows choose, Enter opens, Esc closes.";
}
