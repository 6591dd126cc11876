export const PROTOCOLS = ["apc", "sap", "asap", "summit", "saop"] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

export const TITLES: Record<ProtocolName, string> = {
  apc: "APC",
  sap: "SAP",
  asap: "ASAP",
  summit: "Summit",
  saop: "SAOP",
};
