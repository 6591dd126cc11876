import { api, type Problem, readProblem, UNREACHABLE } from "./client";

interface Outcome {
  error?: unknown;
  response: Response;
}

async function attempt(send: () => Promise<Outcome>): Promise<Problem | undefined> {
  try {
    const { error, response } = await send();
    return response.ok ? undefined : readProblem(error, response);
  } catch {
    return UNREACHABLE;
  }
}

/** Exchange a token for the cookie of a session.  Returns why that failed. */
export function signIn(token: string): Promise<Problem | undefined> {
  return attempt(() => api.POST("/v1/session", { body: { token } }));
}

export function signOut(): Promise<Problem | undefined> {
  return attempt(() => api.DELETE("/v1/session"));
}
