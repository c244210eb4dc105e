// Somebody is woken at night: what is wrong, why, and what may be done about it, in three clicks.
import assert from "node:assert/strict";
import { api, story } from "./stage.mjs";

await story(async (stage) => {
  const page = await stage.open("/ui");
  const main = page.getByRole("main");
  const failed = (await api().get("/api/jobs?state=failed&type=render_scene")).jobs[0];

  // The first page names what needs somebody, and the failures by their errors.
  await main.getByRole("heading", { name: "Needs you" }).waitFor();
  await main.getByRole("link", { name: /dead letter/ }).first().waitFor();
  const failure = main.getByRole("row").filter({ hasText: "OUT_OF_MEMORY" });
  // One press, and it is there: which, why, where, who.
  await failure.locator("a.id").click();
  await page.getByRole("heading", { level: 1, name: /render_scene/ }).waitFor();
  assert(page.url().endsWith(failed.id));
  await main.getByText("texture atlas needs 9.1 GiB, 8 GiB are there").first().waitFor();
  await main.getByText("gpu-2").first().waitFor();
  await main.getByRole("heading", { name: "Why it is here" }).waitFor();
  // The way that it took is lit, with the time in each state.
  for (const state of ["queued", "dispatched", "running", "failed"])
    await main.getByRole("group", { name: /the way of the job/ }).getByRole("link", { name: new RegExp(`^${state}(:|$)`) }).waitFor();

  // Retried from there, it is a new job, which says where it came from.
  await main.getByRole("button", { name: "Retry" }).click();
  await page.waitForURL((url) => !url.pathname.includes(failed.id));
  const again = await api().get(`/api/jobs/${new URL(page.url()).pathname.split("/").at(-1)}`);
  assert.equal(again.retry_of, failed.id);
  await main.locator(`a[href="/ui/jobs/${failed.id}"]`).first().waitFor();
  // It waits for a worker, and says so; a worker comes, and it says that, without a press.
  await main.getByText("queued").first().waitFor();
  const taken = await api().post("/api/claims", { worker: "gpu-7", types: ["render_scene"], max: 2, start: true });
  assert(taken.jobs.some(({ id }) => id === again.id));
  await main.getByText("gpu-7").first().waitFor();
});
