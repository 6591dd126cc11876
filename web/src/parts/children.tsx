import { useState } from "preact/hooks";
import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { State, Verdict } from "./chip";
import { NodeLink } from "./link";
import { Loaded } from "./states";
import { Text } from "./text";
import { Time } from "./time";

type Thing = Schemas["Thing"];
type Link = Thing["links"][number];

const INSIDE = new Set(["child_of", "answers", "part_of"]);

/** The children of a thing and what answers it, which open in place. */
export function Children({ thing, asOf }: { thing: Thing; asOf: string | undefined }) {
  const children = thing.links.filter(
    (each) => each.direction === "in" && INSIDE.has(each.relation),
  );
  if (children.length === 0) return null;
  return (
    <>
      <h2>Children and answers{asOf !== undefined && ", as they are now"}</h2>
      <ul class="lines">
        {children.map((each) => (
          <Child key={`${each.relation} ${each.node}`} link={each} />
        ))}
      </ul>
    </>
  );
}

function Child({ link }: { link: Link }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        class={open ? "bare open" : "bare"}
        aria-expanded={open}
        aria-label={open ? "Fold" : "Expand"}
        onClick={() => setOpen(!open)}
      >
        {open ? "▾" : "▸"}
      </button>{" "}
      <span class="muted">{link.relation}</span> <NodeLink node={link.node} />
      {open && <Steps node={link.node} />}
    </li>
  );
}

function Steps({ node }: { node: string }) {
  const thing = useApi(`/v1/things/${node}`, (signal) =>
    api.GET("/v1/things/{node}", { params: { path: { node } }, signal }),
  );
  return (
    <div class="child">
      <Loaded query={thing}>
        {(data) => (
          <>
            <p>
              {data.title} <State value={data.state} />
            </p>
            <ul class="lines">
              {data.steps.map((each) => (
                <li key={each.n}>
                  <Time at={each.at} /> <Text value={each.event ?? "–"} code />{" "}
                  <State value={each.to} /> <Verdict verdict={each.verdict} rule={each.rule} />{" "}
                  <Text value={each.message ?? ""} />
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </div>
  );
}
