// The records of GET /v1/rtes/stream, as far as an editor shows them.

export interface ThoughtStream {
  type: "THOUGHT_STREAM";
  agent_id: string;
  turn_index: number;
  chunk: string;
  is_final: boolean;
}

export interface ToolInvoked {
  type: "TOOL_LIFECYCLE_INVOKED";
  call_id: string;
  tool: string;
  arguments: Record<string, unknown>;
}

export interface ToolCompleted {
  type: "TOOL_LIFECYCLE_COMPLETED";
  call_id: string;
  tool: string;
  status: "success" | "failure" | "timeout";
  duration_ms: number;
}

export interface TaskTransition {
  type: "TASK_TRANSITION";
  task_id: string;
  from_state: string;
  to_state: string;
}

export interface SandboxPulse {
  type: "SANDBOX_PULSE";
  line: string;
  masked: boolean;
}

export interface EscalationRaised {
  type: "ESCALATION_RAISED";
  task_id: string;
  agent_id?: string;
  turn_index?: number;
  rules: string[];
  outcome: string;
}

export type Payload =
  | ThoughtStream
  | ToolInvoked
  | ToolCompleted
  | TaskTransition
  | SandboxPulse
  | EscalationRaised;

/** A type that this program does not know: later versions of the service may send more. */
export interface OtherPayload {
  type: string;
}

export interface RtesRecord {
  session_id: string;
  sequence: number;
  task_id: string | null;
  payload: Payload | OtherPayload;
}
