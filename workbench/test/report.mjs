// SPDX-License-Identifier: MIT
//
// The report of a run in a real browser: node report.mjs PAGE ROWS. Everything a reader does by hand is done here.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";

const [page_file, rows] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1100, height: 900 } });
const troubles = [];
page.on("pageerror", (error) => troubles.push(error.message));
page.on("request", (request) => { if (!request.url().startsWith("file:")) troubles.push(`asks for ${request.url()}`); });
await page.goto(`file://${page_file}`);
const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const range = () => page.evaluate(() => ({ ...window.report.range }));
const charts = () => page.locator("#charts .chart").count();
await frame();

// the data are all there
assert.equal(await page.evaluate(() => window.report.run.rows.length), Number(rows));
const first = await charts();
assert.ok(first >= 1);
assert.ok(await page.locator("figure.static").isHidden());

/** Pixels of a chart that are not empty. */
const ink = () => page.evaluate(() => {
  const canvas = document.querySelector("#charts canvas");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let count = 0;
  for (let i = 3; i < data.length; i += 4) count += data[i] > 0;
  return count;
});
assert.ok(await ink() > 1000, "a curve is drawn");

// the charts are those of the picture, as it was asked for
const figure = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).figure);
assert.equal(first, figure.panels.filter((panel) => panel.svg === undefined).length);
assert.equal(await page.locator("#charts .picture svg").count(), figure.panels.length - first);
assert.equal(await page.locator("p.title").count(), figure.title ? 1 : 0);
if (figure.dark) assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
const asked = figure.panels[0].axes;
if (asked[0].to !== null) assert.deepEqual(await range(), { from: asked[0].from, to: asked[0].to });
const shown = await page.evaluate(() => ({ ...window.report.charts[0].y }));
if (asked[1].to !== null) assert.deepEqual([shown.from, shown.to], [asked[1].from, asked[1].to]);
if (figure.bands) assert.equal(await page.locator("#bands .band").count(), figure.bands.length);
assert.equal(await page.locator("#charts .chart").first().locator(".legend").isVisible(), figure.panels[0].legend);
await page.locator("#whole").click();
await frame();

// zoom, pan, whole run
const box = await page.locator("#charts canvas").first().boundingBox();
const whole = await range();
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
await page.mouse.wheel(0, -600);
await frame();
const near = await range();
assert.ok(near.to - near.from < 0.8 * (whole.to - whole.from), "the wheel zooms");
await page.mouse.down();
await page.mouse.move(box.x + box.width / 2 - 120, box.y + box.height / 2, { steps: 4 });
await page.mouse.up();
await frame();
const panned = await range();
assert.ok(panned.from > near.from, "dragging pans");
assert.ok(Math.abs((panned.to - panned.from) / (near.to - near.from) - 1) < 1e-9);
await page.locator("#whole").click();
await frame();
assert.deepEqual(await range(), whole);

// the cursor reads values
await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
await frame();
assert.match(await page.locator(".readout").textContent(), /^t = /);

// quantities come and go
const chip = page.locator("#variables .chip").first();
const name = await chip.getAttribute("data-name");
assert.equal(await chip.getAttribute("aria-pressed"), "true");
await chip.click();
await frame();
assert.equal(await chip.getAttribute("aria-pressed"), "false");
await chip.click();
await frame();
assert.equal(await chip.getAttribute("aria-pressed"), "true");

// one quantity over another
if (await page.locator("#variables .chip").count() > 1) {
  const before = await charts();
  await page.locator("#phase").click();
  await frame();
  assert.equal(await charts(), before + 1);
  // while it moves a part of its rows may do; all are drawn when it stands still
  await page.evaluate(() => { const { from, to } = window.report.range; window.report.zoom({ from, to: from + 0.9 * (to - from) }); });
  await frame();
  await page.waitForFunction(() => !window.report.charts.find((chart) => chart.x !== null).moved.hurry);
  await page.locator("#whole").click();
  await frame();
}

// events: filter, explanation, line of the model
const all = await page.evaluate(() => window.report.events.count);
if (all > 0) {
  await page.locator(".event").first().click();
  await frame();
  assert.ok((await page.locator(".explanation p").count()) >= 2, "an event is explained");
  assert.equal(await page.locator(".l.now").count(), 1, "its line is marked");
  await page.locator(".event-list input").fill("nothing has this word");
  assert.equal(await page.evaluate(() => window.report.events.count), 0);
  await page.locator(".event-list input").fill("");
  assert.equal(await page.evaluate(() => window.report.events.count), all);
}

// colours, and paper
for (let i = 0; i < 2; i++) {
  await page.locator("#theme").click();
  await frame();
  assert.match(await page.evaluate(() => document.documentElement.dataset.theme), /dark|light/);
  const [chip, curve] = await page.evaluate(() => {
    const sign = document.querySelector("#charts .chip");
    const probe = document.createElement("i");
    probe.style.background = window.report.colour(sign.dataset.name);
    return [sign.querySelector("i").style.background, probe.style.background];
  });
  assert.equal(chip, curve, "a legend has the colours of its curves");
}
await page.emulateMedia({ media: "print" });
assert.ok(await page.locator("figure.static").isVisible(), "paper has the picture");
assert.ok(await page.locator("#chart-bar").isHidden());
await page.evaluate(() => { document.documentElement.dataset.theme = "dark"; });
assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)", "paper is light");
assert.equal(await page.evaluate(() => document.querySelector("figure.static svg rect").getAttribute("fill")), "#ffffff", "so is its picture");
assert.ok(await page.locator("#event-view").isHidden(), "paper has all events, not a window on them");
assert.deepEqual(troubles, []);
console.log(`report: ${rows} rows, ${all} events, first quantity ${name}`);
await browser.close();
