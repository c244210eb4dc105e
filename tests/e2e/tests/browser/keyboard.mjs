// Every action works with the keyboard.
import assert from "node:assert/strict";
import { story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui");
  const focused = () => page.evaluate(() => document.activeElement.outerHTML.slice(0, 200));

  // The first tab stop skips the navigation.
  await page.keyboard.press("Tab");
  assert.match(await focused(), /Skip to content/);
  await page.keyboard.press("Enter");
  assert.match(await page.evaluate(() => document.activeElement.id), /^main$/);

  // To the jobs, down two rows and up one, into the job.
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.getByRole("heading", { level: 1, name: /jobs/i }).waitFor();
  const links = await page.locator("main tbody a.id").evaluateAll((all) => all.map((it) => it.getAttribute("href")));
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  assert.match(await focused(), new RegExp(links[1]));
  // The focus is visible.
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
  await page.keyboard.press("x");
  assert.equal(await page.locator("main tbody input:checked").count(), 1);
  await page.keyboard.press("x");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**${links[1]}`);

  // Focus the search and leave it.
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await page.keyboard.type("state:failed ?");
  assert.equal(await page.getByRole("dialog").count(), 0, "typed text is not a shortcut");
  await page.keyboard.press("Escape");
  assert.notEqual(await page.evaluate(() => document.activeElement.id), "search");

  // The list of shortcuts.
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor({ state: "hidden" });

  // Every state on a map is a tab stop, in the order of the lifecycle.
  await page.goto(test.url + "/ui/lifecycles/distributed");
  const boxes = page.getByRole("group", { name: /live map/ }).getByRole("link");
  const named = await boxes.evaluateAll((all) => all.map((it) => document.getElementById(it.getAttribute("aria-labelledby")).textContent));
  const names = named.map((name) => name.split(/[ :]/)[0]);
  assert.deepEqual(names.slice(0, 4), ["queued", "assigned", "running", "succeeded"]);
});
