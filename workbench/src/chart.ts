// SPDX-License-Identifier: MIT
//
// Charts on a canvas: curves over the time with one zoom and one cursor for all, or over another quantity. What is
// drawn covers every row: where several fall into a pixel, the stretch from the lowest to the highest is drawn.
import { make, short, shortBeside } from "./dom";
import { Measured } from "./measured";
import { Rows } from "./pyramid";
import { labelOf, Run } from "./session";
import { say } from "./words";

export const LEFT = 62; // of the drawing, pixels
const RIGHT = 14;
const TOP = 8;
const BOTTOM = 24;

export interface Range {
  from: number;
  to: number;
}

interface Theme {
  text: string;
  quiet: string;
  line: string;
  ground: string;
  event: string;
  series: string[];
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    text: get("--text"),
    quiet: get("--quiet"),
    line: get("--line"),
    ground: get("--panel"),
    event: get("--accent"),
    series: Array.from({ length: 8 }, (_, i) => get(`--series-${i}`)),
  };
}

/** Round steps of an axis: 1, 2, 2.5 or 5 times a power of ten. */
export function ticks(from: number, to: number, about: number): number[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [from];
  const raw = span / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw) ?? 10 * power;
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor((to + 1e-9 * span) / step) - first + 1;
  return Array.from({ length: Math.min(Math.max(count, 0), 200) }, (_, i) => (first + i) * step);
}

function tickText(value: number, all: number[]): string {
  const step = all.length > 1 ? Math.abs(all[1] - all[0]) : Math.abs(value);
  if (Math.abs(value) < step * 1e-9) return "0";
  const digits = Math.max(3, Math.ceil(Math.log10(Math.abs(value) / step)) + 2);
  return short(value, Math.min(digits, 12));
}

/** Lowest and highest drawn in each pixel column, in units of the quantity; NaN where there is nothing. */
export function envelope(rows: Rows, column: number, range: Range, width: number): Float64Array {
  const result = new Float64Array(2 * width);
  const parts = rows.parts(range.from, range.to, width);
  const values = rows.columns[column];
  for (let x = 0; x < width; x++) {
    values.look(parts[x], parts[x + 1]);
    result[2 * x] = values.low;
    result[2 * x + 1] = values.high;
  }
  return result;
}

/** A stretch for each column of pixels; equal ones side by side are filled as one. */
class Bars {
  private readonly from: Float64Array;
  private readonly to: Float64Array;

  constructor(width: number) {
    this.from = new Float64Array(width).fill(NaN);
    this.to = new Float64Array(width);
  }

  set(x: number, from: number, to: number): void {
    this.from[x] = from;
    this.to[x] = to;
  }

  fill(context: CanvasRenderingContext2D): void {
    const { from, to } = this;
    for (let x = 0, end = 0; x < from.length; x = end) {
      end = x + 1;
      if (Number.isNaN(from[x])) continue;
      while (end < from.length && from[end] === from[x] && to[end] === to[x]) end++;
      context.fillRect(LEFT + x, from[x], end - x, to[x] - from[x]);
    }
  }
}

/** A quantity of a run in a chart. */
interface Curve {
  run: Run;
  rows: Rows;
  column: number;
  colour: string;
  faint: boolean;
  dash: number[];
}

/** How kept runs are drawn: patterns are told apart without colours. */
export const DASHES: number[][] = [[6, 3], [2, 3], [9, 3, 2, 3], [1, 2], [12, 4]];

export interface ChartHost {
  range: Range;
  cursor: number | null;
  run: Run | null;
  kept: Run[];
  readonly measured?: Measured | null;
  colour(name: string): string;
  zoom(range: Range): void;
  setCursor(t: number | null): void;
  pick(t: number, tolerance: number): void;
  changed(): void;
  /** The chart shows something else: it is to be remembered. */
  rearranged?(): void;
  /** Take the run to a time. */
  goTo?(t: number): void;
  /** The pointer is over no chart any more. */
  pointerLeft?(): void;
}

/** One chart: its quantities, its axes. */
export class Chart {
  readonly element: HTMLElement;
  readonly canvas = make("canvas", { tabindex: 0, role: "img" });
  private readonly legend = make("div", { class: "legend" });
  private readonly controls = make("div", { class: "chart-controls" });
  names: string[];
  x: string | null = null; // null: the time
  log = false;
  y: Range = { from: 0, to: 1 };
  private width = 0;
  private height = 0;
  private inSight = true;

  constructor(
    private readonly host: ChartHost,
    names: string[],
    private readonly removed: (chart: Chart) => void,
  ) {
    this.names = names;
    this.element = make("section", { class: "chart" }, make("header", {}, this.legend, this.controls), this.canvas);
    this.listen();
    this.describe();
  }

  // ---- what it shows -----------------------------------------------------------------------------

  add(name: string): void {
    if (!this.names.includes(name)) this.names.push(name);
    this.host.rearranged?.();
    this.describe();
    this.host.changed();
  }

  remove(name: string): void {
    this.names = this.names.filter((n) => n !== name);
    this.host.rearranged?.();
    if (this.names.length === 0) this.removed(this);
    this.describe();
    this.host.changed();
  }

  /** The legend and the controls. */
  describe(): void {
    this.legend.replaceChildren(
      ...this.names.map((name) => {
        const unit = this.host.run?.quantities.find((q) => q.name === name)?.unit;
        return make(
          "button",
          { class: "chip", title: say("remove"), click: () => this.remove(name), "data-name": name },
          make("i", { style: `background:${this.host.colour(name)}` }),
          make("span", {}, labelOf(name)),
          make("b", { class: "value" }),
          unit ? make("small", {}, unit) : null,
        );
      }),
    );
    const select = make("select", { title: say("horizontal axis"), "aria-label": say("horizontal axis") });
    select.append(make("option", { value: "" }, say("time")));
    for (const v of this.host.run?.quantities ?? []) {
      select.append(make("option", { value: v.name, selected: this.x === v.name }, v.name));
    }
    select.addEventListener("change", () => {
      this.x = select.value || null;
      this.host.rearranged?.();
      this.host.changed();
    });
    const log = make("button", {
      class: "mini",
      title: say("logarithmic scale"),
      "aria-pressed": String(this.log),
      click: () => {
        this.log = !this.log;
        this.host.rearranged?.();
        this.describe();
        this.host.changed();
      },
    }, say("log"));
    const close = make("button", { class: "mini", title: say("remove the chart"), click: () => this.removed(this) }, "×");
    this.controls.replaceChildren(select, log, close);
    this.canvas.setAttribute("aria-label", `${say("chart")}: ${this.names.join(", ")}`);
  }

  private curves(): Curve[] {
    const curves: Curve[] = [];
    const add = (run: Run, faint: boolean, dash: number[] = []): void => {
      for (const name of this.names) {
        const column = run.column(name);
        if (column < 0) continue;
        curves.push({ run, rows: this.rowsOf(run), column, colour: this.host.colour(name), faint, dash });
      }
    };
    this.host.kept.forEach((run, i) => {
      if (run !== this.host.run) add(run, true, DASHES[i % DASHES.length]);
    });
    if (this.host.run) add(this.host.run, false);
    return curves;
  }

  /** Rows as close as there are in what is looked at. */
  private rowsOf(run: Run): Rows {
    const { from, to } = this.host.range;
    const near = run.detail;
    return near && near.from <= from && to <= near.to && this.x === null ? near.rows : run.rows;
  }

  /** Where each row of a quantity stands in the picture, pixels: what a drawing of all points would be made of. */
  places(name: string): { x: number[]; y: number[] } {
    const run = this.host.run;
    const rows = run ? this.rowsOf(run) : null;
    const column = run ? run.column(name) : -1;
    const places: { x: number[]; y: number[] } = { x: [], y: [] };
    if (!rows || column < 0) return places;
    const [begin, end] = [Math.max(0, rows.find(this.host.range.from) - 1), Math.min(rows.length, rows.find(this.host.range.to, true) + 1)];
    for (let i = begin; i < end; i++) {
      places.x.push(this.px(rows.time.values[i], this.host.range));
      places.y.push(this.py(rows.columns[column].values[i]));
    }
    return places;
  }

  // ---- drawing -----------------------------------------------------------------------------------

  private px(t: number, range: Range): number {
    return LEFT + ((t - range.from) / (range.to - range.from)) * (this.width - LEFT - RIGHT);
  }

  private py(value: number): number {
    const inner = this.height - TOP - BOTTOM;
    const scale = this.log ? Math.log10 : (v: number): number => v;
    const from = scale(this.y.from);
    return TOP + inner - ((scale(value) - from) / (scale(this.y.to) - from)) * inner;
  }

  /** Choose the vertical axis so that everything in the range is seen. */
  private fit(curves: Curve[], range: Range): void {
    let low = Infinity;
    let high = -Infinity;
    for (const curve of curves) {
      const begin = this.x === null ? Math.max(0, curve.rows.find(range.from) - 1) : curve.rows.find(range.from);
      const end = Math.min(curve.rows.length, curve.rows.find(range.to, true) + (this.x === null ? 1 : 0));
      const [l, h] = curve.rows.columns[curve.column].extremes(begin, end);
      if (l < low) low = l;
      if (h > high) high = h;
    }
    for (const [, value] of this.pointsIn(range)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (!(low <= high)) [low, high] = [0, 1];
    if (this.log) {
      const least = high > 0 ? high * 1e-12 : 1e-12;
      this.y = { from: Math.max(low, least) / 1.3, to: Math.max(high, least) * 1.3 };
      return;
    }
    // what is constant but for rounding is drawn as constant
    const size = Math.max(Math.abs(low), Math.abs(high));
    const pad = high - low > 1e-11 * size ? 0.06 * (high - low) : (size || 1) * 0.5;
    this.y = { from: low - pad, to: high + pad };
  }

  /** Ask the browser for its size: for all charts before any is drawn, or the page is laid out anew for each of them. `window`: what
   * can be seen of the page; a chart outside of it is not drawn. */
  measure(window?: DOMRect): void {
    const box = this.canvas.getBoundingClientRect();
    this.width = Math.max(120, Math.round(box.width));
    this.height = Math.max(70, Math.round(box.height));
    this.inSight = !window || (box.bottom > window.top && box.top < window.bottom);
  }

  draw(theme: Theme, last: boolean): void {
    if (!this.inSight) return;
    const scale = window.devicePixelRatio || 1;
    if (this.canvas.width !== this.width * scale || this.canvas.height !== this.height * scale) {
      this.canvas.width = this.width * scale;
      this.canvas.height = this.height * scale;
    }
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const curves = this.curves();
    this.fit(curves, this.host.range);
    const across = this.x === null ? this.host.range : this.fitAcross(curves);
    this.drawAxes(context, theme, across, last || this.x !== null);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP - 2, this.width - LEFT - RIGHT, this.height - TOP - BOTTOM + 4);
    context.clip();
    for (const curve of curves) {
      context.globalAlpha = curve.faint ? 0.6 : 1;
      context.setLineDash(curve.dash);
      if (this.x === null) this.drawCurve(context, curve, across);
      else this.drawPath(context, curve, across);
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    this.drawPoints(context, theme, across);
    context.restore();
    if (this.x === null) this.drawMarks(context, theme, across);
    this.drawCursor(context, theme, across);
    this.showValues();
  }

  /** Measured values of its quantities: time, value, name. */
  private *pointsIn(range: Range): Generator<[number, number, string]> {
    const measured = this.x === null ? this.host.measured : null;
    for (const name of measured ? this.names : []) {
      const values = measured?.columns.get(name) ?? [];
      for (const [i, value] of values.entries()) {
        const t = measured?.time[i] ?? NaN;
        if (Number.isFinite(value) && t >= range.from && t <= range.to) yield [t, value, name];
      }
    }
  }

  private drawPoints(context: CanvasRenderingContext2D, theme: Theme, range: Range): void {
    context.lineWidth = 1.4;
    for (const [t, value, name] of this.pointsIn(range)) {
      context.beginPath();
      context.arc(this.px(t, range), this.py(value), 3, 0, 2 * Math.PI);
      context.fillStyle = theme.ground;
      context.fill();
      context.strokeStyle = this.host.colour(name);
      context.stroke();
    }
  }

  private fitAcross(curves: Curve[]): Range {
    let low = Infinity;
    let high = -Infinity;
    for (const { rows, run } of curves) {
      const column = run.column(this.x ?? "");
      if (column < 0) continue;
      const [l, h] = rows.columns[column].extremes(rows.find(this.host.range.from), rows.find(this.host.range.to, true));
      if (l < low) low = l;
      if (h > high) high = h;
    }
    if (!(low <= high)) return { from: 0, to: 1 };
    const size = Math.max(Math.abs(low), Math.abs(high));
    const pad = high - low > 1e-11 * size ? 0.04 * (high - low) : (size || 1) * 0.5;
    return { from: low - pad, to: high + pad };
  }

  private drawAxes(context: CanvasRenderingContext2D, theme: Theme, across: Range, labels: boolean): void {
    const bottom = this.height - BOTTOM;
    context.font = "11px system-ui, sans-serif";
    context.strokeStyle = theme.line;
    context.fillStyle = theme.quiet;
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const levels = this.log ? logTicks(this.y) : levelTicks(this.y, this.height / 34);
    context.beginPath();
    for (const value of levels) {
      const y = Math.round(this.py(value)) + 0.5;
      if (y < TOP - 1 || y > bottom + 1) continue;
      context.moveTo(LEFT, y);
      context.lineTo(this.width - RIGHT, y);
      context.fillText(tickText(value, levels), LEFT - 7, y);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const times = ticks(across.from, across.to, (this.width - LEFT - RIGHT) / 90);
    for (const t of times) {
      const x = Math.round(this.px(t, across)) + 0.5;
      context.moveTo(x, TOP);
      context.lineTo(x, bottom);
      if (!labels) continue;
      const text = tickText(t, times);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(x, this.width - half - 1), bottom + 10);
    }
    context.stroke();
    if (this.x === null) return;
    const unit = this.host.run?.quantities.find((q) => q.name === this.x)?.unit;
    context.textAlign = "right";
    context.fillText(unit ? `${this.x}, ${unit}` : this.x, this.width - RIGHT - 4, bottom - 14);
  }

  private drawCurve(context: CanvasRenderingContext2D, curve: Curve, range: Range): void {
    const inner = this.width - LEFT - RIGHT;
    const begin = Math.max(0, curve.rows.find(range.from) - 1);
    const end = Math.min(curve.rows.length, curve.rows.find(range.to, true) + 1);
    context.strokeStyle = context.fillStyle = curve.colour;
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    if (end - begin > 12 * inner || (end - begin > inner && this.isWild(curve, begin, end))) this.drawEnvelope(context, curve, range, inner);
    else this.drawRows(context, curve, range, begin, end);
  }

  /** Whether a line through the rows would go up and down all the time: browsers take some ten milliseconds for such a line. */
  private isWild(curve: Curve, begin: number, end: number): boolean {
    const values = curve.rows.columns[curve.column].values;
    let travel = 0;
    for (let i = begin + 1; i < end; i++) {
      const by = Math.abs(this.py(values[i]) - this.py(values[i - 1]));
      if (by > 0) travel += by;
    }
    return travel > 20 * this.width;
  }

  /** Each row in its place. A jump is a thin broken line. */
  private drawRows(context: CanvasRenderingContext2D, curve: Curve, range: Range, begin: number, end: number): void {
    const time = curve.rows.time.values;
    const values = curve.rows.columns[curve.column].values;
    const jumps: [number, number, number][] = [];
    let drawn = false;
    context.beginPath();
    for (let i = begin; i < end; i++) {
      const value = values[i];
      if (Number.isNaN(value)) {
        drawn = false;
        continue;
      }
      const x = this.px(time[i], range);
      const y = this.py(value);
      const jumped = drawn && time[i] === time[i - 1] && value !== values[i - 1];
      if (jumped) jumps.push([x, this.py(values[i - 1]), y]);
      if (drawn && !jumped) context.lineTo(x, y);
      else context.moveTo(x, y);
      drawn = true;
    }
    context.stroke();
    context.save();
    context.lineWidth = 1;
    context.setLineDash([2, 2]);
    context.globalAlpha *= 0.75;
    context.beginPath();
    for (const [x, from, to] of jumps) {
      context.moveTo(x, from);
      context.lineTo(x, to);
    }
    context.stroke();
    context.restore();
  }

  /** From the lowest to the highest row of each pixel, joined to the one before. Upright rectangles on whole pixels are what canvases
   * are fastest at: a line through all of it takes fifty times as long. High ones are half transparent: other curves run behind them. */
  private drawEnvelope(context: CanvasRenderingContext2D, curve: Curve, range: Range, inner: number): void {
    const extremes = envelope(curve.rows, curve.column, range, inner);
    const alpha = context.globalAlpha;
    const [body, top, bottom] = [new Bars(inner), new Bars(inner), new Bars(inner)];
    let before = { x: NaN, top: NaN, bottom: NaN };
    context.beginPath();
    for (let x = 0; x < inner; x++) {
      const low = extremes[2 * x];
      if (Number.isNaN(low)) continue;
      let [highest, lowest] = [this.py(extremes[2 * x + 1]), this.py(low)];
      if (lowest - highest < 1) highest = (highest + lowest - 1) / 2;
      highest = Math.round(highest);
      lowest = Math.max(Math.round(lowest), highest + 1);
      const joined = before.x === x - 1;
      const from = joined ? Math.min(highest, before.bottom) : highest;
      const to = joined ? Math.max(lowest, before.top) : lowest;
      if (to - from > 4) {
        body.set(x, from, to);
        top.set(x, highest, highest + 1);
        bottom.set(x, lowest - 1, lowest);
      } else {
        top.set(x, from, to);
      }
      if (!joined && !Number.isNaN(before.x)) {
        context.moveTo(LEFT + before.x + 0.5, (before.top + before.bottom) / 2);
        context.lineTo(LEFT + x + 0.5, (highest + lowest) / 2);
      }
      before = { x, top: highest, bottom: lowest };
    }
    context.stroke();
    context.globalAlpha = alpha * 0.5;
    body.fill(context);
    context.globalAlpha = alpha;
    top.fill(context);
    bottom.fill(context);
  }

  /** Over another quantity: points that would fall onto the one before are left out, and of many points those on pixels
   * that have one. Short paths are drawn one by one: a browser takes very long for one that crosses itself a lot. */
  private drawPath(context: CanvasRenderingContext2D, curve: Curve, across: Range): void {
    const column = curve.run.column(this.x ?? "");
    if (column < 0) return;
    const xs = curve.rows.columns[column].values;
    const ys = curve.rows.columns[curve.column].values;
    const time = curve.rows.time.values;
    const begin = curve.rows.find(this.host.range.from);
    const end = curve.rows.find(this.host.range.to, true);
    context.strokeStyle = curve.colour;
    context.lineWidth = 1.4;
    context.beginPath();
    let drawn = false;
    let lastX = NaN;
    let lastY = NaN;
    let pieces = 0;
    const taken = end - begin > 20_000 ? new Uint8Array(this.width * this.height) : null;
    for (let i = begin; i < end; i++) {
      const x = this.px(xs[i], across);
      const y = this.py(ys[i]);
      if (Number.isNaN(x) || Number.isNaN(y)) {
        drawn = false;
        continue;
      }
      const jumped = drawn && time[i] === time[i - 1];
      if (drawn && !jumped && Math.abs(x - lastX) < 0.5 && Math.abs(y - lastY) < 0.5) continue;
      const pixel = Math.floor(y) * this.width + Math.floor(x);
      const known = taken !== null && taken[pixel] > 0 && Math.hypot(x - lastX, y - lastY) < 8;
      if (taken) taken[pixel] = 1;
      if (drawn && !jumped && !known) {
        context.lineTo(x, y);
        if (++pieces % 400 === 0) {
          context.stroke();
          context.beginPath();
          context.moveTo(x, y);
        }
      } else {
        context.moveTo(x, y);
      }
      drawn = true;
      lastX = x;
      lastY = y;
    }
    context.stroke();
  }

  /** Events as ticks on the axis; where several share a pixel the tick is higher. */
  private drawMarks(context: CanvasRenderingContext2D, theme: Theme, range: Range): void {
    const run = this.host.run;
    if (!run) return;
    const bottom = this.height - BOTTOM;
    for (const [x, count] of eventColumns(run, range, this.width - LEFT - RIGHT)) {
      const height = Math.min(8, 4 + Math.log2(count));
      context.fillStyle = theme.event;
      context.fillRect(LEFT + x, bottom + 1, 1.5, height);
    }
    for (const change of run.changes) {
      if (change.t < range.from || change.t > range.to) continue;
      const x = this.px(change.t, range);
      context.fillStyle = theme.text;
      context.beginPath();
      context.moveTo(x - 4, bottom + 9);
      context.lineTo(x + 4, bottom + 9);
      context.lineTo(x, bottom + 1);
      context.fill();
    }
  }

  private drawCursor(context: CanvasRenderingContext2D, theme: Theme, across: Range): void {
    const t = this.host.cursor;
    const run = this.host.run;
    if (t === null || !run || run.rows.length === 0) return;
    const rows = this.rowsOf(run);
    let x = this.px(t, across);
    if (this.x === null) {
      context.strokeStyle = theme.quiet;
      context.lineWidth = 1;
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(Math.round(x) + 0.5, TOP);
      context.lineTo(Math.round(x) + 0.5, this.height - BOTTOM);
      context.stroke();
    } else {
      x = this.px(rows.valueAt(run.column(this.x), t), across);
    }
    for (const name of this.names) {
      const column = run.column(name);
      const y = column < 0 ? NaN : this.py(rows.valueAt(column, t));
      if (Number.isNaN(y) || Number.isNaN(x) || x < LEFT) continue;
      context.fillStyle = theme.ground;
      context.strokeStyle = this.host.colour(name);
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x, y, 3.5, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }

  private showValues(): void {
    const run = this.host.run;
    for (const chip of Array.from(this.legend.children) as HTMLElement[]) {
      const name = chip.dataset.name ?? "";
      const column = run ? run.column(name) : -1;
      const value = chip.querySelector(".value");
      const t = this.host.cursor ?? run?.t ?? 0;
      if (!value) continue;
      const text = run && column >= 0 ? shortBeside(this.rowsOf(run).valueAt(column, t), run.rows.columns[column].size()) : "";
      if (value.textContent !== text) value.textContent = text; // or the page is laid out anew
    }
  }

  // ---- hands -------------------------------------------------------------------------------------

  /** The time under a place of the canvas. */
  private timeAt(x: number): number {
    const { from, to } = this.host.range;
    return from + ((x - LEFT) / (this.width - LEFT - RIGHT)) * (to - from);
  }

  private scaleBy(factor: number, around: number): void {
    const { from, to } = this.host.range;
    this.host.zoom({ from: around - (around - from) * factor, to: around + (to - around) * factor });
  }

  private listen(): void {
    const canvas = this.canvas;
    let grabbed: { x: number; range: Range; moved: boolean } | null = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const { from, to } = this.host.range;
        const by = ((event.deltaX || event.deltaY) / this.width) * (to - from);
        this.host.zoom({ from: from + by, to: to + by });
      } else {
        this.scaleBy(Math.exp(event.deltaY * 0.0015), this.timeAt(event.offsetX));
      }
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      grabbed = { x: event.offsetX, range: { ...this.host.range }, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (grabbed && Math.abs(event.offsetX - grabbed.x) > 3) grabbed.moved = true;
      if (grabbed?.moved && this.x === null) {
        const { from, to } = grabbed.range;
        const by = ((grabbed.x - event.offsetX) / (this.width - LEFT - RIGHT)) * (to - from);
        this.host.zoom({ from: from + by, to: to + by });
      } else if (this.x === null) {
        this.host.setCursor(this.timeAt(event.offsetX));
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (grabbed && !grabbed.moved && this.x === null) {
        const { from, to } = this.host.range;
        this.host.setCursor(this.timeAt(event.offsetX)); // a finger does not hover
        this.host.pick(this.timeAt(event.offsetX), (6 / this.width) * (to - from));
      }
      grabbed = null;
    });
    canvas.addEventListener("pointerleave", () => this.host.pointerLeft?.());
    canvas.addEventListener("dblclick", () => this.host.zoom({ from: -Infinity, to: Infinity }));
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.element.classList.add("target");
    });
    this.element.addEventListener("dragleave", () => this.element.classList.remove("target"));
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.element.classList.remove("target");
      const name = event.dataTransfer?.getData("text/plain");
      if (name && this.host.run && this.host.run.column(name) >= 0) this.add(name);
    });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // keys of the page
    const { from, to } = this.host.range;
    const span = to - from;
    const cursor = this.host.cursor ?? (from + to) / 2;
    switch (event.key) {
      case "ArrowLeft":
      case "ArrowRight": {
        const by = event.key === "ArrowLeft" ? -1 : 1;
        if (event.shiftKey) this.host.zoom({ from: from + 0.2 * by * span, to: to + 0.2 * by * span });
        else this.host.setCursor(cursor + (by * span) / 200);
        break;
      }
      case "+":
      case "=":
        this.scaleBy(0.7, cursor);
        break;
      case "-":
        this.scaleBy(1 / 0.7, cursor);
        break;
      case "Enter":
        this.host.goTo?.(cursor);
        break;
      case "0":
      case "Home":
        this.host.zoom({ from: -Infinity, to: Infinity });
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}

/** At least two, or one could not tell the scale. */
function levelTicks(range: Range, about: number): number[] {
  let levels = ticks(range.from, range.to, about);
  for (let more = 2; levels.length < 2 && more < 32; more *= 2) levels = ticks(range.from, range.to, about * more);
  return levels;
}

function logTicks(range: Range): number[] {
  const result: number[] = [];
  const first = Math.floor(Math.log10(range.from));
  const last = Math.ceil(Math.log10(range.to));
  const every = Math.max(1, Math.ceil((last - first) / 8));
  for (let k = first; k <= last; k += every) result.push(10 ** k);
  return result;
}

/** Pixel columns that have events, and how many: all events of the range are among them. */
export function eventColumns(run: Run, range: Range, width: number): [number, number][] {
  const result: [number, number][] = [];
  const events = run.events;
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle].t < range.from) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < events.length && events[i].t <= range.to; i++) {
    if (events[i].kind === "initial") continue;
    const x = Math.min(width - 1, Math.floor(((events[i].t - range.from) / (range.to - range.from)) * width));
    const last = result[result.length - 1];
    if (last && last[0] === x) last[1]++;
    else result.push([x, 1]);
  }
  return result;
}
