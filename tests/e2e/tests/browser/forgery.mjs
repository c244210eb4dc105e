// A page of somebody else's, open in the browser of somebody who is signed in.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { api, story } from "./stage.mjs";

/** A site of its own, whose only page sends a form to ours as soon as it is open. */
async function elsewhere(host, action) {
  const page = `<!doctype html><link rel="icon" href="data:,"><title>Win!</title>
    <form method="post" action="${action}"></form><script>document.forms[0].submit()</script>`;
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(page));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://${host}:${server.address().port}/`, close: () => server.close() };
}

await story(async (stage) => {
  const { admin } = stage.props;
  const isPaused = async () => (await api(admin).get("/api/queues")).queues.find(({ name }) => name === "mail").paused;
  // A refusal is an error on the console.
  stage.expect(/status of (401|403|421)/);
  const page = await stage.open("/ui/queues", { key: admin });
  // Another port is the same site to cookies, so the form brings the key; from another name it does not even do that, and
  // whoever sends it is asked to sign in.
  for (const [host, status] of [["127.0.0.1", 403], ["localhost", 303]]) {
    const site = await elsewhere(host, `${stage.url}/ui/queues/mail/pause`);
    const other = await page.context().newPage();
    const [answer] = await Promise.all([
      other.waitForResponse((it) => it.request().method() === "POST"),
      other.goto(site.url).catch(() => {}),
    ]);
    assert.equal(answer.status(), status, host);
    await other.close();
    site.close();
    assert.equal(await isPaused(), false, host);
  }
  // Without any word about where it came from it is refused as well, whoever sends it.
  const kept = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const headers = { cookie: kept, "content-type": "application/x-www-form-urlencoded" };
  const bare = await fetch(`${stage.url}/ui/queues/mail/pause`, { method: "POST", headers, redirect: "manual" });
  assert.equal(bare.status, 403);
  assert.equal(await isPaused(), false);
  // Nor can it be drawn into a page of somebody else's, to be clicked there unseen.
  const frame = await fetch(`${stage.url}/ui/queues`, { headers: { cookie: kept } });
  assert.match(frame.headers.get("content-security-policy"), /frame-ancestors 'none'/);
  // The form on our own page works.
  await page.goto(stage.url + "/ui/queues");
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Pause" }).click();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Resume" }).waitFor();
  assert.equal(await isPaused(), true);
});
