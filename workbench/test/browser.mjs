// SPDX-License-Identifier: MIT
//
// The workbench used by a script in a real browser. Pictures for the manual and for whoever wants to look at the page are
// written where SALTUS_PICTURES says.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";

const root = process.env.SALTUS_SOURCE ?? dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const program = process.env.SALTUS ?? join(root, "build/release/saltus");
const pictures = process.env.SALTUS_PICTURES;
const only = new RegExp(process.argv[2] ?? ""); // names of tests
const PATIENCE = 30000;
if (pictures) mkdirSync(pictures, { recursive: true });

// ---- the two forms -------------------------------------------------------------------------------

async function serve(folder, ...options) {
  const child = spawn(program, ["serve", folder, ...options]);
  const address = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const found = /http:\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.on("exit", () => reject(new Error(`saltus serve has ended: ${text}`)));
  });
  return { name: "serve", address, stop: () => child.kill("SIGTERM"), child, folder };
}

function fromDisk() {
  const file = join(root, "build/workbench/workbench.html");
  if (!existsSync(file)) return null;
  return { name: "page", address: pathToFileURL(file).href, stop: () => undefined };
}

class Bench {
  constructor(page, form) {
    this.page = page;
    this.form = form;
  }

  look() {
    return this.page.evaluate(() => window.saltus.look());
  }

  /** Wait until what the page shows satisfies a condition; returns it. */
  async until(condition, argument) {
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      const look = await this.look();
      if (condition(look, argument)) return look;
      if (Date.now() > deadline) throw new Error(`never: ${condition}\n${JSON.stringify(look).slice(0, 2000)}`);
      await this.page.waitForTimeout(15);
    }
  }

  async write(text) {
    await this.page.click("#text-tabs >> text=/^(Text|Текст)$/");
    await this.page.click(".cm-content");
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.insertText(text);
  }

  /** Open a gallery model and wait for its run. */
  async open(name) {
    await this.page.click("#models-button");
    await this.page.fill("#models input", name);
    await this.page.click(`#models .item:has-text("${name}") >> nth=0`);
    return this.until((look, name) => look.path?.endsWith(name) && (look.state === 'done' || look.state === 'stopped'), name);
  }

  async slide(name, share) {
    const slider = this.page.locator(`input[type=range][data-name="${name}"]`);
    await slider.evaluate((element, value) => {
      element.value = String(value * 1000);
      element.dispatchEvent(new Event("input", { bubbles: true }));
    }, share);
  }

  async picture(name) {
    if (!pictures) return;
    await this.page.waitForTimeout(250);
    await this.page.screenshot({ path: join(pictures, `${name}.png`) });
  }
}

// ---- what is tried -------------------------------------------------------------------------------

const tests = {
  async opens_with_a_run(bench) {
    const look = await bench.until((look) => look.state === 'done');
    assert.equal(look.path, ".gallery/ball.lisma");
    assert.equal(look.events.length, 27);
    assert.ok(Math.abs(look.events[0].t - 1.428086981229) < 1e-8);
    assert.equal(look.last.bounces, 26);
    const paint = await bench.page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
    console.log(`  first paint after ${paint.toFixed(0)} ms`);
    await bench.picture(`${bench.form.name}-ball`);
  },

  async tells_why(bench) {
    await bench.open("ball.lisma");
    await bench.page.click(".event >> nth=2");
    const text = await bench.page.textContent(".explanation");
    assert.match(text, /because v < 0 and y <= 0/);
    assert.match(text, /certified/);
    assert.equal(await bench.page.locator(".event-line").count(), 1, "the line of the event is lit");
    await bench.picture(`${bench.form.name}-why`);
  },

  async slider_reruns_and_the_newest_wins(bench) {
    await bench.open("ball.lisma");
    for (const share of [0.1, 0.2, 0.3, 0.45]) await bench.slide("k", share);
    const look = await bench.until((look) => look.constants.k === 0.72 && look.state === 'done');
    assert.ok(look.events.length < 27);
    // the run of a fresh page with this value is the same
    const times = [];
    for (let i = 0; i < 12; i++) {
      await bench.slide("k", 0.3 + 0.02 * i);
      const value = Number((0.3 * 1.6 + 0.032 * i).toPrecision(6));
      await bench.until((look, k) => Math.abs(look.constants.k - k) < 1e-9 && look.state === 'done', value);
      await bench.page.waitForTimeout(40);
      times.push((await bench.look()).latency);
    }
    times.sort((a, b) => a - b);
    console.log(`  slider to picture: median ${times[6].toFixed(1)} ms, slowest ${times[11].toFixed(1)} ms`);
    await bench.page.click("#reset");
    await bench.until((look) => look.constants.k === 0.8 && look.events.length === 27);
  },

  async writes_the_breaking_pendulum(bench) {
    const { page } = bench;
    const gallery = readFileSync(join(root, "models/dae/fragile_pendulum.lisma"), "utf8").replace(/^(\/\/.*\n)+/, "");
    await bench.write(gallery.replace("-T * x / l", "-T * x / lenght").replace("const l =", "const length =").replaceAll("/ l ", "/ length ").replace("l * l", "length * length"));
    await bench.until((look) => look.messages.some((m) => m.includes("lenght")));
    await bench.picture(`${bench.form.name}-mistake`);
    await page.click("#messages .fix");
    const mended = await bench.until((look) => look.messages.length === 0 && look.state === "done" && look.t === 2);
    assert.ok(mended.text.includes("-T * x / length"), mended.text);
    const known = lastRow("dae/fragile_pendulum.lisma");
    for (const name of ["x", "y", "v_x", "v_y"]) assert.ok(Math.abs(mended.last[name] - known[name]) < 1e-6 * Math.abs(known[name]), `${name}: ${mended.last[name]}, not ${known[name]}`);
    // its events one by one, and why
    await page.locator(".chart canvas >> nth=0").focus();
    for (const [i, why] of [[0, /Pendulum, because y < h/], [1, /Falling, because y >= h/]]) {
      await page.keyboard.press("Alt+ArrowRight");
      await page.waitForFunction((n) => document.querySelectorAll(".event")[n]?.classList.contains("selected"), i);
      assert.match(await page.textContent(".explanation"), why);
    }
    await page.click(".cm-content");
    await page.keyboard.press("Control+z");
    await bench.until((look) => look.text.includes("lenght"));
  },

  async the_editor_knows_the_language(bench) {
    const { page } = bench;
    const text = "const speed = 3; // of the belt\nx' = speed;  x(t0)=1;\ny = 2*speed;\nexperiment { end = 2; }\n";
    await bench.write(text);
    await bench.until((look) => look.t === 2 && look.last.y === 6);
    const word = page.locator(".cm-line >> nth=2");
    const box = await word.boundingBox();
    // the word speed in line 3: about the seventh of its characters
    await page.mouse.move(box.x + 6 + 7.5 * 7.8, box.y + box.height / 2);
    await page.waitForSelector(".cm-tooltip .hover");
    assert.match(await page.textContent(".cm-tooltip .hover"), /speed/);
    await page.mouse.click(box.x + 6 + 7.5 * 7.8, box.y + box.height / 2);
    await page.keyboard.press("F12");
    await page.waitForFunction(() => document.querySelector(".cm-activeLine")?.textContent.startsWith("const speed"));
    await page.keyboard.press("F2");
    await page.fill("dialog input", "pace");
    await page.keyboard.press("Enter");
    await bench.until((look, t) => look.text === t, text.replaceAll("speed", "pace"));
    await page.keyboard.press("Control+End");
    await page.keyboard.type("z = pa");
    await page.keyboard.press("Control+Space");
    await page.waitForSelector(".cm-tooltip-autocomplete >> text=pace");
    await page.waitForTimeout(120); // a list that has just come takes no keys
    await page.keyboard.press("Enter");
    await page.keyboard.type(";");
    await bench.until((look) => look.text.includes("z = pace;") && look.last.z === 3);
    await page.keyboard.press("Shift+Alt+F");
    await bench.until((look) => look.text.includes("x(t0) = 1;"));
  },

  async steps_through_events_and_back(bench) {
    await bench.open("fragile_pendulum.lisma");
    const whole = await bench.look();
    await bench.page.click(".event >> nth=1"); // the cursor stands there
    await bench.page.click("#live");
    await bench.until((look) => look.playing);
    await bench.page.click("#live");
    const paused = await bench.until((look) => !look.playing);
    assert.equal(paused.cursor, null, "what goes on is looked at");
    const first = whole.events.find((e) => e.t > 0);
    await bench.page.click("#next");
    const there = await bench.until((look, t) => look.t === t, first.t);
    assert.deepEqual(there.events.map((e) => e.what), whole.events.filter((e) => e.t <= first.t).map((e) => e.what));
    await bench.page.click("#back");
    const before = await bench.until((look, t) => look.t < t, first.t);
    assert.ok(before.events.every((e) => e.t < first.t));
    await bench.page.click("#next");
    const again = await bench.until((look, t) => look.t === t, first.t);
    assert.deepEqual(again.last, there.last);
  },

  async changes_during_a_run_can_be_replayed(bench) {
    await bench.open("hoop.rules.md");
    await bench.page.click("#live");
    await bench.until((look) => look.playing && look.t > 0.2);
    await bench.page.click("#live");
    await bench.until((look) => !look.playing);
    await bench.slide("R radius", 0.6);
    const changed = await bench.until((look) => look.changes.length === 1);
    assert.equal(changed.changes[0].value, 36);
    await bench.page.selectOption("#speed", "100");
    await bench.page.click("#live");
    const live = await bench.until((look) => look.state === 'done' && !look.playing);
    // what was changed comes back with the model, too
    await bench.page.waitForTimeout(400);
    await bench.page.reload();
    const again = await bench.until((look) => look.state === "done" && look.changes.length === 1);
    assert.deepEqual(again.last, live.last);
    // a link holds the model and the changes: on another page it gives the same bits
    const link = await bench.page.evaluate(async () => {
      let copied = "";
      Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (t) => { copied = t; } } });
      document.getElementById("share").click();
      while (!copied) await new Promise((r) => setTimeout(r, 20));
      return copied;
    });
    const other = await newPage(null, bench.form, link.replace(/^[^#]*/, bench.form.address.replace(/#.*/, "")), bench.page.context());
    const replayed = await other.until((look) => look.state === 'done' && look.changes.length === 1);
    assert.deepEqual(replayed.last, live.last);
    assert.deepEqual(replayed.events.map((e) => e.t), live.events.map((e) => e.t));
    await other.page.waitForTimeout(500);
    await other.page.reload(); // the address has lost its fragment
    const kept = await other.until((look) => look.state === "done" && look.changes.length === 1);
    assert.deepEqual(kept.last, live.last);
    if (bench.form.name === "serve") {
      // and so does the command line
      const folder = mkdtempSync(join(tmpdir(), "saltus-replay-"));
      writeFileSync(join(folder, "m.rules.md"), replayed.text);
      writeFileSync(join(folder, "r.jsonl"), live.changes.map((c) => JSON.stringify(c)).join("\n") + "\n");
      const code = await new Promise((resolve) => spawn(program, ["run", "m.rules.md", "--replay", "r.jsonl", "-o", "m.csv", "--quiet"], { cwd: folder, stdio: "inherit" }).on("exit", resolve));
      if (code === 0) {
        const [header, ...rows] = readFileSync(join(folder, "m.csv"), "utf8").trim().split("\n").map((l) => l.split(","));
        const last = Object.fromEntries(header.slice(1).map((n, i) => [n, Number(rows.at(-1)[i + 1])]));
        assert.deepEqual(last, live.last);
      } else {
        assert.fail("saltus run --replay has failed");
      }
      rmSync(folder, { recursive: true });
    }
    await other.page.close();
  },

  async all_that_is_changed_by_hand_takes_effect(bench) {
    await bench.write("const a = 1, b = 1;\nx' = a; x(t0) = 0;  y' = b; y(t0) = 0;\nexperiment { end = 1000; }\n");
    await bench.until((look) => look.state === "done" && look.t === 1000);
    await bench.page.click("#live");
    await bench.until((look) => look.playing && look.t > 0.05);
    // faster than answers come, two at once, and the last of them just before something else is asked for
    await bench.page.evaluate(async () => {
      for (let i = 1; i <= 40; i++) {
        for (const [name, value] of [["a", 20 * i], ["b", 15 * i]]) {
          const slider = document.querySelector(`input[type=range][data-name="${name}"]`);
          slider.value = String(value);
          slider.dispatchEvent(new Event("input", { bubbles: true }));
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      document.getElementById("live").click();
    });
    const look = await bench.until((look) => !look.playing && look.constants.a === 1.6 && look.constants.b === 1.2);
    assert.deepEqual(["a", "b"].map((name) => look.changes.findLast((c) => c.name === name).value), [1.6, 1.2]);
    await bench.slide("a", 0.25);
    await bench.slide("b", 0.75);
    await bench.page.click("#next");
    await bench.until((look) => look.constants.a === 0.5 && look.constants.b === 1.5);
  },

  async the_charts_are_those_that_the_model_asks_for(bench) {
    const { page } = bench;
    const model = "x' = v; x(t0) = 1;  v' = -x; v(t0) = 0;  macro e = x*x + v*v;\n";
    await bench.write(`${model}experiment { end = 20; xrange = 0, 5; panel = x, v; panel = e; yrange = 0, 3; phase = x, v; }\n`);
    const look = await bench.until((look) => look.t === 20 && look.state === "done" && look.charts.length === 3);
    assert.deepEqual(look.charts, [["x", "v"], ["e"], ["v"]]);
    assert.deepEqual(look.range, { from: 0, to: 5 });
    assert.equal(await page.locator(".chart >> nth=2").locator("select").inputValue(), "x", "the last one is a phase plane");
    // another wish of the text is followed, as long as nobody has chosen charts by hand
    await bench.write(`${model}experiment { end = 20; panel = v; y2 = x; }\n`);
    await bench.until((look) => look.charts.length === 1 && look.charts[0].join() === "v,x");
    assert.match(await page.textContent(".chart .legend"), /x →/);
    await page.click("#variables .chip >> text=/^e$/");
    await bench.until((look) => look.charts.length === 2);
    await bench.write(`${model}experiment { end = 21; panel = x; }\n`);
    const own = await bench.until((look) => look.t === 21 && look.state === "done");
    assert.deepEqual(own.charts, [["v", "x"], ["e"]]);
    // what cannot be a chart leaves the usual ones
    const space = await bench.open("chua.lisma");
    assert.ok(space.charts.length >= 2);
    await bench.picture(`${bench.form.name}-panels`);
  },

  async many_lines_at_once(bench) {
    // as keyboards of tablets hand them over, and not from the clipboard
    const constants = Array.from({ length: 20000 }, (_, i) => `const c${i} = ${i};`).join("\n");
    await bench.write(`${constants}\nx' = c7; x(t0) = 0;\nexperiment { end = 1; }\n`);
    const look = await bench.until((look) => look.t === 1 && look.state === "done" && Math.abs(look.last.x - 7) < 1e-6);
    assert.ok(Math.abs(look.constants.c19999 - 19999) < 1e-9);
    await bench.page.keyboard.press("Control+z");
    await bench.until((look) => !look.text.includes("c19999"));
  },

  async measured_points_can_be_taken_away(bench) {
    const { page } = bench;
    await bench.write("const k = 1;\nx' = -k*x; x(t0) = 1;\nexperiment { end = 2; }\n");
    await bench.until((look) => look.t === 2 && look.state === "done");
    await page.click("#panel-tabs >> text=Experiments");
    await page.click("[data-kind=fit]");
    assert.equal(await page.locator("#drop-data").count(), 0);
    await page.setInputFiles(".experiment-form input[type=file]", { name: "m.csv", mimeType: "text/csv", buffer: Buffer.from("time,z\n0,9\n1,8\n2,7\n") });
    await page.waitForSelector("#drop-data");
    assert.equal((await bench.look()).measured, 3);
    // what is wrong is said in words of the page
    await page.check("input[name='use k']");
    await page.click("#experiment-run");
    await page.waitForSelector(".told.failed");
    const said = await page.textContent(".told.failed");
    assert.match(said, /matched by their names; the data have `time`, `z`/);
    assert.doesNotMatch(said, /--/);
    await page.click("#drop-data");
    await page.waitForSelector(".file >> text=choose a file");
    assert.equal((await bench.look()).measured, 0);
    await page.click("[data-kind=sens]");
    await page.fill("input[name=measure]", "max(nonsense)");
    await page.click("#experiment-run");
    await page.waitForSelector(".told.failed");
    assert.doesNotMatch(await page.textContent(".told.failed"), /--|saltus/);
  },

  async a_name_that_is_too_long_is_called_so(bench) {
    if (bench.form.name !== "serve") return;
    const { page } = bench;
    await bench.write("x' = 1; x(t0) = 0;\nexperiment { end = 1; }\n");
    // more than a file system has room for, and as much as leaves none for what is written first
    for (const length of [300, 245]) {
      await page.click("#save");
      await page.fill("dialog input", "n".repeat(length));
      await page.keyboard.press("Enter");
      await page.waitForSelector("#toast:has-text('this name is too long for a file')");
      await page.evaluate(() => (document.getElementById("toast").textContent = ""));
    }
    await page.click("#save");
    await page.fill("dialog input", "n".repeat(200));
    await page.keyboard.press("Enter");
    await page.waitForSelector("#toast:has-text('Saved.')");
    assert.ok(existsSync(join(bench.form.folder, `${"n".repeat(200)}.lisma`)));
    rmSync(join(bench.form.folder, `${"n".repeat(200)}.lisma`));
    bench.problems.length = 0; // the browser notes what was refused
  },

  async changes_of_a_long_run_come_back_as_one_state(bench) {
    const { page } = bench;
    await bench.write("const a = 1;\nx' = a*v; x(t0) = 1;  v' = -x; v(t0) = 0;\nstate up [x > 0] {} from init, down;\nstate down [x < 0] {} from up;\nexperiment { end = 40000; rtol = 1e-9; }\n");
    await bench.until((look) => look.t === 40000 && look.state === "done");
    await page.click("#live");
    await bench.until((look) => look.playing && look.t > 0.05);
    await page.click("#live");
    await bench.until((look) => !look.playing);
    await bench.slide("a", 0.25);
    await bench.until((look) => look.changes.length === 1);
    await page.waitForTimeout(500);
    await page.reload();
    await bench.until((look) => look.state === "done" && look.changes.length === 1);
    await page.waitForTimeout(500);
    await page.locator(".chart canvas >> nth=0").focus();
    await page.keyboard.press("Control+z");
    await page.waitForTimeout(500);
    assert.equal((await bench.look()).changes.length, 1, "nothing was done since, so nothing is taken back");
  },

  async a_sweep_keeps_the_settings_it_began_with(bench) {
    const { page } = bench;
    await bench.write("const a = 1, b = 1;\nx' = a*b; x(t0) = 0;\nexperiment { end = 1; }\n");
    await bench.until((look) => look.t === 1 && look.state === "done");
    await page.click("#panel-tabs >> text=Experiments");
    await page.fill("input[name=measure]", "end(x)");
    await page.fill("input[name=first-from]", "1");
    await page.fill("input[name=first-to]", "2");
    await page.fill("input[name=first-count]", "10000");
    await page.click("#experiment-run");
    await bench.until((look) => look.experiment.rows?.length > 0);
    await bench.slide("b", 0.75);
    await bench.until((look) => look.constants.b === 1.5);
    const { experiment } = await bench.until((look) => look.experiment.rows?.length === 10000);
    for (const [a, x] of experiment.rows) assert.ok(Math.abs(a - x) < 1e-6, `${a}: ${x}`);
  },

  async logarithmic_scales_and_zero(bench) {
    const { page } = bench;
    await bench.write("x' = -x; x(t0) = 1;  y = x - 0.5;  z = -x;  w = if(time > 3, 0, x);\nexperiment { end = 10; out = x, y, z; }\n");
    await bench.until((look) => look.t === 10 && look.state === "done" && look.charts.length === 3);
    await page.click("#variables .chip >> text=/^w$/");
    await bench.until((look) => look.charts.length === 4);
    for (let i = 0; i < 4; i++) await page.click(`.chart .chart-controls button[title='logarithmic scale'] >> nth=${i}`);
    const labels = () => page.evaluate(() => {
      const { fillText } = CanvasRenderingContext2D.prototype;
      const said = new Map();
      CanvasRenderingContext2D.prototype.fillText = function (...of) {
        if (of[1] < 62) said.set(this.canvas, [...(said.get(this.canvas) ?? []), Number(of[0])]);
        fillText.apply(this, of);
      };
      document.getElementById("charts").scrollTop = 0;
      window.saltus.frame();
      CanvasRenderingContext2D.prototype.fillText = fillText;
      return [...document.querySelectorAll(".chart canvas")].map((c) => said.get(c) ?? []);
    });
    await page.setViewportSize({ width: 1280, height: 1400 });
    const [x, y, z, w] = await labels();
    assert.ok(Math.min(...x) >= 1e-5 && Math.min(...x) < 1e-3, x.join());
    assert.ok(y.length > 1 && Math.min(...y) >= 1e-7, y.join());
    assert.deepEqual(z.filter((v) => v > 0), [], "numbers of a scale on which nothing has a place");
    assert.ok(Math.min(...w) > 0.01 && Math.max(...w) <= 1, w.join());
    assert.deepEqual(await page.locator(".chart-controls small").evaluateAll((all) => all.map((e) => e.hidden)), [true, false, false, false]);
    await bench.picture(`${bench.form.name}-log`);
    await page.setViewportSize({ width: 1280, height: 800 });
  },

  async links_and_copies_take_along_what_a_model_reads(bench) {
    await bench.write('include "parts/control.lisma";\nx\' = 1; x(t0) = 0;\nexperiment { end = 0.5; }\n');
    await bench.until((look) => look.t === 0.5 && look.messages.length === 0);
    await bench.page.click("#models-button");
    await bench.page.click("#models >> text=Empty"); // a model of the user's finds the parts, too
    await bench.page.keyboard.press("Enter");
    await bench.until((look) => look.path === "model.lisma");
    await bench.write('include "parts/control.lisma";\nx\' = 1; x(t0) = 0;\nexperiment { end = 0.75; }\n');
    await bench.until((look) => look.t === 0.75 && look.messages.length === 0);
    const whole = await bench.open("hoop_rolling.rules.md");
    const link = await bench.page.evaluate(async () => {
      let copied = "";
      Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (t) => { copied = t; } } });
      document.getElementById("share").click();
      while (!copied) await new Promise((r) => setTimeout(r, 20));
      return copied;
    });
    const other = await newPage(null, bench.form, link.replace(/^[^#]*/, bench.form.address.replace(/#.*/, "")), bench.page.context());
    assert.deepEqual((await other.until((look) => look.state === "done")).last, whole.last);
    await other.page.waitForTimeout(400);
    await other.page.reload();
    assert.deepEqual((await other.until((look) => look.state === "done")).last, whole.last);
    await other.page.keyboard.press("Control+s");
    await other.page.fill("dialog input", "taken.rules.md");
    await other.page.keyboard.press("Enter");
    assert.deepEqual((await other.until((look) => look.path === "taken.rules.md" && look.state === "done")).last, whole.last);
    await other.page.evaluate(() => localStorage.clear());
    assert.deepEqual(other.problems, []);
    await other.page.close();
    if (bench.form.name === "serve") for (const name of ["taken.rules.md", "hoop.rules.md"]) rmSync(join(bench.form.folder, name));
  },

  async builds_the_hoop_from_nothing(bench) {
    const { page } = bench;
    await page.click("#models-button");
    await page.click("text=New rule tables");
    await page.fill("dialog input", "my_hoop");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#tables [data-add=rules]");
    await fillTables(bench, hoop);
    await page.waitForFunction(() => document.querySelectorAll("#tables td.wrong").length === 0);
    const first = await bench.until((look) => look.state === "done" && look.t === 14 && look.events.length > 10);
    const known = lastRow("rules/hoop.rules.md");
    for (const [name, value] of Object.entries(known)) {
      const size = Math.max(Math.abs(value), 1);
      assert.ok(Math.abs(first.last[name] - value) < 1e-6 * size, `${name}: ${first.last[name]}, not ${value}`);
    }
    await page.waitForSelector("td.meaning:has-text('Vy velocity')");
    await bench.picture(`${bench.form.name}-grids`);
    // the twelve rows of figure 4
    await fillTables(bench, rolling);
    const rolled = lastRow("rules/hoop_rolling.rules.md");
    const close = (look, name) => Math.abs(look.last[name] - rolled[name]) < 1e-4 * Math.max(1, Math.abs(rolled[name]));
    // tables that are half filled run, too: wait for the whole of them
    await bench.until((look) => look.state === "done" && look.messages.length === 0 &&
      ["h height", "Vx velocity", "Angle vel.", "X", "Angle"].every((name) => close(look, name)));
    // a mistake stands at its cell, and undo takes it back
    const cell = page.locator("input[data-key='rules:4:4']");
    await cell.fill("Fy sun");
    await cell.press("Tab");
    await page.waitForSelector("#tables td.wrong");
    await bench.picture(`${bench.form.name}-cell`);
    await page.locator("input[data-key='rules:4:1']").press("Control+z");
    await page.waitForFunction(() => document.querySelectorAll("#tables td.wrong").length === 0);
    // a row can be switched off and on
    const before = (await bench.look()).text;
    const cells = () => page.locator("#tables td input").evaluateAll((all) => all.filter((e) => e.getBoundingClientRect().width).map((e) => {
      const { left, top, width, height } = e.getBoundingClientRect();
      const [x, y] = [left + width / 2, top + height / 2];
      const box = document.getElementById("tables").getBoundingClientRect();
      const foot = document.querySelector(".row-foot").getBoundingClientRect().top;
      const inSight = x > box.left && x < box.right && y > box.top && y < foot;
      return !inSight || document.elementFromPoint(x, y) === e;
    }));
    await page.click("input[data-key='states:2:0']");
    assert.ok((await cells()).every(Boolean), "no cell is covered by the tools of a row");
    await page.click("input[data-key='rules:12:1']");
    await page.click(".row-tools [data-tool='switch off']");
    await bench.until((look) => look.text.includes("<!-- off | 13 |"));
    await page.click(".tabs button[data-do=undo]");
    assert.equal((await bench.look()).text, before);
    // rows come back to their places, whatever the order: rules are carried out one after the other
    const turn = async (number, tool) => {
      const key = await page.locator("table[data-section=rules] tbody tr").evaluateAll((rows, n) => rows.map((r) => r.querySelectorAll("input")).find((cells) => cells[0].value === n)[1].dataset.key, number);
      await page.click(`input[data-key='${key}']`);
      await page.click(`.row-tools [data-tool='${tool}']`);
      await bench.until((look, [n, off]) => look.text.includes(`<!-- off | ${n} |`) === off, [number, tool === "switch off"]);
    };
    for (const number of ["3", "13", "4", "20"]) await turn(number, "switch off");
    for (const number of ["3", "20", "4", "13"]) await turn(number, "switch on");
    assert.equal((await bench.look()).text, before);
    await page.click("input[data-key='rules:12:1']");
    await page.click(".row-tools [data-tool=copy]");
    await bench.until((look) => look.text.split("\n").filter((l) => l.startsWith("| 13 ") || l.startsWith("| 21 ")).length === 2);
    await page.click(".tabs button[data-do=undo]");
    assert.equal((await bench.look()).text, before);
  },

  async edits_leave_other_bytes_alone(bench) {
    await bench.open("hoop_ru.rules.md");
    const before = (await bench.look()).text;
    const cell = bench.page.locator("input[data-key='constants:2:1']");
    assert.equal(await cell.inputValue(), "30");
    await cell.fill("35");
    await cell.press("Enter");
    const after = await bench.until((look) => look.text.includes("| R радиус | 35 |") && look.constants["R радиус"] === 35);
    assert.equal(after.text, before.replace("| R радиус | 30 |", "| R радиус | 35 |"));
  },

  async saving_changes_what_was_changed(bench) {
    if (bench.form.name !== "serve") return;
    const { page } = bench;
    const file = (name) => join(bench.form.folder, name);
    const body = "// one\r\nx' = 1; x(t0) = 0;\r\nexperiment { end = 1; }\r\n";
    const files = { "crlf.lisma": body, "mark.lisma": `\ufeff${body}`, "mixed.lisma": body.replace("\r", "") };
    const foreign = Buffer.from([0x2f, 0x2f, 0xef, 0xf0, 0x0a]); // Russian letters, not in UTF-8
    for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text);
    writeFileSync(file("foreign.lisma"), foreign);
    mkdirSync(file("gallery"));
    writeFileSync(file("gallery/ball.lisma"), "mine' = 3; mine(t0) = 0; experiment { end = 1; }\n");
    for (const [name, text] of Object.entries(files)) {
      await bench.open(name);
      assert.equal(await page.locator("#model-name.dirty").count(), 0, name);
      await page.click(".cm-content");
      await page.keyboard.press("Control+End");
      await page.keyboard.type("// end");
      await page.keyboard.press("Control+s");
      await page.waitForSelector("#model-name:not(.dirty)");
      assert.equal(readFileSync(file(name), "utf8"), `${text}// end`, name);
    }
    await page.click("#models-button");
    await page.click("#models .item >> text=foreign.lisma");
    await page.waitForSelector("#toast:not([hidden]):has-text('not UTF-8')");
    assert.deepEqual(readFileSync(file("foreign.lisma")), foreign);
    // a folder of this name is not the page's own gallery
    await page.click("#models-button");
    await page.click("#models .item >> text=gallery/ball.lisma");
    await bench.until((look) => Math.round(look.last.mine) === 3);
    // files that are included from a folder whose name an address writes in other letters
    mkdirSync(file("мои модели"));
    writeFileSync(file("мои модели/part.lisma"), "const part = 4;\n");
    writeFileSync(file("мои модели/whole.lisma"), 'include "part.lisma";\nx\' = part; x(t0) = 0;\nexperiment { end = 1; }\n');
    await bench.open("мои модели/whole.lisma");
    await page.waitForTimeout(500);
    assert.deepEqual((await bench.look()).messages, []);
    for (const name of [...Object.keys(files), "foreign.lisma", "gallery", "мои модели"]) rmSync(file(name), { recursive: true });
  },

  async what_is_not_saved_is_found_again(bench) {
    const { page } = bench;
    const text = (n) => `x' = ${n}; x(t0) = 0;\nexperiment { end = 1; }\n`;
    const make = async (name, n) => {
      await page.click("#models-button");
      await page.click("#models >> text=Empty");
      await page.fill("dialog input", name);
      await page.keyboard.press("Enter");
      await bench.until((look) => look.last.x !== undefined && look.state === "done");
      await bench.write(text(n));
      return bench.until((look, n) => Math.round(look.last.x) === n && look.state === "done", n);
    };
    await make("twin", 1);
    assert.equal((await make("twin", 2)).path, "twin.2.lisma", "the first one is spared");
    await bench.open("relay.lisma");
    const choose = async (selector) => {
      await page.click("#models-button");
      await page.click(`#models .own:has-text("${selector}") button`);
    };
    await choose("twin.lisma");
    assert.equal((await bench.until((look) => look.path === "twin.lisma" && look.state === "done")).text, text(1));
    await page.click("#models-button");
    await page.click('#models [aria-label="discard twin.lisma"]');
    await bench.until((look) => look.path === ".gallery/ball.lisma");
    await page.click("#toast button");
    await choose("twin.lisma");
    assert.equal((await bench.until((look) => look.path === "twin.lisma" && look.state === "done")).text, text(1));
    await page.evaluate(() => localStorage.clear());
    bench.problems.length = 0; // the browser tells of the answers 404
  },

  async folders_do_not_share_drafts(bench) {
    if (bench.form.name !== "serve") return;
    const above = mkdtempSync(join(tmpdir(), "saltus-folders-"));
    const model = (n) => `x' = ${n}; x(t0) = 0;\nexperiment { end = 1; }\n`;
    for (const [name, n] of [["one", 1], ["two", 2]]) {
      mkdirSync(join(above, name));
      writeFileSync(join(above, name, "same.lisma"), model(n));
    }
    const port = ({ address }) => /:(\d+)/.exec(address)[1];
    const visit = async (form, action) => {
      const other = await newPage(null, form, form.address, bench.page.context());
      await action(other);
      await other.page.close();
      form.child.removeAllListeners("exit");
      const ended = new Promise((resolve) => form.child.on("exit", resolve));
      form.stop();
      await ended;
    };
    const first = await serve(join(above, "one"));
    await visit(first, async (b) => {
      await b.open("same.lisma");
      await b.write(model(7));
      await b.until((look) => Math.round(look.last.x) === 7);
      await b.page.waitForTimeout(400);
    });
    await visit(await serve(join(above, "two"), "--port", port(first)), async (b) => assert.equal((await b.open("same.lisma")).text, model(2)));
    const again = await serve(join(above, "one"));
    assert.equal(port(again), port(first), "a folder has its own address");
    await visit(again, async (b) => assert.equal((await b.until((look) => look.path === "same.lisma" && look.state === "done")).text, model(7)));
    rmSync(above, { recursive: true });
  },

  async names_are_checked_and_can_be_changed(bench) {
    const { page } = bench;
    const name = () => page.textContent("#model-name");
    const said = (text) => page.waitForFunction((t) => !document.getElementById("toast").hidden && document.getElementById("toast").textContent.includes(t), text);
    const begin = async (kind, ...names) => {
      await page.click("#models-button");
      await page.click(`#models >> text=${kind}`);
      for (const text of names) {
        await page.fill("dialog input", text);
        await page.keyboard.press("Enter");
      }
      const shown = names.at(-1).replace(/.*\/|\.lisma$/g, "");
      await page.waitForFunction((n) => document.getElementById("model-name").textContent.startsWith(`${n}.`), shown);
    };
    // a name that hides a model of the gallery or leads elsewhere is not taken; an ending belongs to the kind
    await begin("New rule tables", ".gallery/ball", "a/../b", "odd.lisma");
    await page.waitForFunction(() => document.getElementById("model-name").textContent === "odd.rules.md");
    assert.deepEqual([await page.inputValue("#at"), await page.inputValue("#until")], ["", ""], "nothing has run");
    assert.match(await page.textContent("#charts"), /charts of a run/);
    await begin("Empty", "first.lisma");
    await bench.until((look) => look.path === "first.lisma" && look.state === "done");
    await page.keyboard.press("Control+s");
    await said("Saved.");
    await page.keyboard.press("Control+Shift+s");
    await page.fill("dialog input", "second");
    await page.keyboard.press("Enter");
    await bench.until((look) => look.path === "second.lisma");
    assert.equal(await name(), "second.lisma");
    await begin("Empty", "first"); // another model has this name
    await bench.write("x' = 1; x(t0) = 0;");
    await page.keyboard.press("Control+s");
    await said("There is a model of this name.");
    if (bench.form.name !== "serve") return;
    assert.ok(existsSync(join(bench.form.folder, "second.lisma")));
    await begin("Empty", "nowhere/third"); // there is no such folder: another name can be given
    await page.keyboard.press("Control+s");
    await said("this name cannot be used");
    await page.keyboard.press("Control+s");
    await page.fill("dialog input", "third");
    await page.keyboard.press("Enter");
    await bench.until((look) => look.path === "third.lisma");
    assert.ok(existsSync(join(bench.form.folder, "third.lisma")));
    bench.problems.length = 0; // the browser logs refusals
  },

  async keys_of_another_alphabet(bench) {
    const { page } = bench;
    await bench.open("ball.lisma");
    await bench.slide("k", 0.3); // as soon as there is something to go back to
    await bench.until((look) => look.constants.k < 0.5 && look.state === "done");
    await page.waitForTimeout(500);
    const press = (key, code, more = {}) => page.evaluate(([key, code, more]) => document.querySelector("#variables button")
      .dispatchEvent(new KeyboardEvent("keydown", { key, code, ctrlKey: true, bubbles: true, cancelable: true, ...more })), [key, code, more]);
    await press("я", "KeyZ");
    await bench.until((look) => look.constants.k === 0.8);
    await press("З", "KeyP", { shiftKey: true });
    await page.waitForSelector("#commands");
  },

  async an_address_in_the_page_that_is_open(bench) {
    const { page } = bench;
    await bench.open("thermostat.lisma");
    const packed = deflateRawSync(JSON.stringify({ path: "m.lisma", text: "x' = 1;  x(t0) = 0;\nexperiment { end = 3; }\n" })).toString("base64url");
    await page.evaluate((packed) => (location.hash = `model=${packed}`), packed);
    await page.waitForTimeout(300);
    await bench.until((look) => look?.path?.endsWith("linked.lisma") && look.t === 3);
  },

  async files_are_dropped(bench) {
    const { page } = bench;
    await bench.open("ball.lisma");
    const drop = async (name, text) => {
      const data = await page.evaluateHandle(([name, text]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([text], name));
        return transfer;
      }, [name, text]);
      await page.dispatchEvent("#right", "drop", { dataTransfer: data });
    };
    await drop("measured.csv", "time,y\n0,10\n1,5.1\n");
    await page.waitForSelector(".experiment-form .file >> text=measured.csv");
    // a fit that is stopped says so and holds up nothing
    await drop("noise.csv", `time,y\n${Array.from({ length: 600 }, (_, i) => `${i * 0.02},${Math.sin(i)}`).join("\n")}\n`);
    await page.waitForSelector(".experiment-form .file >> text=noise.csv");
    for (const name of ["y0", "k", "v_rest"]) await page.check(`input[name='use ${name}']`);
    await page.click("#experiment-run");
    await page.click(".experiment-form .buttons button >> nth=1");
    await page.waitForFunction(() => document.querySelector(".told").textContent === "This was stopped.");
    await page.click("#run");
    await bench.until((look) => look.state === "done" && look.events.length === 27);
    bench.problems.length = 0; // the browser tells of the engine that was ended
    await drop("dropped.lisma", "x' = 1;  x(t0) = 0;\nexperiment { end = 4; }\n");
    await bench.until((look) => look.path === "dropped.lisma" && look.t === 4);
  },

  async unsaved_work_survives_reload(bench) {
    await bench.open("relay.lisma");
    const text = "x' = 1;\nexperiment { end = 2; }\n// not saved\n";
    await bench.write(text);
    await bench.until((look) => look.state === 'done' && look.t === 2);
    await bench.page.reload();
    const look = await bench.until((look) => look.state === 'done');
    assert.equal(look.text, text);
    assert.equal(await bench.page.locator("#model-name.dirty").count(), 1);
  },

  async runs_are_kept_and_compared(bench) {
    await bench.open("tank.lisma"); // some of its events follow from others of the same instant
    await bench.page.click("#keep");
    const [events] = /\d+ events/.exec(await bench.page.textContent("#status"));
    assert.ok((await bench.page.textContent(".runs li")).includes(events), "the bar and the list count alike");
    await bench.open("ball.lisma");
    await bench.page.click("#keep");
    await bench.slide("k", 0.55);
    const look = await bench.until((look) => look.constants.k === 0.88 && look.state === "done");
    assert.equal(look.kept, 1);
    assert.match(await bench.page.textContent(".runs"), /k = 0\.88/);
    assert.match(await bench.page.textContent(".runs code"), /saltus run models\/ball\.lisma --set k=0\.88/);
    await bench.picture(`${bench.form.name}-compare`);
    await bench.page.click(".runs li button");
    await bench.until((look) => look.kept === 0);
  },

  async conditions_of_tables_are_an_automaton(bench) {
    await bench.open("hoop.rules.md");
    await bench.page.click("#panel-tabs >> text=Automata");
    await bench.page.waitForSelector("#panel rect[data-state]");
    const lit = () => bench.page.locator("#panel rect.now").evaluateAll((all) => all.map((e) => e.dataset.state));
    assert.equal(await bench.page.locator("#panel rect[data-state]").count(), 3);
    const size = await bench.page.locator("#panel text", { hasText: "none" }).first().evaluate((e) => e.getBoundingClientRect().height);
    assert.ok(size > 10, `letters ${size} pixels high`);
    for (const state of ["h < R \u2227 braking", "h < R \u2227 speed-up", "none"]) {
      await bench.page.keyboard.press("Alt+ArrowRight");
      await bench.page.keyboard.press("Alt+ArrowRight"); // two conditions turn in each instant
      await bench.page.waitForFunction((s) => document.querySelector("#panel rect.now")?.dataset.state === s, state);
    }
    assert.deepEqual(await lit(), ["none"]);
    await bench.picture(`${bench.form.name}-automata`);
  },

  async draws_the_model_and_is_controlled(bench) {
    await bench.write(`const l = 2;
control l = 1:3;  control push = 0, 1;  control phi = -2:2;
phi' = w;  phi(t0) = 0;  w' = push - phi;  w(t0) = 0;  push(t0) = 0;
animate { line(0, 0, l*phi, -l, "gray"); circle(l*phi, -l, 0.3, "#ff0000"); text(0, 0, "{phi:.2f} of {2*l}"); }
experiment { end = 3; }
`);
    await bench.until((look) => look.path !== null && look.t === 3 && look.last.push === 0);
    const red = () => bench.page.evaluate(() => {
      const canvas = document.querySelector(".drawing canvas");
      const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let sum = 0;
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i] === 255 && data[i + 1] === 0 && data[i + 3] === 255) {
          sum += (i / 4) % width;
          count++;
        }
      }
      return { at: sum / count / width, count };
    });
    await bench.page.waitForTimeout(60);
    const still = await red();
    assert.ok(still.count > 50 && Math.abs(still.at - 0.5) < 0.02, JSON.stringify(still));
    // the switch makes phi = 1 - cos(t); the drawing follows the cursor, the gauge shows the value there
    await bench.page.click("input[role=switch]");
    const pushed = await bench.until((look) => look.constants.push === 1 && look.state === "done" && look.last.phi > 1.9);
    assert.ok(Math.abs(pushed.last.phi - (1 - Math.cos(3))) < 1e-4);
    await bench.page.waitForTimeout(60);
    const end = await red();
    await bench.page.locator(".drawing input").fill("500");
    await bench.page.waitForTimeout(60);
    const middle = await red();
    assert.ok(end.at > middle.at + 0.2, `${end.at} ${middle.at}`);
    const gauge = Number((await bench.page.textContent(".gauge output")).trim());
    assert.ok(Math.abs(gauge - (1 - Math.cos(1.5))) < 1e-3, `${gauge}`);
    await bench.picture(`${bench.form.name}-drawing`);
    // a gauge made by a click stands in the text, and undo takes it back
    const before = (await bench.look()).text;
    const add = async (name, range) => {
      await bench.page.click("#add-control");
      await bench.page.selectOption("dialog select", name);
      await bench.page.fill("dialog input", range);
      await bench.page.click("dialog button.main");
    };
    await add("w", "-1 : 1");
    await bench.page.waitForSelector(".gauge:has-text('w')");
    assert.equal((await bench.look()).text, before.replace("experiment", "control w = -1:1;\nexperiment"));
    await bench.page.click(".tabs button[data-do=undo]");
    await bench.until((look, old) => look.text === old, before);
    await bench.open("hoop.rules.md");
    await add("R radius", "10 : 60");
    await bench.until((look) => look.text.includes("## Controls") && look.text.includes("| R radius | 10 : 60 |"));
    await bench.page.waitForSelector("#parameters summary"); // the other constants step back
    await bench.slide("R radius", 0.5);
    await bench.until((look) => look.constants["R radius"] === 35 && look.state === "done");
    await bench.page.evaluate(() => localStorage.clear());
  },

  async experiments_have_pictures(bench) {
    await bench.open("ball.lisma");
    await bench.page.click("#panel-tabs >> text=Experiments");
    await bench.page.fill("input[name=measure]", "time(main.bounce)");
    await bench.page.selectOption("select[name=first]", "y0");
    await bench.page.fill("input[name=first-count]", "11");
    await bench.page.click("#experiment-run");
    const { experiment } = await bench.until((look) => look.experiment.members === 11 && look.experiment.rows.length === 11);
    for (const [h, t] of experiment.rows) assert.ok(Math.abs(t - Math.sqrt((2 * h) / 9.80665)) < 1e-7, `${h}: ${t}`);
    await bench.picture(`${bench.form.name}-sweep`);
    // a click runs the nearest one
    const box = await bench.page.locator(".experiment-result canvas").boundingBox();
    await bench.page.mouse.click(box.x + box.width - 20, box.y + box.height / 2);
    await bench.until((look) => look.constants.y0 === 15 && look.state === "done");
    await bench.page.click("[data-kind=sens]");
    await bench.page.click("#experiment-run");
    await bench.page.waitForSelector(".experiment-result tr.exists >> text=y0");
    await bench.page.click("[data-kind=sweep]");
    await bench.page.fill("input[name=measure]", "max(nothing)");
    await bench.page.click("#experiment-run");
    await bench.page.waitForSelector(".told.failed");
    await bench.page.click("#reset");
  },

  async what_is_pointed_at_is_run(bench) {
    const { page } = bench;
    await bench.open("ball.lisma");
    await page.click("#panel-tabs >> text=Experiments");
    await page.selectOption("select[name=first]", "k");
    await page.selectOption("select[name=second]", "y0");
    for (const [field, text] of [["measure", "count(bounce)"], ["first-from", "0.4"], ["first-to", "0.8"], ["first-count", "5"], ["second-from", "5"], ["second-to", "20"], ["second-count", "4"]]) {
      await page.fill(`input[name=${field}]`, text);
    }
    await page.fill("#until", "9");
    await page.keyboard.press("Enter");
    await bench.until((look) => look.t === 9);
    await page.click("#experiment-run");
    await bench.until((look) => look.experiment.rows.length === 20);
    assert.match(await page.textContent(".experiment-result code"), /^saltus sweep models\/ball.lisma --until 9 --vary k=0.4:0.8:5 --vary y0=5:20:4 --measure 'count\(bounce\)'$/);
    // near the right edge of the second field of five, in the lowest row of four
    const canvas = page.locator(".experiment-result canvas");
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 64 + ((box.width - 64 - 80) * 1.9) / 5, box.y + box.height - 34 - 4);
    await page.waitForFunction(() => /k = 0.5, y0 = 5:/.test(document.querySelector(".told").textContent));
    await canvas.focus();
    for (const key of ["ArrowRight", "ArrowUp", "ArrowUp", "Enter"]) await page.keyboard.press(key);
    await bench.until((look) => Math.abs(look.constants.k - 0.6) < 1e-12 && Math.abs(look.constants.y0 - 15) < 1e-12 && look.state === "done");
    // a text that changes meanwhile ends it
    await page.fill("input[name=first-count]", "300");
    await page.fill("input[name=second-count]", "300");
    await page.click("#experiment-run");
    await bench.until((look) => look.experiment.rows.length > 0 && look.experiment.members === 90000);
    await bench.write((await bench.look()).text.replace("y0 = 10", "y0 = 11"));
    await page.waitForFunction(() => /The model was changed/.test(document.querySelector(".told")?.textContent ?? ""));
  },

  async constants_are_found_from_measured_rows(bench) {
    await bench.write("const a = 1;\nx' = -a*x; x(t0) = 1;\nexperiment { end = 3; }\n");
    await bench.until((look) => look.t === 3 && Math.abs(look.last.x - Math.exp(-3)) < 1e-5);
    await bench.page.click("#panel-tabs >> text=Experiments");
    await bench.page.click("[data-kind=fit]");
    const rows = Array.from({ length: 13 }, (_, i) => `${i / 4},${Math.exp((-2 * i) / 4)}`);
    await bench.page.setInputFiles(".experiment-form input[type=file]", { name: "cooling.csv", mimeType: "text/csv", buffer: Buffer.from(`time,x\n${rows.join("\n")}\n`) });
    await bench.page.waitForSelector(".file >> text=cooling.csv");
    const points = () => bench.page.evaluate(() => {
      const { arc } = CanvasRenderingContext2D.prototype;
      let drawn = 0;
      CanvasRenderingContext2D.prototype.arc = function (...of) {
        drawn += of[2] === 3;
        arc.apply(this, of);
      };
      window.saltus.frame();
      CanvasRenderingContext2D.prototype.arc = arc;
      return drawn;
    });
    assert.equal(await points(), 13);
    await bench.page.check(".ticks input");
    await bench.page.click("#experiment-run");
    await bench.page.click("text=Use these values");
    const look = await bench.until((look) => Math.abs(look.constants.a - 2) < 1e-4 && look.state === "done");
    assert.ok(Math.abs(look.last.x - Math.exp(-6)) < 1e-5);
    await bench.picture(`${bench.form.name}-fit`);
    await bench.open("ball.lisma");
    assert.equal(await points(), 0, "they belong to the model before");
  },

  async conditions_costs_and_energy(bench) {
    await bench.write("const k = 0.8;\ny' = v; y(t0) = 10; v' = -10; v(t0) = 0;\nenergy = v^2/2 + 10*y;\nstate bounce [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, bounce;\nstate high [y >= 11] {} from init, bounce;\nexperiment { end = 3; }\n");
    await bench.until((look) => look.t === 3 && look.state === "done");
    await bench.page.click("#panel-tabs >> text=Conditions");
    // the highest point after the bounce is 6.4
    const text = await bench.page.textContent(".guards");
    assert.match(text, /y >= 11lacks/);
    const near = await bench.page.textContent(".guards tr:has-text('high') td:nth-child(4)");
    assert.ok(near.startsWith("4.6"), text);
    await bench.page.click("#panel-tabs >> text=Costs");
    const costs = await bench.page.textContent(".costs");
    assert.match(costs, /changed by events-36/);
    // the conditions and equations that the work was spent on have names
    const dearest = await bench.page.textContent(".dearest");
    assert.match(dearest, /%y <= 0/);
    assert.match(dearest, /short.*%[yv]/);
    await bench.page.click("text=chart of the energy");
    const look = await bench.until((look) => look.charts.some((c) => c[0] === "{energy}"));
    assert.equal(look.charts.length, 3);
    await bench.picture(`${bench.form.name}-costs`);
  },

  async states_at_the_cursor(bench) {
    await bench.open("fragile_pendulum.lisma");
    const { page } = bench;
    const now = { automata: () => page.locator("#panel [data-state].now").evaluateAll((all) => all.map((e) => e.dataset.state)), structure: () => page.locator(".structure .now summary").allTextContents() };
    const { events } = await bench.look();
    const last = events.findLastIndex((e) => e.what.includes("→"));
    for (const [index, state] of [[last, events[last].what.split("→ ")[1]], [0, events[0].what.split("→ ")[1]]]) {
      await page.click("#panel-tabs >> text=Events");
      await page.click(`.event >> nth=${index}`);
      await page.click("#panel-tabs >> text=Automata");
      await page.waitForSelector(`#panel [data-state="${state}"].now`);
      assert.deepEqual(await now.automata(), [state]);
      await page.click("#panel-tabs >> text=Structure");
      await page.locator(".structure .now summary", { hasText: `mode main=${state}` }).waitFor();
      assert.deepEqual(await now.structure(), [`mode main=${state}`]);
    }
    assert.match(await page.locator(".structure details[open]").textContent(), /order of solution/);
  },

  async situations_at_the_cursor(bench) {
    // a model that includes another: conditions of both
    await bench.open("hoop_rolling.rules.md");
    await bench.page.click("#panel-tabs >> text=Conditions");
    const holding = (kind) => bench.page.locator(`.${kind} tr.true td:nth-child(2)`).allTextContents();
    const at = async (t) => {
      await bench.page.locator(".chart canvas >> nth=0").focus();
      const events = (await bench.look()).events;
      const index = events.findIndex((e) => e.t > t);
      await bench.page.click("#panel-tabs >> text=Events");
      await bench.page.click(`.event >> nth=${index}`);
      await bench.page.click("#panel-tabs >> text=Conditions");
      await bench.page.waitForTimeout(80);
    };
    await at(0); // the hoop touches the ground for the first time: it brakes and slides
    assert.deepEqual(await holding("situations"), ["braking", "slide"]);
    assert.deepEqual(await holding("predicates"), ["h < R", "Vy < 0", "Ving > 0"]);
    await bench.page.click(".drawing-controls input", { position: { x: 2, y: 6 } });
    await bench.page.waitForTimeout(80);
    assert.deepEqual(await holding("situations"), []); // it falls
    assert.match(await bench.page.textContent(".predicates"), /h < Rh height < R radiuslacks 3/);
    await bench.picture(`${bench.form.name}-situations`);
  },

  async nothing_made_is_lost_by_a_reload(bench) {
    await bench.open("stick_slip.lisma");
    const before = await bench.look();
    const name = Object.keys(before.constants)[0];
    await bench.page.click("#keep");
    await bench.slide(name, 0.62);
    await bench.until((look, [n, v]) => look.constants[n] !== v && look.state === "done", [name, before.constants[name]]);
    await bench.page.fill("#until", String(before.t / 2));
    await bench.page.press("#until", "Enter");
    await bench.until((look, t) => look.t === t / 2 && look.state === "done", before.t);
    await bench.page.click(".chart .chart-controls button[title='logarithmic scale']");
    await bench.page.waitForTimeout(500);
    const made = await bench.look();
    await bench.page.reload();
    const after = await bench.until((look) => look.state === "done" && look.kept === 1);
    assert.deepEqual([after.constants, after.t, after.charts, after.last], [made.constants, made.t, made.charts, made.last]);
    await bench.page.evaluate(() => localStorage.clear());
  },

  async watches_a_program(bench) {
    const example = join(dirname(program), "examples/cdcsis/billiard");
    if (bench.form.name !== "serve" || !existsSync(example)) return;
    const folder = mkdtempSync(join(tmpdir(), "saltus-watch-"));
    const child = spawn(program, ["watch", example], { cwd: folder });
    const address = await new Promise((resolve) => {
      let text = "";
      child.stdout.on("data", (data) => {
        text += data;
        const found = /http:\S+/.exec(text);
        if (found) resolve(found[0]);
      });
    });
    try {
      const other = await newPage(null, bench.form, address, bench.page.context());
      await other.page.waitForFunction(() => /ended \(0\)/.test(document.getElementById("status").textContent), null, { timeout: PATIENCE });
      const look = await other.look();
      assert.deepEqual(look.charts, [["x of the first ball"], ["x of the second ball"]]);
      // the rows are those of the table that the program writes
      const [, ...rows] = readFileSync(join(folder, "cdcsis.csv"), "utf8").trim().split("\n").map((l) => l.split(",").map(Number));
      assert.equal(look.rows, rows.length);
      assert.equal(look.last["x of the first ball"], rows.at(-1)[1]);
      await other.picture("watch-billiard");
      assert.equal((await fetch(address.replace(/#.*/, "folder"), { headers: { "X-Saltus-Token": /token=([0-9a-f]+)/.exec(address)[1] } })).status, 404);
      assert.equal((await fetch(address.replace(/#.*/, "watch"))).status, 401);
      await other.page.close();
    } finally {
      child.kill("SIGTERM");
      rmSync(folder, { recursive: true });
    }
  },

  async exports_the_models_of_a_folder(bench) {
    if (bench.form.name !== "serve" || !existsSync(join(root, "build/workbench/web.c"))) return;
    const folder = mkdtempSync(join(tmpdir(), "saltus-export-"));
    mkdirSync(join(folder, "models"));
    writeFileSync(join(folder, "models", "own.lisma"), "// </script><script>window.hacked = 1</script>\nx' = 2; x(t0) = 1; experiment { end = 3; }\n");
    try {
      execFileSync(program, ["serve", join(folder, "models"), "--export", join(folder, "out")]);
    } catch (error) {
      if (/not built/.test(String(error.stderr))) return;
      throw error;
    }
    const other = await newPage(null, bench.form, pathToFileURL(join(folder, "out", "workbench.html")).href, bench.page.context());
    const look = await other.until((look) => look.state === "done");
    assert.equal(look.path, "models/own.lisma");
    assert.ok(Math.abs(look.last.x - 7) < 1e-9);
    assert.equal(await other.page.evaluate(() => window.hacked), undefined);
    await other.page.close();
    rmSync(folder, { recursive: true });
  },

  async everything_can_be_taken_back(bench) {
    await bench.open("ball.lisma");
    const key = async (keys) => {
      await bench.page.locator(".chart canvas >> nth=0").focus();
      await bench.page.keyboard.press(keys);
    };
    const noted = () => bench.page.waitForTimeout(450); // a hand that rests ends a step of the history
    await noted();
    const first = await bench.look();
    await bench.slide("k", 0.45);
    await bench.until((look) => look.constants.k === 0.72 && look.state === "done");
    await noted();
    await bench.page.click(".chart .chart-controls button[title='remove the chart'] >> nth=1");
    await noted();
    await bench.page.click("#keep");
    await noted();
    assert.equal((await bench.look()).kept, 1);
    await key("Control+z");
    await bench.until((look) => look.kept === 0);
    await key("Control+z");
    await bench.until((look, charts) => JSON.stringify(look.charts) === JSON.stringify(charts), first.charts);
    await key("Control+z");
    const back = await bench.until((look) => look.constants.k === 0.8 && look.state === "done");
    assert.deepEqual(back.last, first.last);
    for (let i = 0; i < 3; i++) await key("Control+y");
    await bench.until((look) => look.constants.k === 0.72 && look.kept === 1 && look.charts.length === first.charts.length - 1);
    // so can what was changed on the way, in a run that stands there and in one that is over
    await bench.open("stick_slip.lisma");
    await bench.page.fill("#at", "7.5");
    await bench.page.press("#at", "Enter");
    const standing = await bench.until((look) => look.t === 7.5);
    await noted();
    await bench.slide("vb", 0.7);
    await bench.until((look) => look.changes.length === 1);
    await noted();
    await key("Control+z");
    assert.deepEqual((await bench.until((look) => look.changes.length === 0 && look.t === 7.5)).last, standing.last);
    await key("Control+y");
    await bench.until((look) => look.changes.length === 1 && look.t === 7.5);
    await bench.page.selectOption("#speed", "Infinity");
    await bench.page.click("#live");
    const over = await bench.until((look) => look.state === "done");
    await noted();
    await bench.slide("Fd", 0.6);
    await bench.until((look) => look.changes.length === 0 && look.state === "done");
    await noted();
    await key("Control+z");
    assert.deepEqual((await bench.until((look) => look.changes.length === 1 && look.state === "done")).last, over.last);
    await bench.page.evaluate(() => localStorage.clear());
  },

  async a_model_without_a_run_shows_none(bench) {
    const { page } = bench;
    await page.click("#models-button");
    await page.click("text=New rule tables");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#tables [data-add=rules]");
    await page.waitForSelector("#messages .error");
    await page.waitForFunction(() => document.querySelectorAll(".chart, .event, #variables .chip").length === 0);
    assert.ok(await page.locator("#stage").isHidden());
    await page.evaluate(() => localStorage.clear());
  },

  async a_run_that_fails_or_swells_says_so(bench) {
    const { page } = bench;
    await bench.write("x' = 1/(1 - time); x(t0) = 0;\nexperiment { end = 3; }\n");
    await bench.until((look) => look.state === "failed");
    assert.match(await page.textContent("#status"), /failed.*step size/);
    assert.match(await page.textContent(".event-list"), /The run has no events/);
    // what a run warns of is told as well, with its place
    await bench.write("const k = 1.2;\ny' = v; y(t0) = 1; v' = -9.81; v(t0) = 0;\nstate b [y <= 0 and v < 0] { set v = -k*v; } from init, b;\nenergy = v^2/2 + 9.81*y;\nexperiment { end = 2; }\n");
    await page.waitForSelector("#messages .warning:has-text('creates energy')");
    assert.match(await page.textContent("#messages .warning"), /^line 4 · W0826 at t = 0\.451524 an event creates energy/);
    assert.match(await page.textContent("#status"), /1 warning/);
    await bench.slide("k", 0.4);
    await bench.until((look) => look.constants.k === 0.96 && look.state === "done");
    assert.equal(await page.locator("#messages button").count(), 0);
    await bench.write("n(t0) = 0; every 1e-6 { set n = n + 1; }\nexperiment { end = 100; }\n");
    await bench.until((look) => look.state === "running" && look.events.length > 10);
    await page.evaluate(() => window.saltus.waitAt(100));
    await page.waitForSelector("#toast:not([hidden]):has-text('very many events')");
    const waits = await bench.look();
    await page.waitForTimeout(200);
    assert.equal((await bench.look()).t, waits.t);
    assert.match(await page.textContent("#status"), /paused/);
    await page.evaluate(() => localStorage.clear());
  },

  async what_is_refused_is_told(bench) {
    const { page } = bench;
    const stale = () => page.evaluate(() => document.body.hasAttribute("data-stale"));
    // a run that cannot be made: the one before it is not taken for it
    await bench.write("x' = 1; x(t0) = 0;\nexperiment { end = -1; }\n");
    await page.waitForSelector("#status.failed:has-text('would end before it starts')");
    assert.ok(await stale());
    await bench.write("x' = 1; x(t0) = 0;\nexperiment { end = 1.5; }\n");
    await bench.until((look) => look.t === 1.5);
    assert.ok(!(await stale()));
    // no clipboard: pages of other machines have none
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { configurable: true, value: undefined }));
    await page.click("#share");
    await page.waitForSelector("dialog[open] input");
    assert.match(await page.inputValue("dialog input"), /#model=[\w-]{40}/);
    await page.keyboard.press("Escape");
    // no room left in the browser
    await page.evaluate(() => {
      for (let size = 1 << 20; size >= 1; size >>= 1) {
        try {
          for (let n = 0; ; n++) localStorage.setItem(`full${size}.${n}`, "x".repeat(size));
        } catch {
          // less of it
        }
      }
    });
    await bench.write(`x' = 2; x(t0) = 0;\nexperiment { end = 2.5; }\n// precious${" and long".repeat(50)}\n`);
    await page.waitForSelector("#toast button >> text=Model text");
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("#toast button")]);
    assert.match(readFileSync(await file.path(), "utf8"), /precious/);
    if (bench.form.name === "page") {
      await page.keyboard.press("Control+s");
      await page.fill("dialog input", "precious");
      await page.keyboard.press("Enter");
      await page.waitForSelector("#toast:not([hidden]):has-text('keep the text as a file')");
    }
    await page.evaluate(() => localStorage.clear());
    // a text beyond what the server takes
    if (bench.form.name !== "serve") return;
    await page.click(".cm-content");
    await page.keyboard.press("Control+a");
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "// 0123456789012345678901234567890123456789\n".repeat(220_000));
      document.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await page.waitForSelector("#status.failed:has-text('the request is too large')");
    assert.ok(await stale());
    bench.problems.length = 0; // the browser tells of the answer 413
  },

  async stands_at_any_time(bench) {
    await bench.open("ball.lisma");
    const whole = await bench.look();
    const at = async (t) => {
      await bench.page.fill("#at", String(t));
      await bench.page.press("#at", "Enter");
      return bench.until((look, t) => look.t === t, t);
    };
    const there = await at(3.5);
    assert.ok(there.events.every((e) => e.t <= 3.5) && there.events.length > 0);
    await at(5); // forward
    const again = await at(3.5); // and back
    assert.deepEqual(again.last, there.last);
    await bench.page.selectOption("#speed", "Infinity");
    await bench.page.click("#live");
    const end = await bench.until((look) => look.state === "done");
    assert.deepEqual(end.last, whole.last);
  },

  async runs_are_compared_in_numbers(bench) {
    await bench.write("const a = 1;\nx' = a; x(t0) = 0;\nstate up [x >= 2] { } from init;\nstate late [x >= 5] { } from up;\nexperiment { end = 4; }\n");
    await bench.until((look) => look.t === 4 && Math.abs(look.last.x - 4) < 1e-9);
    await bench.page.click("#keep");
    const field = bench.page.locator("#parameters .slider input[type=text]");
    await field.fill("1.5");
    await field.press("Enter");
    await bench.until((look) => look.constants.a === 1.5 && look.state === "done");
    await bench.page.click("#panel-tabs >> text=Runs");
    const text = await bench.page.textContent(".compared");
    // the largest difference is at the end; the second event is there in one run alone
    assert.match(text, /other events from t = 3\.33333 on: up → late \/ —/);
    assert.equal(await bench.page.textContent(".compared tr:has-text('x') td.number"), "2");
  },

  async exports_what_the_command_line_writes(bench) {
    await bench.open("ball.lisma");
    const save = async (label) => {
      await bench.page.click("#export");
      const [file] = await Promise.all([bench.page.waitForEvent("download"), bench.page.click(`dialog >> text="${label}"`)]);
      return readFileSync(await file.path());
    };
    const written = (model, ...options) => {
      const folder = mkdtempSync(join(tmpdir(), "saltus-rows-"));
      execFileSync(program, ["run", resolve(root, "models", model), "-o", join(folder, "rows.csv"), "--quiet", ...options], { stdio: "ignore" });
      const text = readFileSync(join(folder, "rows.csv"), "utf8");
      rmSync(folder, { recursive: true });
      return text;
    };
    assert.equal((await save("Rows (CSV)")).toString(), written("ball.lisma"));
    // a model with its own distance of rows and a change on the way
    await bench.open("stick_slip.lisma");
    await bench.page.fill("#at", "7.5");
    await bench.page.press("#at", "Enter");
    await bench.until((look) => look.t === 7.5);
    await bench.slide("vb", 0.7);
    await bench.until((look) => look.changes.length === 1);
    await bench.page.selectOption("#speed", "Infinity");
    await bench.page.click("#live");
    await bench.until((look) => look.state === "done");
    const changes = join(mkdtempSync(join(tmpdir(), "saltus-changes-")), "changes.jsonl");
    writeFileSync(changes, await save("Changes for --replay"));
    assert.equal((await save("Rows (CSV)")).toString(), written("stick_slip.lisma", "--replay", changes));
    rmSync(dirname(changes), { recursive: true });
    await bench.open("ball.lisma");
    assert.equal((await save("Rows (MAT)")).subarray(0, 19).toString(), "MATLAB 5.0 MAT-file");
    const svg = (await save("Picture (SVG)")).toString();
    assert.ok(svg.startsWith("<svg") && svg.includes("bounces"));
    const report = (await save("Report (HTML)")).toString();
    assert.ok(report.startsWith("<!DOCTYPE html>") && report.includes("init → bounce"), report.slice(0, 200));
    assert.equal((await save("Picture (PNG)")).subarray(1, 4).toString(), "PNG");
    await bench.page.selectOption(".chart select >> nth=0", "v"); // y over v
    const named = (picture) => picture.split(">v</text>").length;
    assert.ok(named((await save("Picture (SVG)")).toString()) > named(svg), "the axis is called v");
    assert.equal((await save("Events (JSON lines)")).toString().trim().split("\n").length, 28);
    // rows and pictures of a logarithmic time have all steps, and a report the warnings of its run
    const text = "x' = -x; x(t0) = 1;\nenergy = 1 - x;\nstate on [x <= 0.5] { set x = 0.1; } from init;\nexperiment { end = 1000; log = x; }\n";
    await bench.write(text);
    await bench.until((look) => look.t === 1000 && look.state === "done");
    const file = join(mkdtempSync(join(tmpdir(), "saltus-log-")), "log.lisma");
    writeFileSync(file, text);
    assert.equal((await save("Rows (CSV)")).toString(), written(file));
    rmSync(dirname(file), { recursive: true });
    assert.match((await save("Report (HTML)")).toString(), /W0826[^]*an event creates energy/);
  },

  async the_manual_stands_beside_what_is_selected(bench) {
    await bench.open("ball.lisma");
    const { page } = bench;
    await bench.write("x' = sinn(x); x(t0) = 1;\nexperiment { end = 1; }\n");
    await bench.until((look) => look.messages.length > 0);
    await page.click("#messages button >> nth=0");
    await page.keyboard.press("F1");
    await page.waitForSelector("#manual h2 >> text=/^E0/");
    // it follows the cursor
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector("#manual h2 >> text=Experiment");
    await bench.picture(`${bench.form.name}-manual`);
    await page.setViewportSize({ width: 820, height: 1100 }); // over the work, not over the bar
    assert.ok(await page.locator("#tools button").evaluateAll((all) => all.every((e) => {
      const { left, top, width, height } = e.getBoundingClientRect();
      return document.elementFromPoint(left + width / 2, top + height / 2) === e;
    })));
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.fill("#manual input", "saltation");
    await page.waitForTimeout(300);
    await page.fill("#manual input", "animate circle");
    await page.click("#manual .contents button >> nth=0");
    assert.match(await page.textContent("#manual"), /circle\(x, y, r\)/);
    await page.focus("#manual input");
    await page.keyboard.press("Escape");
    assert.ok(await page.locator("#manual").isHidden());
    // a procedure of a table
    await bench.open("hoop.rules.md");
    await page.click("input[data-key='rules:5:2']");
    await page.keyboard.press("F1");
    await page.waitForSelector("#manual h2 >> text=integral");
    await page.evaluate(() => localStorage.clear());
  },

  async the_tour_is_walked(bench) {
    const { page } = bench;
    await page.click("#help");
    await page.click("dialog >> text=tour of five minutes");
    const next = () => page.click("#tour button.main");
    const ticked = () => page.waitForSelector("#tour .ticked");
    await page.waitForSelector("#tour >> text=1 / 12");
    await next();
    await bench.slide("k", 0.45);
    await ticked();
    await bench.picture(`${bench.form.name}-tour`);
    await next();
    await page.locator(".chart canvas >> nth=0").focus();
    await page.keyboard.press("+");
    await ticked();
    await next();
    await page.click(".event >> nth=1");
    await ticked();
    await next();
    await page.click("#panel-tabs >> text=Conditions");
    await ticked();
    await next();
    await page.click("#live");
    await ticked();
    await next();
    await bench.slide("k", 0.3);
    await ticked();
    await next();
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("// mine");
    await ticked();
    await next();
    await bench.until((look) => look.path === ".gallery/rules/hoop.rules.md" && look.state === "done");
    await next();
    await page.click(".drawing-controls button");
    await ticked();
    await next();
    await page.click("#keep");
    await ticked();
    await next();
    await page.keyboard.press("F1");
    await ticked();
    await next();
    assert.equal(await page.locator("#tour").count(), 0);
    await page.evaluate(() => localStorage.clear());
  },

  async needs_no_mouse(bench) {
    const { page } = bench;
    await bench.open("thermostat.lisma");
    const command = async (words) => {
      await page.keyboard.press("Control+Shift+P");
      await page.waitForSelector("dialog[open] .command");
      await page.keyboard.type(words);
      await page.keyboard.press("Enter");
    };
    await command("Conditions");
    await page.waitForSelector(".guards");
    await command("keep this run");
    await bench.until((look) => look.kept === 1);
    const { charts } = await bench.look();
    await command(`hide: ${charts[0][0]}`);
    await bench.until((look, n) => look.charts.length === n - 1, charts.length);
    await command(`last chart: ${charts[0][0]}`);
    await bench.until((look, name) => look.charts.at(-1).includes(name), charts[0][0]);
    await page.keyboard.press("Control+o");
    await page.keyboard.type("relay.lisma");
    await page.waitForSelector("#models .item >> nth=0");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await bench.until((look) => /relay/.test(look.path ?? "") && look.state === "done");
    // F6 goes around the parts of the page; every button can be reached by Tab and says what it is
    const { text } = await bench.look();
    await page.locator(".tabs button[data-do=redo]").focus();
    await page.keyboard.press("Tab");
    assert.ok(await page.locator(".cm-content").evaluate((e) => e === document.activeElement));
    await page.keyboard.press("Tab");
    assert.ok(await page.locator(".cm-content").evaluate((e) => e !== document.activeElement), "Tab leads through the text");
    assert.equal((await bench.look()).text, text);
    const seen = new Set();
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press("F6");
      seen.add(await page.evaluate(() => document.activeElement.closest("[id]")?.id));
    }
    assert.ok(seen.size >= 4, [...seen].join());
    const mute = await page.evaluate(() => [...document.querySelectorAll("button, input, select, canvas[tabindex]")].filter((e) => e.offsetParent &&
      !(e.textContent.trim() || e.getAttribute("aria-label") || e.title || e.labels?.length || e.placeholder)).map((e) => e.outerHTML));
    assert.deepEqual(mute, []);
    // rows of a table
    await bench.open("hoop.rules.md");
    const before = (await bench.look()).text;
    await page.click("input[data-key='rules:2:1']");
    for (const keys of ["Alt+ArrowUp", "Alt+d", "Alt+o", "Alt+Delete"]) {
      const text = (await bench.look()).text;
      await page.keyboard.press(keys);
      await bench.until((look, old) => look.text !== old, text);
      await page.waitForTimeout(50);
      if ((await page.evaluate(() => document.activeElement.dataset.key)) === undefined) await page.click("input[data-key='rules:2:1']");
    }
    for (let i = 0; i < 4; i++) await page.keyboard.press("Control+z");
    await bench.until((look, old) => look.text === old, before);
    await page.evaluate(() => localStorage.clear());
  },

  async speaks_russian_and_is_readable(bench) {
    const { page } = bench;
    await bench.open("thermostat.lisma");
    await page.click("#language");
    const panels = await page.locator("#panel-tabs button").count();
    assert.match(await page.textContent("#run"), /Пуск/);
    assert.match(await page.textContent("#status"), /готово · \d+ событи/);
    await page.click(".event >> nth=2");
    assert.match(await page.textContent(".explanation"), /потому что .* \(строка \d+\)/);
    for (const theme of ["light", "dark"]) {
      for (let i = 0; i < panels; i++) {
        await page.click(`#panel-tabs button >> nth=${i}`);
        await page.waitForTimeout(80);
        const faint = await page.evaluate(lowContrast);
        assert.deepEqual(faint, [], `${theme}, panel ${i}`);
      }
      await page.click("#theme");
    }
    // models of the gallery, and what a message is about
    await page.click("#models-button");
    await page.waitForSelector("#models .item small");
    const foreign = (selector) => page.locator(selector).evaluateAll((all) => all.map((e) => e.textContent.trim()).filter((t) => !/[а-яё]/i.test(t)));
    assert.deepEqual(await foreign("#models .item small, #models h3, #models .head button"), []);
    await page.fill("#models input", "маятник");
    await page.waitForSelector("#models .item >> text=pendulum.lisma");
    await page.keyboard.press("Escape");
    await bench.write("x' = lenght; const length = 2; x(t0) = 0;\n");
    await page.waitForSelector("#messages button");
    assert.match(await page.textContent("#messages button >> nth=0"), /имя нигде не объявлено.*lenght/);
    assert.match(await page.textContent("#messages .fix"), /написать 'length'/);
    await bench.write("x' = 1/(1 - time); x(t0) = 0;\nexperiment { end = 3; }\n");
    await bench.until((look) => look.state === "failed");
    assert.match(await page.textContent("#status"), /прервана ошибкой.*шаг стал меньше/);
    await page.click("#models-button");
    await page.click("#models >> text=Новая модель");
    await page.keyboard.press("Enter");
    assert.match((await bench.until((look) => look.path === "model.lisma" && look.state === "done")).text, /Мяч, который прыгает/);
    await bench.open("hoop_ru.rules.md");
    await page.click("#panel-tabs >> text=Автоматы");
    await page.waitForSelector("#panel text >> text=переключилось");
    await page.click("text=Процедуры");
    const words = /\b(?!upper|lower|keep|restart|floor|round|mod|sin|cos|exponent|phase|before|sqrt|exp|abs|min|max|sign)[a-z]{3,}/;
    assert.deepEqual((await page.locator(".procedure small").allTextContents()).filter((t) => words.test(t)), []);
    await page.keyboard.press("Escape");
    const graph = await page.locator("#panel text").allTextContents();
    assert.deepEqual(graph.filter((t) => /\b(turned|times|line|none|sets|interior)\b/.test(t)), []);
    await page.click("#help");
    // all of the page's own words are Russian; names, code and keys are not words
    const english = await page.evaluate(() => [...document.querySelectorAll("dialog p, dialog td:last-child, #tools button, #run-controls button, #parameters header, .tabs button")]
      .map((e) => e.textContent.trim()).filter((t) => /[a-z]{3}/i.test(t) && !/[а-яё]/i.test(t) && !/^(Eng|Saltus)/.test(t)));
    assert.deepEqual(english, []);
    await page.click("dialog >> text=OK");
    await page.click("#language");
  },

  async two_pages_do_not_write_over_each_other(bench) {
    const text = (n) => `x' = ${n}; x(t0) = 0;\nexperiment { end = 1; }\n`;
    const save = async (b, says) => {
      await b.page.keyboard.press("Control+s");
      await b.page.waitForSelector(`#toast:not([hidden]):has-text("${says}")`);
    };
    const make = async (b, n) => {
      await b.page.click("#models-button");
      await b.page.click("#models >> text=Empty");
      await b.page.fill("dialog input", "shared_model");
      await b.page.keyboard.press("Enter");
      await b.until((look) => look.path === "shared_model.lisma");
      await b.write(text(n));
    };
    await make(bench, 1);
    await save(bench, "Saved");
    const other = await newPage(null, bench.form, bench.form.address, bench.page.context());
    await other.until((look) => look.path === "shared_model.lisma" && look.state === "done");
    await bench.write(text(2));
    await save(bench, "Saved");
    await other.write(text(3));
    await save(other, "changed elsewhere");
    await save(other, "Saved");
    await make(bench, 4); // a new model of this name
    await save(bench, "There is a model of this name");
    await bench.page.waitForTimeout(300); // what is not saved is kept as a draft after a moment
    await bench.page.evaluate(() => Object.keys(localStorage).filter((k) => /^saltus\.draft:.*shared_model\.lisma$/.test(k)).forEach((k) => localStorage.removeItem(k)));
    await other.page.reload();
    assert.equal((await other.until((look) => look.state === "done" && look.path === "shared_model.lisma")).text, text(3));
    await other.page.close();
    bench.problems.length = 0; // the browser tells of the answer 412
  },

  async nothing_old_is_waited_for(bench) {
    // nine million equations; the next text does not wait for them
    await bench.write("const n = 3000;\nfor i = 1:n { for j = 1:n { x[i,j]' = -x[i,j]; x[i,j](t0) = 1; } }\nexperiment { end = 1; }\n");
    await bench.page.waitForSelector("#halt");
    await bench.write("const n = 5;\nfor i = 1:n { x[i]' = -i*x[i]; x[i](t0) = 1; }\nexperiment { end = 7; }\n");
    await bench.until((look) => look.state === "done" && look.t === 7 && look.constants.n === 5);
    // a slider of what is counted has whole numbers, and goes on after one without a model
    await bench.slide("n", 0.26);
    await bench.until((look) => look.constants.n === 3 && look.last.x4 === undefined);
    const field = bench.page.locator("#parameters .slider input[type=text]");
    await field.fill("2.5");
    await field.press("Enter");
    await bench.page.waitForSelector("#status.failed");
    await bench.slide("n", 0.4);
    await bench.until((look) => look.constants.n === 4 && look.state === "done");
    bench.problems.length = 0; // the browser tells of the answer 502
  },

  async links_are_text(bench) {
    const text = "// </script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\nx' = 1; experiment { end = 3; }\n";
    const shared = { path: "<img src=x onerror=alert(1)>.lisma", text, set: { "__proto__": 7, nothing: 1, y: "2" }, until: "3; alert(1)", changes: [{ t: 1 }, "a", null] };
    const base = bench.form.address.replace(/#.*/, "");
    const link = `${base}#model=${deflateRawSync(JSON.stringify(shared)).toString("base64url")}`;
    const other = await newPage(null, bench.form, link, bench.page.context());
    let asked = 0;
    other.page.on("dialog", (dialog) => (asked++, dialog.dismiss()));
    const look = await other.until((look) => look.state === "done");
    assert.equal(look.text, text);
    assert.equal(look.t, 3);
    assert.equal(await other.page.evaluate(() => window.hacked), undefined);
    assert.equal(asked, 0);
    assert.deepEqual(other.problems, []);
    for (const broken of ["#model=AAAA", "#model=!!", `#model=${deflateRawSync("[]").toString("base64url")}`]) {
      const page = await newPage(null, bench.form, base + broken, bench.page.context());
      assert.equal((await page.until((look) => look.state === "done")).text.length > 0, true);
      if (broken !== "#model=!!") await page.page.waitForFunction(() => document.getElementById("toast").textContent === "the link holds no model");
      await page.page.close();
    }
    await other.page.close();
  },

  async an_engine_that_ends_is_started_anew(bench) {
    if (bench.form.name !== "serve") return;
    await bench.open("ball.lisma");
    const endAll = () => {
      const tasks = `/proc/${bench.form.child.pid}/task`;
      const pids = new Set(readdirSync(tasks).flatMap((t) => readFileSync(join(tasks, t, "children"), "utf8").split(" ")).filter(Boolean).map(Number));
      assert.ok(pids.size > 0);
      for (const pid of pids) process.kill(pid, "SIGKILL");
    };
    endAll();
    await bench.slide("k", 0.25);
    await bench.page.waitForSelector("#toast:not([hidden])");
    assert.match(await bench.page.textContent("#toast"), /engine has ended/);
    await bench.page.click("#run");
    const look = await bench.until((look) => look.state === "done" && look.constants.k === 0.4);
    assert.ok(look.events.length > 0);
    // other questions find the model again, too
    await bench.page.click("#panel-tabs >> text=Experiments");
    await bench.page.fill("input[name=measure]", "time(main.bounce)");
    await bench.page.fill("input[name=first-count]", "3");
    endAll();
    await bench.page.click("#experiment-run");
    await bench.page.waitForSelector(".told.failed");
    await bench.page.click("#experiment-run");
    await bench.until((look) => look.experiment.rows.length === 3);
    // a model that includes others, and a run that stands somewhere with what was changed in it
    await bench.open("hoop_rolling.rules.md");
    await bench.page.fill("#at", "2.5");
    await bench.page.press("#at", "Enter");
    await bench.until((look) => look.t === 2.5);
    await bench.slide("R radius", 0.6);
    const before = await bench.until((look) => look.changes.length === 1);
    endAll();
    await bench.page.click("#next");
    const again = await bench.until((look) => look.changes.length === 1 && look.t === 2.5 && look.rows > 1);
    assert.deepEqual(again.last, before.last);
    bench.problems.length = 0; // the browser tells of the answer 502
  },

  async gives_the_bits_of_the_command_line(bench) {
    for (const model of ["rules/hoop.rules.md", "closed_space.lisma", "relay.lisma", "stick_slip.lisma", "brick_wall.lisma"]) {
      const look = await bench.open(model);
      const row = lastRow(model);
      // the page knows the values of macros, too
      const same = Object.fromEntries(Object.keys(row).map((name) => [name, look.last[name]]));
      assert.deepEqual(same, row, model);
    }
  },

  async charts_zoom_and_show_all(bench) {
    await bench.open("ball.lisma");
    const canvas = bench.page.locator(".chart canvas >> nth=0");
    const box = await canvas.boundingBox();
    await bench.page.mouse.move(box.x + box.width * 0.8, box.y + 40);
    for (let i = 0; i < 6; i++) await bench.page.mouse.wheel(0, -300);
    const zoomed = await bench.until((look) => look.range.to - look.range.from < 2);
    assert.ok(zoomed.range.from > 5);
    await bench.picture(`${bench.form.name}-zoom`);
    await canvas.dblclick();
    await bench.until((look) => look.range.from === 0 && look.range.to === 14);
    await canvas.focus();
    await bench.page.keyboard.press("+");
    await bench.until((look) => look.range.to - look.range.from < 12);
    await bench.page.keyboard.press("0");
    await bench.until((look) => look.range.to === 14);
  },

  async pictures_hide_nothing(bench) {
    // a curve with jumps, spikes of a step, accumulating events, over 21 000 rows
    await bench.write(`const k = 0.9;
y' = v; y(t0) = 1; v' = -10; v(t0) = 0;
state bounce [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, bounce;
n(t0) = 0; s' = 40*cos(40*time); s(t0) = 0;
every 0.003 { set n = if(n < 0.5, 1 + 5*abs(s), 0); }
experiment { end = 20; out = n, y; }
`);
    await bench.until((look) => look.state === "done" && look.t === 20 && look.charts.flat().includes("n"));
    const found = await bench.page.evaluate(envelopes, { zooms: 1000, names: ["n", "y"] });
    assert.deepEqual(found.problems, []);
    assert.ok(found.dense > 200 && found.sparse > 100, JSON.stringify(found));
    console.log(`  1000 zooms: ${found.dense} of envelopes, ${found.sparse} of single rows, ${found.marks} marks of events`);
    for (const i of [0, 1]) await bench.page.click(`.chart .chart-controls button[title='logarithmic scale'] >> nth=${i}`);
    assert.deepEqual((await bench.page.evaluate(envelopes, { zooms: 150, names: ["n", "y"] })).problems, []);
  },

  async a_million_rows(bench) {
    await bench.write(`for i = 1:10 { x[i]' = i*cos(i*time*300); x[i](t0) = 0; }
experiment { end = 10; every = 1e-5; }
`);
    await bench.until((look) => look.state === "done" && look.rows >= 1_000_000);
    for (let i = 1; i <= 10; i++) {
      const chip = bench.page.locator("#variables .chip", { hasText: new RegExp(`^x${i}$`) });
      if ((await chip.getAttribute("aria-pressed")) === "false") await chip.click();
    }
    const { charts } = await bench.until((look) => look.charts.flat().length === 10);
    assert.equal(charts.flat().length, 10);
    // all ten in sight; the processor's time does not depend on what else the machine does
    await bench.page.setViewportSize({ width: 1280, height: 1900 });
    await bench.page.locator("#panel-splitter").focus();
    for (let i = 0; i < 12; i++) await bench.page.keyboard.press("ArrowDown");
    const session = await bench.page.context().newCDPSession(bench.page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const spent = async () => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
    const FRAMES = 120;
    const draw = (frames) => bench.page.evaluate(async (frames) => {
      for (let i = 0; i < frames; i++) {
        const span = 10 * 0.97 ** i;
        window.saltus.zoom(Math.sin(i) + 5 - span / 2, Math.sin(i) + 5 + span / 2);
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    }, frames);
    await draw(30);
    const before = await spent();
    await draw(FRAMES);
    const each = ((await spent()) - before) / FRAMES;
    // how often the screen shows one depends on what else the machine does
    const shown = await bench.page.evaluate(async () => {
      const times = [];
      for (let i = 0, last = await new Promise(requestAnimationFrame); i < 60; i++) {
        window.saltus.zoom(i / 20, i / 20 + 4);
        const now = await new Promise(requestAnimationFrame);
        times.push(now - last);
        last = now;
      }
      return times.sort((a, b) => a - b)[30];
    });
    console.log(`  a million rows in ten channels: ${each.toFixed(1)} ms of the processor for a frame; one in ${shown.toFixed(1)} ms`);
    // what a frame draws is bounded by the pixels, not by the rows
    const calls = await bench.page.evaluate(async () => {
      const proto = CanvasRenderingContext2D.prototype;
      const { moveTo, lineTo, fillRect } = proto;
      let count = 0;
      for (const [name, call] of Object.entries({ moveTo, lineTo, fillRect })) {
        proto[name] = function (...args) {
          count++;
          return call.apply(this, args);
        };
      }
      window.saltus.zoom(0, 10);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      Object.assign(proto, { moveTo, lineTo, fillRect });
      return count;
    });
    console.log(`  ${calls} pieces of lines for ten channels of a million rows`);
    assert.ok(calls > 1000 && calls < 10 * 1280 * 8, `${calls} pieces of lines in one frame`);
    await bench.page.setViewportSize({ width: 1280, height: 800 });
  },

  async looks(bench) {
    // other sizes, languages and colours, to be looked at
    await bench.open("hoop.rules.md");
    await bench.picture(`${bench.form.name}-rules`);
    await bench.page.click("#theme");
    await bench.open("thermostat.lisma");
    await bench.page.click("#panel-tabs >> text=Automata");
    await bench.picture(`${bench.form.name}-dark`);
    await bench.page.click("#theme");
    await bench.page.click("#language");
    await bench.open("hoop_ru.rules.md");
    await bench.page.setViewportSize({ width: 1680, height: 1000 });
    await bench.picture(`${bench.form.name}-russian`);
    await bench.page.click("#language");
    await bench.page.setViewportSize({ width: 820, height: 1100 });
    await bench.open("stick_slip.lisma");
    await bench.page.click("#pages >> text=Results");
    await bench.picture(`${bench.form.name}-tablet`);
    await bench.page.click("#pages >> text=Model");
    await bench.page.setViewportSize({ width: 1280, height: 800 });
  },
};

/** Zoom at random and compare what is drawn with all rows; runs in the page. What is drawn covers every row in its place, and
 * nothing is drawn where the line through all rows is not. */
function envelopes({ zooms, names }) {
  let seed = 5;
  const next = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 4294967296;
  const proto = CanvasRenderingContext2D.prototype;
  const { moveTo, lineTo, fillRect } = proto;
  let drawn = new Map(); // by canvas: pieces of lines and marks
  let at = [0, 0];
  const of = (context) => {
    if (!drawn.has(context.canvas)) drawn.set(context.canvas, { pieces: [], marks: [] });
    return drawn.get(context.canvas);
  };
  proto.moveTo = function (x, y) {
    at = [x, y];
    of(this).pieces.push([x, y, x, y, this.strokeStyle]);
    moveTo.call(this, x, y);
  };
  proto.lineTo = function (x, y) {
    of(this).pieces.push([at[0], at[1], x, y, this.strokeStyle]);
    at = [x, y];
    lineTo.call(this, x, y);
  };
  proto.fillRect = function (x, y, w, h) {
    of(this).marks.push([x, w]);
    const step = Math.min(1, w);
    for (let at = x + step / 2; at < x + w; at += step) of(this).pieces.push([at, y, at, y + h, this.fillStyle]);
    fillRect.call(this, x, y, w, h);
  };
  /** Lowest and highest of a line in each pixel column. */
  const cover = (pieces, width) => {
    const low = new Float64Array(width).fill(Infinity);
    const high = new Float64Array(width).fill(-Infinity);
    for (const [x0, y0, x1, y1] of pieces) {
      if (Number.isNaN(y0 + y1)) continue;
      const [a, b] = x0 <= x1 ? [x0, x1] : [x1, x0];
      for (let c = Math.max(0, Math.floor(a)); c <= Math.min(width - 1, Math.floor(b)); c++) {
        for (const x of [Math.max(a, c), Math.min(b, c + 1)]) {
          const y = x1 === x0 ? y0 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
          low[c] = Math.min(low[c], y);
          high[c] = Math.max(high[c], y);
        }
        if (x0 === x1) {
          low[c] = Math.min(low[c], y0, y1);
          high[c] = Math.max(high[c], y0, y1);
        }
      }
    }
    return [low, high];
  };
  const problems = [];
  let [dense, sparse, marks] = [0, 0, 0];
  const { t: end, events } = window.saltus.look();
  for (let z = 0; z < zooms && problems.length < 5; z++) {
    const span = end * 10 ** (-3.5 * next());
    const from = (end - span) * next();
    window.saltus.zoom(from, from + span);
    drawn = new Map();
    window.saltus.frame();
    const name = names[z % names.length];
    const chart = [...document.querySelectorAll(".chart")].find((c) => c.querySelector(`.chip[data-name="${name}"]`));
    const canvas = chart.querySelector("canvas");
    const colour = getComputedStyle(chart.querySelector(".chip i")).backgroundColor;
    const { pieces, marks: rects } = drawn.get(canvas);
    const probe = canvas.getContext("2d");
    probe.strokeStyle = colour;
    const curve = pieces.filter((p) => p[4] === probe.strokeStyle);
    const { x, y } = window.saltus.places(name);
    const [left, right] = [62, canvas.clientWidth - 14];
    if (x.length > 3 * (right - left)) dense++;
    else sparse++;
    const width = canvas.clientWidth;
    const [low, high] = cover(curve, width);
    const [allLow, allHigh] = cover(x.slice(1).map((v, i) => [x[i], y[i], v, y[i + 1]]), width);
    for (let i = 0; i < x.length; i++) {
      if (x[i] < left || x[i] >= right || Number.isNaN(y[i])) continue;
      const c = Math.floor(x[i]);
      const near = [c, Math.max(0, c - 1), Math.min(width - 1, c + 1)]; // a row on the edge of a pixel may be drawn in the next
      if (!near.some((k) => low[k] <= y[i] + 0.6 && high[k] >= y[i] - 0.6)) problems.push(`zoom ${z} of ${name}: row ${i} at ${x[i]}, ${y[i]} is not covered by ${low[c]} ... ${high[c]}`);
    }
    for (let c = left + 1; c < right - 1; c++) {
      if (low[c] > high[c]) continue;
      const lowest = Math.min(allLow[c - 1], allLow[c], allLow[c + 1]);
      const highest = Math.max(allHigh[c - 1], allHigh[c], allHigh[c + 1]);
      if (low[c] < lowest - 1.1 || high[c] > highest + 1.1) problems.push(`zoom ${z} of ${name}: at ${c} drawn ${low[c]} ... ${high[c]}, rows ${lowest} ... ${highest}`);
    }
    const columns = new Set(rects.filter(([, w]) => w === 1.5).map(([m]) => m - left));
    const { range } = window.saltus.look();
    const inside = events.filter((e) => e.t >= range.from && e.t <= range.to);
    const wanted = new Set(inside.map((e) => Math.min(right - left - 1, Math.floor(((e.t - range.from) / (range.to - range.from)) * (right - left)))));
    if (columns.size !== wanted.size || [...wanted].some((c) => !columns.has(c))) problems.push(`zoom ${z}: ${columns.size} marks, ${wanted.size} pixels with events`);
    marks += columns.size;
  }
  Object.assign(proto, { moveTo, lineTo, fillRect });
  return { problems, dense, sparse, marks };
}

/** Texts in sight whose contrast is below 4.5 (WCAG 2, level AA); runs in the page. */
function lowContrast() {
  const parse = (c) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.fillStyle = c;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return { r, g, b, a: a / 255 };
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.offsetParent || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || element.closest("svg, [disabled]")) continue;
    let ground = null;
    for (let e = element; e && !ground; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.a > 0.99) ground = c;
    }
    ground ??= parse("white");
    const colour = parse(getComputedStyle(element).color);
    const [a, b] = [light(colour), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)];
}

/** Rows of the seed's figures 1 and 4, as they are typed. */
const hoop = {
  constants: [["m mass", "10", "g"], ["g gravity", "981", "cm/s2"], ["R radius", "30", "cm"]],
  states: [["h height", "400", "cm"], ["Vy velocity", "0", "cm/s"], ["Ay acceler.", "0", "cm/s2"], ["Fy spring", "0", "dyn"],
    ["Fy sum", "0", "dyn"], ["P weight", "0", "dyn"], ["R - h", "0", "cm"]],
  predicates: [["h < R", "`h height` < `R radius`"], ["Vy < 0", "`Vy velocity` < 0"], ["Vy > 0", "`Vy velocity` > 0"]],
  situations: [["braking", "h < R, Vy < 0"], ["speed-up", "h < R, Vy > 0"]],
  rules: [["1", "P weight", "multiplication", "1.00", "m mass", "g gravity"], ["2", "Fy spring", "proportional", "60000.00", "R - h", "", "braking"],
    ["3", "Fy spring", "proportional", "45000.00", "R - h", "", "speed-up"],
    ["4", "Fy sum", "adding", "1.00", "Fy spring", "P weight", "EverTrue", "second coefficient", "-1.00"],
    ["5", "Ay acceler.", "division", "1.00", "Fy sum", "m mass"], ["6", "Vy velocity", "integral", "1.00", "Ay acceler."],
    ["7", "h height", "integral", "1.00", "Vy velocity"], ["8", "R - h", "adding", "1.00", "R radius", "h height", "h < R", "second coefficient", "-1.00"]],
  settings: [["unguarded", "auto"], ["end", "14"]],
};
const rolling = {
  constants: [["m. inertia", "`m mass` * `R radius` * `R radius`", "g cm2"]],
  states: [["Vx velocity", "300"], ["Angle vel.", "0"], ["X", "0"], ["Angle", "0"], ["V rotation", "0"], ["Vtangent", "0"], ["Ving", "0"],
    ["Sign(Ving)", "0"], ["Fx friction", "0"], ["Ax acceler.", "0"], ["M moment", "0"], ["Angle accel.", "0"]],
  predicates: [["Ving > 0", "Ving > 0"]],
  situations: [["slide", "h < R, Ving > 0"]],
  rules: readFileSync(join(root, "models/rules/hoop_rolling.rules.md"), "utf8").split("## Rules")[1].split("\n## ")[0].split("\n")
    .filter((l) => /^\| \d/.test(l)).map((l) => l.split("|").slice(1, -1).map((c) => c.trim())),
};

/** Add rows by clicks and keys. */
async function fillTables(bench, tables) {
  const { page } = bench;
  for (const [section, rows] of Object.entries(tables)) {
    for (const cells of rows) {
      const row = await page.locator(`table[data-section=${section}] tbody tr`).count();
      await page.click(`[data-add=${section}]`);
      await page.waitForSelector(`input[data-key='${section}:${row}:0']`);
      for (const [column, text] of cells.entries()) {
        const input = page.locator(`input[data-key='${section}:${row}:${column}']`);
        if ((await input.inputValue()) === text) continue;
        await input.fill(text);
        await input.press("Tab");
      }
    }
  }
}

/** The last row that the command line gives for a gallery model. */
function lastRow(model) {
  const folder = mkdtempSync(join(tmpdir(), "saltus-row-"));
  const file = join(folder, "rows.csv");
  execFileSync(program, ["run", join(root, "models", model), "-o", file, "--quiet"], { stdio: "ignore" });
  const [header, ...rows] = readFileSync(file, "utf8").trim().split("\n").map((l) => l.split(","));
  rmSync(folder, { recursive: true });
  return Object.fromEntries(header.slice(1).map((n, i) => [n, Number(rows.at(-1)[i + 1])]));
}

// ---- running -------------------------------------------------------------------------------------

async function newPage(browser, form, address = form.address, context = null) {
  const inside = context ?? (await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" }));
  const page = await inside.newPage();
  page.setDefaultTimeout(PATIENCE);
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  if (form.name === "page") await inside.setOffline(true);
  if (form.name === "serve" && address !== form.address) {
    const token = /token=(\w+)/.exec(form.address)[1];
    await page.addInitScript((t) => sessionStorage.setItem("saltus.token", t), token);
  }
  await page.goto(address);
  const bench = new Bench(page, form);
  bench.problems = problems;
  await bench.until((look) => look.state !== null);
  return bench;
}

const folder = mkdtempSync(join(tmpdir(), "saltus-workbench-"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let failed = 0;
const wanted = process.env.SALTUS_FORM; // "serve" or "page": only that one
const forms = [wanted === "page" ? null : await serve(folder), wanted === "serve" ? null : fromDisk()];
for (const form of forms.filter(Boolean)) {
  for (const [name, test] of Object.entries(tests)) {
    if (!only.test(name)) continue;
    const began = Date.now();
    const bench = await newPage(browser, form);
    try {
      await test(bench);
      assert.deepEqual(bench.problems, []);
      console.log(`${form.name}: ${name}: good (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed++;
      console.log(`${form.name}: ${name}: FAILED\n${error.stack}`);
      await bench.page.screenshot({ path: join(tmpdir(), `saltus-failed-${form.name}-${name}.png`) }).catch(() => undefined);
    }
    await bench.page.context().close();
  }
  form.stop();
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);
