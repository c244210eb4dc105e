// Every page in a light or dark theme, wide and on a phone: accessibility, layout and a screenshot.
import assert from "node:assert/strict";
import { api, inaccessible, story, tooWide } from "./story.mjs";

/** The newest job in a state, by the API. */
const newest = async (query) => (await api().get(`/api/jobs?limit=1&${query}`)).jobs[0].id;

async function pages() {
  const [running, dead, failed, picture] = await Promise.all(
    ["state=running&type=send_invoice", "state=dead_lettered", "state=failed&type=render_scene", "type=make_picture&state=failed"].map(newest),
  );
  return {
    now: "/ui",
    lifecycles: "/ui/lifecycles",
    "lifecycle-distributed": "/ui/lifecycles/distributed",
    "lifecycle-engine": "/ui/lifecycles/engine",
    "lifecycle-so1": "/ui/lifecycles/so1",
    "lifecycle-pattern": "/ui/lifecycles/pattern",
    "lifecycle-image": "/ui/lifecycles/image",
    jobs: "/ui/jobs",
    "jobs-of-a-lifecycle": "/ui/jobs?lifecycle=distributed",
    "jobs-none": "/ui/jobs?type=nothing_like_it",
    "job-running": `/ui/jobs/${running}`,
    "job-dead": `/ui/jobs/${dead}`,
    "job-failed": `/ui/jobs/${failed}`,
    "job-waiting": `/ui/jobs/${picture}`,
    "bulk-cancel": "/ui/jobs/actions?action=cancel&type=send_invoice",
    search: "/ui/search?q=what",
    "dead-letters": "/ui/dead-letters",
    workers: "/ui/workers",
    queues: "/ui/queues",
    accounts: "/ui/accounts",
    account: "/ui/accounts/grace",
    events: "/ui/events",
    system: "/ui/system",
    "not-found": "/ui/jobs/01990c3a-7d2e-7000-8000-000000000000",
  };
}

/** Accessibility errors of a page. */
async function flaws(page) {
  const wrong = await inaccessible(page);
  const headings = await page.getByRole("heading", { level: 1 }).count();
  if (headings !== 1) wrong.push(`${headings} headings of the first level`);
  if ((await page.getByRole("main").count()) !== 1) wrong.push("no main part");
  const unlabelled = await page.locator("input:visible, select:visible, textarea:visible").evaluateAll((all) =>
    all.filter((it) => !it.labels?.length && !it.ariaLabel && !it.getAttribute("aria-labelledby")).map((it) => it.outerHTML),
  );
  wrong.push(...unlabelled.map((it) => `no label: ${it}`));
  return wrong;
}

/** Layout errors on a narrow phone. */
async function squeezed(page) {
  const wrong = await tooWide(page);
  const isOut = await page.locator("body > nav a[aria-current]").evaluateAll((all) =>
    all.map((it) => it.getBoundingClientRect()).some(({ left, right }) => left < 0 || right > innerWidth + 1),
  );
  if (isOut) wrong.push("the current navigation entry is not visible");
  return wrong;
}

await story(async (test) => {
  const { theme } = test.props;
  test.expect(/status of 404.*01990c3a/);
  const all = await pages();
  const [wide, phone] = [await test.open(null, { theme }), await test.open(null, { theme, phone: true })];
  const wrong = [];
  for (const [name, path] of Object.entries(all)) {
    const visit = async (page, check, suffix) => {
      await page.goto(test.url + path);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      wrong.push(...(await check(page)).map((flaw) => `${name}${suffix}: ${flaw}`));
    };
    await visit(wide, flaws, "");
    await test.screenshot(wide, `${name}-${theme}`);
    await phone.setViewportSize({ width: 360, height: 800 });
    await visit(phone, squeezed, " on a phone");
    await phone.setViewportSize({ width: 390, height: 844 });
    await test.screenshot(phone, `${name}-${theme}-phone`);
  }
  assert.deepEqual(wrong, []);
});
