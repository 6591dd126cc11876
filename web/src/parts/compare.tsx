import diff from "microdiff";
import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { useUrl } from "../state/url";
import { listStops } from "./as_of";
import { State } from "./chip";
import { Empty, Loaded } from "./states";
import { plain, Text } from "./text";

type Thing = Schemas["Thing"];

export interface Change {
  path: string;
  before: string;
  after: string;
}

const write = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value));

/** List the members that differ between two values. */
export function listChanges(before: unknown, after: unknown): Change[] {
  return diff({ value: before }, { value: after }).map((each) => ({
    path: each.path.slice(1).join(".") || "value",
    before: each.type === "CREATE" ? "–" : write(each.oldValue),
    after: each.type === "REMOVE" ? "–" : write(each.value),
  }));
}

interface Props {
  thing: Thing;
  steps: Thing["steps"];
}

/** Show what differs between an earlier point and the one that the page shows. */
export function Compare({ thing, steps }: Props) {
  const { query, change } = useUrl();
  const point = query["compare"];
  const session = thing.session_id ?? undefined;
  const earlier = useApi(
    point === undefined ? null : `${thing.node} compared to ${point}`,
    (signal) =>
      api.GET("/v1/things/{node}", {
        params: {
          path: { node: thing.node },
          query: {
            ...(point !== undefined && { as_of: point }),
            ...(query["session_id"] !== undefined && session && { session_id: session }),
          },
        },
        signal,
      }),
    false,
  );
  if (point === undefined) return null;
  return (
    <section class="card" aria-label="Compare">
      <div class="inline">
        <label>
          Compared to{" "}
          <select
            value={point}
            onChange={(event) => change({ compare: event.currentTarget.value })}
          >
            {listStops(steps).map((each) => (
              <option key={each.fact} value={each.fact ?? ""}>
                {plain(`step ${each.n}: ${each.event ?? each.to ?? ""}`)}
              </option>
            ))}
          </select>
        </label>
        <button type="button" class="quiet" onClick={() => change({ compare: undefined })}>
          Close
        </button>
      </div>
      <Loaded query={earlier}>{(data) => <Changes before={data} after={thing} />}</Loaded>
    </section>
  );
}

function Changes({ before, after }: { before: Thing; after: Thing }) {
  const changes = listChanges(before.details, after.details);
  return (
    <>
      <p>
        <State value={before.state} /> → <State value={after.state} />{" "}
        <span class="muted">
          {before.steps.length} → {after.steps.length} steps
        </span>
      </p>
      {changes.length === 0 ? (
        <Empty>The details do not differ.</Empty>
      ) : (
        <table class="checks">
          <thead>
            <tr>
              <th scope="col">member</th>
              <th scope="col">before</th>
              <th scope="col">after</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((each) => (
              <tr key={each.path}>
                <th scope="row">
                  <Text value={each.path} code />
                </th>
                <td>
                  <Text value={each.before} code />
                </td>
                <td>
                  <Text value={each.after} code />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
