// Who comes in, as what, and out again.
import assert from "node:assert/strict";
import { signIn, story } from "./stage.mjs";

await story(async (stage) => {
  const { viewer, operator } = stage.props;

  // Nobody: led to the door, and from there to where he wanted to go.
  const page = await stage.open("/ui/queues");
  assert.equal(new URL(page.url()).pathname, "/ui/sign-in");
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  stage.expect(/status of 401/);
  await page.getByLabel(/key/i).fill("tn_not_a_key");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  assert.deepEqual(await page.context().cookies(), [], "nothing is kept of a wrong key");
  await page.getByLabel(/key/i).fill(viewer);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/ui/queues");

  // The key is out of reach of scripts and of other sites.
  const kept = (await page.context().cookies()).find((cookie) => cookie.value === viewer);
  assert(kept.httpOnly && ["Lax", "Strict"].includes(kept.sameSite), JSON.stringify(kept));
  assert.equal(await page.evaluate(() => document.cookie), "");

  // A viewer sees what he may not do, and why.
  const pause = page.getByRole("button", { name: "Pause" }).first();
  assert(await pause.isDisabled());
  assert.match(await pause.getAttribute("title"), /viewer/);
  // And if he makes the button work, he is told the same.
  stage.expect(/status of 403/);
  await pause.evaluate((button) => { button.disabled = false; });
  const [answer] = await Promise.all([page.waitForResponse((it) => it.request().method() === "POST"), pause.click()]);
  assert.equal(answer.status(), 403);
  await page.getByRole("alert").waitFor();

  // Out: the way back is closed.
  await page.goto(stage.url + "/ui/queues");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/sign-in/);
  await page.goto(stage.url + "/ui/queues");
  assert.equal(new URL(page.url()).pathname, "/ui/sign-in");

  // An operator can do it.
  await signIn(page, operator);
  await page.getByRole("link", { name: "Queues", exact: true }).click();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Pause" }).click();
  await page.getByRole("status").filter({ hasText: "mail" }).waitFor();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Resume" }).waitFor();

  // His choice of theme holds on every page, whatever his system's is.
  await page.getByRole("combobox", { name: "Theme" }).selectOption("Dark");
  await page.locator("html[data-theme=dark]").waitFor();
  await page.getByRole("link", { name: "Workers", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Workers" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
});
