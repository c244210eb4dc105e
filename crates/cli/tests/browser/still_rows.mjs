// Rows stay where they are while new jobs come; what is to happen to many says how many first.
import assert from "node:assert/strict";
import { api, asked, eventually, story } from "./stage.mjs";

await story(async (stage) => {
  const create = (number) => api().create({ type: "a", payload: { number } });
  for (let number = 0; number < 5; number += 1) await create(number);
  const page = await stage.open("/ui/jobs?type=a");
  const main = page.getByRole("main");
  const rows = main.locator("tbody tr");
  const shown = () => rows.locator("a.id").evaluateAll((all) => all.map((it) => it.getAttribute("href")));
  await page.locator("#live").filter({ hasText: "live" }).waitFor();
  const before = await shown();
  assert.equal(before.length, 5);
  const place = await rows.first().boundingBox();

  // Three come, one changes: nothing moves, the button says three, the cell says what it is now.
  for (let number = 5; number < 8; number += 1) await create(number);
  const taken = await api().take("w1");
  const newer = main.getByRole("link", { name: /3 newer/ });
  await newer.waitFor();
  assert.deepEqual(await shown(), before);
  assert.deepEqual((await rows.first().boundingBox()).x, place.x);
  await rows.filter({ has: page.locator(`a[href="/ui/jobs/${taken.id}"]`) }).getByText("running").waitFor();

  // A press brings them.
  await newer.click();
  await eventually("all are there", async () => (await shown()).length === 8);

  // Two selected: the page holds still, the button says two.
  await rows.nth(0).getByRole("checkbox").check();
  await rows.nth(1).getByRole("checkbox").check();
  await page.locator("#live").filter({ hasText: "paused" }).waitFor();
  await main.getByRole("button", { name: /cancel selected.*2/i }).click();
  await page.getByRole("status").filter({ hasText: /cancelled 2/i }).waitFor();

  // All that match: the number comes first.
  await main.getByRole("link", { name: /cancel all matching/i }).or(main.getByRole("button", { name: /cancel all matching/i })).first().click();
  await main.getByText(/\b(6|8)\b/).first().waitFor();
  await stage.picture(page, "bulk");
  await main.getByRole("button", { name: /cancel/i }).first().click();
  await page.getByRole("status").filter({ hasText: /cancelled/i }).waitFor();
  await eventually("none waits", async () => (await api().get("/api/jobs?state=queued")).jobs.length === 0);
});
