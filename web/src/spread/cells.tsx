import { NodeLink } from "../parts/link";

/** A protocol that swarms transfer, as a link. */
export function Protocol({ id }: { id: string }) {
  return <NodeLink node={`apc:protocol:${id}`} label={id} />;
}

/** Write a figure between 0 and 1. */
export function figure(value: number | string | null): string {
  return value === null ? "–" : Number(value).toFixed(3);
}
