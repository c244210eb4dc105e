// An operator finds a failed job, its reason and the retry in three clicks.
import assert from "node:assert/strict";
import { api, story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui");
  const main = page.getByRole("main");
  const failed = (await api().get("/api/jobs?state=failed&type=render_scene")).jobs[0];

  // The first page shows what needs attention, and failures by error.
  await main.getByRole("heading", { name: "Needs attention" }).waitFor();
  await main.getByRole("link", { name: /dead letter/ }).first().waitFor();
  const failure = main.getByRole("row").filter({ hasText: "OUT_OF_MEMORY" });
  // One click shows the job, its error and its worker.
  await failure.locator("a.id").click();
  await page.getByRole("heading", { level: 1, name: /render_scene/ }).waitFor();
  assert(page.url().endsWith(failed.id));
  await main.getByText("texture atlas needs 9.1 GiB, 8 GiB are there").first().waitFor();
  await main.getByText("gpu-2").first().waitFor();
  await main.getByRole("heading", { name: "Why is it here?" }).waitFor();
  // The visited states are highlighted, with the time in each.
  for (const state of ["queued", "dispatched", "running", "failed"])
    await main.getByRole("group", { name: /path of the job/ }).getByRole("link", { name: new RegExp(`^${state}(:|$)`) }).waitFor();

  // The retry is a new job with a link to the failed one.
  await main.getByRole("button", { name: "Retry" }).click();
  await page.waitForURL((url) => !url.pathname.includes(failed.id));
  const again = await api().get(`/api/jobs/${new URL(page.url()).pathname.split("/").at(-1)}`);
  assert.equal(again.retry_of, failed.id);
  await main.locator(`a[href="/ui/jobs/${failed.id}"]`).first().waitFor();
  // The page shows that it waits for a worker, and then the worker, without a reload.
  await main.getByText("queued").first().waitFor();
  const claimed = await api().post("/api/claims", { worker: "gpu-7", types: ["render_scene"], max: 2, start: true });
  assert(claimed.jobs.some(({ id }) => id === again.id));
  await main.getByText("gpu-7").first().waitFor();
});
