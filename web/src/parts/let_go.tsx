import { address, type Parameters, useUrl } from "../state/url";
import type { LetGo, Tail } from "../tail/tail";
import { Text } from "./text";

/** The most sessions that are named. */
const MOST_SESSIONS = 50;

/** The address of the list of what was let go of a session, under the filters of the tail. */
export function letGoAddress({ session, first }: LetGo, { type, task_id }: Parameters): string {
  const after_sequence = first > 1 ? String(first - 1) : undefined;
  return address(["saop"], { tab: "events", session_id: session, type, task_id, after_sequence });
}

/** Where the events stand that are not kept: a list for each session. */
export function LetGoLists({ tail }: { tail: Tail }) {
  const { query } = useUrl();
  const sessions = tail.listLetGo();
  const [only] = sessions;
  if (only === undefined) return null;
  if (query["session_id"]) {
    return (
      <>
        {" "}
        (<a href={letGoAddress(only, query)}>open as a list</a>)
      </>
    );
  }
  const others = sessions.length - MOST_SESSIONS;
  return (
    <details class="let-go">
      <summary>open as lists</summary>
      <ul class="lines">
        {sessions.slice(0, MOST_SESSIONS).map((each) => (
          <li key={each.session} data-key={each.session} data-count={each.count}>
            <a href={letGoAddress(each, query)}>
              <Text value={each.session} code />
            </a>{" "}
            <span class="muted">
              {each.count.toLocaleString("en")}, #{each.first} to #{each.last}
            </span>
          </li>
        ))}
        {others > 0 && <li class="muted">and {others.toLocaleString("en")} sessions more</li>}
      </ul>
    </details>
  );
}
