import { signal } from "@preact/signals";
import { api, type Schemas } from "../api/client";
import { combine, EMPTY, INTERVAL_MS, poll, type State } from "../api/poll";

type Service = Schemas["Service"];

/** What the gateway says of itself and of the caller. */
export const service = signal<State<Service>>(EMPTY);

/** Ask who the gateway is, at the start and every ten seconds. */
export function startService(): void {
  poll<Service>(
    (abort) => api.GET("/v1/service", { signal: abort }),
    (state) => {
      service.value = state;
    },
    5 * INTERVAL_MS,
  );
}

/** Ask at once, as after signing in. */
export async function refreshService(): Promise<void> {
  const answer = await api.GET("/v1/service");
  service.value = combine(service.value, answer, null, Date.now());
}

/** Whether the caller may do what an operator may.  Without tokens everybody may. */
export function isOperator(state: State<Service>): boolean {
  const data = state.data;
  if (data === undefined) return false;
  return !data.tokens || (data.caller?.roles.includes("operator") ?? false);
}

/** Whether nobody is signed in where tokens are needed. */
export function isSignedOut(state: State<Service>): boolean {
  return state.data?.tokens === true && state.data.caller === null;
}

/** Whether the gateway has a feature, by its word in the list. */
export function hasFeature(state: State<Service>, word: string): boolean {
  return state.data?.features.includes(word) ?? false;
}
