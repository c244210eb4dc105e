// A running job is cancelled: first softly, then hard.
import assert from "node:assert/strict";
import { api, confirm, story } from "./story.mjs";

await story(async (test) => {
  const running = (await api().get("/api/jobs?state=running&type=send_invoice")).jobs[0];
  const now = () => api().get(`/api/jobs/${running.id}`);
  const page = await test.open(`/ui/jobs/${running.id}`);
  const main = page.getByRole("main");
  await main.getByText("rendering the page").first().waitFor();
  await main.getByText("font Lato is missing, using DejaVu").first().waitFor();
  // New log lines appear without a reload.
  await api().report(running, "logs", { lines: [{ stream: "stdout", level: "info", text: "page 2 of 2" }] });
  await main.getByText("page 2 of 2").first().waitFor();

  await main.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("status").filter({ hasText: /asked to stop/ }).waitFor();
  assert.equal((await now()).cancel_requested.mode, "soft");

  // Irreversible actions are hidden at first, and can be declined.
  const hard = main.getByRole("button", { name: "Cancel now" });
  assert.equal(await hard.isVisible(), false);
  await main.getByText("Irreversible actions").click();
  assert.match(await confirm(page, () => hard.click(), false), /\?/);
  assert.equal((await now()).state, "running");
  await confirm(page, () => hard.click());
  await page.getByRole("status").filter({ hasText: "The job is cancelled." }).waitFor();
  assert.equal((await now()).state, "cancelled");
});
