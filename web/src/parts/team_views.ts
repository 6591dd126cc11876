import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { isOwnPath, type SavedView } from "../state/views";

/** The views that the team's file names. */
export function useTeamViews(): readonly SavedView[] {
  const views = useApi("/v1/views", (signal) => api.GET("/v1/views", { signal }), false);
  return (views.data?.items ?? NONE).filter((each) => isOwnPath(each.path));
}

const NONE: readonly SavedView[] = [];
