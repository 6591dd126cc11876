import { lazy } from "preact-iso";
import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { State } from "./chip";
import { edgeKey, findPath, nextEdges } from "./machine_path";
import { Empty, Loaded } from "./states";

const Drawing = lazy(() => import("./machine_drawing"));

type Thing = Schemas["Thing"];

/** The declared state machine of a thing, with the way that the thing took. */
export function MachineTab({ thing }: { thing: Thing }) {
  const name = thing.machine;
  const query = useApi(
    name === null ? null : `machine ${name}`,
    (signal) => api.GET("/v1/machines/{name}", { params: { path: { name: name ?? "" } }, signal }),
    false,
  );
  if (name === null) return <Empty>A thing of this kind has no state machine.</Empty>;
  const path = findPath(thing.steps);
  return (
    <Loaded query={query}>
      {(machine) => {
        const next = nextEdges(machine, thing.state);
        return (
          <>
            <p class="muted">{machine.title}</p>
            <Drawing machine={machine} steps={thing.steps} current={thing.state} />
            <h2>What may happen next</h2>
            {next.length === 0 ? (
              <Empty>Nothing: {thing.state} is an end.</Empty>
            ) : (
              <ul class="lines">
                {next.map((each) => (
                  <li key={`${each.event} ${each.to}`}>
                    <code>{each.event}</code> → <State value={each.to} />
                  </li>
                ))}
              </ul>
            )}
            <h2>The table</h2>
            <table class="checks">
              <thead>
                <tr>
                  <th scope="col">from</th>
                  <th scope="col">event</th>
                  <th scope="col">to</th>
                  <th scope="col">steps</th>
                </tr>
              </thead>
              <tbody>
                {machine.edges.map((each) => (
                  <tr key={`${each.from} ${each.event} ${each.to}`}>
                    <td>{each.from}</td>
                    <td>
                      <code>{each.event}</code>
                    </td>
                    <td>{each.to}</td>
                    <td>{path.edges.get(edgeKey(each.from, each.to))?.join(", ") ?? ""}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        );
      }}
    </Loaded>
  );
}
