import { Fragment } from "preact";
import type { Schemas } from "../api/client";
import { listPanelFacts } from "../protocols/panels";
import "../style/panel.css";

/** What the protocol of a thing says of it, below the header. */
export function Panel({ thing }: { thing: Schemas["Thing"] }) {
  const facts = listPanelFacts(thing);
  if (facts.length === 0) return null;
  return (
    <section class="card panel" aria-label="Details">
      <dl class="facts">
        {facts.map(({ label, value }) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
