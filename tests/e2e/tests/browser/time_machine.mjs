// The slider below a map leads to an earlier minute, with and without scripts.
import assert from "node:assert/strict";
import { api, story } from "./story.mjs";

await story(async (test) => {
  await Promise.all(Array.from({ length: 3 }, () => api().create({ type: "hello" })));
  for (const javascript of [true, false]) {
    const page = await test.open("/ui/lifecycles/distributed", { javascript });
    const main = page.getByRole("main");
    const slider = main.getByRole("slider", { name: "Time machine" });
    // Ten minutes ago there were no jobs.
    await slider.evaluate((input) => { input.value = Number(input.max) - 600; });
    if (javascript) await slider.dispatchEvent("change");
    else await main.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/at=\d+/);
    await page.getByRole("heading", { name: /^Unfinished jobs on \d{4}-\d\d-\d\d at \d\d:\d\d UTC$/ }).waitFor();
    const queued = main.getByRole("row").filter({ hasText: "queued" });
    assert.match(await queued.innerText(), /0\s+3\s+\+3/);
    await main.getByText("events of the journal were read, which are all of it").waitFor();
    await main.getByRole("link", { name: "−10 m" }).click();
    await page.waitForURL(/at=2\d{3}-/);
    await main.getByRole("link", { name: "Now", exact: true }).click();
    await page.waitForURL(/distributed$/);
  }
});
