// A running job is cancelled: gently first, then at once.
import assert from "node:assert/strict";
import { api, asked, story } from "./stage.mjs";

await story(async (stage) => {
  const running = (await api().get("/api/jobs?state=running&type=send_invoice")).jobs[0];
  const page = await stage.open(`/ui/jobs/${running.id}`);
  const main = page.getByRole("main");
  await main.getByText("rendering the page").first().waitFor();
  await main.getByText("font Lato is missing, using DejaVu").waitFor();

  await main.getByRole("button", { name: /^cancel$/i }).click();
  await page.getByRole("status").filter({ hasText: /cancel/i }).first().waitFor();
  assert.equal((await api().get(`/api/jobs/${running.id}`)).cancel_requested.mode, "soft");

  // What cannot be undone asks, and takes no for an answer.
  const hard = main.getByRole("button", { name: /cancel (hard|now)|hard/i });
  assert.match(await asked(page, () => hard.click(), false), /\?/);
  assert.equal((await api().get(`/api/jobs/${running.id}`)).state, "running");
  await asked(page, () => hard.click());
  await main.getByText("cancelled").first().waitFor();
  assert.equal((await api().get(`/api/jobs/${running.id}`)).state, "cancelled");
});
