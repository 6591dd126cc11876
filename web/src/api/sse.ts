/** A message of a stream of server-sent events. */
export interface Message {
  id: string | undefined;
  event: string;
  data: string | undefined;
}

/** Take a stream of server-sent events apart, whatever the pieces in which it comes. */
export class MessageParser {
  private rest = "";
  private message: Message = { id: undefined, event: "message", data: undefined };

  /** Return the messages that end in this piece. */
  push(piece: string): Message[] {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    const messages: Message[] = [];
    for (const line of lines) {
      if (line !== "" && line !== "\r") {
        this.add(line.endsWith("\r") ? line.slice(0, -1) : line);
      } else if (this.message.id !== undefined || this.message.data !== undefined) {
        messages.push(this.message);
        this.message = { id: undefined, event: "message", data: undefined };
      }
    }
    return messages;
  }

  private add(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.message.id = value;
    else if (name === "event") this.message.event = value;
    else if (name === "data") {
      this.message.data =
        this.message.data === undefined ? value : `${this.message.data}\n${value}`;
    }
  }
}
