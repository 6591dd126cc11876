import { plain, Text } from "./text";

export interface Bar {
  key: string;
  label: string;
  detail: string;
  value: number;
  href: string;
}

/** Counts beside each other: a table whose numbers are drawn too. */
export function Bars({ rows }: { rows: readonly Bar[] }) {
  const most = Math.max(1, ...rows.map((each) => each.value));
  if (rows.length === 0) return <p class="empty">None.</p>;
  return (
    <table class="bars">
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <th scope="row">
              <a href={row.href}>
                <Text value={row.label} code />
              </a>
            </th>
            <td class="muted" title={plain(row.detail)}>
              <Text value={row.detail} />
            </td>
            <td class="number">{row.value.toLocaleString("en")}</td>
            <td class="bar" aria-hidden="true">
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect width={Math.max(1, (100 * row.value) / most)} height="8" rx="1" />
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
