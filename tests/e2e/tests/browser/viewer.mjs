// Somebody who may look: every action is there, disabled, with the reason; and is refused if it is sent all the same.
import assert from "node:assert/strict";
import { api, story } from "./stage.mjs";

await story(async (stage) => {
  const { viewer, admin } = stage.props;
  const page = await stage.open("/ui", { key: viewer });
  const main = page.getByRole("main");
  const running = (await api(admin).get("/api/jobs?state=running&type=send_invoice")).jobs[0];
  const dead = (await api(admin).get("/api/dead-letters?limit=1")).dead_letters[0].job_id;

  for (const path of [`/ui/jobs/${running.id}`, `/ui/jobs/${dead}`, "/ui/dead-letters", "/ui/jobs", "/ui/queues"]) {
    await page.goto(stage.url + path);
    const buttons = main.locator("form[method=post] button");
    for (const button of await buttons.all()) {
      const name = await button.innerText();
      assert(await button.isDisabled(), `${path}: ${name} can be pressed`);
      assert.match((await button.getAttribute("title")) ?? "", /viewer/, `${path}: ${name} does not say why not`);
    }
  }

  // The browser is his: he sends it all the same.
  await page.goto(`${stage.url}/ui/jobs/${running.id}`);
  stage.expect(/status of 403/);
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
