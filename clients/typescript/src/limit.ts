/** The longest time of a timer: with a longer one it would fire at once. */
export const TIMER_MAX = 2 ** 31 - 1;

/** A signal that aborts after a timeout, which can be restarted, or with another signal. */
export class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Milliseconds; `null`: no timeout. */
  constructor(timeout: number | null, outer?: AbortSignal) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#onAbort);
    if (outer?.aborted) this.#onAbort();
    this.restart(timeout);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Replaces the timeout by another one that begins now. */
  restart(timeout: number | null): void {
    clearTimeout(this.#timer);
    if (timeout === null) return;
    const error = new DOMException(`no answer within ${String(timeout)} ms`, "TimeoutError");
    this.#abortAfter(timeout, error);
  }

  #abortAfter(timeout: number, error: DOMException): void {
    this.#timer = setTimeout(() => {
      if (timeout > TIMER_MAX) this.#abortAfter(timeout - TIMER_MAX, error);
      else this.abort(error);
    }, Math.min(timeout, TIMER_MAX));
  }

  /** Nothing aborts any more. */
  release(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  readonly #onAbort = () => {
    this.abort(this.#outer?.reason);
  };
}
