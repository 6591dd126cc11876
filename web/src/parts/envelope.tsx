import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { isShownTopic } from "../protocols/kinds";
import { splitPosition } from "../state/url";
import { Json } from "./json";
import { PositionLink } from "./link";
import { Empty, Loaded } from "./states";
import { Time } from "./time";

type Thing = Schemas["Thing"];

/** The record that began a thing, or the first that may be shown. */
export function firstRecord({ records }: Thing): Thing["records"][number] | undefined {
  const shown = records.filter(({ position }) => isShownTopic(splitPosition(position).topic));
  return shown.find((each) => each.role === "command") ?? shown[0];
}

/** The raw record of a thing, and what the protocol's own route says of the thing. */
export function Envelope({ thing }: { thing: Thing }) {
  const first = firstRecord(thing);
  return (
    <>
      {first ? <RawRecord position={first.position} /> : <Empty>No record of it is shown.</Empty>}
      <h2>Records</h2>
      <ul class="lines">
        {thing.records.map((each) => (
          <li key={each.position}>
            <Time at={each.at} /> <span class="muted">{each.role}</span>{" "}
            <PositionLink position={each.position} />
          </li>
        ))}
      </ul>
      <h2>Details</h2>
      <Json value={thing.details} href={`/v1/things/${encodeURIComponent(thing.node)}`} />
    </>
  );
}

function RawRecord({ position }: { position: string }) {
  const path = splitPosition(position);
  const record = useApi(
    `record ${position}`,
    (signal) => api.GET("/v1/records/{topic}/{partition}/{offset}", { params: { path }, signal }),
    false,
  );
  return (
    <Loaded query={record}>
      {(data) => (
        <>
          <p>
            <PositionLink position={position} />{" "}
            <span class="muted">{data.schema?.name ?? "no schema"}</span>
          </p>
          <Json value={data.value} href={`/v1/records/${position}`} />
          <details>
            <summary>Headers</summary>
            <Json value={data.headers} />
          </details>
        </>
      )}
    </Loaded>
  );
}
