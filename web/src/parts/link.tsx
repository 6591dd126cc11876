import { address, recordAddress, thingAddress } from "../state/url";
import { Id } from "./text";

/** A thing, by its lineage node.  Traces have a page of their own. */
export function NodeLink({ node, label }: { node: string | null; label?: string | null }) {
  if (!node) return <span class="none">–</span>;
  const href = node.startsWith("trace:") ? address(["traces", node.slice(6)]) : thingAddress(node);
  return (
    <a href={href}>
      <Id value={label ?? node} length={40} />
    </a>
  );
}

/** A record, by its position. */
export function PositionLink({ position }: { position: string | null | undefined }) {
  if (!position) return <span class="none">–</span>;
  return (
    <a class="position" href={recordAddress(position)}>
      <Id value={position} length={44} />
    </a>
  );
}
