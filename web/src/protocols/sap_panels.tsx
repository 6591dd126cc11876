import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { NodeLink } from "../parts/link";
import { Loaded } from "../parts/states";
import { Id, Text } from "../parts/text";
import { address } from "../state/url";
import { playbookNode, writeCounts } from "./cells";
import { type Describe, fact, presentFact, textFact } from "./panel_fact";

const MOST_LEARNED = 5;

export const describeSapTask: Describe = (details) => {
  const { cache, lastAlignment, constitution, heuristicsVersion, outcomes, target } =
    details as Schemas["SapTaskAnswer"];
  return [
    cache &&
      fact(
        "cache",
        <>
          {cache.state}, mode <Text value={cache.mode} code />
          {cache.leader && ", leads the others that wait for the key"}
          {cache.hitVersion !== null && `, version ${cache.hitVersion} used`}
          {cache.storedVersion !== null && `, version ${cache.storedVersion} stored`}
          {cache.storeRefused && ", write refused"}{" "}
          <a href={address(["sap"], { tab: "cache" })}>cache</a>
        </>,
      ),
    textFact("alignment", lastAlignment),
    textFact("constitution", constitution),
    heuristicsVersion ? fact("heuristics", `version ${heuristicsVersion}`) : null,
    fact("outcomes", String(outcomes.length)),
    target && presentFact("learning", <Learning capability={target.capability} />),
  ];
};

/** What the outcomes of tasks of a capability have taught. */
function Learning({ capability }: { capability: string }) {
  const query = { capability, limit: MOST_LEARNED };
  const learned = useApi(`learning ${capability}`, (signal) =>
    api.GET("/v1/sap/learning", { params: { query }, signal }),
  );
  return (
    <Loaded query={learned}>
      {({ items }) => (
        <ul class="lines">
          {items.map((row) => (
            <li key={playbookNode(row)}>
              <Text value={row.territory ?? "no territory"} code />{" "}
              <Id value={row.fingerprint} length={16} />: {row.outcomes}{" "}
              {row.outcomes === 1 ? "outcome" : "outcomes"}, {row.cacheHits} of the cache,{" "}
              {row.approved} approved, {row.rejected} refused
              {row.playbook && (
                <>
                  ; <NodeLink node={playbookNode(row)} label="playbook" /> {row.playbook.version}
                </>
              )}
            </li>
          ))}
          <li>
            <a href={address(["sap"], { tab: "learning", capability })}>
              All that was learned of <Text value={capability} code />
            </a>
          </li>
        </ul>
      )}
    </Loaded>
  );
}

/** What was learned of the tasks of a playbook. */
export const describePlaybook: Describe = (details) => {
  const [row] = (details as Schemas["SapLearnings"]).items;
  if (!row) return [];
  const { playbook, ratings } = row;
  return [
    fact("outcomes", `${row.outcomes}, ${row.computed} computed, ${row.cacheHits} of the cache`),
    textFact("states", writeCounts(row.statusCounts)),
    textFact("alignments", writeCounts(row.alignmentCounts)),
    textFact("violations", writeCounts(row.violationCounts)),
    fact("approved, refused", `${row.approved}, ${row.rejected}`),
    textFact("mean rating", ratings.mean),
    row.bestTaskId
      ? fact("best task", <NodeLink node={`sap:task:${row.bestTaskId}`} label={row.bestTaskId} />)
      : null,
    textFact("required checks", playbook?.requiredChecks.join(", ")),
    textFact("citations", playbook?.citations.join(", ")),
    textFact("next actions", playbook?.nextActions.join("; ")),
    textFact("notes", row.notes.join("; ")),
  ];
};
