// Somebody is woken at night: what is wrong, why, and what may be done about it, in three clicks.
import assert from "node:assert/strict";
import { api, asked, eventually, story } from "./stage.mjs";

await story(async (stage) => {
  const page = await stage.open("/ui");
  const main = page.getByRole("main");

  // The first page names the failure; one click to the jobs that have it, one to the job, and there it says why.
  await main.getByText("OUT_OF_MEMORY").first().waitFor();
  await main.getByRole("link").filter({ hasText: /OUT_OF_MEMORY|…/ }).first().waitFor();
  await page.getByRole("searchbox").fill("state:failed type:render_scene");
  await page.getByRole("searchbox").press("Enter");
  const failed = (await api().get("/api/jobs?state=failed&type=render_scene")).jobs[0];
  await page.locator(`main a[href="/ui/jobs/${failed.id}"]`).first().click();
  await main.getByText("texture atlas needs 9.1 GiB, 8 GiB are there").first().waitFor();
  await main.getByText("gpu-2").first().waitFor();

  // Retried from there, it is a new job, which says where it came from.
  await main.getByRole("button", { name: /retry/i }).click();
  await page.waitForURL((url) => !url.pathname.includes(failed.id));
  const again = page.url().split("/").at(-1).slice(0, 36);
  assert.equal((await api().get(`/api/jobs/${again}`)).retry_of, failed.id);
  await main.locator(`a[href="/ui/jobs/${failed.id}"]`).first().waitFor();
});
