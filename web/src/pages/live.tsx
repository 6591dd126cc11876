import { useEffect, useMemo, useState } from "preact/hooks";
import { streamAddress } from "../api/stream";
import { writeCommand } from "../parts/command";
import { FilterBar } from "../parts/filters";
import { Icon } from "../parts/icons";
import { LetGoLists } from "../parts/let_go";
import { Page } from "../parts/page";
import { SessionAside } from "../parts/session_aside";
import { Empty, ErrorBox } from "../parts/states";
import { TailList } from "../parts/tail_list";
import { announce } from "../state/announce";
import { noteAnswer } from "../state/ready";
import { type Parameters, useUrl } from "../state/url";
import { TailClient, type TailState } from "../tail/client";
import { EVENT_TYPES, type Row, textOf } from "../tail/rows";
import { CAPACITY } from "../tail/tail";
import "../style/live.css";

const FILTERS = [
  { name: "session_id", label: "session", option: "--session" },
  { name: "type", label: "type", values: EVENT_TYPES },
  { name: "task_id", label: "task", option: "--task" },
];

const FROM = { name: "from", label: "from" };

const WORDS: Record<TailState, string> = {
  live: "live",
  paused: "paused",
  reconnecting: "connecting",
};

const only = (value: string | undefined): string[] => (value ? [value] : []);

function readStart(query: Parameters) {
  return {
    session_id: only(query["session_id"]),
    type: only(query["type"]),
    task_id: only(query["task_id"]),
    from: query["from"] === "earliest" ? ("earliest" as const) : ("latest" as const),
  };
}

/** A client of the stream that the address names, and a number that changes as it does. */
function useTail(query: Parameters): TailClient {
  const start = readStart(query);
  const key = streamAddress({ ...start, cursor: undefined });
  const [, redraw] = useState(0);
  const client = useMemo(() => {
    const { from, ...filters } = start;
    return new TailClient(filters, from, () => redraw((each) => each + 1));
  }, [key]);
  useEffect(() => {
    client.start();
    return () => client.stop();
  }, [client]);
  return client;
}

/** What agents think and do, as it comes. */
export default function LivePage() {
  const { query, change } = useUrl();
  const client = useTail(query);
  const [following, setFollowing] = useState(true);
  const start = { ...readStart(query), cursor: undefined };
  useEffect(() => noteAnswer(), []);
  return (
    <Page
      name="live"
      title="Live"
      source={{
        path: streamAddress(start),
        command: writeCommand("headrace tail rtes", [...FILTERS, FROM], query),
      }}
    >
      <FilterBar filters={FILTERS} problem={client.problem} />
      <Controls client={client} following={following} onFollow={setFollowing} />
      {client.problem && <ErrorBox problem={client.problem} retry={() => client.resume()} />}
      {client.crowded && <Crowded client={client} />}
      <div class={query["session_id"] ? "beside" : undefined}>
        <Rows
          client={client}
          following={following}
          onLeave={() => setFollowing(false)}
          onEarliest={() => change({ from: "earliest" }, false)}
        />
        {query["session_id"] && <SessionAside session={query["session_id"]} />}
      </div>
    </Page>
  );
}

interface ControlsProps {
  client: TailClient;
  following: boolean;
  onFollow: (following: boolean) => void;
}

function Controls({ client, following, onFollow }: ControlsProps) {
  const { query, change } = useUrl();
  const { tail, state } = client;
  const count = (value: number): string => value.toLocaleString("en");
  useEffect(() => announce(`The stream is ${WORDS[state]}.`), [state]);
  const hundreds = Math.floor(tail.received / 100);
  useEffect(() => {
    if (hundreds > 0) announce(`${count(tail.received)} events received.`);
  }, [hundreds]);
  return (
    <div
      class="controls"
      data-tail=""
      data-state={state}
      data-received={tail.received}
      data-kept={tail.keptCount}
      data-let-go={tail.letGo}
    >
      <span class={`tail-state ${state}`}>
        <span aria-hidden="true">●</span> {WORDS[state]}
      </span>
      <span>received {count(tail.received)}</span>
      <span>kept {count(tail.keptCount)}</span>
      <span title={`The newest ${count(CAPACITY)} events are kept.`}>
        let go {count(tail.letGo)}
        {tail.letGo > 0 && <LetGoLists tail={tail} />}
      </span>
      <span class="muted">{count(Math.round(client.rate))}/s</span>
      <span class="space" />
      <label>
        <input
          type="checkbox"
          checked={query["matches"] === "only"}
          onChange={(event) =>
            change({ matches: event.currentTarget.checked ? "only" : undefined })
          }
        />{" "}
        matches only
      </label>
      {state === "paused" ? (
        <button type="button" onClick={() => client.resume()}>
          <Icon name="play" /> Resume
        </button>
      ) : (
        <button type="button" onClick={() => client.pause()}>
          <Icon name="pause" /> Pause
        </button>
      )}
      <button type="button" aria-pressed={following} onClick={() => onFollow(!following)}>
        Follow
      </button>
      <button type="button" onClick={() => client.toNow()}>
        To now
      </button>
    </div>
  );
}

function Crowded({ client }: { client: TailClient }) {
  return (
    <div class="notice" role="status">
      Four tabs stream already, as many as a browser allows beside other requests.{" "}
      <button type="button" onClick={() => client.takeOver()}>
        Take over from the oldest
      </button>
    </div>
  );
}

interface RowsProps {
  client: TailClient;
  following: boolean;
  onLeave: () => void;
  onEarliest: () => void;
}

function Rows({ client, following, onLeave, onEarliest }: RowsProps) {
  const { query } = useUrl();
  const text = (query["q"] ?? "").toLowerCase();
  const isMatch = (row: Row): boolean => text !== "" && textOf(row).toLowerCase().includes(text);
  const all = client.tail.listRows();
  const rows = query["matches"] === "only" && text !== "" ? all.filter(isMatch) : all;
  if (rows.length === 0) {
    return (
      <Empty>
        {all.length > 0 ? "Nothing matches." : "No event has come since this page was opened."}{" "}
        {all.length === 0 && query["from"] !== "earliest" && (
          <button type="button" onClick={onEarliest}>
            Show those before
          </button>
        )}
      </Empty>
    );
  }
  return (
    <TailList
      rows={rows}
      withSession={!query["session_id"]}
      isMatch={isMatch}
      following={following}
      onLeave={onLeave}
    />
  );
}
