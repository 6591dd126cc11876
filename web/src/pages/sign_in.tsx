import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../api/client";
import { signIn, signOut } from "../api/session";
import { Page } from "../parts/page";
import { ErrorBox } from "../parts/states";
import { Text } from "../parts/text";
import { noteAnswer } from "../state/ready";
import { isSignedOut, refreshService, service } from "../state/service";
import { address, useUrl } from "../state/url";
import { isOwnPath } from "../state/views";

/** Exchange a token for a session of this browser. */
export default function SignIn() {
  const { query, go } = useUrl();
  const { data } = service.value;
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const [isRunning, setRunning] = useState(false);
  useEffect(noteAnswer, []);
  const run = async (act: () => Promise<Problem | undefined>): Promise<boolean> => {
    setRunning(true);
    const refusal = await act();
    setProblem(refusal);
    setRunning(false);
    if (!refusal) await refreshService();
    return refusal === undefined;
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const done = await run(() => signIn(token.trim()));
    setToken("");
    const next = query["next"];
    if (done) go(next !== undefined && isOwnPath(next) ? next : address([]));
  };
  const caller = data?.caller;
  return (
    <Page name="sign-in" title="Sign in">
      <div class="narrow">
        {data && !data.tokens && (
          <p>This gateway takes no tokens: everybody who reaches it may do everything.</p>
        )}
        {caller && (
          <>
            <p>
              Signed in as <Text value={caller.principal} code /> with the roles{" "}
              {caller.roles.join(", ")}.
            </p>
            {!caller.roles.includes("reader") && <p>This token may not read: it lacks reader.</p>}
            <button type="button" disabled={isRunning} onClick={() => run(signOut)}>
              Sign out
            </button>
          </>
        )}
        {isSignedOut(service.value) && (
          <form class="stacked" onSubmit={submit}>
            <label for="token">Token</label>
            <input
              id="token"
              type="password"
              autocomplete="off"
              required
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
            <button type="submit" class="primary" disabled={isRunning}>
              Sign in
            </button>
            <p class="muted">
              <code>headrace tokens new NAME --role reader --add</code> makes a token. This page
              does not keep it: the gateway answers with a cookie that scripts cannot read.
            </p>
          </form>
        )}
        {problem && <ErrorBox problem={problem} />}
      </div>
    </Page>
  );
}
