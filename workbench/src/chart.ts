// SPDX-License-Identifier: MIT
//
// Charts on a canvas: curves over the time with one zoom and one cursor for all, or over another quantity. What is
// drawn covers every row: where several fall into a pixel, the stretch from the lowest to the highest is drawn.
import { make, short, shortBeside } from "./dom";
import { Measured } from "./measured";
import { Column, Rows } from "./pyramid";
import { labelOf, Run } from "./session";
import { say } from "./words";

export const LEFT = 62; // of the drawing, pixels
const RIGHT = 14;
const TOP = 8;
const BOTTOM = 24; // with the texts of the marks
const NAMED = 39; // ... and the name of the axis below them
const STANDS_STILL = 200; // ms without a change
const IN_A_HURRY = 60_000; // rows that are drawn at most while a picture is moved
const STRETCH = 128; // rows that are drawn in one piece then

export interface Range {
  from: number;
  to: number;
}

/** Where an axis ends and how it counts, as far as somebody has asked for it. */
export interface AxisWish {
  label: string | null;
  log: boolean;
  from: number | null;
  to: number | null;
}

/** A panel of a figure (SLT_PLOT_JSON): what stands over what; `svg` where it is no matter of columns. */
export interface Panel {
  x: string | null;
  equal: boolean;
  legend: boolean;
  axes: [AxisWish, AxisWish, AxisWish]; // horizontal, left, right
  lines: { name: string; right: boolean; points: boolean }[];
  svg?: string;
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
export function envelope(rows: Rows, column: number, range: Range, width: number, log = false): Float64Array {
  const result = new Float64Array(2 * width);
  const parts = rows.parts(range.from, range.to, width, log);
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

const DECADES = 12; // that a logarithmic scale shows at most,
const DECADES_TO_ZERO = 6; // ... and of a quantity that reaches zero: it comes as near as rounding lets it
const BELOW = -20; // the place of what has none on a logarithmic scale: far behind the end where it goes

/** From values to places from 0 to 1, and back. */
class Scale {
  from = 0;
  to = 1;
  isEmpty = false; // nothing of what is to be seen has a place
  hides = false; // something has none

  constructor(public log = false) {}

  private count(value: number): number {
    return this.log ? Math.log10(value) : value;
  }

  place(value: number): number {
    if (this.log && value <= 0) return BELOW;
    const from = this.count(this.from);
    const place = (this.count(value) - from) / (this.count(this.to) - from);
    return this.log ? Math.max(place, BELOW) : place;
  }

  /** The same as numbers: value, or its logarithm, times `by` plus `add` lies between two places. */
  line(first: number, last: number): { log: boolean; by: number; add: number } {
    const from = this.count(this.from);
    const by = (last - first) / (this.count(this.to) - from);
    return { log: this.log, by, add: first - from * by };
  }

  at(place: number): number {
    const from = this.count(this.from);
    const value = from + place * (this.count(this.to) - from);
    return this.log ? 10 ** value : value;
  }

  /** Around the lowest and the highest value, with a little room; `positive`: the lowest above zero. */
  fit(low: number, high: number, positive: () => number, room: number): void {
    this.hides = this.log && low <= 0;
    this.isEmpty = this.log && !(high > 0);
    if (this.log) {
      if (this.isEmpty) high = 1;
      const least = high * 10 ** -(this.hides ? DECADES_TO_ZERO : DECADES);
      [this.from, this.to] = [Math.max(this.hides ? Math.min(positive(), high) : low, least) / 1.3, high * 1.3];
      return;
    }
    if (!(low <= high)) [low, high] = [0, 1];
    // what is constant but for rounding is drawn as constant
    const size = Math.max(Math.abs(low), Math.abs(high));
    const pad = high - low > 1e-11 * size ? room * (high - low) : (size || 1) * 0.5;
    [this.from, this.to] = [low - pad, high + pad];
  }

  /** What was asked for takes the place of what the data say. */
  obey(wish: AxisWish | undefined): void {
    const fits = (limit: number | null | undefined): limit is number => typeof limit === "number" && (!this.log || limit > 0);
    if (fits(wish?.from)) this.from = wish.from;
    if (fits(wish?.to)) this.to = wish.to;
    if (!(this.from < this.to)) this.to = this.from + (Math.abs(this.from) || 1);
  }

  ticks(about: number): number[] {
    if (this.isEmpty) return [];
    return this.log ? logTicks(this, about) : levelTicks(this, about);
  }
}

/** Values of a column from an index up to another. */
type Stretch = [column: Column, begin: number, end: number];

/** Choose a scale around stretches of columns and single values. */
function fitTo(scale: Scale, stretches: Stretch[], room: number, single: number[] = []): void {
  let low = Infinity;
  let high = -Infinity;
  for (const [column, begin, end] of stretches) {
    const [l, h] = column.extremes(begin, end);
    if (l < low) low = l;
    if (h > high) high = h;
  }
  for (const value of single) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const positive = (): number => Math.min(...stretches.map(([column, begin, end]) => column.lowestPositive(begin, end)), ...single.filter((v) => v > 0));
  scale.fit(low, high, positive, room);
}

/** A quantity of a run in a chart. */
interface Curve {
  run: Run;
  rows: Rows;
  column: number;
  scale: Scale;
  points: boolean;
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
  /** Times of the events that are marked; null: all events are. */
  readonly marks?: number[] | null;
  /** Room at the right of all charts, so that instants stand above each other. */
  readonly right?: number;
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
  private readonly labels = make("div", { class: "labels" });
  private readonly legend = make("div", { class: "legend" });
  private readonly controls = make("div", { class: "chart-controls" });
  private readonly hidden = make("small", { hidden: true }); // some values are not shown
  names: string[];
  x: string | null = null; // null: the time
  readonly y = new Scale();
  private readonly y2 = new Scale();
  private readonly across = new Scale();
  wish: Panel | null = null;
  private foot = BOTTOM;
  private width = 0;
  private height = 0;
  private inSight = true;

  constructor(
    private readonly host: ChartHost,
    names: string[],
    private readonly removed: (chart: Chart) => void,
  ) {
    this.names = names;
    this.element = make("section", { class: "chart" }, make("header", {}, this.labels, this.legend, this.controls), this.canvas);
    this.listen();
    this.describe();
  }

  // ---- what it shows -----------------------------------------------------------------------------

  get log(): boolean {
    return this.y.log;
  }

  set log(on: boolean) {
    this.y.log = on;
  }

  /** Look as somebody has asked for. */
  obey(wish: Panel): void {
    this.wish = wish;
    this.x = wish.x;
    [this.across.log, this.y.log, this.y2.log] = wish.axes.map((axis) => axis.log);
    this.element.classList.toggle("phase", this.x !== null);
    this.legend.classList.toggle("away", !wish.legend);
    this.describe();
  }

  /** Whether some of its quantities have an axis of their own. */
  get hasRight(): boolean {
    return this.names.some((name) => this.line(name)?.right);
  }

  private line(name: string): Panel["lines"][number] | undefined {
    return this.wish?.lines.find((line) => line.name === name);
  }

  private scaleOf(name: string): Scale {
    return this.line(name)?.right ? this.y2 : this.y;
  }

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
    const label = (axis: number): HTMLElement | null => {
      const text = this.wish?.axes[axis].label;
      return text ? make("span", { class: "axis" }, axis === 2 ? `${text} →` : text) : null;
    };
    this.labels.replaceChildren(...[label(1), label(2)].filter((element) => element !== null));
    this.legend.replaceChildren(
      ...this.names.map((name) => {
        const unit = this.host.run?.quantities.find((q) => q.name === name)?.unit;
        return make(
          "button",
          { class: "chip", title: say("remove"), click: () => this.remove(name), "data-name": name },
          make("i", { style: `background:${this.host.colour(name)}` }),
          make("span", {}, this.line(name)?.right ? `${labelOf(name)} →` : labelOf(name)),
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
      this.across.log = false;
      if (this.wish) this.wish.axes[0] = { label: null, log: false, from: null, to: null };
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
    this.hidden.textContent = say("≤ 0 not shown");
    this.hidden.title = say("values ≤ 0 have no place on a logarithmic scale");
    this.controls.replaceChildren(select, this.hidden, log, close);
    this.canvas.setAttribute("aria-label", `${say("chart")}: ${this.names.join(", ")}`);
  }

  private curves(): Curve[] {
    const curves: Curve[] = [];
    const add = (run: Run, faint: boolean, dash: number[] = []): void => {
      for (const name of this.names) {
        const column = run.column(name);
        if (column < 0) continue;
        const [scale, points] = [this.scaleOf(name), this.line(name)?.points ?? false];
        curves.push({ run, rows: this.rowsOf(run), column, scale, points, colour: this.host.colour(name), faint, dash });
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
      places.x.push(this.px(rows.time.values[i]));
      places.y.push(this.py(rows.columns[column].values[i], this.scaleOf(name)));
    }
    return places;
  }

  // ---- drawing -----------------------------------------------------------------------------------

  private get inner(): number {
    return this.width - LEFT - (this.host.right ?? RIGHT);
  }

  private px(t: number): number {
    return LEFT + this.across.place(t) * this.inner;
  }

  private py(value: number, scale: Scale): number {
    const inner = this.height - TOP - this.foot;
    return TOP + inner - scale.place(value) * inner;
  }

  /** Choose the vertical axes so that everything in the range is seen, as far as nobody has asked for something else. */
  private fit(curves: Curve[], range: Range): void {
    for (const [axis, scale] of [[1, this.y], [2, this.y2]] as const) {
      const stretches = curves.filter((curve) => curve.scale === scale).map((curve): Stretch => {
        const begin = this.x === null ? Math.max(0, curve.rows.find(range.from) - 1) : curve.rows.find(range.from);
        const end = Math.min(curve.rows.length, curve.rows.find(range.to, true) + (this.x === null ? 1 : 0));
        return [curve.rows.columns[curve.column], begin, end];
      });
      fitTo(scale, stretches, 0.06, [...this.pointsIn(range)].filter(([, , name]) => this.scaleOf(name) === scale).map(([, value]) => value));
      scale.obey(this.wish?.axes[axis]);
    }
  }

  /** The time that all charts share. */
  private time(): Scale {
    const { from, to } = this.host.range;
    const rows = this.host.run?.rows;
    // a logarithmic time has no place for its start
    const first = this.across.log && !(from > 0) && rows ? rows.time.values[rows.find(0, true)] : from;
    this.across.from = this.across.log && !(first > 0 && first < to) ? to * 1e-6 : first;
    this.across.to = to;
    return this.across;
  }

  /** The horizontal axis: the time, or another quantity. */
  private fitAcross(curves: Curve[]): void {
    if (this.x === null) {
      this.time();
      return;
    }
    const { from, to } = this.host.range;
    const stretches: Stretch[] = [];
    for (const { rows, run } of curves) {
      const column = run.column(this.x);
      if (column >= 0) stretches.push([rows.columns[column], rows.find(from), rows.find(to, true)]);
    }
    fitTo(this.across, stretches, 0.04);
    this.across.obey(this.wish?.axes[0]);
    if (this.wish?.equal) this.equalize();
  }

  /** One scale on both axes: the one that has room gets more of it. */
  private equalize(): void {
    if (this.across.log || this.y.log) return;
    const sizes: [Scale, number][] = [[this.across, this.inner], [this.y, this.height - TOP - this.foot]];
    const unit = Math.max(...sizes.map(([scale, size]) => (scale.to - scale.from) / size));
    for (const [scale, size] of sizes) {
      const middle = (scale.from + scale.to) / 2;
      [scale.from, scale.to] = [middle - (unit * size) / 2, middle + (unit * size) / 2];
    }
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
    const labels = last || this.x !== null;
    this.foot = labels && this.nameAcross() ? NAMED : BOTTOM;
    this.fit(curves, this.host.range);
    this.fitAcross(curves);
    if (this.x !== null) this.noticeMotion();
    this.drawAxes(context, theme, labels);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP - 2, this.inner, this.height - TOP - this.foot + 4);
    context.clip();
    if (this.x === null) this.drawMarkedTimes(context, theme);
    for (const curve of curves) {
      context.globalAlpha = curve.faint ? 0.6 : 1;
      context.setLineDash(curve.dash);
      if (curve.points) this.drawRowsAsPoints(context, curve);
      else if (this.x === null) this.drawCurve(context, curve, this.host.range);
      else this.drawPath(context, curve);
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    this.drawPoints(context, theme, this.host.range);
    context.restore();
    if (this.x === null) this.drawMarks(context, theme, this.host.range);
    this.drawCursor(context, theme);
    this.showValues();
    const hides = this.y.hides || (this.hasRight && this.y2.hides) || (this.x !== null && this.across.hides);
    if (this.hidden.hidden === hides) this.hidden.hidden = !hides;
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
      context.arc(this.px(t), this.py(value, this.scaleOf(name)), 3, 0, 2 * Math.PI);
      context.fillStyle = theme.ground;
      context.fill();
      context.strokeStyle = this.host.colour(name);
      context.stroke();
    }
  }

  private drawAxes(context: CanvasRenderingContext2D, theme: Theme, labels: boolean): void {
    const [bottom, right] = [this.height - this.foot, LEFT + this.inner];
    context.font = "11px system-ui, sans-serif";
    context.strokeStyle = theme.line;
    context.fillStyle = theme.quiet;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.beginPath();
    for (const scale of this.hasRight ? [this.y, this.y2] : [this.y]) {
      const levels = scale.ticks(this.height / 34);
      context.textAlign = scale === this.y ? "right" : "left";
      for (const value of levels) {
        const y = Math.round(this.py(value, scale)) + 0.5;
        if (y < TOP - 1 || y > bottom + 1) continue;
        context.moveTo(scale === this.y ? LEFT : right, y);
        context.lineTo(scale === this.y ? right : right + 4, y);
        context.fillText(tickText(value, levels), scale === this.y ? LEFT - 7 : right + 7, y);
      }
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const places = this.across.log ? this.across.ticks(this.inner / 150) : ticks(this.across.from, this.across.to, this.inner / 90);
    for (const t of places) {
      const x = Math.round(this.px(t)) + 0.5;
      if (x < LEFT || x > right + 1) continue;
      context.moveTo(x, TOP);
      context.lineTo(x, bottom);
      if (!labels) continue;
      const text = tickText(t, places);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(x, this.width - half - 1), bottom + 10);
    }
    context.stroke();
    if (this.foot === NAMED) context.fillText(this.nameAcross(), LEFT + this.inner / 2, bottom + 25);
  }

  /** What the horizontal axis shows, where somebody has to be told. */
  private nameAcross(): string {
    const unit = this.host.run?.quantities.find((q) => q.name === this.x)?.unit;
    return this.wish?.axes[0].label ?? (this.x === null ? "" : unit ? `${this.x} [${unit}]` : this.x);
  }

  private drawCurve(context: CanvasRenderingContext2D, curve: Curve, range: Range): void {
    const inner = Math.floor(this.inner);
    const begin = Math.max(0, curve.rows.find(range.from) - 1);
    const end = Math.min(curve.rows.length, curve.rows.find(range.to, true) + 1);
    context.strokeStyle = context.fillStyle = curve.colour;
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    const many = end - begin > 12 * inner || (end - begin > inner && this.isWild(curve, begin, end));
    if (many) this.drawEnvelope(context, curve, this.across, inner);
    else this.drawRows(context, curve, begin, end);
  }

  /** Whether a line through the rows would go up and down all the time: browsers take some ten milliseconds for such a line. */
  private isWild(curve: Curve, begin: number, end: number): boolean {
    const values = curve.rows.columns[curve.column].values;
    let travel = 0;
    for (let i = begin + 1; i < end; i++) {
      const by = Math.abs(this.py(values[i], curve.scale) - this.py(values[i - 1], curve.scale));
      if (by > 0) travel += by;
    }
    return travel > 20 * this.width;
  }

  /** Each row in its place. A jump is a thin broken line. */
  private drawRows(context: CanvasRenderingContext2D, curve: Curve, begin: number, end: number): void {
    const time = curve.rows.time.values;
    const values = curve.rows.columns[curve.column].values;
    const jumps: [number, number, number][] = [];
    let drawn = false;
    context.beginPath();
    for (let i = begin; i < end; i++) {
      const value = values[i];
      const x = this.px(time[i]);
      const y = this.py(value, curve.scale);
      if (!Number.isFinite(x) || !Number.isFinite(y)) {
        drawn = false;
        continue;
      }
      const jumped = drawn && time[i] === time[i - 1] && value !== values[i - 1];
      if (jumped) jumps.push([x, this.py(values[i - 1], curve.scale), y]);
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

  /** A line through the lowest and highest row of each pixel, where that goes up and down little; whether it does. */
  private drawSmooth(context: CanvasRenderingContext2D, curve: Curve, extremes: Float64Array): boolean {
    const places = extremes.map((value) => this.py(value, curve.scale));
    let travel = 0;
    for (let x = 0; x < places.length; x += 2) if (places[x] > places[x + 1]) travel += places[x] - places[x + 1];
    if (!(travel < 4 * this.width)) return false;
    let last = NaN;
    context.beginPath();
    for (let x = 0; x < places.length; x += 2) {
      if (Number.isNaN(places[x])) continue;
      const [near, far] = Math.abs(places[x] - last) < Math.abs(places[x + 1] - last) ? [places[x], places[x + 1]] : [places[x + 1], places[x]];
      const across = LEFT + x / 2 + 0.5;
      if (Number.isNaN(last)) context.moveTo(across, near);
      else context.lineTo(across, near);
      context.lineTo(across, far);
      last = far;
    }
    context.stroke();
    return true;
  }

  /** From the lowest to the highest row of each pixel, joined to the one before. Upright rectangles on whole pixels are what canvases
   * are fastest at: a line through all of it takes fifty times as long. High ones are half transparent: other curves run behind them. */
  private drawEnvelope(context: CanvasRenderingContext2D, curve: Curve, range: Range, inner: number): void {
    const extremes = envelope(curve.rows, curve.column, range, inner, this.across.log);
    if (this.drawSmooth(context, curve, extremes)) return;
    const alpha = context.globalAlpha;
    const [body, top, bottom] = [new Bars(inner), new Bars(inner), new Bars(inner)];
    let before = { x: NaN, top: NaN, bottom: NaN };
    context.beginPath();
    for (let x = 0; x < inner; x++) {
      const low = extremes[2 * x];
      if (Number.isNaN(low)) continue;
      let [highest, lowest] = [this.py(extremes[2 * x + 1], curve.scale), this.py(low, curve.scale)];
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
  private drawPath(context: CanvasRenderingContext2D, curve: Curve): void {
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
    if (end - begin > 20_000 && this.drawShades(context, xs, ys, curve, begin, end)) return;
    const taken = end - begin > 20_000 ? new Uint8Array(this.width * this.height) : null;
    const across = this.across.line(LEFT, LEFT + this.inner);
    const up = curve.scale.line(this.height - this.foot, TOP);
    let pieces = 0;
    for (const [first, behind] of this.stretches(begin, end)) {
      let drawn = false;
      let lastX = NaN;
      let lastY = NaN;
      let lastPixel = -1;
      for (let i = first; i < behind; i++) {
        const x = (across.log ? Math.log10(xs[i]) : xs[i]) * across.by + across.add;
        const y = (up.log ? Math.log10(ys[i]) : ys[i]) * up.by + up.add;
        if (!Number.isFinite(x) || !Number.isFinite(y)) {
          drawn = false;
          continue;
        }
        const jumped = drawn && time[i] === time[i - 1];
        if (drawn && !jumped && Math.abs(x - lastX) < 0.5 && Math.abs(y - lastY) < 0.5) continue;
        const pixel = Math.floor(y) * this.width + Math.floor(x);
        const known = taken !== null && taken[pixel] > 0 && pixel !== lastPixel && Math.hypot(x - lastX, y - lastY) < 8;
        if (taken) taken[pixel] = 1;
        lastPixel = pixel;
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
    }
    context.stroke();
  }

  private shades = { key: "", sheet: null as HTMLCanvasElement | null };

  /** A path that would be a solid block, as shades: the more time it spends on a pixel, the darker. False: it would be none. The shades
   * are kept as long as they would be the same: a cursor that moves asks for them again and again. */
  private drawShades(context: CanvasRenderingContext2D, xs: Float64Array, ys: Float64Array, curve: Curve, begin: number, end: number): boolean {
    const { across, width, height } = this;
    const key = [begin, end, curve.column, this.x, curve.colour, width, height, across.from, across.to, across.log,
      curve.scale.from, curve.scale.to, curve.scale.log, this.moved.hurry].join();
    if (key !== this.shades.key) {
      const weight = this.weigh(xs, ys, curve, begin, end);
      const solid = (this.moved.hurry && this.shades.sheet !== null) || isSolid(weight, width, height);
      this.shades = { key, sheet: solid ? shade(weight, width, height, curve.colour) : null };
    }
    if (this.shades.sheet) context.drawImage(this.shades.sheet, 0, 0);
    return this.shades.sheet !== null;
  }

  /** How long a path stays on each pixel. */
  private weigh(xs: Float64Array, ys: Float64Array, curve: Curve, begin: number, end: number): Float32Array {
    const { width, height } = this;
    const weight = new Float32Array(width * height);
    const time = curve.rows.time.values;
    const right = LEFT + this.inner;
    const across = this.across.line(LEFT, right);
    const up = curve.scale.line(this.height - this.foot, TOP);
    for (const [first, behind] of this.stretches(begin, end)) {
      let fromX = NaN;
      let fromY = NaN;
      for (let i = first; i < behind; i++) {
        const x = (across.log ? Math.log10(xs[i]) : xs[i]) * across.by + across.add;
        const y = (up.log ? Math.log10(ys[i]) : ys[i]) * up.by + up.add;
        const passed = i > first ? time[i] - time[i - 1] : 0;
        const steps = passed > 0 ? Math.min(64, Math.ceil(Math.max(Math.abs(x - fromX), Math.abs(y - fromY)))) || 1 : 0;
        for (let k = 1; k <= steps; k++) {
          const atX = Math.floor(fromX + (k / steps) * (x - fromX));
          const atY = Math.floor(fromY + (k / steps) * (y - fromY));
          if (atX >= LEFT && atX < right && atY >= 0 && atY < height) weight[atY * width + atX] += passed / steps;
        }
        fromX = x;
        fromY = y;
      }
    }
    return weight;
  }

  private moved = { key: "", at: -Infinity, timer: 0, hurry: false };

  /** Tell whether the picture is being moved: while it is, a part of many rows has to do, and all are drawn when it stands still. */
  private noticeMotion(): void {
    const { across, y, y2, moved } = this;
    const key = [this.host.range.from, this.host.range.to, across.from, across.to, y.from, y.to, y2.from, y2.to].join();
    const now = performance.now();
    moved.hurry = key !== moved.key && now - moved.at < STANDS_STILL;
    if (key !== moved.key) moved.at = now;
    moved.key = key;
    window.clearTimeout(moved.timer);
    if (moved.hurry) moved.timer = window.setTimeout(() => this.host.changed(), STANDS_STILL);
  }

  /** The rows of a path to be drawn: all, or in a hurry stretches of them, evenly spread. */
  private stretches(begin: number, end: number): [number, number][] {
    if (!this.moved.hurry || end - begin <= IN_A_HURRY) return [[begin, end]];
    const every = STRETCH * Math.ceil((end - begin) / IN_A_HURRY);
    return Array.from({ length: Math.ceil((end - begin) / every) }, (_, k) => {
      const first = begin + k * every;
      return [first, Math.min(end, first + STRETCH)];
    });
  }

  /** A point for each row; of those on one pixel, one. */
  private drawRowsAsPoints(context: CanvasRenderingContext2D, curve: Curve): void {
    const { rows, scale } = curve;
    const xs = this.x === null ? rows.time.values : rows.columns[curve.run.column(this.x)].values;
    const ys = rows.columns[curve.column].values;
    context.fillStyle = curve.colour;
    let last = NaN;
    for (let i = rows.find(this.host.range.from); i < rows.find(this.host.range.to, true); i++) {
      const [x, y] = [this.px(xs[i]), this.py(ys[i], scale)];
      const pixel = Math.round(x) * 65536 + Math.round(y);
      if (!Number.isFinite(pixel) || pixel === last) continue;
      last = pixel;
      context.beginPath();
      context.arc(x, y, 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** The events that somebody wants to see, as lines. */
  private drawMarkedTimes(context: CanvasRenderingContext2D, theme: Theme): void {
    let last = NaN;
    context.strokeStyle = theme.quiet;
    context.lineWidth = 1;
    context.setLineDash([1, 3]);
    context.beginPath();
    for (const t of this.host.marks ?? []) {
      const x = Math.round(this.px(t)) + 0.5;
      if (x === last || !(x >= LEFT && x <= LEFT + this.inner)) continue;
      last = x;
      context.moveTo(x, TOP);
      context.lineTo(x, this.height - this.foot);
    }
    context.stroke();
    context.setLineDash([]);
  }

  /** Events as ticks on the axis; where several share a pixel the tick is higher. */
  private drawMarks(context: CanvasRenderingContext2D, theme: Theme, range: Range): void {
    const run = this.host.run;
    if (!run) return;
    const bottom = this.height - this.foot;
    const marked = this.host.marks?.map((t) => ({ t, kind: "" }));
    for (const [x, count] of eventColumns(marked ?? run.events, range, this.inner, (t) => this.px(t) - LEFT)) {
      const height = Math.min(8, 4 + Math.log2(count));
      context.fillStyle = theme.event;
      context.fillRect(LEFT + x, bottom + 1, 1.5, height);
    }
    for (const change of run.changes) {
      if (change.t < range.from || change.t > range.to) continue;
      const x = this.px(change.t);
      context.fillStyle = theme.text;
      context.beginPath();
      context.moveTo(x - 4, bottom + 9);
      context.lineTo(x + 4, bottom + 9);
      context.lineTo(x, bottom + 1);
      context.fill();
    }
  }

  private drawCursor(context: CanvasRenderingContext2D, theme: Theme): void {
    const t = this.host.cursor;
    const run = this.host.run;
    if (t === null || !run || run.rows.length === 0) return;
    const rows = this.rowsOf(run);
    let x = this.px(t);
    if (this.x === null) {
      context.strokeStyle = theme.quiet;
      context.lineWidth = 1;
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(Math.round(x) + 0.5, TOP);
      context.lineTo(Math.round(x) + 0.5, this.height - this.foot);
      context.stroke();
    } else {
      x = this.px(rows.valueAt(run.column(this.x), t));
    }
    for (const name of this.names) {
      const column = run.column(name);
      const y = column < 0 ? NaN : this.py(rows.valueAt(column, t), this.scaleOf(name));
      if (Number.isNaN(y) || Number.isNaN(x) || x < LEFT || y > this.height - this.foot) continue;
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
    return this.time().at((x - LEFT) / this.inner);
  }

  private scaleBy(factor: number, around: number): void {
    if (this.x !== null) {
      const { from, to } = this.host.range;
      this.host.zoom({ from: around - (around - from) * factor, to: around + (to - around) * factor });
      return;
    }
    const time = this.time();
    const middle = time.place(around);
    this.host.zoom({ from: time.at(middle - middle * factor), to: time.at(middle + (1 - middle) * factor) });
  }

  /** Move the range by a part of it. */
  private pan(by: number): void {
    if (this.x === null) this.host.zoom({ from: this.time().at(by), to: this.time().at(1 + by) });
  }

  private listen(): void {
    const canvas = this.canvas;
    let grabbed: { x: number; last: number; moved: boolean } | null = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.pan((event.deltaX || event.deltaY) / this.width);
      } else {
        this.scaleBy(Math.exp(event.deltaY * 0.0015), this.timeAt(event.offsetX));
      }
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      grabbed = { x: event.offsetX, last: event.offsetX, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (grabbed && Math.abs(event.offsetX - grabbed.x) > 3) grabbed.moved = true;
      if (grabbed?.moved && this.x === null) {
        this.pan((grabbed.last - event.offsetX) / this.inner);
        grabbed.last = event.offsetX;
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

/** Weights of pixels as shades of a colour. */
function shade(weight: Float32Array, width: number, height: number, colour: string): HTMLCanvasElement {
  let most = 0;
  for (let i = 0; i < weight.length; i++) if (weight[i] > most) most = weight[i];
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer); // alpha, blue, green, red from the highest byte on
  const rgb = Number.parseInt(colour.slice(1), 16);
  const ink = ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16);
  const scale = 230 / Math.sqrt(most);
  for (let i = 0; i < weight.length; i++) {
    if (weight[i] > 0) pixels[i] = ((25 + scale * Math.sqrt(weight[i])) << 24) | ink;
  }
  const sheet = make("canvas", { width, height });
  sheet.getContext("2d")?.putImageData(image, 0, 0);
  return sheet;
}

/** Whether a good part of a picture would be nothing but ink: blocks of pixels that are all touched. */
function isSolid(weight: Float32Array, width: number, height: number): boolean {
  const BLOCK = 4;
  let solid = 0;
  for (let y = 0; y + BLOCK <= height; y += BLOCK) {
    for (let x = 0; x + BLOCK <= width; x += BLOCK) {
      let touched = 0;
      for (let k = 0; k < BLOCK * BLOCK; k++) touched += weight[(y + Math.floor(k / BLOCK)) * width + x + (k % BLOCK)] > 0 ? 1 : 0;
      if (touched > 0.6 * BLOCK * BLOCK) solid++; // lines are thicker than a pixel
    }
  }
  return solid * BLOCK * BLOCK > 0.05 * width * height;
}

/** At least two, or one could not tell the scale. */
function levelTicks(range: Range, about: number): number[] {
  let levels = ticks(range.from, range.to, about);
  for (let more = 2; levels.length < 2 && more < 32; more *= 2) levels = ticks(range.from, range.to, about * more);
  return levels;
}

/** Powers of ten; between few of them 2 and 5 times these, in a range without any round steps. They stand closer than steps of equal
 * length: what counts is that they are powers. */
function logTicks(range: Range, about: number): number[] {
  const first = Math.floor(Math.log10(range.from));
  const last = Math.ceil(Math.log10(range.to));
  const most = Math.max(3, 2.5 * about);
  const every = Math.max(1, Math.ceil((last - first) / most));
  const factors = 3 * (last - first) > most ? [1] : [1, 2, 5];
  const result: number[] = [];
  for (let k = first; k <= last; k += every) result.push(...factors.map((f) => f * 10 ** k));
  const seen = result.filter((value) => value >= range.from && value <= range.to);
  return seen.length > 1 ? seen : levelTicks(range, 4);
}

/** Pixel columns that have events, and how many: all events of the range are among them. */
export function eventColumns(events: { t: number; kind: string }[], range: Range, width: number, place: (t: number) => number): [number, number][] {
  const result: [number, number][] = [];
  /** The first event from `low` on of which something holds that holds for all behind it. */
  const first = (low: number, holds: (t: number) => boolean): number => {
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(events[middle].t)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const pixel = (t: number): number => Math.max(0, Math.min(width - 1, Math.floor(place(t))));
  const end = first(0, (t) => t > range.to);
  let at = first(0, (t) => t >= range.from);
  while (at < end && events[at].kind === "initial") at++; // a run begins with them
  while (at < end) {
    const x = pixel(events[at].t);
    const next = Math.min(end, first(at + 1, (t) => pixel(t) > x));
    result.push([x, next - at]);
    at = next;
  }
  return result;
}
