import type { IconName } from "./icons";

/** A page that the rail names. */
export interface Place {
  name: string;
  label: string;
  segments: readonly string[];
  icon: IconName;
  /** The first of a group. */
  begins?: boolean;
}

const place = (name: string, label: string, icon: IconName, begins = false): Place => ({
  name,
  label,
  segments: name === "overview" ? [] : [name],
  icon,
  begins,
});

export const PLACES: readonly Place[] = [
  place("overview", "Overview", "overview"),
  place("live", "Live", "live"),
  place("verdicts", "Refusals", "refusals"),
  place("agents", "Agents", "agents"),
  place("apc", "APC", "apc", true),
  place("sap", "SAP", "sap"),
  place("asap", "ASAP", "asap"),
  place("summit", "Summit", "summit"),
  place("saop", "SAOP", "saop"),
  place("lineage", "Lineage", "lineage", true),
  place("spread", "Spread", "spread"),
  place("dead-letters", "Dead letters", "letters", true),
  place("audit", "Audit", "audit"),
  place("log", "Log", "log"),
];
