// Turns records into lines of text: whole thoughts, tools with their durations, output.
import type { Payload, RtesRecord } from "./records";

const MARKS = { success: "✔", failure: "✖", timeout: "⏱" } as const;

export class Renderer {
  private readonly thoughts = new Map<string, string>();

  /** Return the lines that a record adds; a thought is one line once its last piece is there. */
  lines(record: RtesRecord): string[] {
    const payload = record.payload as Payload;
    switch (payload.type) {
      case "THOUGHT_STREAM": {
        const stream = `${record.task_id}/${payload.agent_id}/${payload.turn_index}`;
        const text = (this.thoughts.get(stream) ?? "") + payload.chunk;
        if (!payload.is_final) {
          this.thoughts.set(stream, text);
          return [];
        }
        this.thoughts.delete(stream);
        return [`thought ${payload.agent_id}#${payload.turn_index}: ${text}`];
      }
      case "TOOL_LIFECYCLE_INVOKED":
        return [`tool … ${payload.tool} ${JSON.stringify(payload.arguments)}`];
      case "TOOL_LIFECYCLE_COMPLETED":
        return [`tool ${MARKS[payload.status]} ${payload.tool} ${payload.duration_ms} ms`];
      case "TASK_TRANSITION":
        return [`task ${payload.task_id}: ${payload.from_state} → ${payload.to_state}`];
      case "SANDBOX_PULSE":
        return [`│ ${payload.line}`];
      case "ESCALATION_RAISED":
        return [`▲ ${payload.agent_id ?? payload.task_id}: ${payload.rules.join(", ")}`];
      default:
        return [`(${(record.payload as { type: string }).type})`];
    }
  }
}
