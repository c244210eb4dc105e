// Time ranges: chosen by links and a form, in UTC and local time, with and without scripts.
import assert from "node:assert/strict";
import { inaccessible, story, tooWide } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui", { timezone: "Asia/Kolkata" });
  const main = page.getByRole("main");
  const ranges = main.getByRole("navigation", { name: "Time range" });
  const drawn = (name) => main.getByRole("img", { name });

  // Today against yesterday: one click.
  await ranges.getByRole("link", { name: "24 h" }).click();
  await page.waitForURL(/range=24h/);
  await main.getByText("against the 24 h before").first().waitFor();
  await main.getByRole("heading", { name: "Jobs per 15 minutes" }).waitFor();
  await drawn(/^Jobs from .* UTC; in the last step: \d+ created/).waitFor();
  await main.getByRole("list", { name: "Deploys and actions of operators" }).first().getByText("paused queue bulk by operator:ann").waitFor();
  assert.equal(await ranges.locator("[aria-current]").textContent(), "24 h");

  // Local time stays in the address, also with another range.
  await main.getByRole("link", { name: "Show local time" }).click();
  await page.waitForURL(/zone=%2B05%3A30/);
  await main.getByText("Times in UTC+05:30").waitFor();
  assert.equal(await main.getByRole("link", { name: "Show local time" }).count(), 0);
  await ranges.getByRole("link", { name: "7 d" }).click();
  await page.waitForURL(/range=7d&zone=%2B05%3A30/);
  await drawn(/UTC\+05:30; in the last step/).first().waitFor();
  await main.getByRole("link", { name: "Show UTC" }).click();
  await page.waitForURL((url) => !url.search.includes("zone"));
  assert.deepEqual([await inaccessible(page), await tooWide(page)], [[], []]);

  // A type, on a phone.
  const phone = await test.open("/ui/types/mail?range=6h", { phone: true });
  await phone.getByRole("heading", { name: "Jobs per 5 minutes" }).waitFor();
  assert.deepEqual([await inaccessible(phone), await tooWide(phone)], [[], []]);
  await test.screenshot(phone, "time-range-phone");

  // Without scripts: the form.
  const plain = await test.open("/ui", { javascript: false });
  await plain.getByText("Custom").click();
  await plain.getByRole("textbox", { name: "From" }).fill("2026-01-01T00:00");
  await plain.getByLabel("Time zone").selectOption("UTC-08:00");
  await plain.getByRole("button", { name: "Show" }).click();
  await plain.waitForURL(/from=2026-01-01T00%3A00&until=&zone=-08%3A00/);
  await plain.getByRole("heading", { name: "Jobs per day" }).waitFor();
  assert.equal(await plain.getByRole("textbox", { name: "From" }).inputValue(), "2026-01-01T00:00");
  await plain.getByRole("img", { name: /UTC-08:00; in the last step/ }).first().waitFor();
});
