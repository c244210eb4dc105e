// A server without jobs: every page says so, and suggests a command.
import assert from "node:assert/strict";
import { story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/");
  assert.equal(new URL(page.url()).pathname, "/ui", "/ leads to the dashboard");
  const places = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  for (const name of await places.allTextContents()) {
    await places.filter({ hasText: name }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator("#live").filter({ hasText: "live" }).waitFor();
    if (["Jobs", "Errors", "Types", "Workers", "Users", "Events"].includes(name)) {
      const text = await page.getByRole("main").innerText();
      assert.match(text, /no |nothing/i, `${name}: ${text}`);
    }
  }
  // Commands on the page refer to this server.
  await page.goto(test.url + "/ui/jobs");
  await page.getByRole("main").getByText(/tenure run/).first().waitFor();
});
