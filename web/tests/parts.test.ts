import { describe, expect, it } from "vitest";
import { listStops } from "../src/parts/as_of";
import { quote } from "../src/parts/copy";
import { writeScalar } from "../src/parts/json";
import { mergeRows } from "../src/parts/list";
import { layOut } from "../src/parts/machine_layout";
import { drawnEdges, findPath, nextEdges } from "../src/parts/machine_path";
import { listLevels } from "../src/parts/proof";
import { acceptedAddress, addSeries, countProtocols, share } from "../src/parts/tiles";
import { gapHeight, listGaps } from "../src/parts/time_axis";
import { stopIndex } from "../src/parts/time_slider";
import { writeSpan, writeTime } from "../src/state/clock";

const step = (n: number, from: string | null, to: string, fact: string | null) => ({
  n,
  at: "2026-01-01T00:00:00.000Z",
  event: "move",
  from,
  to,
  verdict: "accepted",
  rule: null,
  message: null,
  cause: null,
  fact,
  principal: null,
});

describe("figures", () => {
  const series = [
    { protocol: "apc", verdict: "accepted" as const, counts: [1, 2] },
    { protocol: "sap", verdict: "rejected" as const, counts: [10, 20] },
    { protocol: "sap", verdict: "none" as const, counts: [100, 200] },
  ];

  it("add the counts of some verdicts, step by step", () => {
    expect(addSeries(series, ["accepted", "rejected"])).toEqual([11, 22]);
    expect(addSeries([], ["accepted"])).toEqual([]);
  });

  it("are counted by protocol, the most first, without what is zero", () => {
    const more = [...series, { protocol: "asap", verdict: "accepted" as const, counts: [0, 0] }];
    expect(countProtocols(more, ["accepted", "rejected"])).toEqual([
      { protocol: "sap", count: 30 },
      { protocol: "apc", count: 3 },
    ]);
  });

  it("lead to the lists of their window", () => {
    const bounds = { from: "2026-01-01T00:00:00.000Z", to: "2026-01-01T00:15:00.000Z" };
    expect(acceptedAddress("apc", bounds)).toBe(
      "/console/apc?from=2026-01-01T00%3A00%3A00.000Z&tab=packets" +
        "&to=2026-01-01T00%3A15%3A00.000Z&verdict=accepted",
    );
    expect(acceptedAddress("otel", bounds)).toBeUndefined();
  });

  it("are shares of a whole", () => {
    expect([share(1, 3), share(1, 200), share(1, 0)]).toEqual(["33 %", "0.5 %", ""]);
  });
});

describe("times", () => {
  it("have milliseconds, and the date on another day", () => {
    const today = Date.UTC(2026, 0, 2, 12);
    expect(writeTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6), false, today)).toBe("03:04:05.006");
    expect(writeTime(Date.UTC(2026, 0, 1, 3), false, today)).toBe("2026-01-01 03:00:00.000");
  });

  it("have spans in their largest unit", () => {
    expect([12, 2400, 90_000, 10_800_000].map(writeSpan)).toEqual([
      "12 ms",
      "2.4 s",
      "1.5 min",
      "3 h",
    ]);
  });
});

describe("the time axis", () => {
  it("fits whatever it spans", () => {
    expect(listGaps([5, 7, 7, 6])).toEqual([0, 2, 0, 0]);
    expect(gapHeight(0).height).toBe(0);
    expect(gapHeight(1000).height).toBeGreaterThan(gapHeight(10).height);
    expect(gapHeight(86_400_000 * 365)).toEqual({ height: 26, isFolded: true });
  });
});

describe("stops of the slider", () => {
  const steps = [
    step(1, null, "A", "t/0/1"),
    step(2, "A", "B", "t/0/1"),
    step(3, "B", "C", "t/0/2"),
  ];

  it("are one for each fact, at its last step", () => {
    expect(listStops(steps).map((each) => each.n)).toEqual([2, 3]);
  });

  it("are now without a position, or with one that is none of them", () => {
    const stops = listStops(steps).map(({ fact }) => ({ asOf: fact ?? "", text: "" }));
    expect(stopIndex(stops, "t/0/1")).toBe(0);
    expect(stopIndex(stops, undefined)).toBe(2);
    expect(stopIndex(stops, "t/9/9")).toBe(2);
  });
});

describe("a state machine", () => {
  const machine = {
    name: "m",
    protocol: "apc",
    title: "",
    doc: "",
    initial: "A",
    states: ["A", "B", "C"],
    terminal: ["C"],
    sealed: [],
    edges: [
      { from: "A", event: "go", to: "B" },
      { from: "A", event: "jump", to: "B" },
      { from: "B", event: "end", to: "C" },
      { from: "*", event: "stop", to: "C" },
    ],
  };

  it("numbers the edges that were taken", () => {
    const path = findPath([step(1, null, "A", null), step(2, "A", "B", null)]);
    expect([...path.states]).toEqual(["A", "B"]);
    expect(path.edges.get("A → B")).toEqual([2]);
  });

  it("lists what may happen next", () => {
    expect(nextEdges(machine, "B").map((each) => each.event)).toEqual(["end", "stop"]);
    expect(nextEdges(machine, "C")).toEqual([]);
  });

  it("is drawn with one arrow for each pair of states", () => {
    expect(drawnEdges(machine).map((each) => each.events)).toEqual([["go", "jump"], ["end"]]);
    const drawing = layOut(machine);
    expect(drawing.boxes.map((each) => each.state)).toEqual(["A", "B", "C"]);
    expect(drawing.arrows.every((each) => each.points.length > 1)).toBe(true);
    expect(drawing.width).toBeGreaterThan(0);
  });
});

describe("proof", () => {
  const proof = {
    position: "t/0/1",
    recorded: true,
    rederived: { outcome: "not_derivable" as const, detail: "the command is gone" },
    sealed: null,
    receipt: null,
  };

  it("is green only where something was checked", () => {
    expect(listLevels(proof, false).map((each) => each.holds)).toEqual([true, null, null]);
    const sealed = {
      sequence: 1,
      from: 0,
      to: 9,
      at: "2026-01-01T00:00:00.000Z",
      key_id: "k",
      signature: "not_checked" as const,
      records: "match" as const,
    };
    expect(listLevels({ ...proof, sealed }, false)[2]?.holds).toBeNull();
    const broken = { ...proof, sealed: { ...sealed, signature: "invalid" as const } };
    expect(listLevels(broken, false)[2]?.holds).toBe(false);
  });

  it("names the entry of a transparency log", () => {
    const sealed = {
      index: 7,
      size: 9,
      origin: "hr.example.com/tlog",
      at: "2026-01-01T00:00:00.000Z",
      cosigners: [],
      signature: "valid" as const,
    };
    const level = listLevels({ ...proof, sealed }, true)[2];
    expect(level).toMatchObject({ name: "sealed", holds: true, word: "sealed" });
    expect(level?.detail).toContain("Entry 7 of 9 in the log hr.example.com/tlog");
    const broken = { ...proof, sealed: { ...sealed, signature: "invalid" as const } };
    expect(listLevels(broken, true)[2]?.holds).toBe(false);
  });

  it("says whether a receipt is there, where there is a transparency log", () => {
    const receipt = "/v1/audit/receipts/t/0/1";
    expect(listLevels({ ...proof, receipt }, true)[3]?.holds).toBe(true);
    expect(listLevels(proof, true)[3]?.holds).toBeNull();
    expect(listLevels({ ...proof, receipt }, false)).toHaveLength(3);
  });

  it("names the witnesses of the checkpoint over a fact with a receipt", () => {
    const receipt = "/v1/audit/receipts/t/0/1";
    const cosigners = [{ name: "w1", at: "2026-01-01T00:00:00.000Z" }];
    const [witnessed] = listLevels({ ...proof, receipt }, true, cosigners).slice(4);
    expect(witnessed).toMatchObject({ name: "witnessed", holds: true });
    expect(witnessed?.detail).toContain("w1");
    expect(listLevels({ ...proof, receipt }, true, [])[4]?.holds).toBeNull();
    expect(listLevels(proof, true, cosigners)[4]?.holds).toBeNull();
    expect(listLevels({ ...proof, receipt }, true)).toHaveLength(4);
  });
});

describe("rows", () => {
  it("of later pages follow the newest ones, each once", () => {
    expect(mergeRows([3, 2], [2, 1], String)).toEqual([3, 2, 1]);
  });
});

describe("copied text", () => {
  it("is quoted for a shell", () => {
    expect(quote("apc:packet:1")).toBe("apc:packet:1");
    expect(quote("it's")).toBe("'it'\\''s'");
    expect(quote("é' \u001b[2J\u202e😀")).toBe("$'\\u00e9\\u0027 \\u001b[2J\\u202e\\U0001f600'");
  });

  it("of JSON parses, with controls as escapes", () => {
    const value = "a\u202eb\u200bc\u001b[0m";
    expect(JSON.parse(writeScalar(value))).toBe(value);
    expect(writeScalar("\u202e")).toBe('"\\u202e"');
  });
});
