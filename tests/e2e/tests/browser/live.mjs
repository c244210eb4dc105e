// Pages update live, pause in a hidden tab, and show a lost connection.
import assert from "node:assert/strict";
import { api, request, eventually, story } from "./story.mjs";

/** Hides or shows the tab. */
const setHidden = (page, isHidden) =>
  page.evaluate((isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (isHidden ? "hidden" : "visible") });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);

await story(async (test) => {
  const page = await test.open();
  let open = 0;
  page.on("request", (it) => { if (it.resourceType() === "eventsource") open += 1; });
  const closed = (it) => { if (it.resourceType() === "eventsource") open -= 1; };
  page.on("requestfinished", closed);
  page.on("requestfailed", closed);
  await page.goto(test.url + "/ui/queues");
  const indicator = page.locator("#live");
  const shows = (word) => indicator.filter({ hasText: word }).waitFor();
  const ready = page.getByRole("row", { name: /default/ }).getByRole("cell").first();
  const isReady = (count) => eventually(`${count} ready`, async () => (await ready.textContent()) === `${count}`);

  await shows("live");
  assert.equal(open, 1, "one stream");
  await isReady(1);
  await api().create({ type: "a" });
  await isReady(2);

  // A hidden tab receives nothing; shown again, it catches up.
  await setHidden(page, true);
  await eventually("the stream is closed", () => open === 0);
  await shows("static");
  await api().create({ type: "a" });
  await setHidden(page, false);
  await isReady(3);
  await shows("live");

  // `p` pauses the page.
  await page.keyboard.press("p");
  await shows("paused");
  await api().create({ type: "a" });
  await page.keyboard.press("p");
  await isReady(4);

  // The server is killed and started again.
  test.expect(/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/);
  await request("kill");
  await shows("disconnected");
  await request("start");
  await shows(/^\W*live/);
  await api().create({ type: "a" });
  await isReady(5);
});
