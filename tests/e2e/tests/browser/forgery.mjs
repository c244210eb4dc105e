// Requests from a page of another site, in a browser with a session.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { api, story } from "./story.mjs";

/** Another site whose page submits a form to this server. */
async function elsewhere(host, action) {
  const page = `<!doctype html><link rel="icon" href="data:,"><title>Win!</title>
    <form method="post" action="${action}"></form><script>document.forms[0].submit()</script>`;
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(page));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://${host}:${server.address().port}/`, close: () => server.close() };
}

await story(async (test) => {
  const { admin } = test.props;
  const isPaused = async () => (await api(admin).get("/api/queues")).queues.find(({ name }) => name === "mail").paused;
  // A refusal is an error on the console.
  test.expect(/status of (401|403|421)/);
  const page = await test.open("/ui/queues", { key: admin });
  // For cookies another port is the same site, so the form carries the key; from another host name it does not, and the
  // answer is a redirect to the sign-in page.
  for (const [host, status] of [["127.0.0.1", 403], ["localhost", 303]]) {
    const site = await elsewhere(host, `${test.url}/ui/queues/mail/pause`);
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
  // Without an origin it is refused as well.
  const kept = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const headers = { cookie: kept, "content-type": "application/x-www-form-urlencoded" };
  const bare = await fetch(`${test.url}/ui/queues/mail/pause`, { method: "POST", headers, redirect: "manual" });
  assert.equal(bare.status, 403);
  assert.equal(await isPaused(), false);
  // Other sites cannot embed the page in a frame.
  const frame = await fetch(`${test.url}/ui/queues`, { headers: { cookie: kept } });
  assert.match(frame.headers.get("content-security-policy"), /frame-ancestors 'none'/);
  // The form on our own page works.
  await page.goto(test.url + "/ui/queues");
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Pause" }).click();
  await page.getByRole("row", { name: /mail/ }).getByRole("button", { name: "Resume" }).waitFor();
  assert.equal(await isPaused(), true);
});
