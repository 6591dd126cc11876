import { describe, expect, it } from "vitest";
import { readProblem } from "../src/api/client";
import { combine, EMPTY, type State } from "../src/api/poll";

const response = (status: number, tag?: string): Response =>
  new Response(null, { status, ...(tag && { headers: { etag: tag } }) });

describe("answers", () => {
  it("leave the data as it is when the entity tag is the same", () => {
    const data = { count: 1 };
    const state: State<{ count: number }> = { data, problem: undefined, at: 1 };
    const same = combine(state, { data: { count: 1 }, response: response(200, "x") }, "x", 2);
    expect(same.data).toBe(data);
    expect(same.at).toBe(2);
    const other = combine(state, { data: { count: 2 }, response: response(200, "y") }, "x", 2);
    expect(other.data).toEqual({ count: 2 });
  });

  it("of a gateway that fails keep the last data, and those of a refusal do not", () => {
    const state: State<number> = { data: 1, problem: undefined, at: 1 };
    expect(combine(state, { error: {}, response: response(503) }, null, 2).data).toBe(1);
    const refused = combine(
      state,
      { error: { rule: "query_value", detail: "no", path: "rule" }, response: response(422) },
      null,
      2,
    );
    expect(refused).toEqual({
      data: undefined,
      problem: { status: 422, code: "query_value", detail: "no", path: "rule" },
      at: undefined,
    });
  });

  it("without a problem document have a code too", () => {
    expect(readProblem("nonsense", response(502)).code).toBe("http_502");
    expect(EMPTY.data).toBeUndefined();
  });
});
