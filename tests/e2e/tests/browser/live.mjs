// Numbers move by themselves, stop when nobody looks, and a page that is not live says so.
import assert from "node:assert/strict";
import { api, request, eventually, story } from "./stage.mjs";

/** As if another tab were in front, or this one again. */
const look = (page, isHidden) =>
  page.evaluate((isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (isHidden ? "hidden" : "visible") });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);

await story(async (stage) => {
  const page = await stage.open();
  let open = 0;
  page.on("request", (it) => { if (it.resourceType() === "eventsource") open += 1; });
  const over = (it) => { if (it.resourceType() === "eventsource") open -= 1; };
  page.on("requestfinished", over);
  page.on("requestfailed", over);
  await page.goto(stage.url + "/ui/queues");
  const mark = page.locator("#live");
  const says = (word) => mark.filter({ hasText: word }).waitFor();
  const ready = page.getByRole("row", { name: /default/ }).getByRole("cell").first();
  const isReady = (count) => eventually(`${count} ready`, async () => (await ready.textContent()) === `${count}`);

  await says("live");
  assert.equal(open, 1, "one stream");
  await isReady(1);
  await api().create({ type: "a" });
  await isReady(2);

  // Nobody looks: nothing comes. Somebody looks again: all of it.
  await look(page, true);
  await eventually("the stream is closed", () => open === 0);
  await says("still");
  await api().create({ type: "a" });
  await look(page, false);
  await isReady(3);
  await says("live");

  // `p` holds the page as it is.
  await page.keyboard.press("p");
  await says("paused");
  await api().create({ type: "a" });
  await page.keyboard.press("p");
  await isReady(4);

  // The server is gone, and back.
  stage.expect(/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/);
  await request("kill");
  await says("not live");
  await request("start");
  await says(/^\W*live/);
  await api().create({ type: "a" });
  await isReady(5);
});
