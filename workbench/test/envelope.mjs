// SPDX-License-Identifier: MIT
//
// What charts draw covers what all points would cover, at any zoom; every event of the range has its mark. Compared with a
// plain loop over all rows, on random curves with jumps, gaps, accumulating events and values that are not determined.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "saltus-envelope-"));
const file = join(folder, "chart.mjs");
await build({ entryPoints: [join(here, "../src/chart.ts")], bundle: true, format: "esm", outfile: file, logLevel: "error" });
await build({ entryPoints: [join(here, "../src/pyramid.ts")], bundle: true, format: "esm", outfile: join(folder, "pyramid.mjs"), logLevel: "error" });
const { envelope, eventColumns } = await import(pathToFileURL(file).href);
const { Rows } = await import(pathToFileURL(join(folder, "pyramid.mjs")).href);
rmSync(folder, { recursive: true });

/** Numbers that are the same in every run. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function curve(count, next) {
  const numbers = [];
  let t = 0;
  let x = 0;
  for (let i = 0; i < count; i++) {
    const kind = next();
    if (kind < 0.05) x += 10 * (next() - 0.5); // a jump: the same time again
    else t += kind < 0.1 ? 1e-9 * next() : next() / count;
    x += next() - 0.5;
    numbers.push(t, kind > 0.98 ? NaN : x, next() < 1e-3 ? 1000 * next() : Math.sin(50 * t));
  }
  return new Float64Array(numbers);
}

/** Lowest and highest of each pixel, by looking at every row. */
function plain(rows, column, range, width) {
  const result = new Float64Array(2 * width).fill(NaN);
  for (let i = 0; i < rows.length; i++) {
    const t = rows.time.values[i];
    const value = rows.columns[column].values[i];
    if (t < range.from || t > range.to || Number.isNaN(value)) continue;
    let x = width - 1;
    for (let k = Math.max(0, Math.floor(((t - range.from) / (range.to - range.from)) * width) - 1); k < width - 1; k++) {
      if (t < range.from + ((range.to - range.from) * (k + 1)) / width) {
        x = k;
        break;
      }
    }
    if (!(result[2 * x] <= value)) result[2 * x] = value;
    if (!(result[2 * x + 1] >= value)) result[2 * x + 1] = value;
  }
  return result;
}

const next = random(11);
let zooms = 0;
for (const count of [1, 2, 17, 300, 5000, 40000]) {
  const rows = new Rows(2);
  const numbers = curve(count, next);
  // in pieces, as a run brings them; some are taken back
  for (let at = 0; at < numbers.length;) {
    const size = 3 * (1 + Math.floor(next() * count));
    rows.append(numbers.subarray(at, at + size));
    if (next() < 0.3) {
      const keep = Math.floor(rows.length * next());
      rows.columns[0].extremes(0, rows.length);
      rows.columns[0].lowestPositive(0, rows.length);
      rows.truncate(keep);
      at = 3 * keep;
    } else {
      at += size;
    }
  }
  assert.equal(rows.length, count);
  const end = rows.time.values[count - 1] || 1;
  for (let i = 0; i < 170; i++, zooms++) {
    const span = end * 10 ** (-5 * next());
    const from = (end - span) * next();
    const range = { from, to: from + span };
    const width = 50 + Math.floor(900 * next());
    const column = i % 2;
    assert.deepEqual(envelope(rows, column, range, width), plain(rows, column, range, width), `${count} rows, zoom ${i}`);
    // over the logarithm of the time: the whole of the pixels is the whole of the rows, and each is where it belongs
    const ratio = { from: range.from || span * 1e-6, to: range.to };
    const logarithmic = envelope(rows, column, ratio, width, true);
    const parts = rows.parts(ratio.from, ratio.to, width, true);
    for (let x = 0; x < width; x++) {
      for (let r = parts[x]; r < parts[x + 1]; r++) {
        const place = (Math.log(rows.time.values[r] / ratio.from) / Math.log(ratio.to / ratio.from)) * width;
        assert.ok(place > x - 1e-6 && place < x + 1 + 1e-6, `${place}, not ${x}`);
        const value = rows.columns[column].values[r];
        assert.ok(Number.isNaN(value) || (logarithmic[2 * x] <= value && value <= logarithmic[2 * x + 1]));
      }
    }
    assert.equal(parts[0], rows.find(ratio.from));
    assert.equal(parts[width], rows.find(ratio.to, true));
    const [begin, stop] = [rows.find(range.from), rows.find(range.to, true)];
    const above = Array.from(rows.columns[column].values.subarray(begin, stop)).filter((v) => v > 0);
    assert.equal(rows.columns[column].lowestPositive(begin, stop), above.reduce((a, b) => Math.min(a, b), Infinity));
  }
}

const events = Array.from({ length: 20000 }, () => ({ kind: "state", t: next() ** 3 })).sort((a, b) => a.t - b.t);
for (let i = 0; i < 300; i++) {
  const from = next();
  const range = { from, to: from + (1 - from) * next() + 1e-9 };
  const seen = eventColumns(events, range, 700, (t) => (700 * (t - range.from)) / (range.to - range.from)).reduce((sum, [, n]) => sum + n, 0);
  assert.equal(seen, events.filter((e) => e.t >= range.from && e.t <= range.to).length);
}

// a million rows in ten channels: what a frame asks for
const large = new Rows(10);
const block = new Float64Array(11 * 10000);
for (let b = 0; b < 100; b++) {
  for (let i = 0; i < 10000; i++) {
    block[11 * i] = b * 10000 + i;
    for (let c = 1; c < 11; c++) block[11 * i + c] = Math.sin(c * (b * 10000 + i));
  }
  large.append(block);
}
for (let c = 0; c < 10; c++) large.columns[c].extremes(0, large.length);
const begun = performance.now();
const frames = 20;
for (let f = 0; f < frames; f++) {
  for (let c = 0; c < 10; c++) envelope(large, c, { from: f * 1000, to: 999999 - f * 777 }, 1000);
}
const each = (performance.now() - begun) / frames;
for (let c = 0; c < 10; c++) large.columns[c].lowestPositive(0, 999999);
const asked = performance.now();
for (let c = 0; c < 10; c++) large.columns[c].lowestPositive(5, 999990);
console.log(`${zooms} zooms equal; ten channels of a million rows: ${each.toFixed(1)} ms a frame, ${(performance.now() - asked).toFixed(1)} ms for the lowest above zero`);
