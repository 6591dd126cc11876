// Follows one session over server-sent events, and goes on after the last record that was shown.
import { EventSource } from "eventsource";
import type { RtesRecord } from "./records";

export interface Following {
  gateway: string;
  session: string;
  token?: string;
  /** The id of the last record that was shown; without it, the session from its beginning. */
  cursor?: string;
  onRecord(record: RtesRecord, cursor: string): void;
  onStatus(text: string): void;
}

export interface Follower {
  close(): void;
}

/** Show every record of a session once, in the order of its sequence. */
export function follow(following: Following): Follower {
  let cursor = following.cursor;
  let source: EventSource | undefined;
  let closed = false;

  function address(): URL {
    const url = new URL("/v1/rtes/stream", following.gateway);
    url.searchParams.set("session_id", following.session);
    if (cursor === undefined) {
      url.searchParams.set("from", "earliest");
    } else {
      url.searchParams.set("cursor", cursor);
    }
    return url;
  }

  function open(): void {
    if (closed) {
      return;
    }
    // While it lives, an EventSource comes back by itself, with Last-Event-ID.
    source = new EventSource(address(), {
      fetch: (input, init) => {
        const headers: Record<string, string> = { ...init.headers };
        if (following.token) {
          headers["Authorization"] = `Bearer ${following.token}`;
        }
        return fetch(input, { ...init, headers });
      },
    });
    source.addEventListener("open", () => following.onStatus("connected"));
    source.addEventListener("message", (event) => {
      cursor = event.lastEventId;
      following.onRecord(JSON.parse(event.data) as RtesRecord, cursor);
    });
    source.addEventListener("overflow", (event) => {
      cursor = (JSON.parse(event.data) as { cursor: string }).cursor;
      source?.close();
      open();
    });
    source.addEventListener("error", (event) => {
      const reason = event.message ?? "the connection was lost";
      following.onStatus(event.code === undefined ? reason : `${event.code}: ${reason}`);
    });
  }

  open();
  return {
    close() {
      closed = true;
      source?.close();
    },
  };
}
