// SPDX-License-Identifier: MIT
//
// Many runs of the model: a parameter varied over a range (or two over a map), how much each constant matters, and constants
// found from measured rows. Each request takes a bounded time; what is asked for goes on until it is done or stopped.
import { byId, download, make, short } from "./dom";
import { Engine } from "./engine";
import { quoteName } from "./expression";
import { shellLine } from "./link";
import { Measured, readMeasured, spread } from "./measured";
import { Panel } from "./panels";
import { Run, Session, Values } from "./session";
import { count, say } from "./words";

const SLICE = 250; // ms of runs per request
const STEPS_OF_KEYS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const MEMBERS_MAX = 1_000_000;
const LEFT = 64;
const BOTTOM = 34;
const TOP = 12;
const LINE_RIGHT = 16;
const FAR = 0.3; // of the spread of measured values: a fit that misses them by more has found nothing
const MAP_RIGHT = 80; // with the scale of its colours

export interface ExperimentHost {
  readonly run: Run | null;
  readonly modelPath: string; // for command lines
  /** Draw measured values into the charts; null: none. */
  showMeasured(measured: Measured | null): void;
  /** Values found here become those of the sliders. */
  use(values: Values): void;
}

interface Sweep {
  parameters: string[];
  measure: string;
  counts: number[];
  spans: [number, number][]; // of the parameters
  rows: number[][]; // parameters, then the measure
  failed: number;
  members: number;
}

interface Derivative {
  parameter: string;
  measure: string;
  at: number;
  value: number;
  derivative: number | null;
  left: number | null;
  right: number | null;
  verdict: "exists" | "one-sided" | "none";
  reason: string;
  changes: (number | null)[];
}

interface Fitted {
  name: string;
  value: number;
  deviation: number | null;
}

type Kind = "sweep" | "sens" | "fit";

/** What stands where the result will be. */
const ABOUT: Record<Kind, string> = {
  sweep: "The model is run for many values of one constant or two, and the measure is drawn over them.",
  sens: "How much the measure changes with each constant, through all events.",
  fit: "Constants are found with which the run comes closest to measured rows.",
};

export class Experiments implements Panel {
  readonly element = make("div", { class: "experiments" });
  private kind: Kind = "sweep";
  private readonly form = make("form", { class: "experiment-form" });
  private readonly result = make("div", { class: "experiment-result" });
  private readonly stopper = make("button", { type: "button", disabled: true, click: () => this.halt() });
  private turn = 0; // counts what was begun or stopped: an older one ends
  private sweep: Sweep | null = null;
  private pointed: number[] | null = null; // a row of the sweep
  private values: Record<string, string> = {}; // what the fields hold, by name
  private data: { name: string; text: string } | null = null;
  private readonly resized = new ResizeObserver(() => this.draw()); // of the result and of its picture, which has what the words leave

  constructor(
    private readonly engine: Engine,
    private readonly session: Session,
    private readonly host: ExperimentHost,
  ) {
    this.element.append(this.form, this.result);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.start();
    });
    this.resized.observe(this.result);
  }

  runChanged(_run: Run, another: boolean): void {
    if (another) this.show();
  }

  /** Another model: what was found is no longer about it. */
  clear(): void {
    this.stop();
    this.sweep = null;
    this.values = {};
    this.data = null;
    this.host.showMeasured(null);
    this.result.replaceChildren();
  }

  stop(): void {
    this.turn++;
    this.stopper.disabled = true;
  }

  /** What is under way ends at once: a sweep with what it has, others with nothing. */
  private halt(): void {
    this.stop();
    if (this.kind === "sweep") return;
    void this.engine.end(); // it would go on until it has found something
    this.tell(say("This was stopped."));
  }

  // ---- the form ----------------------------------------------------------------------------------

  show(): void {
    const kinds: [Kind, string][] = [["sweep", "Vary"], ["sens", "What matters"], ["fit", "Fit to data"]];
    const tabs = make("div", { class: "kinds", role: "group" }, ...kinds.map(([kind, label]) => make("button", {
      type: "button", "aria-pressed": String(this.kind === kind), "data-kind": kind, click: () => {
        this.kind = kind;
        this.stop();
        this.sweep = null;
        this.result.replaceChildren();
        this.show();
      },
    }, say(label))));
    const fields = this.kind === "sweep" ? this.sweepFields() : this.kind === "sens" ? this.sensFields() : this.fitFields();
    this.form.replaceChildren(tabs, ...fields, make("div", { class: "buttons" },
      make("button", { class: "main", id: "experiment-run" }, say("Begin")),
      this.stopper));
    this.stopper.textContent = say("Stop");
    if (!this.result.childElementCount || this.result.querySelector(".empty")) this.result.replaceChildren(make("p", { class: "empty" }, say(ABOUT[this.kind])));
  }

  /** Constants that a run can change. */
  private constants(): string[] {
    const run = this.host.run;
    if (!run) return [];
    const offered = run.model.controls.map((c) => c.name);
    const names = run.model.names.constants.filter((c) => !c.structural && c.name in run.constants)
      .sort((a, b) => a.appearance - b.appearance).map((c) => c.name);
    return [...names.filter((n) => offered.includes(n)), ...names.filter((n) => !offered.includes(n))];
  }

  private input(name: string, value: string, attributes: Record<string, string> = {}): HTMLInputElement {
    const input = make("input", { name, value: this.values[name] ?? value, ...attributes });
    input.addEventListener("input", () => (this.values[name] = input.value));
    return input;
  }

  private choice(name: string, names: string[], chosen: string): HTMLSelectElement {
    const value = names.includes(this.values[name]) ? this.values[name] : chosen;
    const select = make("select", { name }, ...names.map((n) => make("option", { value: n, selected: n === value }, n || "—")));
    select.addEventListener("change", () => {
      this.values[name] = select.value;
      for (const key of [`${name}-from`, `${name}-to`]) delete this.values[key];
      this.show();
    });
    return select;
  }

  private measureField(): HTMLElement {
    const run = this.host.run;
    const quantities = run?.quantities.map((q) => q.name) ?? [];
    const shown = quantities[0] ?? "x";
    const states = (run?.model.automata ?? []).flatMap((a) => a.states.map((s) => `${a.name}.${s}`));
    const proposals = [
      ...quantities.slice(0, 8).flatMap((n) => ["max", "min", "end", "mean", "integral"].map((f) => `${f}(${quoteName(n)})`)),
      ...states.slice(0, 8).flatMap((s) => ["time", "count", "duration"].map((f) => `${f}(${s})`)),
    ];
    return make("label", {}, make("span", {}, say("measure")), this.input("measure", `max(${quoteName(shown)})`, { list: "measures", spellcheck: "false" }),
      make("datalist", { id: "measures" }, ...proposals.map((p) => make("option", { value: p }))));
  }

  private rangeFields(name: string, names: string[], chosen: string, points: number): HTMLElement[] {
    const run = this.host.run;
    const parameter = names.includes(this.values[name]) ? this.values[name] : chosen;
    const control = run?.model.controls.find((c) => c.name === parameter);
    const value = run?.constants[parameter] ?? 1;
    const low = control?.low ?? (value > 0 ? value / 2 : value * 1.5);
    const high = control?.high ?? (value > 0 ? value * 1.5 : value / 2);
    const number = { inputmode: "decimal", size: "6" };
    const row = [make("label", {}, make("span", {}, say(name === "first" ? "parameter" : "and")), this.choice(name, names, chosen))];
    if (parameter) {
      row.push(make("label", { class: "range" }, this.input(`${name}-from`, short(low), { ...number, "aria-label": say("from") }), "…",
        this.input(`${name}-to`, short(high || 1), { ...number, "aria-label": say("to") }), "×",
        this.input(`${name}-count`, String(points), { ...number, size: "3", "aria-label": say("points") })));
    }
    return row;
  }

  private sweepFields(): HTMLElement[] {
    const names = this.constants();
    if (!names.length) return [make("p", { class: "empty" }, say("The model has no constants."))];
    const first = names.includes(this.values.first) ? this.values.first : names[0];
    if (this.values.second === first) this.values.second = "";
    const second = Boolean(this.values.second);
    return [this.measureField(), ...this.rangeFields("first", names, names[0], second ? 21 : 41), ...this.rangeFields("second", ["", ...names.filter((n) => n !== first)], "", 21)];
  }

  private ticks(): HTMLElement {
    return make("div", { class: "ticks" }, ...this.constants().slice(0, 40).map((name) => {
      const box = make("input", { type: "checkbox", name: `use ${name}` });
      const key = `use ${name}`;
      box.checked = (this.values[key] ?? (this.kind === "sens" ? "on" : "")) === "on";
      box.addEventListener("change", () => (this.values[key] = box.checked ? "on" : "off"));
      return make("label", {}, box, name);
    }));
  }

  private sensFields(): HTMLElement[] {
    return [this.measureField(), this.ticks()];
  }

  /** A table of measured rows, to be fitted to. */
  takeData(name: string, text: string): void {
    this.kind = "fit";
    this.data = { name, text };
    this.host.showMeasured(readMeasured(text));
    this.show();
  }

  /** The points go from the charts. */
  private dropData(): void {
    this.data = null;
    this.host.showMeasured(null);
    this.result.replaceChildren();
    this.show();
  }

  private fitFields(): HTMLElement[] {
    const file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", class: "unseen" });
    file.addEventListener("change", () => {
      const chosen = file.files?.[0];
      void chosen?.text().then((text) => this.takeData(chosen.name, text));
    });
    const drop = this.data ? make("button", { type: "button", class: "mini", id: "drop-data", title: say("remove the data"), "aria-label": say("remove the data"), click: () => this.dropData() }, "×") : "";
    return [make("div", { class: "data" }, make("label", {}, make("span", {}, say("data")), make("b", { class: "file" }, this.data?.name ?? say("choose a file"), file)), drop),
      make("p", {}, make("small", {}, say("A table with a column time; other columns have names of quantities."))),
      make("p", {}, say("constants to be found")), this.ticks()];
  }

  // ---- asking ------------------------------------------------------------------------------------

  private number(name: string): number {
    const field = this.form.elements.namedItem(name);
    return field instanceof HTMLInputElement ? Number(field.value.replace(",", ".")) : NaN;
  }

  private text(name: string): string {
    const field = this.form.elements.namedItem(name);
    return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? field.value.trim() : "";
  }

  private chosen(): string[] {
    return this.constants().filter((n) => {
      const box = this.form.elements.namedItem(`use ${n}`);
      return box instanceof HTMLInputElement && box.checked;
    });
  }

  private async start(): Promise<void> {
    const turn = ++this.turn;
    this.stopper.disabled = false;
    try {
      if (this.kind === "sweep") await this.startSweep(turn);
      else if (this.kind === "sens") await this.startSens(turn);
      else await this.startFit(turn);
    } catch (error) {
      if (turn === this.turn) this.tell(error instanceof Error ? error.message : String(error), "failed");
    }
    if (turn === this.turn) this.stopper.disabled = true;
  }

  private tell(text: string, style = ""): void {
    this.result.replaceChildren(make("p", { class: `told ${style}`, role: "status" }, text));
  }

  private async startSweep(turn: number): Promise<void> {
    const parameters = [this.text("first"), this.text("second")].filter(Boolean);
    const ranges = parameters.map((p, i) => {
      const at = i === 0 ? "first" : "second";
      return { p, from: this.number(`${at}-from`), to: this.number(`${at}-to`), count: Math.round(this.number(`${at}-count`)) };
    });
    if (ranges.reduce((n, r) => n * r.count, 1) > MEMBERS_MAX) throw new Error(say("These are too many runs for the page: a million is the most."));
    const bad = ranges.find((r) => !(Number.isFinite(r.from) && Number.isFinite(r.to) && r.from !== r.to && r.count >= 2 && r.count <= 10000));
    if (bad) throw new Error(`${bad.p}: ${say("a range needs two numbers and 2 to 10000 points")}`);
    const design = ranges.map((r) => `${quoteName(r.p)}=${r.from}:${r.to}:${r.count}`);
    const measure = this.text("measure");
    const sweep: Sweep = { parameters, measure, counts: ranges.map((r) => r.count), spans: ranges.map((r) => [Math.min(r.from, r.to), Math.max(r.from, r.to)]), rows: [], failed: 0, members: NaN };
    this.sweep = sweep;
    this.pointed = null;
    const canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": `${measure} (${parameters.join(", ")})` });
    const told = make("p", { class: "told", role: "status" });
    this.result.replaceChildren(told, canvas);
    this.resized.observe(canvas);
    this.listen(canvas, told);
    const { set, until } = this.session.settingsOfRun(); // all members have those of the first
    const others = Object.entries(this.session.set).filter(([n]) => !parameters.includes(n)).flatMap(([n, v]) => ["--set", `${n}=${v}`]);
    const command = shellLine(["saltus", "sweep", this.host.modelPath, ...others, ...(until === undefined ? [] : ["--until", String(until)]), ...design.flatMap((d) => ["--vary", d]), "--measure", measure]);
    const model = this.session.model;
    while (turn === this.turn && !(sweep.rows.length >= sweep.members)) {
      if (this.session.model !== model) throw new Error(say("The model was changed: begin again."));
      const { json, numbers } = await this.engine.ask({ op: "sweep", design, measures: [measure], set, until, from: sweep.rows.length, ms: SLICE });
      sweep.members = json.members;
      sweep.failed += json.failed;
      const width = parameters.length + 1;
      for (let at = 0; at + width <= numbers.length; at += width) sweep.rows.push(Array.from(numbers.subarray(at, at + width)));
      if (turn !== this.turn) break;
      told.textContent = this.status(sweep);
      this.draw();
    }
    told.append(" ", make("button", { type: "button", class: "mini", click: () => download("sweep.csv", csvOf(sweep), "text/csv") }, "CSV"),
      " ", make("code", {}, command));
  }

  private status(sweep: Sweep): string {
    const failed = sweep.failed ? `, ${say("failed")}: ${sweep.failed}` : "";
    return `${count(sweep.rows.length, "run")} ${say("of")} ${sweep.members}${failed}`;
  }

  private async startSens(turn: number): Promise<void> {
    const parameters = this.chosen();
    const measure = this.text("measure");
    if (!parameters.length) throw new Error(say("choose at least one constant"));
    const found: Derivative[] = [];
    const [model, settings] = [this.session.model, this.session.settingsOfRun()]; // the same for all of them
    for (const [i, parameter] of parameters.entries()) {
      if (turn !== this.turn) return;
      if (this.session.model !== model) throw new Error(say("The model was changed: begin again."));
      if (i === 0) this.tell(`${say("looking at")} ${parameter}…`);
      const { json } = await this.engine.ask({ op: "sens", parameters: [parameter], measures: [measure], ...settings });
      found.push(...(json.derivatives as Derivative[]));
      if (turn !== this.turn) return;
      this.showSens(found, parameters.length);
    }
  }

  /** What a small relative change of each constant does to the measure, the largest first. */
  private showSens(found: Derivative[], all: number): void {
    const weight = (d: Derivative): number => {
      const slope = d.derivative ?? Math.max(Math.abs(d.left ?? 0), Math.abs(d.right ?? 0));
      return Math.abs(slope * d.at);
    };
    const sorted = [...found].sort((a, b) => weight(b) - weight(a));
    const most = Math.max(...sorted.map(weight), Number.MIN_VALUE);
    const side = (v: number | null): string => (v === null ? "–" : short(v, 5));
    const notes = (d: Derivative): string[] => [...(d.reason ? [d.reason] : []), ...d.changes.filter((c) => c !== null).map((c) => `${say("order of events changes at")} ${short(c, 7)}`)];
    const rows = sorted.flatMap((d) => [make("tr", { class: d.verdict },
      make("td", {}, d.parameter), make("td", { class: "number" }, short(d.at, 6)),
      make("td", { class: "number" }, d.verdict === "exists" ? side(d.derivative) : `${side(d.left)} | ${side(d.right)}`),
      make("td", {}, make("div", { class: "weight", style: `width:${Math.round((100 * weight(d)) / most)}%` })),
      make("td", {}, say(d.verdict))),
    ...notes(d).map((note) => make("tr", { class: "note" }, make("td", {}), make("td", { colspan: 4 }, make("small", {}, note))))]);
    this.result.replaceChildren(
      make("p", { class: "told", role: "status" }, found.length < all ? `${found.length} ${say("of")} ${all}…` : `${found[0]?.measure} = ${short(found[0]?.value ?? NaN, 8)}`),
      make("table", {}, make("tr", {}, ...["constant", "value", "derivative", "weight", "verdict"].map((h) => make("th", {}, say(h)))), ...rows));
  }

  private async startFit(turn: number): Promise<void> {
    const parameters = this.chosen();
    if (!this.data) throw new Error(say("choose a table of measured rows"));
    if (!parameters.length) throw new Error(say("choose at least one constant"));
    this.tell(`${say("fitting")} ${parameters.join(", ")}…`);
    const { json } = await this.engine.ask({ op: "fit", data: this.data.text, parameters, ...this.session.settingsOfRun() });
    if (turn !== this.turn) return;
    const found = json.parameters as Fitted[];
    const values = Object.fromEntries(found.map((f) => [f.name, f.value]));
    const measured = readMeasured(this.data.text);
    const wide = measured ? spread(measured, this.host.run?.quantities.map((q) => q.name) ?? []) : 0;
    this.result.replaceChildren(
      make("p", { class: "told", role: "status" }, `${say(json.converged ? "found" : "not converged")}: ${count(json.points, "value")}, rms ${short(json.rms, 5)}, ${count(json.runs, "run")}`),
      json.rms > FAR * wide && wide > 0 ? make("p", { class: "told failed" }, say("This is still far from the data. Move the sliders nearer to the points and begin again.")) : "",
      make("table", {}, make("tr", {}, ...["constant", "value", "deviation"].map((h) => make("th", {}, say(h)))),
        ...found.map((f) => make("tr", {}, make("td", {}, f.name), make("td", { class: "number" }, short(f.value, 9)),
          make("td", { class: "number" }, f.deviation === null ? say("not determined") : `± ${short(f.deviation, 3)}`)))),
      make("p", {}, make("button", { type: "button", class: "main", click: () => this.host.use(values) }, say("Use these values"))));
  }

  // ---- pictures ----------------------------------------------------------------------------------

  private get right(): number {
    return this.sweep?.parameters.length === 2 ? MAP_RIGHT : LINE_RIGHT;
  }

  private scales(canvas: HTMLCanvasElement): { x(v: number): number; y(v: number): number; low: number; high: number; ox: [number, number]; oy: [number, number] } | null {
    const sweep = this.sweep;
    if (!sweep?.rows.length) return null;
    const map = sweep.parameters.length === 2;
    const last = sweep.parameters.length;
    let [low, high] = extremes(sweep.rows, last);
    if (!(high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high)))) [low, high] = [low - 1, high + 1];
    const ox = sweep.spans[0];
    const pad = 0.06 * (high - low);
    const oy: [number, number] = map ? sweep.spans[1] : [low - pad, high + pad];
    const width = canvas.clientWidth - LEFT - this.right;
    const height = canvas.clientHeight - TOP - BOTTOM;
    // a point of a map is the middle of its field
    const part = (v: number, [a, b]: [number, number], axis: number): number => {
      const share = (v - a) / (b - a || 1);
      return map ? (share * (sweep.counts[axis] - 1) + 0.5) / sweep.counts[axis] : share;
    };
    const x = (v: number): number => LEFT + part(v, ox, 0) * width;
    const y = (v: number): number => TOP + height - part(v, oy, 1) * height;
    return { x, y, low, high, ox, oy };
  }

  private draw(): void {
    const canvas = this.result.querySelector("canvas");
    const context = canvas?.getContext("2d");
    if (!canvas || !context || !this.sweep) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    context.scale(scale, scale);
    const s = this.scales(canvas);
    if (!s) return;
    const style = getComputedStyle(document.documentElement);
    const get = (name: string): string => style.getPropertyValue(name).trim();
    if (this.sweep.parameters.length === 2) this.drawMap(context, canvas, s);
    else this.drawLine(context, s, get("--series-0"));
    if (this.pointed) this.drawPointed(context, s, this.pointed, get("--text"), get("--ground"));
    context.strokeStyle = get("--line");
    context.lineWidth = 1;
    context.strokeRect(LEFT, TOP, canvas.clientWidth - LEFT - this.right, canvas.clientHeight - TOP - BOTTOM);
    context.fillStyle = get("--quiet");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText(short(s.oy[1], 4), LEFT - 6, TOP + 8);
    context.fillText(short(s.oy[0], 4), LEFT - 6, canvas.clientHeight - BOTTOM);
    context.textAlign = "left";
    context.fillText(short(s.ox[0], 4), LEFT, canvas.clientHeight - BOTTOM + 14);
    context.textAlign = "right";
    context.fillText(short(s.ox[1], 4), canvas.clientWidth - this.right, canvas.clientHeight - BOTTOM + 14);
    context.textAlign = "center";
    context.fillStyle = get("--text");
    context.fillText(this.sweep.parameters[0], (LEFT + canvas.clientWidth - this.right) / 2, canvas.clientHeight - 8);
    context.save();
    context.translate(14, canvas.clientHeight / 2 - BOTTOM / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(this.sweep.parameters[1] ?? this.sweep.measure, 0, 0);
    context.restore();
  }

  private drawLine(context: CanvasRenderingContext2D, s: NonNullable<ReturnType<Experiments["scales"]>>, colour: string): void {
    const sorted = [...(this.sweep?.rows ?? [])].sort((a, b) => a[0] - b[0]);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.6;
    context.beginPath();
    let drawn = false;
    for (const [p, v] of sorted) {
      if (!Number.isFinite(v)) {
        drawn = false;
        continue;
      }
      if (drawn) context.lineTo(s.x(p), s.y(v));
      else context.moveTo(s.x(p), s.y(v));
      drawn = true;
    }
    context.stroke();
    if (sorted.length > 150) return;
    for (const [p, v] of sorted) {
      context.beginPath();
      context.arc(s.x(p), s.y(v), 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  }

  private drawPointed(context: CanvasRenderingContext2D, s: NonNullable<ReturnType<Experiments["scales"]>>, row: number[], colour: string, ground: string): void {
    const y = s.y(row[1]);
    if (!Number.isFinite(y)) return;
    // seen on every ground
    for (const [width, paint] of [[4, ground], [1.6, colour]] as const) {
      context.lineWidth = width;
      context.strokeStyle = paint;
      context.strokeRect(s.x(row[0]) - 5, y - 5, 10, 10);
    }
  }

  private drawMap(context: CanvasRenderingContext2D, canvas: HTMLCanvasElement, s: NonNullable<ReturnType<Experiments["scales"]>>): void {
    const sweep = this.sweep as Sweep;
    const w = (canvas.clientWidth - LEFT - this.right) / sweep.counts[0];
    const h = (canvas.clientHeight - TOP - BOTTOM) / sweep.counts[1];
    for (const [p, q, v] of sweep.rows) {
      const part = (v - s.low) / (s.high - s.low);
      context.fillStyle = Number.isFinite(v) ? heat(part) : "transparent";
      context.fillRect(s.x(p) - w / 2, s.y(q) - h / 2, w + 0.5, h + 0.5);
    }
    // what the colours mean
    const text = getComputedStyle(document.documentElement).getPropertyValue("--quiet").trim();
    const x = canvas.clientWidth - MAP_RIGHT + 12;
    const high = canvas.clientHeight - TOP - BOTTOM;
    for (let i = 0; i < high; i++) {
      context.fillStyle = heat(1 - i / high);
      context.fillRect(x, TOP + i, 10, 1.5);
    }
    context.fillStyle = text;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(short(s.high, 4), x + 14, TOP + 8);
    context.fillText(short(s.low, 4), x + 14, TOP + high);
  }

  /** The point nearest to the pointer is told; a click runs it. */
  private listen(canvas: HTMLCanvasElement, told: HTMLElement): void {
    const nearest = (event: MouseEvent): number[] | null => {
      const s = this.scales(canvas);
      const sweep = this.sweep;
      if (!s || !sweep) return null;
      const map = sweep.parameters.length === 2;
      const distance = (r: number[]): number => Math.hypot(s.x(r[0]) - event.offsetX, map ? s.y(r[1]) - event.offsetY : 0);
      return sweep.rows.reduce((best, r) => (distance(r) < distance(best) ? r : best));
    };
    const point = (row: number[] | null, how: string): void => {
      const sweep = this.sweep;
      if (!row || !sweep) return;
      this.pointed = row;
      const at = sweep.parameters.map((p, i) => `${p} = ${short(row[i])}`).join(", ");
      canvas.title = `${at}: ${sweep.measure} = ${short(row[sweep.parameters.length], 8)}`;
      (told.firstChild as Text).data = `${canvas.title} · ${say(how)}`;
      this.draw();
    };
    const use = (row: number[] | null): void => {
      if (row && this.sweep) this.host.use(Object.fromEntries(this.sweep.parameters.map((p, i) => [p, row[i]])));
    };
    const leave = (): void => {
      this.pointed = null;
      if (this.sweep?.rows.length) (told.firstChild as Text).data = this.status(this.sweep);
      this.draw();
    };
    canvas.addEventListener("pointermove", (event) => point(nearest(event), "a click runs it"));
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("blur", leave);
    canvas.addEventListener("click", (event) => use(nearest(event)));
    canvas.addEventListener("keydown", (event) => {
      const [right, up] = STEPS_OF_KEYS[event.key] ?? [0, 0];
      if (event.key === "Enter") use(this.pointed);
      else if (right || up) point(this.beside(right, up), "Enter runs it");
      else return;
      event.preventDefault();
    });
  }

  /** The point so many steps to the right of the one that is pointed at, and above it; the first one where there is none. */
  private beside(right: number, up: number): number[] | null {
    const { rows, parameters } = this.sweep ?? { rows: [], parameters: [] };
    const at = this.pointed;
    if (!at) return rows[0] ?? null;
    const line = parameters.length === 1;
    const moves = line ? [right] : [right, up]; // above a point of a line there is none
    const ahead = (row: number[]): number => moves.reduce((sum, by, i) => sum + by * (row[i] - at[i]), 0);
    const level = (row: number[]): boolean => moves.every((by, i) => by !== 0 || row[i] === at[i]);
    const there = rows.filter((row) => level(row) && ahead(row) > 0);
    return there.reduce((best, row) => (ahead(row) < ahead(best) ? row : best), there[0] ?? at);
  }

  /** For scripts that test the page. */
  look(): object {
    return { kind: this.kind, rows: this.sweep?.rows ?? [], members: this.sweep?.members ?? 0, told: byId("panel").querySelector(".told")?.textContent ?? "" };
  }
}

/** Lowest and highest number of a column. */
function extremes(rows: number[][], column: number): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { [column]: value } of rows) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** From dark blue over green to yellow: lighter is more, also without colours. */
function heat(part: number): string {
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const at = Math.min(3.999, Math.max(0, part * 4));
  const i = Math.floor(at);
  return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i))).join(",")})`;
}

function csvOf(sweep: Sweep): string {
  const head = [...sweep.parameters, sweep.measure].map((n) => `"${n.replaceAll('"', '""')}"`).join(",");
  return [head, ...sweep.rows.map((r) => r.map((v) => (Number.isNaN(v) ? "" : String(v))).join(","))].join("\n") + "\n";
}
