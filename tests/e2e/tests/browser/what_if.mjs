// A file is loaded into the form, tried, and its flaws are shown.
import assert from "node:assert/strict";
import { story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui/lifecycles/distributed");
  const main = page.getByRole("main");
  await main.getByRole("link", { name: "What if" }).click();
  const file = main.getByRole("textbox", { name: "Lifecycle file" });
  const source = await file.inputValue();
  const renamed = source.replaceAll("running", "working").replace("version = 1", "version = 2");
  await main.getByLabel("Load a file").setInputFiles({ name: "new.toml", mimeType: "text/plain", buffer: Buffer.from(renamed) });
  await page.waitForFunction(() => document.getElementById("source").value.includes("working"));
  await main.getByRole("button", { name: "Try this version" }).click();
  await main.getByRole("heading", { name: "distributed v2, judged by the jobs of v1 and before" }).waitFor();
  await main.getByText("a live job may be in `running`, which would not exist").first().waitFor();
  assert.match(await file.inputValue(), /working/, "the file is still in the form");
  await test.screenshot(page, "what-if");
  await file.fill(renamed.replace('to = "working"', 'to = "nowhere"'));
  await main.getByRole("button", { name: "Try this version" }).click();
  await main.getByRole("alert").getByText("nowhere").first().waitFor();
});
