// The API reference and the pages of problems.
import assert from "node:assert/strict";
import { inaccessible, story } from "./story.mjs";

await story(async (test) => {
  for (const theme of ["light", "dark"]) {
    for (const [name, path] of [["docs", "/docs"], ["problem", "/problems/not_found"]]) {
      const page = await test.open(path, { theme });
      await page.getByRole("main").waitFor();
      await test.screenshot(page, `${name}-${theme}`, false);
      assert.deepEqual(await inaccessible(page), [], `${path} ${theme}`);
    }
  }
});
