import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Problem } from "../api/client";
import { isPassing } from "../api/poll";
import type { Query } from "../api/use_api";
import { announce } from "../state/announce";
import { now, writeSpan } from "../state/clock";
import { address } from "../state/url";
import { Text } from "./text";

const ADVICE: Record<string, string> = {
  token_missing: "Sign in with a token that has the role reader.",
  token_unknown: "The session has ended. Sign in again.",
  role_missing: "Ask an operator for a token with this role.",
  node_ambiguous: "Choose the session: add session_id to the address.",
  node_unknown: "Look for another id with Ctrl K.",
  gateway_unreachable: "See whether the gateway runs: headrace doctor.",
};

/** What to do about an error whose code has no advice of its own. */
function advise(status: number): string | undefined {
  if (status === 400 || status === 422) return "Change or clear what it names.";
  if (status === 404 || status === 410) return "Look for another id with Ctrl K.";
  if (status === 503 || status === 504) return "The view is behind or is rebuilt: try again soon.";
  return status >= 500 ? "The log of the gateway says more: headrace doctor." : undefined;
}

/** An error: its code, what it says, what to do. */
export function ErrorBox({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const advice = ADVICE[problem.code] ?? advise(problem.status);
  return (
    <div class="error" role="alert" data-code={problem.code}>
      <p>
        <strong>
          <Text value={problem.code} code />
        </strong>{" "}
        {problem.path && (
          <>
            <Text value={problem.path} code />:{" "}
          </>
        )}
        <Text value={problem.detail} />
      </p>
      {advice && <p class="muted">{advice}</p>}
      <p class="actions">
        {problem.status === 401 && <a href={signInAddress()}>Sign in</a>}
        {retry && (
          <button type="button" onClick={retry}>
            Retry
          </button>
        )}
      </p>
    </div>
  );
}

/** The page of signing in, which leads back here. */
export function signInAddress(): string {
  return address(["sign-in"], { next: location.pathname + location.search });
}

export function Loading() {
  return (
    <p class="loading" aria-busy="true">
      Loading…
    </p>
  );
}

/** What would be here, and how it comes here.  Commands stand between backticks. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{typeof children === "string" ? markCommands(children) : children}</p>;
}

/** Split a text of the console's own at its backticks: what is between two of them is code. */
function markCommands(text: string): ComponentChildren {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}

export function StaleNote({ at }: { at: number }) {
  useEffect(() => announce("The gateway does not answer."), []);
  return (
    <p class="stale">
      The gateway does not answer. This is what it said {writeSpan(Math.max(0, now.value - at))}{" "}
      ago.
    </p>
  );
}

export function isStale<T>(query: Query<T>): boolean {
  return query.data !== undefined && query.problem !== undefined && isPassing(query.problem);
}

/** Show the data of a query, or in its place that it loads or failed. */
export function Loaded<T>(props: { query: Query<T>; children: (data: T) => ComponentChildren }) {
  const { query, children } = props;
  if (query.data !== undefined) {
    return (
      <>
        {isStale(query) && query.at !== undefined && <StaleNote at={query.at} />}
        {children(query.data)}
      </>
    );
  }
  if (query.problem) return <ErrorBox problem={query.problem} retry={query.reload} />;
  return <Loading />;
}
