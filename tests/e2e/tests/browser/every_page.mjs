// Every page in a light or dark theme, wide and on a phone: accessibility, layout and a screenshot.
import assert from "node:assert/strict";
import { api, inaccessible, story, tooWide } from "./story.mjs";

/** The newest job in a state, by the API. */
const newest = async (query) => (await api().get(`/api/jobs?limit=1&${query}`)).jobs[0].id;

async function pages() {
  const [running, dead, failed, picture, review] = await Promise.all(
    ["state=running&type=send_invoice", "state=dead_lettered", "state=failed&type=render_scene", "type=make_picture&state=failed", "state=in_review"].map(newest),
  );
  return {
    now: "/ui",
    lifecycles: "/ui/lifecycles",
    "lifecycle-distributed": "/ui/lifecycles/distributed",
    "lifecycle-engine": "/ui/lifecycles/engine",
    "lifecycle-so1": "/ui/lifecycles/so1",
    "lifecycle-pattern": "/ui/lifecycles/pattern",
    "lifecycle-image": "/ui/lifecycles/image",
    "lifecycle-earlier": `/ui/lifecycles/distributed?at=${Math.floor(Date.now() / 1000)}`,
    "what-if": "/ui/lifecycles/distributed/what-if",
    changes: "/ui/changes",
    jobs: "/ui/jobs",
    "jobs-of-a-lifecycle": "/ui/jobs?lifecycle=distributed",
    "jobs-none": "/ui/jobs?type=nothing_like_it",
    "job-running": `/ui/jobs/${running}`,
    "job-dead": `/ui/jobs/${dead}`,
    "job-failed": `/ui/jobs/${failed}`,
    "job-waiting": `/ui/jobs/${picture}`,
    "job-decision": `/ui/jobs/${review}`,
    "job-log": `/ui/jobs/${running}?log=page&attempt=1`,
    "bulk-cancel": "/ui/jobs/actions?action=cancel&type=send_invoice",
    search: "/ui/search?q=what",
    errors: "/ui/errors",
    "errors-of-a-type": "/ui/errors?type=send_invoice",
    "errors-of-a-group": "/ui/errors?code=SMTP_TIMEOUT",
    "errors-dismissed": "/ui/errors?dismissed=true",
    "redrive-a-group": "/ui/errors/actions?action=redrive&code=SMTP_TIMEOUT",
    types: "/ui/types",
    "types-by-backlog": "/ui/types?sort=backlog",
    type: "/ui/types/send_invoice",
    workers: "/ui/workers",
    schedules: "/ui/schedules",
    schedule: "/ui/schedules/nightly",
    webhooks: "/ui/webhooks",
    webhook: "/ui/webhooks/billing",
    audit: "/ui/audit",
    "audit-filtered": "/ui/audit?action=pause",
    queues: "/ui/queues",
    resources: "/ui/resources",
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
  // Rows become blocks: no cell needs scrolling.
  const cells = await page.locator("table:is(.errors, .jobs, .types, .rows, :has(a, button)) :is(th, td)").evaluateAll((all) =>
    all.filter((it) => it.closest("tbody") && it.checkVisibility() && it.getBoundingClientRect().right > innerWidth + 1).map((it) => it.outerHTML.slice(0, 160)),
  );
  wrong.push(...cells.slice(0, 3).map((it) => `off-screen: ${it}`));
  return wrong;
}

await story(async (test) => {
  const { theme } = test.props;
  test.expect(/status of 404.*01990c3a/);
  const all = Object.entries(await pages());
  const wrong = [];
  const visit = async (page, path, check, name) => {
    await page.goto(test.url + path);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    wrong.push(...(await check(page)).map((flaw) => `${name}: ${flaw}`));
  };
  // The wide window and the phone at the same time: each has a separate process.
  const wide = async () => {
    const page = await test.open(null, { theme });
    for (const [name, path] of all) {
      await visit(page, path, flaws, name);
      await test.screenshot(page, `${name}-${theme}`);
    }
  };
  const phone = async () => {
    const page = await test.open(null, { theme, phone: true });
    for (const [name, path] of all) {
      await page.setViewportSize({ width: 360, height: 800 });
      await visit(page, path, squeezed, `${name} on a phone`);
      await page.setViewportSize({ width: 390, height: 844 });
      wrong.push(...(await inaccessible(page)).map((flaw) => `${name} on a phone: ${flaw}`));
      await test.screenshot(page, `${name}-${theme}-phone`);
    }
  };
  await Promise.all([wide(), phone()]);
  assert.deepEqual(wrong, []);
});
