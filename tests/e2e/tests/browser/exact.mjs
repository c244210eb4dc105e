// Numbers are shown unchanged, and hostile texts are escaped.
import assert from "node:assert/strict";
import { api, story, tooWide } from "./story.mjs";

const NUMBERS = ["9007199254740993", "1e300", "0.1000", "-0", "12345678901234567890123456789", "1E-7"];
const HOSTILE = {
  script: `<script>document.title = "gotcha"</script>`,
  image: `"><img src=x onerror="document.title='gotcha'">`,
  link: `javascript:document.title="gotcha"//`,
  right_to_left: "\u202Egnp.exe\u202C \u2067abc\u2069",
  entity: "&lt;b&gt; &amp;amp; &#x3c;",
  closing: `</textarea></pre></script></title>--><svg onload="document.title='gotcha'">`,
  long: "w".repeat(10_000),
};

await story(async (test) => {
  // As text: JavaScript numbers would lose precision.
  const payload = `{"numbers":[${NUMBERS.join(",")}],"twice":{"b":1,"a":2}}`;
  const exact = await api().create(`{"type":"a","payload":${payload}}`);
  const page = await test.open(`/ui/jobs/${exact.id}`);
  const main = page.getByRole("main");
  await main.getByText(NUMBERS[0]).first().waitFor();
  const text = await main.innerText();
  for (const number of NUMBERS) assert(text.includes(number), `${number} in ${text}`);
  assert(text.indexOf('"b"') < text.indexOf('"a"'), "fields keep their order");

  // Hostile text in every field.
  const claimed = await api().claim("w1");
  await api().report(claimed, "succeed", { result: HOSTILE });
  const names = { type: HOSTILE.image, queue: HOSTILE.script, user_id: HOSTILE.closing, correlation_id: HOSTILE.right_to_left };
  const bad = await api().create({ ...names, payload: HOSTILE });
  await api().post(`/api/accounts/${encodeURIComponent(HOSTILE.closing)}/credits`, { grant: 1, reason: HOSTILE.image });
  const held = await api().claim(HOSTILE.script);
  await api().report(held, "progress", { progress: 10, message: HOSTILE.image });
  const lines = Object.values(HOSTILE).map((text) => ({ stream: "stdout", level: "info", text }));
  await api().report(held, "logs", { lines });
  await api().report(held, "fail", { error: { code: HOSTILE.image, message: HOSTILE.closing + HOSTILE.long, class: "permanent", details: HOSTILE } });
  const at = encodeURIComponent;
  const harmless = async (path) => {
    assert.doesNotMatch(await page.title(), /^gotcha$/, path);
    assert.equal(await page.locator("img[onerror], svg[onload], main script").count(), 0, path);
    const links = await page.locator("a").evaluateAll((all) => all.map((it) => it.getAttribute("href") ?? ""));
    assert(!links.some((link) => /^\s*(javascript|data|vbscript):/i.test(link)), path);
    assert.deepEqual(await tooWide(page), [], path);
  };
  for (const path of [
    "/ui", "/ui/jobs", `/ui/jobs?type=${at(HOSTILE.script)}`, `/ui/jobs?worker=${at(HOSTILE.script)}`, `/ui/jobs/${exact.id}`,
    "/ui/errors", `/ui/errors?code=${at(HOSTILE.image)}`, "/ui/types", `/ui/types/${at(HOSTILE.image)}`, "/ui/workers", "/ui/queues", "/ui/accounts", `/ui/accounts/${at(HOSTILE.closing)}`, "/ui/events", "/ui/audit", "/ui/system",
    `/ui/search?q=${at(HOSTILE.image)}`, `/ui/jobs/${bad.id}`,
  ]) {
    await page.goto(test.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await harmless(path);
  }
  // It is shown as text, also when it arrives on an open page.
  await main.locator("#job-log").getByText(`<script>document.title = `).first().waitFor();
  const last = { stream: "stdout", level: "info", text: `${HOSTILE.image} at last` };
  await api().post(`/api/jobs/${bad.id}/logs`, { lines: [last] });
  await main.getByText("at last").first().waitFor();
  await harmless("what came later");
});
