// The reference of the interface and the pages of problems.
import assert from "node:assert/strict";
import { inaccessible, story } from "./stage.mjs";

await story(async (stage) => {
  for (const theme of ["light", "dark"]) {
    for (const [name, path] of [["docs", "/docs"], ["problem", "/problems/not_found"]]) {
      const page = await stage.open(path, { theme });
      await page.getByRole("main").waitFor();
      await stage.picture(page, `${name}-${theme}`, false);
      assert.deepEqual(await inaccessible(page), [], `${path} ${theme}`);
    }
  }
});
