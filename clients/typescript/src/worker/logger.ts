import type { LogLevel } from "./messages.js";

/** Where a worker writes its log. `console` is one; so is any logger with these methods. */
export type Logger = Record<LogLevel, (message: string, fields: Record<string, unknown>) => void>;

/** Warnings and errors, to the console. */
export const defaultLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, fields) => {
    console.warn(message, fields);
  },
  error: (message, fields) => {
    console.error(message, fields);
  },
};
