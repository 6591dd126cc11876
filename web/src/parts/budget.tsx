interface Props {
  unit: string;
  used: number;
  allowed: number | string | undefined;
}

const WIDTH = 120;

/** How much of a budget is used; nothing where there is no bound. */
export function Budget({ unit, used, allowed }: Props) {
  if (allowed === undefined) return null;
  const bound = Number(allowed);
  const share = bound > 0 ? Math.min(1, used / bound) : used > 0 ? 1 : 0;
  return (
    <span class="budget">
      <svg width={WIDTH} height={8} aria-hidden="true">
        <rect class="room" width={WIDTH} height={8} rx={2} />
        <rect class={used > bound ? "over" : "used"} width={share * WIDTH} height={8} rx={2} />
      </svg>{" "}
      {used.toLocaleString("en")} of {bound.toLocaleString("en")} {unit}
    </span>
  );
}
