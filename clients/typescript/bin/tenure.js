#!/usr/bin/env node
// The program `tenure`, for `npx tenure`: runs the binary with the same arguments, input and output, and ends as it does.

import { spawn } from "node:child_process";

import { binaryPath } from "../dist/binary.js";

const binary = binaryPath();
if (binary === undefined) {
  console.error(`tenure: there is no binary for ${process.platform}-${process.arch}`);
  console.error("help: set TENURE_BINARY to the path of one, or build it: cargo install --path crates/cli --features full");
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT to both; the program decides when to end.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (error) => {
  console.error(`tenure: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
