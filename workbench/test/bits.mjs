// SPDX-License-Identifier: MIT
//
// The engine of the page and the native one: runs of the gallery have the same bits. bits.mjs PROGRAM FOLDER [MODEL...],
// FOLDER has saltus_web.js and saltus_web.wasm.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const models = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "models");
const [program, folder, ...wanted] = process.argv.slice(2);
const SLICE = 1500; // ms a run may take in either; what both have is compared

function gallery(below, found = []) {
  for (const name of readdirSync(below).sort()) {
    const path = join(below, name);
    if (statSync(path).isDirectory()) gallery(path, found);
    else if (/\.(lisma|rules\.md|csv)$/.test(name)) found.push(relative(models, path));
  }
  return found;
}

function read(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  return { json: JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))), rows: bytes.subarray(Math.ceil((4 + length) / 8) * 8) };
}

/** Whether all bits are equal, but for the sign and content of what is no number, which machines choose. */
function sameNumbers(a, b, length) {
  const [x, y] = [a, b].map((bytes) => new BigUint64Array(bytes.slice(0, length).buffer));
  const isNumber = (bits) => (bits & 0x7fffffffffffffffn) <= 0x7ff0000000000000n;
  return x.every((bits, i) => bits === y[i] || !(isNumber(bits) || isNumber(y[i])));
}

/** The page's engine, here in this process. */
async function web() {
  globalThis.self = globalThis;
  globalThis.importScripts = () => undefined;
  globalThis.location = { href: "" };
  const code = readFileSync(join(folder, "saltus_web.js"), "utf8");
  const engine = await new Function(`${code}; return SaltusEngine;`)()({ wasmBinary: readFileSync(join(folder, "saltus_web.wasm")) });
  return async (request) => {
    const text = new TextEncoder().encode(JSON.stringify(request));
    const place = engine._malloc(text.length + 1);
    engine.HEAPU8.set(text, place);
    engine.HEAPU8[place + text.length] = 0;
    const from = engine._web_take(place, text.length);
    return read(engine.HEAPU8.slice(from, from + engine._web_size()));
  };
}

function native() {
  const child = spawn(program, ["serve", "--engine", models], { stdio: ["pipe", "pipe", "inherit"] });
  let got = Buffer.alloc(0);
  let waiting = null;
  child.stdout.on("data", (data) => {
    got = Buffer.concat([got, data]);
    if (got.length < 4 || got.length < 4 + got.readUInt32LE(0)) return;
    const size = got.readUInt32LE(0);
    const answer = Uint8Array.from(got.subarray(4, 4 + size));
    got = got.subarray(4 + size);
    waiting(read(answer));
  });
  const ask = (request) => new Promise((resolve) => {
    waiting = resolve;
    const body = Buffer.from(JSON.stringify(request));
    const head = Buffer.alloc(4);
    head.writeUInt32LE(body.length);
    child.stdin.write(Buffer.concat([head, body]));
  });
  return { ask, end: () => child.kill() };
}

const page = await web();
const here = native();
const files = gallery(models);
let different = 0;
let compared = 0;
for (const path of files) {
  await page({ op: "put", path, text: readFileSync(join(models, path), "utf8") });
}
for (const path of files.filter((f) => !f.endsWith(".csv") && (!wanted.length || wanted.includes(f)))) {
  const text = readFileSync(join(models, path), "utf8");
  const results = [];
  for (const ask of [here.ask, page]) {
    const { json } = await ask({ op: "compile", path, text });
    results.push(json.ok ? await ask({ op: "run", ms: SLICE }) : { json, rows: new Uint8Array() });
  }
  const [a, b] = results;
  const length = Math.min(a.rows.length, b.rows.length);
  const whole = a.json.state !== "running" && b.json.state !== "running";
  const same = sameNumbers(a.rows, b.rows, length) && (!whole || a.rows.length === b.rows.length);
  compared++;
  if (same) continue;
  different++;
  console.log(`${path}: ${a.json.state ?? "not compiled"} and ${b.json.state ?? "not compiled"}, ${a.rows.length} and ${b.rows.length} bytes`);
}
here.end();
console.log(`${compared} models, ${different} with other bits`);
process.exit(different ? 1 : 0);
