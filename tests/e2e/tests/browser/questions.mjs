// Questions of an operator on call, each answered with at most three clicks from the overview.
import assert from "node:assert/strict";
import { api, eventually, story } from "./story.mjs";

await story(async (test) => {
  const page = await test.open("/ui");
  const main = page.getByRole("main");
  const nav = page.getByRole("navigation", { name: "Pages" });
  let clicks;

  /** Clicks, and counts. */
  const click = async (target) => {
    clicks += 1;
    await target.first().click();
  };
  /** Types into the search, which Ctrl K focuses. Counts as a click. */
  const find = async (text) => {
    clicks += 1;
    await page.keyboard.press("Control+k");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  };
  /** A question, answered from the overview. */
  const question = async (name, answer) => {
    clicks = 0;
    await page.goto(test.url + "/ui");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await answer();
    assert(clicks <= 3, `${name}: ${clicks} clicks`);
  };

  await question("why does a type fail?", async () => {
    await click(main.getByRole("listitem").filter({ hasText: "send_invoice failed" }).getByRole("link", { name: "See why it fails" }));
    await page.getByRole("heading", { level: 1, name: "Errors of type send_invoice" }).waitFor();
    await main.getByText("no answer from the relay after 30 s").first().waitFor();
    await click(main.getByRole("row").filter({ hasText: "SMTP_TIMEOUT" }).getByRole("link").filter({ hasText: "SMTP_TIMEOUT" }));
    await main.getByText("3 dead letters").waitFor();
  });

  await question("redrive one reason", async () => {
    await click(main.getByRole("link", { name: "SMTP_TIMEOUT", exact: true }));
    await click(main.getByRole("link", { name: /redrive the whole group/i }));
    await click(main.getByRole("button", { name: "Redrive 3 dead letters" }));
    await page.getByRole("status").filter({ hasText: /redrove 3 of 3/i }).waitFor();
  });

  await question("where are a customer's jobs?", async () => {
    await find("edsger");
    await page.waitForURL(/user_id=edsger/);
    const { jobs } = await api().get("/api/jobs?user_id=edsger");
    await main.locator(`a[href="/ui/jobs/${jobs[0].id}"]`).waitFor();
    assert.equal(await main.locator("tbody tr").count(), jobs.length);
  });

  await question("which workers are alive, and what do they hold?", async () => {
    await click(nav.getByRole("link", { name: /^Workers/ }));
    await main.getByRole("row").filter({ hasText: "export-1" }).filter({ hasText: "export_table" }).waitFor();
  });

  await question("which type is the slowest?", async () => {
    await click(nav.getByRole("link", { name: /^Types/ }));
    await click(main.getByRole("link", { name: "Run p95" }));
    await main.getByRole("columnheader", { name: "Run p95" }).and(main.locator("[aria-sort=descending]")).waitFor();
  });

  await question("is a queue building up?", async () => {
    await click(nav.getByRole("link", { name: /^Queues/ }));
    const mail = main.getByRole("row").filter({ hasText: "mail" });
    await mail.getByText(/grows|does not shrink|\d (s|m|h)|empty/).first().waitFor();
    await main.getByRole("columnheader", { name: "Drains in" }).waitFor();
    await main.getByRole("row").filter({ hasText: "exports" }).getByText(/^by /).waitFor();
  });

  await question("cancel a kind of job", async () => {
    await find("type:send_invoice state:queued");
    await click(main.getByRole("link", { name: "Cancel all matching…" }));
    await click(main.getByRole("button", { name: "Cancel 7 jobs" }));
    await page.getByRole("status").filter({ hasText: /cancelled 7 of 7/i }).waitFor();
    await eventually("they are cancelled", async () => (await api().get("/api/jobs?type=send_invoice&state=queued")).jobs.length === 0);
  });

  await question("how does this lifecycle work?", async () => {
    await click(main.getByRole("link", { name: "distributed", exact: true }));
    await main.getByText("Dashed: triggered by a clock.").waitFor();
  });

  // The query bar: several states, an error, a value of the payload.
  await page.goto(test.url + "/ui/jobs");
  const bar = main.getByRole("textbox", { name: "Query" });
  await bar.fill("state:failed,dead error:out_of_memory payload.scene:city");
  await bar.press("Enter");
  await main.getByText(/Searched \d+ jobs/).waitFor();
  assert.equal(await main.locator("tbody tr").count(), 1);
  await main.getByText("texture atlas needs").waitFor();
  await test.screenshot(page, "jobs-query");
});
