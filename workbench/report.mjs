// SPDX-License-Identifier: MIT
//
// Bundle the script and the style of reports into C: node report.mjs OUT. The result is part of the sources
// (cli/report_page.c), so that a program built without node writes the same reports; a test compares the two.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [out = join(dirname(here), "cli/report_page.c")] = process.argv.slice(2);

const bundled = await build({
  entryPoints: [join(here, "report/main.ts")],
  bundle: true,
  minifySyntax: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  write: false,
});
const script = bundled.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = readFileSync(join(here, "report/style.css"), "utf8");
const lines = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("//"))
  .map((line) => `    ${JSON.stringify(`${line}\n`).replaceAll("?", "\\?")},`).join("\n");
writeFileSync(out, `// SPDX-License-Identifier: MIT
//
// Made by workbench/report.mjs from workbench/report; change these, not this file.
#include "report_page.h"

// clang-format off
const char* const report_style[] = {
${lines(style)}
    NULL};

const char* const report_script[] = {
${lines(script)}
    NULL};
`);
