import { useSignal } from "@preact/signals";
import { useCallback, useMemo, useState } from "preact/hooks";
import { api, queryOf, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Bars } from "../parts/bars";
import { writeCommand } from "../parts/command";
import { DeadLetter } from "../parts/dead_letter";
import { PositionLink } from "../parts/link";
import { List, type ListSpec } from "../parts/list";
import { Page } from "../parts/page";
import { type Chosen, Redrive } from "../parts/redrive";
import { Empty, Loaded } from "../parts/states";
import { plain, Text } from "../parts/text";
import { Time } from "../parts/time";
import { isOperator, service } from "../state/service";
import { address, routeParameters, useUrl, writeQuery } from "../state/url";
import "../style/dead_letters.css";

type Letter = Schemas["DeadLetterSummary"];

/** How many letters one redrive takes. */
const MOST = 100;
const STATES = ["ready", "done", "failed_again", "undecodable", "masked", "gone", "no_record"];
const WORDS: Record<Letter["state"], string> = {
  ready: "ready to send",
  done: "sent again",
  failed_again: "failed again",
  undecodable: "undecodable",
  masked: "masked",
  gone: "record gone",
  no_record: "no record",
};

function makeSpec(chosen: Chosen, select: (position: string) => void, operator: boolean) {
  const choice = {
    label: "choose",
    cell: ({ position }: Letter) => (
      <input
        type="checkbox"
        aria-label={`Choose ${plain(position)}`}
        checked={chosen.value.has(position)}
        disabled={!chosen.value.has(position) && chosen.value.size >= MOST}
        onChange={() => toggle(chosen, position)}
      />
    ),
  };
  const spec: ListSpec<Letter> = {
    tab: "dead-letters",
    label: "Dead letters",
    path: "/v1/dead-letters",
    command: "headrace dlq records",
    empty: "No dead letters. Records that cannot be decoded or decided would be here.",
    load: ({ letter: _letter, ...query }, signal) =>
      api.GET("/v1/dead-letters", {
        params: { query: queryOf<"/v1/dead-letters">(query) },
        ...(signal && { signal }),
      }),
    rowKey: ({ position }) => position,
    filters: [
      { name: "topic", label: "topic" },
      { name: "code", label: "code" },
      { name: "state", label: "state", values: STATES },
    ],
    columns: [
      ...(operator ? [choice] : []),
      {
        label: "letter",
        cell: ({ position }) => (
          <button type="button" class="quiet" onClick={() => select(position)}>
            Show
          </button>
        ),
      },
      { label: "time", cell: ({ at }) => <Time at={at} /> },
      { label: "topic", cell: ({ topic }) => <Text value={topic} code /> },
      { label: "code", cell: ({ code }) => <Text value={code} code /> },
      { label: "message", wide: true, cell: ({ message }) => <Text value={message} /> },
      { label: "state", cell: ({ state }) => WORDS[state] },
      { label: "record", cell: ({ source }) => <PositionLink position={source} /> },
    ],
  };
  return spec;
}

function toggle(chosen: Chosen, position: string): void {
  const next = new Set(chosen.value);
  if (!next.delete(position)) next.add(position);
  chosen.value = next;
}

/** Records that could not be decoded or decided, and sending them again. */
export default function DeadLettersPage() {
  const { query, change } = useUrl();
  const [sent, setSent] = useState(0);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const operator = isOperator(service.value);
  const letter = query["letter"];
  const select = useCallback((position: string) => change({ letter: position }), [query]);
  const spec = useMemo(() => makeSpec(chosen, select, operator), [chosen, select, operator]);
  const { letter: _letter, ...filters } = routeParameters(query);
  return (
    <Page
      name="dead-letters"
      title="Dead letters"
      source={{
        path: `/v1/dead-letters${writeQuery(filters)}`,
        command: writeCommand(spec.command, spec.filters, filters),
      }}
    >
      {operator && <Redrive chosen={chosen} onSent={() => setSent((each) => each + 1)} />}
      <div class="beside">
        <div key={sent}>
          {letter && <DeadLetter position={letter} onClose={() => change({ letter: undefined })} />}
          <List spec={spec} />
        </div>
        <Groups key={`groups ${sent}`} />
      </div>
    </Page>
  );
}

function Groups() {
  const groups = useApi("/v1/dead-letters/summary", (signal) =>
    api.GET("/v1/dead-letters/summary", { signal }),
  );
  return (
    <section class="card">
      <h2>By topic and code</h2>
      <Loaded query={groups}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty>None.</Empty>
          ) : (
            <Bars
              rows={items.map(({ topic, code, count }) => ({
                key: `${topic} ${code}`,
                label: code,
                detail: topic.replace(/\.dlq$/, ""),
                value: count,
                href: address(["dead-letters"], { code, topic: topic.replace(/\.dlq$/, "") }),
              }))}
            />
          )
        }
      </Loaded>
    </section>
  );
}
