import type { Schemas } from "../api/client";
import { useOverview } from "../api/overview";

type Overview = Schemas["Overview"];

/** How far the gateway's view is behind the log. */
export function writeViewState(lag: Overview["lag"]): string {
  return lag.view === 0 ? "view current" : `view ${lag.view.toLocaleString("en")} behind`;
}

export function ViewState() {
  const overview = useOverview("15m");
  if (overview.problem?.status === 0) return <span class="view-state refused">no gateway</span>;
  if (!overview.data) return null;
  return <span class="view-state">{writeViewState(overview.data.lag)}</span>;
}
