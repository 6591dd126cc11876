import { describePacket, describeProtocol } from "./apc_panels";
import { describeAsapTask, describeConversation } from "./asap_panels";
import type { Describe, PanelFact, PanelThing } from "./panel_fact";
import {
  describeEscalation,
  describeRewind,
  describeSession,
  describeTask,
  describeTurn,
} from "./saop_panels";
import { describePlaybook, describeSapTask } from "./sap_panels";
import { describeRun } from "./summit_panels";

const PANELS: Readonly<Record<string, Describe>> = {
  "apc:packet": describePacket,
  "apc:protocol": describeProtocol,
  "summit:run": describeRun,
  "sap:task": describeSapTask,
  "sap:playbook": describePlaybook,
  "asap:task": describeAsapTask,
  "asap:conversation": describeConversation,
  "saop:session": describeSession,
  "saop:task": describeTask,
  "saop:turn": describeTurn,
  "saop:escalation": describeEscalation,
  "saop:rewind": describeRewind,
};

/** List what a protocol says of a thing below its header. */
export function listPanelFacts(thing: PanelThing): PanelFact[] {
  const { kind, details } = thing;
  const describe = PANELS[kind];
  if (describe === undefined || typeof details !== "object" || details === null) return [];
  return describe(details, thing).filter((each) => each !== null);
}
