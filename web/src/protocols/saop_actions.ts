import { api, mapAnswer, type Schemas } from "../api/client";
import type { Action, CommandResult, ListActions } from "./action";

type Rewind = Schemas["headrace.saop.SaopRewindLogged"];

const readFact = ({ verdict, rule, cause }: Rewind): CommandResult => ({
  verdict,
  rule,
  position: cause,
});

/** The two ends of a rewind that is prepared. */
export const listRewindActions: ListActions = ({ details }) => {
  const { session_id, rewind_id, state, moved, git_hash } = details as Rewind;
  if (state !== "prepared") return [];
  const params = { params: { path: { session_id, rewind_id } } };
  const tasks = moved.length === 1 ? "One task of the session goes" : `${moved.length} tasks go`;
  const confirm: Action = {
    label: "Confirm rewind",
    effect:
      `${tasks} back to commit ${git_hash ?? "–"}, as listed under “moved”. Confirm once the` +
      " work tree is checked out there. No event is deleted.",
    fields: [],
    prepare: () => async () =>
      mapAnswer(
        await api.POST("/v1/saop/sessions/{session_id}/rewinds/{rewind_id}/confirm", params),
        readFact,
      ),
  };
  const abort: Action = {
    label: "Abort rewind",
    effect: "The rewind is given up: no task moves, and the session can be rewound otherwise.",
    fields: [],
    prepare: () => async () =>
      mapAnswer(
        await api.POST("/v1/saop/sessions/{session_id}/rewinds/{rewind_id}/abort", params),
        readFact,
      ),
  };
  return [confirm, abort];
};
