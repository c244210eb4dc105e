// A viewer sees every action disabled, with the reason, and the requests are refused.
import assert from "node:assert/strict";
import { api, story } from "./story.mjs";

await story(async (test) => {
  const { viewer, admin } = test.props;
  const page = await test.open("/ui", { key: viewer });
  const main = page.getByRole("main");
  const running = (await api(admin).get("/api/jobs?state=running&type=send_invoice")).jobs[0];
  const dead = (await api(admin).get("/api/dead-letters?limit=1")).dead_letters[0].job_id;

  for (const path of [`/ui/jobs/${running.id}`, `/ui/jobs/${dead}`, "/ui/errors", "/ui/errors?code=SMTP_TIMEOUT", "/ui/jobs", "/ui/queues",
    "/ui/schedules", "/ui/schedules/nightly", "/ui/webhooks", "/ui/webhooks/billing", "/ui/accounts/grace", "/ui/resources"]) {
    await page.goto(test.url + path);
    const buttons = main.locator("form[method=post] button");
    for (const button of await buttons.all()) {
      const name = await button.innerText();
      assert(await button.isDisabled(), `${path}: ${name} is enabled`);
      assert.match((await button.getAttribute("title")) ?? "", /viewer/, `${path}: ${name} gives no reason`);
    }
  }

  // Sends the requests in spite of that.
  await page.goto(`${test.url}/ui/jobs/${running.id}`);
  test.expect(/status of 403/);
  const forms = main.locator("form[method=post]");
  const actions = await forms.evaluateAll((all) => all.map((form) => [form.getAttribute("action"), new URLSearchParams(new FormData(form)).toString()]));
  assert(actions.some(([action]) => action.includes("cancel")), JSON.stringify(actions));
  for (const [action, body] of actions) {
    const status = await page.evaluate(async ([action, body]) => {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      return (await fetch(action, { method: "POST", headers, body, redirect: "manual" })).status;
    }, [action, body]);
    assert.equal(status, 403, action);
  }
  const after = await api(admin).get(`/api/jobs/${running.id}`);
  assert.deepEqual([after.state, after.cancel_requested], ["running", null]);
});
