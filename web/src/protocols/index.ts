import { APC } from "./apc";
import { ASAP } from "./asap";
import type { ProtocolList } from "./define";
import type { ProtocolName } from "./names";
import { SAOP } from "./saop";
import { SAP } from "./sap";
import { SUMMIT } from "./summit";

export const LISTS: Record<ProtocolName, readonly ProtocolList[]> = {
  apc: APC,
  sap: SAP,
  asap: ASAP,
  summit: SUMMIT,
  saop: SAOP,
};
