// A browser without scripts: links and forms work.
import assert from "node:assert/strict";
import { api, story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui", { javascript: false });
  const main = page.getByRole("main");

  // From the first page to a queue, pause and resume.
  await page.getByRole("link", { name: /^Queues/ }).click();
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

  // A schedule is edited, run and paused; what a person has to decide is decided with a comment.
  await page.getByRole("link", { name: /^Schedules/ }).click();
  await page.getByRole("link", { name: "nightly" }).click();
  await main.getByText("Edit", { exact: true }).click();
  await main.getByLabel("Cron").fill("0 4 * * *");
  await main.getByRole("button", { name: "Save" }).click();
  await page.getByRole("status").filter({ hasText: "is changed" }).waitFor();
  await main.getByRole("button", { name: "Pause" }).click();
  await main.getByRole("button", { name: "Resume" }).waitFor();
  await main.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("heading", { level: 1, name: /nightly_report/ }).waitFor();
  assert.equal((await api().get("/api/schedules/nightly")).cron, "0 4 * * *");
  const review = (await api().get("/api/jobs?state=in_review")).jobs[0];
  await page.goto(`${test.url}/ui/jobs/${review.id}`);
  await main.getByText("the lighthouse is dark").first().waitFor();
  await main.getByLabel("Comment").fill("more polite, please");
  await main.getByRole("button", { name: "Decline" }).click();
  // Without scripts a page asks before what cannot be undone, and keeps what was filled in.
  await main.getByText("The job becomes rejected, which is final.").waitFor();
  await main.getByRole("link", { name: "Go back" }).click();
  assert.equal((await api().get(`/api/jobs/${review.id}`)).state, "in_review");
  await main.getByLabel("Comment").fill("more polite, please");
  await main.getByRole("button", { name: "Decline" }).click();
  await main.getByRole("heading", { name: "Are you sure?" }).waitFor();
  await main.getByRole("button", { name: "Decline" }).click();
  await main.getByText("more polite, please").first().waitFor({ state: "attached" });
  assert.equal((await api().get(`/api/jobs/${review.id}`)).state, "rejected");

  // So do bulk actions, and the retry of a job that has succeeded.
  await page.goto(`${test.url}/ui/jobs?state=succeeded&lifecycle=distributed`);
  const before = (await api().get("/api/jobs?limit=500")).jobs.length;
  await main.locator("tbody tr").first().getByRole("checkbox").check();
  await main.getByRole("button", { name: /^Delete selected/ }).click();
  await main.getByText("Delete this job?").waitFor();
  await main.getByRole("link", { name: "Go back" }).click();
  await main.locator("tbody tr").first().getByRole("checkbox").check();
  await main.getByRole("button", { name: /^Retry selected/ }).click();
  await main.getByText("Of this job, 1 succeeded.").waitFor();
  assert.equal((await api().get("/api/jobs?limit=500")).jobs.length, before);
  await main.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("status").filter({ hasText: "Retried 1 of 1." }).waitFor();

  // The audit log shows who did it.
  await page.getByRole("link", { name: /^Audit/ }).click();
  await main.getByLabel("Action").fill("schedule_run");
  await main.getByRole("button", { name: "Filter" }).click();
  await main.getByRole("row").filter({ hasText: "nightly" }).waitFor();
  assert.equal(await main.locator("tbody tr").count(), 1);

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
