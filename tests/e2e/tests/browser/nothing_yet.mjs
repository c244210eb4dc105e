// A server on which nothing has happened: every page says so, and what to type.
import assert from "node:assert/strict";
import { story } from "./stage.mjs";

await story(async (stage) => {
  const page = await stage.open("/");
  assert.equal(new URL(page.url()).pathname, "/ui", "/ leads to the dashboard");
  const places = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  for (const name of await places.allTextContents()) {
    await places.filter({ hasText: name }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator("#live").filter({ hasText: "live" }).waitFor();
    if (["Jobs", "Dead letters", "Workers", "Accounts", "Events"].includes(name)) {
      const said = await page.getByRole("main").innerText();
      assert.match(said, /no |nothing|nobody/i, `${name}: ${said}`);
    }
  }
  // The names in the page are of this server; nothing else was asked for.
  await page.goto(stage.url + "/ui/jobs");
  await page.getByRole("main").getByText(/tenure run/).first().waitFor();
});
