import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { address } from "../state/url";
import { PositionLink } from "./link";
import { Empty, Loaded } from "./states";
import { Table } from "./table";
import { Text } from "./text";
import { Time } from "./time";

interface Props {
  topic: string;
  partition: string;
  from: string | undefined;
}

/** The records of a partition, page by page. */
export function RecordsOf({ topic, partition, from }: Props) {
  const page = useApi(
    `records ${topic}/${partition} ${from}`,
    (signal) =>
      api.GET("/v1/records/{topic}/{partition}", {
        params: {
          path: { topic, partition },
          query: { limit: 200, ...(from && { from: Number(from) }) },
        },
        signal,
      }),
    false,
  );
  const link = (start: number | undefined) =>
    address(["log"], { topic, partition, from: start === undefined ? undefined : String(start) });
  return (
    <>
      <nav class="steps" aria-label="Pages">
        <a href={address(["log"])}>All topics</a>
        <a href={link(0)}>From the start</a>
        {page.data?.next != null && <a href={link(page.data.next)}>Next page</a>}
      </nav>
      <Loaded query={page}>
        {(data) =>
          data.items.length === 0 ? (
            <Empty>There is no record here.</Empty>
          ) : (
            <Table
              label={`Records of ${topic}/${partition}`}
              rows={data.items}
              rowKey={(row) => row.position}
              columns={[
                { label: "record", cell: (row) => <PositionLink position={row.position} /> },
                { label: "time", cell: (row) => <Time at={row.timestamp} /> },
                { label: "schema", cell: (row) => row.schema?.name ?? "–" },
                { label: "key", wide: true, cell: (row) => <Text value={row.key ?? "–"} code /> },
                { label: "bytes", number: true, cell: (row) => row.size.toLocaleString("en") },
              ]}
            />
          )
        }
      </Loaded>
    </>
  );
}
