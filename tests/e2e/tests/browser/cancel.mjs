// A running job is cancelled: gently first, then at once.
import assert from "node:assert/strict";
import { api, asked, story } from "./stage.mjs";

await story(async (stage) => {
  const running = (await api().get("/api/jobs?state=running&type=send_invoice")).jobs[0];
  const now = () => api().get(`/api/jobs/${running.id}`);
  const page = await stage.open(`/ui/jobs/${running.id}`);
  const main = page.getByRole("main");
  await main.getByText("rendering the page").first().waitFor();
  await main.getByText("font Lato is missing, using DejaVu").waitFor();
  // What its worker says meanwhile comes by itself.
  await api().report(running, "logs", { lines: [{ stream: "stdout", level: "info", text: "page 2 of 2" }] });
  await main.getByText("page 2 of 2").waitFor();

  await main.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("status").filter({ hasText: /asked to stop/ }).waitFor();
  assert.equal((await now()).cancel_requested.mode, "soft");

  // What cannot be undone is apart, asks, and takes no for an answer.
  const hard = main.getByRole("button", { name: "Cancel now" });
  assert.equal(await hard.isVisible(), false);
  await main.getByText("What cannot be undone").click();
  assert.match(await asked(page, () => hard.click(), false), /\?/);
  assert.equal((await now()).state, "running");
  await asked(page, () => hard.click());
  await page.getByRole("status").filter({ hasText: "The job is cancelled." }).waitFor();
  assert.equal((await now()).state, "cancelled");
});
