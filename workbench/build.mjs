// SPDX-License-Identifier: MIT
//
// Bundle the page into one file, and into C for the program: node build.mjs OUT [WASM WORKER]. With WebAssembly and the
// script of its worker the file has the engine inside.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const [out = join(root, "build/workbench"), wasm, worker] = process.argv.slice(2);

/** The gallery and what its models read. */
function gallery(folder, files = {}) {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) gallery(path, files);
    else if (/\.(lisma|rules\.md|csv)$/.test(name) && statSync(path).size < 200_000) {
      files[relative(join(root, "models"), path)] = readFileSync(path, "utf8");
    }
  }
  return files;
}

/** What models of the gallery are about: the headings of its README, and a line for each model. */
function subjects() {
  const found = {};
  let subject = "";
  for (const line of readFileSync(join(root, "models/README.md"), "utf8").split("\n")) {
    subject = /^## (.*)/.exec(line)?.[1] ?? subject;
    const [, models, what] = /^\| (\[.*?\)) \| (.*) \|$/.exec(line) ?? [];
    const paths = [...(models?.matchAll(/\]\(([^)]*)\)/g) ?? [])].map((m) => m[1]);
    for (const path of paths) found[path] = { subject, what: paths.length === 1 ? what.replaceAll("`", "") : undefined };
  }
  return found;
}

/** The procedures of rule tables, from the manual: names, formula, picture. */
function procedures() {
  const manual = readFileSync(join(root, "docs/rules.md"), "utf8").split(/^## Procedures$/m)[1].split(/^## /m)[0];
  return manual.split(/^### /m).slice(1).map((part) => {
    const picture = /\]\((rules\/\w+\.svg)\)/.exec(part)?.[1];
    return {
      name: part.split("\n")[0].trim(),
      russian: /^Russian: ([^.]*)\./m.exec(part)?.[1].split(",")[0].trim() ?? "",
      arguments: /Arguments: ([^.]*)\./.exec(part)?.[1] ?? "",
      formula: (/^\* cyclic: (.*)$/m.exec(part)?.[1] ?? "").replace(/\s+/g, " "),
      picture: picture ? readFileSync(join(root, "docs", picture), "utf8").replace(/\n/g, "") : "",
    };
  });
}

/** Pages of the manual that stand beside the work. */
function manual() {
  const pages = ["workbench", "tutorial", "language", "events", "modes", "transitions", "rules", "experiments", "methods", "finding-events", "howdoi", "troubleshooting", "cdcsis", "diagnostics"];
  return Object.fromEntries(pages.map((name) => [`${name}.md`, readFileSync(join(root, "docs", `${name}.md`), "utf8")]));
}

const bundled = await build({
  entryPoints: [join(here, "src/main.ts")],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  define: { GALLERY: JSON.stringify(gallery(join(root, "models"))), SUBJECTS: JSON.stringify(subjects()), PROCEDURES: JSON.stringify(procedures()), MANUAL: JSON.stringify(manual()) },
  write: false,
});
const safe = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const script = safe(bundled.outputFiles[0].text);
const style = readFileSync(join(here, "src/style.css"), "utf8").replace(/\s*\n\s*/g, "\n");
const hash = createHash("sha256").update(script).digest("base64");
const engine = wasm ? gzipSync(readFileSync(wasm), { level: 9 }).toString("base64") : "";
const policy = [
  "default-src 'none'", `script-src 'sha256-${hash}' 'wasm-unsafe-eval' blob:`, "style-src 'unsafe-inline'", "img-src data: blob:",
  "connect-src 'self'", "worker-src blob:", "base-uri 'none'", "form-action 'none'",
].join("; ");
const parts = {
  POLICY: policy,
  STYLE: style,
  ENGINE: engine,
  WORKER: worker ? safe(readFileSync(worker, "utf8")) : "",
  SCRIPT: script,
};
const page = readFileSync(join(here, "src/index.html"), "utf8").replace(/%([A-Z]+)%/g, (all, name) => parts[name] ?? all);
mkdirSync(out, { recursive: true });
if (wasm) {
  const file = join(out, "workbench.html");
  writeFileSync(file, page);
  // as it is, for `saltus serve --export`
  const symbols = `.section .rodata\\n.global serve_web\\nserve_web:\\n.incbin \\"${file}\\"\\n.global web_end\\nweb_end:\\n.byte 0\\n.previous\\n`;
  writeFileSync(join(out, "web.c"), `// made by workbench/build.mjs\n#include "serve.h"\n\n__asm__("${symbols}");
extern const unsigned char web_end[];\nconst unsigned char* const serve_web_end = web_end;\n`);
} else {
  const bytes = gzipSync(page, { level: 9 });
  const lines = [];
  for (let i = 0; i < bytes.length; i += 24) lines.push([...bytes.subarray(i, i + 24)].join(","));
  writeFileSync(join(out, "page.c"), `// made by workbench/build.mjs\n#include "serve.h"\n\nconst unsigned char serve_page[] = {\n${lines.join(",\n")}};\nconst size_t serve_page_size = ${bytes.length};\n`);
}
console.log(`workbench: ${Math.round(page.length / 1024)} KiB, ${Math.round(gzipSync(page).length / 1024)} KiB compressed`);
