/** Durations: milliseconds as a number, or the API's text such as `500ms`, `2s`, `1m 30s`. */
export type Duration = number | string;

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SPAN = /^ *(?:\d+ *(?:ms|s|m|h|d) *)+$/;
const PART = /(\d+) *(ms|s|m|h|d)/g;

/** The duration as the API writes it. */
export function toSpan(duration: Duration): string {
  return typeof duration === "number" ? `${String(Math.max(0, Math.round(duration)))}ms` : duration;
}

/** The duration in milliseconds. */
export function toMillis(duration: Duration): number {
  if (typeof duration === "number") return duration;
  if (!SPAN.test(duration)) throw new TypeError(`"${duration}" is not a duration: write "500ms", "2s" or "1h"`);
  let millis = 0;
  for (const [, count, unit] of duration.matchAll(PART)) millis += Number(count) * (UNITS[unit ?? ""] ?? 0);
  return millis;
}
