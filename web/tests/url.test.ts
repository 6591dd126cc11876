import { describe, expect, it } from "vitest";
import {
  address,
  routeParameters,
  splitPosition,
  thingAddress,
  writeQuery,
  writeRoute,
} from "../src/state/url";
import { isOwnPath, parseViews, withView } from "../src/state/views";

describe("addresses", () => {
  it("encode each segment once", () => {
    expect(thingAddress("asap:task:a%2Fb/c")).toBe("/console/things/asap%3Atask%3Aa%252Fb%2Fc");
    expect(address([])).toBe("/console/");
  });

  it("write parameters in order and leave out empty ones", () => {
    expect(writeQuery({ b: "1 2", a: "x", c: "", d: undefined })).toBe("?a=x&b=1+2");
  });

  it("keep what is the page's own from the route", () => {
    expect(routeParameters({ tab: "why", q: "x", as_of: "t/0/1" })).toEqual({ as_of: "t/0/1" });
  });

  it("of routes take parameters of their path from the query", () => {
    const path = "/v1/apc/sessions/{session_id}/coordination";
    expect(writeRoute(path, { session_id: "a/b", from: "1" })).toBe(
      "/v1/apc/sessions/a%2Fb/coordination?from=1",
    );
    expect(writeRoute(path, {})).toBe(path);
    expect(writeRoute("/v1/verdicts", { rule: "x" })).toBe("/v1/verdicts?rule=x");
  });

  it("split a position", () => {
    expect(splitPosition("apc.events/1/22")).toEqual({
      topic: "apc.events",
      partition: "1",
      offset: "22",
    });
  });
});

describe("saved views", () => {
  it("lead to pages of this console alone", () => {
    expect(isOwnPath("/console/verdicts?rule=x")).toBe(true);
    for (const path of [
      "https://evil.example/console/",
      "//evil.example/console/",
      "/console/../v1/session",
      "/consoles/",
      "javascript:alert(1)",
    ]) {
      expect(isOwnPath(path), path).toBe(false);
    }
  });

  it("are read from JSON, and what is no view is left out", () => {
    expect(parseViews('[{"name": "a", "path": "/console/"}, {"name": 1}, null]')).toEqual([
      { name: "a", path: "/console/" },
    ]);
    expect(parseViews("{")).toBeNull();
    expect(parseViews("{}")).toBeNull();
  });

  it("replace one of the same name", () => {
    const views = withView([{ name: "a", path: "/console/" }], { name: "a", path: "/console/log" });
    expect(views).toEqual([{ name: "a", path: "/console/log" }]);
  });
});
