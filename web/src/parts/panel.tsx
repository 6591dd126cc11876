import { Fragment } from "preact";
import type { Schemas } from "../api/client";
import { listPanelFacts } from "../protocols/panels";
import "../style/panel.css";

interface Props {
  thing: Schemas["Thing"];
  asOf: string | undefined;
}

/** What the protocol of a thing says of it, below the header. */
export function Panel({ thing, asOf }: Props) {
  const facts = listPanelFacts(thing);
  if (facts.length === 0) return null;
  return (
    <section class="card panel" aria-label="Details">
      <dl class="facts">
        {facts.map(({ label, value, present }) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{present && asOf !== undefined ? <OnlyNow /> : value}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

function OnlyNow() {
  return <span class="muted">known of now alone</span>;
}
