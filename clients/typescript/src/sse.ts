/** Parser of server-sent events: accepts pieces of any size. */

export interface SentEvent {
  /** `message` if the event has no name. */
  name: string;
  /** The last id, of this event or an earlier one. */
  id: string | undefined;
  /** Its lines, joined. */
  text: string;
}

export class SseReader {
  #rest = "";
  #id: string | undefined;
  #name = "";
  #lines: string[] = [];
  /** Milliseconds that the server wants a client to wait before it connects again. */
  retry: number | undefined;

  constructor(lastId?: string) {
    this.#id = lastId;
  }

  /** Takes the next piece and gives the events that it completes. */
  push(piece: string): SentEvent[] {
    const text = this.#rest + piece;
    // A carriage return at the end may be the first half of CRLF.
    const held = text.endsWith("\r") ? 1 : 0;
    const lines = text.slice(0, text.length - held).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + text.slice(text.length - held);
    return lines.flatMap((line) => this.#endLine(line) ?? []);
  }

  #endLine(line: string): SentEvent | undefined {
    if (line === "") return this.#endEvent();
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#name = value;
    else if (field === "data") this.#lines.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return undefined;
  }

  #endEvent(): SentEvent | undefined {
    const [name, lines] = [this.#name || "message", this.#lines];
    [this.#name, this.#lines] = ["", []];
    return lines.length > 0 ? { name, id: this.#id, text: lines.join("\n") } : undefined;
  }
}
