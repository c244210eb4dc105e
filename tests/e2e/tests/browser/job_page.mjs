// The page of a job: error, last lines of the log and actions without scrolling; a decision with a comment; the log by text and
// attempt; what is copied.
import assert from "node:assert/strict";
import { api, confirm, story } from "./story.mjs";

/** Fails unless all of these are in the window, without scrolling. */
async function isAbove(page, height, ...elements) {
  assert.equal(await page.evaluate(() => scrollY), 0);
  for (const element of elements) {
    await element.waitFor();
    const box = await element.boundingBox();
    assert(box.y + Math.min(box.height, 40) <= height, `${await element.innerText()} at ${box.y}`);
  }
}

await story(async (test) => {
  const failed = (await api().get("/api/jobs?state=failed&type=render_scene")).jobs[0];
  const lines = Array.from({ length: 40 }, (_, n) => ({ stream: "stdout", level: "info", text: `frame ${n} of 40` }));
  await api().post(`/api/jobs/${failed.id}/logs`, { lines });
  for (const phone of [false, true]) {
    const page = await test.open(`/ui/jobs/${failed.id}`, { phone });
    const main = page.getByRole("main");
    const first = [main.getByText("OUT_OF_MEMORY").first(), main.getByText("frame 39 of 40").first(), main.getByRole("button", { name: "Retry" })];
    await isAbove(page, phone ? 844 : 800, ...first);
  }

  // The log: all lines that contain a text, and those of an attempt.
  const page = await test.open(`/ui/jobs/${failed.id}`);
  const main = page.getByRole("main");
  await main.getByLabel("Text").fill("FRAME 3");
  await main.getByRole("button", { name: "Search" }).click();
  await main.getByText("11 lines match").waitFor();
  assert.equal(await main.locator("#job-log > span").count(), 11);
  assert.match(await main.locator("#job-log .n").first().innerText(), /^\d\d:\d\d:\d\d\.\d{3}$/);
  await main.getByRole("link", { name: "Clear" }).click();

  // A link to the page can be copied.
  const link = main.getByRole("button", { name: "Copy link" });
  assert.equal(await link.getAttribute("data-copy"), `${test.url}/ui/jobs/${failed.id}`);
  await link.click();
  await main.getByText("copied").waitFor();

  // A decision: what is decided, next to the buttons; asks first, since it is final.
  const review = (await api().get("/api/jobs?state=in_review")).jobs[0];
  await page.goto(`${test.url}/ui/jobs/${review.id}`);
  await isAbove(page, 800, main.getByText("the lighthouse is dark").first(), main.getByRole("button", { name: "Approve" }));
  await main.getByLabel("Comment").fill("well written");
  const approve = main.getByRole("button", { name: "Approve" });
  assert.match(await confirm(page, () => approve.click(), false), /becomes published, which is final/);
  assert.equal((await api().get(`/api/jobs/${review.id}`)).state, "in_review");
  await confirm(page, () => approve.click());
  await page.getByRole("status").filter({ hasText: "Signal approve sent" }).waitFor();
  const { events } = await api().get(`/api/jobs/${review.id}/events`);
  assert(JSON.stringify(events).includes("well written"), JSON.stringify(events));

  // A retry of what has succeeded repeats work: it asks first.
  await main.getByText("Irreversible actions").click();
  const retry = main.getByRole("button", { name: "Retry" });
  assert.match(await confirm(page, () => retry.click(), false), /has succeeded/);
  assert.equal((await api().get(`/api/jobs?retry_of=${review.id}`)).jobs.length, 0);
  await test.screenshot(page, "job-decided");
});
