// What did the deploy change? Answered with at most three clicks from the overview.
import assert from "node:assert/strict";
import { story } from "./story.mjs";

await story(async (test) => {
  for (const javascript of [true, false]) {
    const page = await test.open("/ui", { javascript });
    const main = page.getByRole("main");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    let clicks = 0;
    const click = async (target) => {
      clicks += 1;
      await target.first().click();
    };
    await click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Changes" }));
    await page.getByRole("heading", { level: 1, name: "What changed" }).waitFor();
    // The configuration, which is older than the start of the node on no server that was reloaded, is compared at once.
    await main.getByRole("heading", { name: "Before and after: Configuration types.import.max_attempts" }).waitFor();
    const setting = main.getByRole("row").filter({ hasText: "types.import.max_attempts" }).first();
    assert.match(await setting.innerText(), /3\s+1/);
    const type = main.getByRole("row").filter({ has: page.getByRole("link", { name: "import", exact: true }) });
    assert.match(await type.innerText(), /6 → 6[\s\S]*↑ 0\.0 % → 100\.0 %/);
    await click(main.getByRole("link", { name: "Deploys only" }));
    await main.getByRole("row").filter({ hasText: "started, Tenure" }).waitFor();
    assert.equal(await main.getByRole("row").filter({ hasText: "first recorded" }).count(), 1);
    await click(main.getByRole("row").filter({ hasText: "first recorded" }).getByRole("link", { name: "Compare" }));
    await main.getByRole("heading", { name: /Before and after: Configuration first recorded/ }).waitFor();
    assert(clicks <= 3, `${clicks} clicks`);
    await test.screenshot(page, `changes-${javascript ? "live" : "static"}`);
  }
});
