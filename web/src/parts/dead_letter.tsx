import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { Json } from "./json";
import { PositionLink } from "./link";
import { Loaded } from "./states";
import { Id, Text } from "./text";
import { Time } from "./time";

/** One dead letter with its headers and its value. */
export function DeadLetter({ position, onClose }: { position: string; onClose: () => void }) {
  const [topic = "", partition = "", offset = ""] = position.split("/");
  const address = `/v1/dead-letters/${[topic, partition, offset].map(encodeURIComponent).join("/")}`;
  const letter = useApi(
    address,
    (signal) =>
      api.GET("/v1/dead-letters/{topic}/{partition}/{offset}", {
        params: { path: { topic, partition, offset } },
        signal,
      }),
    false,
  );
  return (
    <section class="card letter" aria-label="Dead letter">
      <header class="heading">
        <h2>
          Letter <Id value={position} length={44} />
        </h2>
        <span class="space" />
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <Loaded query={letter}>
        {(data) => (
          <>
            <dl class="facts">
              <dt>code</dt>
              <dd>
                <Text value={data.code} code />
              </dd>
              <dt>message</dt>
              <dd>
                <Text value={data.message} />
              </dd>
              <dt>time</dt>
              <dd>
                <Time at={data.at} />
              </dd>
              <dt>record</dt>
              <dd>
                <PositionLink position={data.source} />
              </dd>
              <dt>key</dt>
              <dd>{data.key === null ? "–" : <Id value={data.key} length={64} />}</dd>
            </dl>
            <h3>Headers</h3>
            <Json value={data.headers} href={address} />
            <h3>Value</h3>
            <Json value={data.value} href={address} />
          </>
        )}
      </Loaded>
    </section>
  );
}
