// Harness of the stories: Chromium, pages whose errors are recorded, the server's API, and waiting.
//
// A story is a module that calls `story(async (test) => …)`. It fails if it throws or if a page has an error: a message on
// the console, a violation of the content security policy, an exception or a request to another host, unless the story
// expects it.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

const { tools, chromium: executablePath, screenshots, isPictured, props } = JSON.parse(process.env.STORY);
const require = createRequire(tools + "/");
const { chromium } = require("playwright-core");

// Time limit of every wait.
const TIME_LIMIT = 60_000;
const NAME = basename(process.argv[1], ".mjs");
// No sandbox, because tests may run as root; the rest keeps the browser from calling home.
const FLAGS = `--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync --disable-dev-shm-usage`.split(/\s+/);

const cues = createInterface({ input: process.stdin });
// The test has ended.
cues.on("close", () => process.exit(1));

/** Asks the Rust test to do something that a browser cannot, and waits until it is done. */
export function request(what) {
  process.stdout.write(`request ${what}\n`);
  return new Promise((done) => cues.once("line", done));
}

/** Waits until a condition holds, and returns its value. */
export async function eventually(what, condition) {
  const end = Date.now() + TIME_LIMIT;
  for (;;) {
    const got = await condition();
    if (got) return got;
    if (Date.now() > end) throw new Error(`did not happen: ${what}`);
    await new Promise((soon) => setTimeout(soon, 50));
  }
}

/** The API, with a key. */
export function api(key = props.key, url = props.url) {
  const ask = async (method, path, body) => {
    const headers = { ...(key && { authorization: `Bearer ${key}` }), ...(body && { "content-type": "application/json" }) };
    const text = typeof body === "string" ? body : body && JSON.stringify(body);
    const answer = await fetch(url + path, { method, headers, body: text, signal: AbortSignal.timeout(TIME_LIMIT) });
    const received = await answer.text();
    assert(answer.ok, `${method} ${path}: ${answer.status} ${received}`);
    return JSON.parse(received);
  };
  return {
    get: (path) => ask("GET", path),
    post: (path, body = {}) => ask("POST", path, body),
    create: (job) => ask("POST", "/api/jobs", job),
    /** Claims and starts one job. */
    claim: async (worker = "w1", more = {}) => (await ask("POST", "/api/claims", { worker, max: 1, start: true, ...more })).jobs[0],
    report: (job, verb, more = {}) => ask("POST", `/api/jobs/${job.id}/${verb}`, { worker: job.worker, fence: job.lease.fence, ...more }),
  };
}

/** Runs a story. */
export async function story(play) {
  const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS, timeout: TIME_LIMIT });
  const test = new StoryTest(browser);
  let failure;
  try {
    await play(test);
    test.assertNoErrors();
  } catch (error) {
    failure = error;
    console.error(error);
    await test.printPages();
  }
  await browser.close();
  process.exit(failure ? 1 : 0);
}

class StoryTest {
  url = props.url;
  props = props;
  #browser;
  #pages = [];
  #errors = [];
  #expected = [];

  constructor(browser) {
    this.#browser = browser;
  }

  /** Opens a page in a new window without cookies. */
  async open(path, { key, theme = "light", phone = false, width, javascript = true, timezone = "UTC" } = {}) {
    const viewport = width ? { width, height: 800 } : phone ? { width: 390, height: 844 } : { width: 1280, height: 800 };
    const context = await this.#browser.newContext({
      viewport,
      colorScheme: theme,
      hasTouch: phone,
      javaScriptEnabled: javascript,
      // Animations would move what is clicked or pictured.
      reducedMotion: "reduce",
      locale: "en-GB",
      timezoneId: timezone,
    });
    context.setDefaultTimeout(TIME_LIMIT);
    context.setDefaultNavigationTimeout(TIME_LIMIT);
    const page = await context.newPage();
    await this.#watch(page);
    if (key) await signIn(page, key);
    if (path) await page.goto(this.url + path);
    return page;
  }

  async #watch(page) {
    this.#pages.push(page);
    const record = (what) => this.#errors.push(`${what} (at ${page.url()})`);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) record(`console: ${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => record(`script: ${error.stack ?? error}`));
    page.on("request", (request) => {
      const target = new URL(request.url());
      if (target.protocol.startsWith("http") && target.hostname !== "127.0.0.1" && target.hostname !== "localhost")
        record(`outside: ${target}`);
    });
    page.on("dialog", (dialog) => {
      // `confirm` answers it.
      if (page.isAnswered) return;
      record(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
  }

  /** Expects these errors from now on. */
  expect(...patterns) {
    this.#expected.push(...patterns);
  }

  /** Fails if a page had an unexpected error. */
  assertNoErrors() {
    const wrong = this.#errors.filter((error) => !this.#expected.some((pattern) => pattern.test(error)));
    assert.deepEqual(wrong, [], "errors on pages");
  }

  /** A screenshot of the window or of the whole page, if TENURE_TEST_SCREENSHOTS is set: pictures take longer than the checks. */
  async screenshot(page, name, fullPage = true) {
    if (isPictured) await this.#picture(page, name, fullPage);
  }

  async #picture(page, name, fullPage) {
    mkdirSync(screenshots, { recursive: true });
    const capture = () => page.screenshot({ path: join(screenshots, `${name}.png`), fullPage });
    // On a busy machine Chromium is sometimes unable to capture a page.
    await capture().catch(capture).catch(capture);
  }

  /** Prints the errors and contents of every page after a failure. */
  async printPages() {
    for (const error of this.#errors) console.error(error);
    for (const [number, page] of this.#pages.entries()) {
      if (page.isClosed()) continue;
      await this.#picture(page, `failed-${NAME}-${number}`, true).catch(() => {});
      const seen = await page.locator("main").ariaSnapshot({ timeout: 5000 }).catch((error) => `${error}`);
      console.error(`-- ${page.url()}\n${seen}`);
    }
  }
}

/** Does something that opens a dialog, answers it, and returns its question. */
export async function confirm(page, act, yes = true) {
  page.isAnswered = true;
  const question = page.waitForEvent("dialog").then(async (dialog) => {
    await (yes ? dialog.accept() : dialog.dismiss());
    return dialog.message();
  });
  await act();
  page.isAnswered = false;
  return question;
}

/** Signs in with the form. */
export async function signIn(page, key) {
  await page.goto(props.url + "/ui/sign-in");
  await page.getByLabel(/key/i).fill(key);
  await page.getByRole("button", { name: /sign in/i }).click();
  await page.waitForURL((url) => url.pathname !== "/ui/sign-in");
}

/** By how much a page is wider than its window, and which elements cause it; empty if it fits. */
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

let axe;

/** Violations of WCAG 2, levels A and AA. */
export async function inaccessible(page) {
  // Through the debugger, to which the content security policy does not apply.
  axe ??= readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const options = {
    // Only violations are reported; preloading is for a rule about the orientation, which needs foreign style sheets.
    resultTypes: ["violations"],
    preload: false,
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    // A state on a map is labelled by a sentence; the rule wants its visible text.
    rules: { "label-content-name-mismatch": { enabled: false } },
  };
  const { violations } = await page.evaluate((options) => window.axe.run(document, options), options);
  // At most three of each rule.
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.slice(0, 3).map(({ target, html, any }) => `${id}: ${help}: ${target} ${html.slice(0, 160)} ${any.map((it) => it.message)}`),
  );
}
