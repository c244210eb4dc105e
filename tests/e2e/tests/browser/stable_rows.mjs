// Rows keep their place while jobs are created, and a bulk action shows the number of jobs first.
import assert from "node:assert/strict";
import { api, confirm, eventually, story } from "./story.mjs";

await story(async (test) => {
  const create = (number) => api().create({ type: "a", payload: { number } });
  for (let number = 0; number < 5; number += 1) await create(number);
  const page = await test.open("/ui/jobs?type=a");
  const main = page.getByRole("main");
  const rows = main.locator("tbody tr");
  const shown = () => rows.locator("a.id").evaluateAll((all) => all.map((it) => it.getAttribute("href")));
  await page.locator("#live").filter({ hasText: "live" }).waitFor();
  const before = await shown();
  assert.equal(before.length, 5);
  const place = await rows.first().boundingBox();

  // Three jobs are created, one changes: no row moves, a link says three, a cell shows the new state.
  for (let number = 5; number < 8; number += 1) await create(number);
  const claimed = await api().claim("w1");
  const newer = main.getByRole("link", { name: "3 newer" });
  await newer.waitFor();
  await rows.filter({ has: page.locator(`a[href="/ui/jobs/${claimed.id}"]`) }).getByText("running").waitFor();
  assert.deepEqual(await shown(), before);
  assert.deepEqual(await rows.first().boundingBox(), place);

  // A click shows them.
  await newer.click();
  await eventually("all are there", async () => (await shown()).length === 8);

  // Two selected: the page is paused, the button says two.
  await rows.nth(0).getByRole("checkbox").check();
  await rows.nth(1).getByRole("checkbox").check();
  await page.locator("#live").filter({ hasText: "paused" }).waitFor();
  assert.match(await confirm(page, () => main.getByRole("button", { name: "Cancel selected (2)" }).click()), /2 jobs/);
  await page.getByRole("status").filter({ hasText: "Cancelled 2 of 2." }).waitFor();

  // All matching jobs: the page shows the number first.
  await page.goto(test.url + "/ui/jobs?type=a&lifecycle=distributed&state=queued");
  await main.getByRole("link", { name: /cancel all matching/i }).click();
  await main.getByText("5 jobs").first().waitFor();
  await test.screenshot(page, "bulk");
  await main.getByRole("button", { name: "Cancel 5 jobs" }).click();
  await page.getByRole("status").filter({ hasText: "Cancelled 5 of 5." }).waitFor();
  const left = (await api().get("/api/jobs?limit=500")).jobs.filter(({ state }) => state !== "cancelled");
  assert.deepEqual(left.map(({ id }) => id), [claimed.id]);
});
