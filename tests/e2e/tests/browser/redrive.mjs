// A dead letter is redriven, and the live map in another window changes.
import assert from "node:assert/strict";
import { api, story } from "./story.mjs";

await story(async (test) => {
  const map = await test.open("/ui/lifecycles/distributed");
  await map.locator("#live").filter({ hasText: "live" }).waitFor();
  let loads = 0;
  map.on("framenavigated", () => { loads += 1; });
  const count = async (state) => (await api().get(`/api/jobs?limit=500&lifecycle=distributed&state=${state}`)).jobs.length;
  /** Waits until a state on the map shows this number of jobs. */
  const shows = (state, jobs) => map.getByRole("link", { name: new RegExp(`^${state}( \\(\\w+\\))?: ${jobs} job`) }).first().waitFor();
  const [queued, running] = [await count("queued"), await count("running")];
  await shows("queued", queued);
  await shows("dead_lettered", 3);

  // In the other window: redrive one dead letter of a group.
  const page = await test.open("/ui");
  const main = page.getByRole("main");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Errors/ }).click();
  await main.getByRole("row").filter({ hasText: "SMTP_TIMEOUT" }).getByRole("link").first().click();
  await main.getByText("no answer from the relay after 30 s").first().waitFor();
  await main.getByRole("row").filter({ hasText: "send_invoice" }).first().getByRole("checkbox").check();
  await main.getByRole("button", { name: "Redrive selected (1)" }).click();
  await page.getByRole("status").filter({ hasText: /redrove 1 of 1/i }).waitFor();
  // Two are left.
  await main.getByRole("row").filter({ hasText: "send_invoice" }).nth(1).waitFor();
  assert.equal(await main.getByRole("row").filter({ hasText: "send_invoice" }).count(), 2);

  // The map has changed without a reload.
  await shows("queued", queued + 1);
  const job = await api().claim("mail-9", { types: ["send_invoice"] });
  await shows("running", running + 1);
  await api().report(job, "succeed");
  await shows("running", running);
  assert.equal(loads, 0, "the page was not reloaded");

  // The whole group: the page shows the number first.
  await main.getByRole("link", { name: /redrive the whole group/i }).click();
  await main.getByText("2 dead letters").first().waitFor();
  await main.getByRole("button", { name: "Redrive 2 dead letters" }).click();
  await page.getByRole("status").filter({ hasText: /redrove 2 of 2/i }).waitFor();
});
