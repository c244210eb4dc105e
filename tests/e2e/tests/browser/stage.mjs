// What every story stands on: a Chromium of its own, pages that are watched, the server's API, and ways to wait.
//
// A story is a module that calls `story(async (stage) => …)`. It ends well if nothing was thrown and no page complained:
// an error on the console, a violation of the content security policy, a script's exception and a request to any other
// host are failures, unless the story said before that it expects them.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

const { tools, chromium: executablePath, screenshots, props } = JSON.parse(process.env.STORY);
const require = createRequire(tools + "/");
const { chromium } = require("playwright-core");

// How long anything may take. Nothing is decided by it but that it will never come.
const PATIENCE = 60_000;
const NAME = basename(process.argv[1], ".mjs");
// No sandbox, because tests may run as root; the rest keeps the browser from calling home.
const FLAGS = `--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync --disable-dev-shm-usage`.split(/\s+/);

const cues = createInterface({ input: process.stdin });
// Whoever started this is gone.
cues.on("close", () => process.exit(1));

/** Has the test do something that a browser cannot, and waits until it is done. */
export function request(what) {
  process.stdout.write(`request ${what}\n`);
  return new Promise((done) => cues.once("line", done));
}

/** Waits until a condition holds; what it gave. */
export async function eventually(what, condition) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const got = await condition();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((soon) => setTimeout(soon, 50));
  }
}

/** The API as a program uses it, in the name of a key. */
export function api(key = props.key, url = props.url) {
  const ask = async (method, path, body) => {
    const headers = { ...(key && { authorization: `Bearer ${key}` }), ...(body && { "content-type": "application/json" }) };
    const text = typeof body === "string" ? body : body && JSON.stringify(body);
    const answer = await fetch(url + path, { method, headers, body: text, signal: AbortSignal.timeout(PATIENCE) });
    const said = await answer.text();
    assert(answer.ok, `${method} ${path}: ${answer.status} ${said}`);
    return JSON.parse(said);
  };
  return {
    get: (path) => ask("GET", path),
    post: (path, body = {}) => ask("POST", path, body),
    create: (job) => ask("POST", "/api/jobs", job),
    /** The one job that this worker gets, started. */
    take: async (worker = "w1", more = {}) => (await ask("POST", "/api/claims", { worker, max: 1, start: true, ...more })).jobs[0],
    report: (job, verb, more = {}) => ask("POST", `/api/jobs/${job.id}/${verb}`, { worker: job.worker, fence: job.lease.fence, ...more }),
  };
}

/** Plays a story. */
export async function story(play) {
  const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS, timeout: PATIENCE });
  const stage = new Stage(browser);
  let failure;
  try {
    await play(stage);
    stage.nothingWrong();
  } catch (error) {
    failure = error;
    console.error(error);
    await stage.lookAround();
  }
  await browser.close();
  process.exit(failure ? 1 : 0);
}

class Stage {
  url = props.url;
  props = props;
  #browser;
  #pages = [];
  #complaints = [];
  #expected = [];

  constructor(browser) {
    this.#browser = browser;
  }

  /** A window of its own, with no cookies; the page in it. */
  async open(path, { key, theme = "light", phone = false, width, javascript = true } = {}) {
    const viewport = width ? { width, height: 800 } : phone ? { width: 390, height: 844 } : { width: 1280, height: 800 };
    const context = await this.#browser.newContext({
      viewport,
      colorScheme: theme,
      hasTouch: phone,
      javaScriptEnabled: javascript,
      // What moves is not where a click or a picture expects it.
      reducedMotion: "reduce",
      locale: "en-GB",
      timezoneId: "UTC",
    });
    context.setDefaultTimeout(PATIENCE);
    context.setDefaultNavigationTimeout(PATIENCE);
    const page = await context.newPage();
    await this.#watch(page);
    if (key) await signIn(page, key);
    if (path) await page.goto(this.url + path);
    return page;
  }

  async #watch(page) {
    this.#pages.push(page);
    const complain = (what) => this.#complaints.push(`${what} (at ${page.url()})`);
    page.on("console", (said) => {
      if (["error", "warning"].includes(said.type())) complain(`console: ${said.text()} ${said.location().url}`);
    });
    page.on("pageerror", (error) => complain(`script: ${error.stack ?? error}`));
    page.on("request", (request) => {
      const asked = new URL(request.url());
      if (asked.protocol.startsWith("http") && asked.hostname !== "127.0.0.1" && asked.hostname !== "localhost")
        complain(`outside: ${asked}`);
    });
    page.on("dialog", (dialog) => {
      // Somebody may be waiting for it: then it is his.
      if (page.isAnswered) return;
      complain(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
  }

  /** From now on these complaints are part of the story. */
  expect(...patterns) {
    this.#expected.push(...patterns);
  }

  /** Fails if a page has complained. */
  nothingWrong() {
    const wrong = this.#complaints.filter((complaint) => !this.#expected.some((pattern) => pattern.test(complaint)));
    assert.deepEqual(wrong, [], "pages complained");
  }

  /** A picture of a page, as large as its window or as all there is to see. */
  async picture(page, name, fullPage = true) {
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage });
  }

  /** What every page shows, for whoever reads why a story failed. */
  async lookAround() {
    for (const complaint of this.#complaints) console.error(complaint);
    for (const [number, page] of this.#pages.entries()) {
      if (page.isClosed()) continue;
      await this.picture(page, `failed-${NAME}-${number}`).catch(() => {});
      const seen = await page.locator("main").ariaSnapshot({ timeout: 5000 }).catch((error) => `${error}`);
      console.error(`-- ${page.url()}\n${seen}`);
    }
  }
}

/** Does something that asks back, and answers yes or no; what was asked. */
export async function asked(page, act, yes = true) {
  page.isAnswered = true;
  const question = page.waitForEvent("dialog").then(async (dialog) => {
    await (yes ? dialog.accept() : dialog.dismiss());
    return dialog.message();
  });
  await act();
  page.isAnswered = false;
  return question;
}

/** Signs in as a person does. */
export async function signIn(page, key) {
  await page.goto(props.url + "/ui/sign-in");
  await page.getByLabel(/key/i).fill(key);
  await page.getByRole("button", { name: /sign in/i }).click();
  await page.waitForURL((url) => url.pathname !== "/ui/sign-in");
}

/** By how much a page is wider than its window, and what reaches out the farthest; nothing if it fits. */
export function tooWide(page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    const excess = root.scrollWidth - root.clientWidth;
    if (excess <= 0) return [];
    const isInside = (it) => it !== document.body && (getComputedStyle(it).overflowX !== "visible" || isInside(it.parentElement));
    const reachesOut = (it) => {
      const { left, right } = it.getBoundingClientRect();
      return it.checkVisibility() && Math.max(right, left + it.scrollWidth) > root.clientWidth + 1;
    };
    const out = [...document.querySelectorAll("body *")].filter((it) => reachesOut(it) && !isInside(it));
    const inner = out.filter((it) => !out.some((other) => it !== other && it.contains(other)));
    return [`${excess} px too wide: ${inner.slice(0, 3).map((it) => it.outerHTML.slice(0, 200)).join("\n")}`];
  });
}

/** Rules that a page breaks, of those of WCAG 2 at the levels A and AA, in words. */
export async function inaccessible(page) {
  // Through the debugger, which the page's policy for scripts does not bind.
  await page.evaluate(require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const options = {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    // A box on a map is named by a sentence about what is in it; the rule wants the figures word for word.
    rules: { "label-content-name-mismatch": { enabled: false } },
  };
  const { violations } = await page.evaluate((options) => window.axe.run(document, options), options);
  // Three of a kind tell enough.
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.slice(0, 3).map(({ target, html, any }) => `${id}: ${help}: ${target} ${html.slice(0, 160)} ${any.map((it) => it.message)}`),
  );
}
