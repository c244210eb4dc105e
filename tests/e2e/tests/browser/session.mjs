// Signing in with a key, its rights, and signing out.
import assert from "node:assert/strict";
import { signIn, story } from "./story.mjs";

await story(async (test) => {
  const { viewer, operator } = test.props;

  // Without a session: redirected to the sign-in page, and from there to the requested page.
  const page = await test.open("/ui/queues");
  assert.equal(new URL(page.url()).pathname, "/ui/sign-in");
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  test.expect(/status of 401/);
  await page.getByLabel(/key/i).fill("tn_not_a_key");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  assert.deepEqual(await page.context().cookies(), [], "a wrong key is not stored");
  await page.getByLabel(/key/i).fill(viewer);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/ui/queues");

  // The cookie is a session without the key, and scripts and other sites cannot read it.
  const cookies = await page.context().cookies();
  assert(cookies.every((cookie) => !cookie.value.includes(viewer.split("_")[2])), "no cookie contains the key");
  const kept = cookies.find((cookie) => cookie.name === "tenure_session");
  assert(kept.httpOnly && ["Lax", "Strict"].includes(kept.sameSite), JSON.stringify(kept));
  assert.equal(await page.evaluate(() => document.cookie), "");

  // For a viewer the button is disabled with a reason.
  const pause = page.getByRole("button", { name: "Pause" }).first();
  assert(await pause.isDisabled());
  assert.match(await pause.getAttribute("title"), /viewer/);
  // The request is refused as well.
  test.expect(/status of 403/);
  // At once, because an update of the live page replaces the button.
  const forced = page.evaluate(() => {
    const button = [...document.querySelectorAll("button")].find((it) => it.textContent.includes("Pause"));
    button.disabled = false;
    button.click();
  });
  const [answer] = await Promise.all([page.waitForResponse((it) => it.request().method() === "POST"), forced]);
  assert.equal(answer.status(), 403);
  await page.getByRole("alert").waitFor();

  // After signing out the page is not accessible.
  await page.goto(test.url + "/ui/queues");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/sign-in/);
  await page.goto(test.url + "/ui/queues");
  assert.equal(new URL(page.url()).pathname, "/ui/sign-in");

  // An operator can do it.
  await signIn(page, operator);
  await page.getByRole("link", { name: /^Queues/ }).click();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Pause" }).click();
  await page.getByRole("status").filter({ hasText: "mail" }).waitFor();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Resume" }).waitFor();

  // The chosen theme applies to every page, independent of the system's.
  await page.getByRole("combobox", { name: "Theme" }).selectOption("Dark");
  await page.locator("html[data-theme=dark]").waitFor();
  await page.getByRole("link", { name: /^Workers/ }).click();
  await page.getByRole("heading", { level: 1, name: "Workers" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
});
