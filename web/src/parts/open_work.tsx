import type { Schemas } from "../api/client";
import { LISTS_OF_KINDS } from "../protocols/kinds";
import { address } from "../state/url";

type Row = Schemas["Overview"]["open"][number];

/** What is not finished, by kind and state. */
export function OpenWork({ rows }: { rows: readonly Row[] }) {
  if (rows.length === 0) return <p class="empty">None.</p>;
  return (
    <table class="bars">
      <tbody>
        {rows.map((row) => {
          const list = LISTS_OF_KINDS[`${row.protocol}:${row.kind}`];
          const href = address([row.protocol], {
            tab: list?.tab,
            ...(list?.state && { [list.state]: row.state }),
          });
          return (
            <tr key={`${row.protocol} ${row.kind} ${row.state}`}>
              <th scope="row">
                <a href={href}>
                  {row.protocol} {row.kind}
                </a>
              </th>
              <td>{row.state}</td>
              <td class="number">{row.count.toLocaleString("en")}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
