import { api, queryOf, type Schemas } from "./client";
import { SharedPoll } from "./shared_poll";
import { type Query, useApi } from "./use_api";

type Overview = Schemas["Overview"];

const polls = new Map<string, SharedPoll<Overview>>();

function findPoll(window: string): SharedPoll<Overview> {
  const standing = polls.get(window) ?? new SharedPoll<Overview>();
  polls.set(window, standing);
  return standing;
}

/** Ask for the figures of a window.  Parts of a page that show the same window share its requests. */
export function useOverview(window: string): Query<Overview> {
  return useApi(
    `/v1/overview?window=${window}`,
    (signal) =>
      api.GET("/v1/overview", { params: { query: queryOf<"/v1/overview">({ window }) }, signal }),
    true,
    (load, onState) => findPoll(window).join(load, onState),
  );
}
