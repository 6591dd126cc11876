import { api, queryOf, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Verdict } from "./chip";
import { Json } from "./json";
import { PositionLink } from "./link";
import { Empty } from "./states";
import { Text } from "./text";
import { Time } from "./time";

type Thing = Schemas["Thing"];
type Outcome = Thing["verdicts"][number];

/** Why each verdict on a thing is what it is, the newest first. */
export function Why({ thing }: { thing: Thing }) {
  if (thing.verdicts.length === 0) return <Empty>No verdict names this thing.</Empty>;
  return (
    <>
      {thing.verdicts.map((each, index) => (
        <Explanation key={`${each.fact} ${index}`} outcome={each} protocol={thing.protocol} />
      ))}
    </>
  );
}

function Explanation({ outcome, protocol }: { outcome: Outcome; protocol: string }) {
  return (
    <section class="card why">
      <h2>
        <Verdict verdict={outcome.verdict} rule={outcome.rule} />{" "}
        {outcome.fault && <span class="muted">fault: {outcome.fault}</span>}
      </h2>
      {outcome.message && (
        <p>
          <Text value={outcome.message} />
        </p>
      )}
      {outcome.rule && <Meaning protocol={protocol} rule={outcome.rule} />}
      <Checks checks={outcome.checks} />
      <dl class="facts">
        <dt>at</dt>
        <dd>
          <Time at={outcome.at} />
        </dd>
        <dt>cause</dt>
        <dd>
          <PositionLink position={outcome.cause} />
        </dd>
        <dt>fact</dt>
        <dd>
          <PositionLink position={outcome.fact} />
        </dd>
        {outcome.principal && (
          <>
            <dt>principal</dt>
            <dd>
              <Text value={outcome.principal} code />
            </dd>
          </>
        )}
      </dl>
      {outcome.errors.length > 0 && (
        <>
          <h3>Errors</h3>
          <Json value={outcome.errors} />
        </>
      )}
      {Object.keys(outcome.figures).length > 0 && (
        <details open={outcome.checks.length === 0}>
          <summary>Figures</summary>
          <Json value={outcome.figures} />
        </details>
      )}
    </section>
  );
}

/** What a rule means, as it is declared. */
function Meaning({ protocol, rule }: { protocol: string; rule: string }) {
  const rules = useApi(
    `rules ${protocol}`,
    (signal) =>
      api.GET("/v1/rules", {
        params: { query: queryOf<"/v1/rules">({ protocol, limit: "1000" }) },
        signal,
      }),
    false,
  );
  const declared = rules.data?.items.find((each) => each.code === rule);
  if (!declared) return null;
  return (
    <p class="muted">
      {declared.meaning} <span>({declared.stage})</span>
    </p>
  );
}

const WORDS = new Map<boolean | null, string>([
  [true, "✔ holds"],
  [false, "✖ fails"],
  [null, "– not reached"],
]);

function Checks({ checks }: { checks: Outcome["checks"] }) {
  if (checks.length === 0) return null;
  return (
    <table class="checks">
      <thead>
        <tr>
          <th scope="col">check</th>
          <th scope="col">value</th>
          <th scope="col">bound</th>
          <th scope="col">outcome</th>
        </tr>
      </thead>
      <tbody>
        {checks.map((each) => (
          <tr key={each.name} class={each.holds === false ? "refused" : undefined}>
            <th scope="row">
              <Text value={each.name} code />
            </th>
            <td>
              <Text value={each.value ?? ""} code />
            </td>
            <td>
              <Text value={each.bound ?? ""} code />
            </td>
            <td>{WORDS.get(each.holds)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
