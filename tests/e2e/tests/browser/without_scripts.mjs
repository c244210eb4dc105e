// A browser without scripts: links and forms work.
import assert from "node:assert/strict";
import { api, story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui", { javascript: false });
  const main = page.getByRole("main");

  // From the first page to a queue, pause and resume.
  await page.getByRole("link", { name: "Queues", exact: true }).click();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Pause" }).click();
  await page.getByRole("status").filter({ hasText: /mail/ }).waitFor();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Resume" }).click();

  // The search finds jobs, one of them is cancelled.
  await page.getByRole("searchbox", { name: /find/i }).fill("type:send_invoice state:queued");
  await page.getByRole("searchbox", { name: /find/i }).press("Enter");
  await page.getByRole("heading", { level: 1, name: /jobs/i }).waitFor();
  const waiting = await api().get("/api/jobs?type=send_invoice&state=queued");
  const [{ id }] = waiting.jobs;
  await page.locator(`main a[href="/ui/jobs/${id}"]`).first().click();
  await main.getByRole("button", { name: /^cancel/i }).first().click();
  await main.getByText("cancelled").first().waitFor();
  assert.equal((await api().get(`/api/jobs/${id}`)).state, "cancelled");

  // The chosen theme is kept.
  await page.getByRole("combobox", { name: "Theme" }).selectOption("Dark");
  await page.getByRole("button", { name: "Set" }).click();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");

  // The states on the map link to their jobs.
  await page.goto(test.url + "/ui/lifecycles/distributed");
  await page.getByRole("link", { name: /^queued/ }).first().click();
  await page.getByRole("heading", { level: 1, name: /jobs/i }).waitFor();
  assert.match(page.url(), /state=queued/);
});
