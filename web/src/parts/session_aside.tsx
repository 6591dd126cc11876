import { type ComponentChildren, Fragment } from "preact";
import { api } from "../api/client";
import { type Query, useApi } from "../api/use_api";
import { address, thingAddress } from "../state/url";
import { NodeLink } from "./link";
import { Loaded } from "./states";
import { Id, Text } from "./text";
import { Age } from "./time";

const MOST = 20;

/** What a session is at, beside its tail. */
export function SessionAside({ session }: { session: string }) {
  const params = { params: { query: { session_id: session, limit: MOST } } };
  const sessions = useApi(`session ${session}`, (signal) =>
    api.GET("/v1/saop/sessions", { ...params, signal }),
  );
  const calls = useApi(`calls ${session}`, (signal) =>
    api.GET("/v1/rtes/calls", {
      params: { query: { session_id: session, open: true, limit: MOST } },
      signal,
    }),
  );
  const thoughts = useApi(`thoughts ${session}`, (signal) =>
    api.GET("/v1/saop/thought-audit", { ...params, signal }),
  );
  const escalations = useApi(`escalations ${session}`, (signal) =>
    api.GET("/v1/saop/escalations", { ...params, signal }),
  );
  return (
    <aside class="card" aria-label="Session">
      <h2>Tasks by state</h2>
      <Loaded query={sessions}>
        {({ items }) => <States counts={items[0]?.tasks_by_state ?? {}} session={session} />}
      </Loaded>
      <Rows title="Open calls" query={calls} rowKey={({ call_id }) => call_id}>
        {(call) => (
          <>
            <Text value={call.tool} code /> <Id value={call.call_id} length={16} />
          </>
        )}
      </Rows>
      <Rows
        title="Thoughts held against turns"
        query={thoughts}
        rowKey={({ task_id, agent_id, turn_index }) => `${task_id}/${agent_id}/${turn_index}`}
      >
        {({ task_id, agent_id, turn_index, status, reason }) => (
          <>
            {task_id === null ? (
              <Text value={`${agent_id} turn ${turn_index}`} code />
            ) : (
              <NodeLink
                node={`saop:turn:${task_id}/${turn_index}`}
                label={`${task_id} turn ${turn_index}`}
              />
            )}{" "}
            {status}
            {reason && <span class="muted"> {reason.replaceAll("_", " ")}</span>}
          </>
        )}
      </Rows>
      <Rows title="Escalations" query={escalations} rowKey={({ escalation_id }) => escalation_id}>
        {({ escalation_id, agent_id, rules, outcome, at }) => (
          <>
            <a href={thingAddress(`saop:escalation:${escalation_id}`)}>
              <Text value={`${agent_id ?? "task"}: ${rules.join(", ")}`} code />
            </a>{" "}
            {outcome}, <Age at={at} /> ago
          </>
        )}
      </Rows>
    </aside>
  );
}

function States({ counts, session }: { counts: Record<string, number>; session: string }) {
  const states = Object.entries(counts);
  if (states.length === 0) return <p class="empty">None.</p>;
  return (
    <dl class="facts">
      {states.map(([state, count]) => (
        <Fragment key={state}>
          <dt>
            <a href={address(["saop"], { tab: "tasks", session_id: session, state })}>
              <Text value={state} code />
            </a>
          </dt>
          <dd>{count.toLocaleString("en")}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

interface RowsProps<T> {
  title: string;
  query: Query<{ items: T[]; next: string | null }>;
  rowKey: (row: T) => string;
  children: (row: T) => ComponentChildren;
}

function Rows<T>({ title, query, rowKey, children }: RowsProps<T>) {
  return (
    <>
      <h2>{title}</h2>
      <Loaded query={query}>
        {({ items, next }) =>
          items.length === 0 ? (
            <p class="empty">None.</p>
          ) : (
            <ul class="lines">
              {items.map((row) => (
                <li key={rowKey(row)}>{children(row)}</li>
              ))}
              {next !== null && <li class="muted">and more</li>}
            </ul>
          )
        }
      </Loaded>
    </>
  );
}
