// A dead letter is redriven, and moves on the live map in another window.
import assert from "node:assert/strict";
import { api, asked, eventually, story } from "./stage.mjs";

await story(async (stage) => {
  const map = await stage.open("/ui/lifecycles/distributed");
  await map.locator("#live").filter({ hasText: "live" }).waitFor();
  let loads = 0;
  map.on("framenavigated", () => { loads += 1; });
  /** The number in a state's box. */
  const count = async (state) => {
    const label = await map.getByRole("link", { name: new RegExp(`^${state}: `) }).first().getAttribute("aria-label");
    return Number(/([\d,]+) jobs?/.exec(label)[1].replaceAll(",", ""));
  };
  const becomes = (state, wanted) => eventually(`${state} becomes ${wanted}`, async () => (await count(state)) === wanted);
  const [queued, dead] = [await count("queued"), await count("dead_lettered")];
  assert.equal(dead, 3);

  // In the other window: the inbox, its group, one letter, redriven.
  const page = await stage.open("/ui");
  const main = page.getByRole("main");
  await page.getByRole("link", { name: "Dead letters", exact: true }).click();
  await main.getByRole("link").filter({ hasText: "SMTP_TIMEOUT" }).first().click();
  await main.getByText("no answer from the relay after 30 s").first().waitFor();
  await main.getByRole("row").filter({ hasText: "send_invoice" }).first().getByRole("checkbox").check();
  await main.getByRole("button", { name: /redrive selected/i }).click();
  await page.getByRole("status").filter({ hasText: /redriven/i }).waitFor();

  // The map has moved by itself.
  await becomes("queued", queued + 1);
  const job = await api().take("mail-9", { types: ["send_invoice"] });
  await becomes("running", 2);
  await api().report(job, "succeed");
  await becomes("running", 1);
  assert.equal(loads, 0, "nothing was loaded anew");
});
