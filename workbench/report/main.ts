// SPDX-License-Identifier: MIT
//
// The report of a run: the page that `saltus run --report` writes holds rows, events and explanations as data; this
// script shows them with the charts, bands and lists of the workbench.
import { Bands } from "../src/bands";
import { Chart, ChartHost, Panel, Range, readTheme } from "../src/chart";
import { byId, make, short } from "../src/dom";
import { EventList } from "../src/events";
import { EventRecord, Model, Run } from "../src/session";

/** The settings of the picture (SLT_PLOT_JSON). */
interface Figure {
  title: string | null;
  note: string | null;
  size: [number | null, number | null];
  dark: boolean;
  marks: number[] | null; // times; null: nobody has said which
  bands: string[] | null;
  panels: Panel[];
}

interface Data {
  name: string;
  start: number;
  end: number;
  columns: { name: string; unit: string; values: string }[];
  time: string;
  timeUnit: string;
  automata: { name: string; column: string; states: string[]; values: string }[];
  figure: Figure | null; // null: there is nothing to draw
  events: EventRecord[];
  story: string;
}

/** Numbers of eight bytes, as the program has written them. */
function numbers(text: string): Float64Array {
  const bytes = atob(text);
  const buffer = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) buffer[i] = bytes.charCodeAt(i);
  return new Float64Array(buffer.buffer);
}

function makeRun(data: Data): Run {
  const bands = data.figure?.bands;
  const shown = data.automata.filter((a) => !bands || bands.includes(a.column));
  const automata = shown.map(({ name, states }) => ({ name, states }));
  const model: Model = {
    path: data.name,
    text: "",
    names: {
      variables: data.columns.map(({ name, unit }) => ({ name, kind: "", unit })),
      constants: [],
      automata: [],
      transitions: [],
    },
    experiment: { method: "", out: [] }, panels: [],
    automata,
    drawing: [],
    controls: [],
  };
  const columns = [...data.columns.map((c) => c.name), ...automata.map((a) => `${a.name}.state`)];
  const run = new Run(model, {}, columns);
  const fill = (column: { values: Float64Array; length: number }, values: Float64Array): void => {
    column.values = values;
    column.length = values.length;
  };
  fill(run.rows.time, numbers(data.time));
  data.columns.forEach((c, i) => fill(run.rows.columns[i], numbers(c.values)));
  shown.forEach((a, i) => fill(run.rows.columns[data.columns.length + i], numbers(a.values)));
  run.events = data.events;
  for (const block of data.story.split(/\n\n/)) {
    const head = /^\n?t = ([-+0-9.e]+)/.exec(block);
    if (head) run.stories.set(String(Number(head[1])), block.trim());
  }
  run.state = "done";
  run.start = data.start;
  run.t = run.end = data.end;
  return run;
}

/** The page: charts that share a range and a cursor, and what hangs on them. */
class Report implements ChartHost {
  range: Range;
  cursor: number | null = null;
  kept: Run[] = [];
  readonly marks: number[] | null;
  private readonly order: string[]; // of the colours: what is drawn at first, then the others
  private charts: Chart[] = [];
  private readonly bands: Bands;
  private readonly events: EventList;
  private readonly readout = make("output", { class: "readout" });
  private pending = false;

  constructor(readonly run: Run, private readonly data: Data) {
    this.range = { from: data.start, to: data.end };
    this.marks = data.figure?.marks ?? null;
    const drawn = (data.figure?.panels ?? []).flatMap((panel) => panel.lines.map((line) => line.name));
    this.order = [...new Set([...drawn, ...data.columns.map((c) => c.name)])];
    this.bands = new Bands(byId("bands"), 16);
    this.events = new EventList({ select: (event) => this.show(event), goBack: () => undefined });
    const view = document.getElementById("event-view"); // a run may have no events
    view?.replaceChildren(this.events.element);
    if (view) view.style.height = `${Math.min(340, Math.max(170, 50 + 24 * run.events.length))}px`; // room for an explanation
    byId("chart-bar").replaceChildren(
      make("button", { id: "whole", title: "all of the run (0)", click: () => this.zoom({ from: -Infinity, to: Infinity }) }, "whole run"),
      make("button", { title: "the event before", click: () => this.events.neighbour(-1, this.cursor) }, "◀ event"),
      make("button", { title: "the next event", click: () => this.events.neighbour(1, this.cursor) }, "event ▶"),
      make("button", { id: "phase", title: "one quantity over another", click: () => this.addPhase() }, "phase view"),
      this.readout,
    );
    if (data.figure) this.begin(data.figure);
    this.events.show(run, true);
    new ResizeObserver(() => this.changed()).observe(byId("charts"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.dress());
    byId("theme").addEventListener("click", () => {
      const root = document.documentElement;
      this.wear(root.dataset.theme === "dark" ? "light" : "dark");
    });
    this.dress();
  }

  private dress(): void {
    const dark = this.data.figure?.dark || matchMedia("(prefers-color-scheme: dark)").matches;
    this.wear(dark ? "dark" : "light");
  }

  /** Other colours; legends and names have them too. */
  private wear(theme: string): void {
    document.documentElement.dataset.theme = theme;
    this.charts.forEach((chart) => chart.describe());
    this.listNames();
    this.changed();
  }

  /** The charts of the picture, as they were asked for. */
  private begin({ title, note, size: [width, height], panels }: Figure): void {
    const charts = byId("charts");
    if (title) charts.before(make("p", { class: "title" }, title));
    if (note) charts.after(make("p", {}, make("small", {}, note)));
    if (width) charts.style.maxWidth = `${width}px`;
    for (const panel of panels) {
      if (panel.svg !== undefined) {
        const picture = make("figure", { class: "picture" });
        picture.innerHTML = panel.svg;
        charts.append(picture);
        continue;
      }
      const chart = this.addChart(panel.lines.map((line) => line.name));
      chart.obey(panel);
      if (height) chart.element.style.height = `${Math.max(120, height / panels.length)}px`;
      const { from, to } = panel.axes[0];
      if (panel.x === null) this.zoom({ from: from ?? this.range.from, to: to ?? this.range.to });
    }
  }

  /** Room for the axis at the right, where a chart over the time has one. */
  get right(): number {
    return this.charts.some((chart) => chart.hasRight) ? 56 : 14;
  }

  private addChart(names: string[], x: string | null = null): Chart {
    const chart = new Chart(this, names, (gone) => {
      this.charts = this.charts.filter((c) => c !== gone);
      gone.element.remove();
      this.changed();
    });
    if (x !== null) {
      chart.x = x;
      chart.element.classList.add("phase");
      chart.describe();
    }
    this.charts.push(chart);
    byId("charts").append(chart.element);
    return chart;
  }

  private addPhase(): void {
    const [x, y] = this.data.columns.map((c) => c.name);
    if (!y) return;
    const chart = this.addChart([y], x);
    this.changed();
    chart.element.scrollIntoView({ block: "nearest" });
  }

  /** All quantities, each to be shown or hidden. */
  private listNames(): void {
    byId("variables").replaceChildren(...this.data.columns.map(({ name, unit }) =>
      make("button", { class: "chip", "data-name": name, title: "show or hide", click: () => this.toggle(name) },
        make("i", { style: `background:${this.colour(name)}` }), name, unit ? make("small", {}, unit) : null)));
    this.press();
  }

  private toggle(name: string): void {
    const holders = this.charts.filter((c) => c.x === null && c.names.includes(name));
    for (const chart of holders) chart.remove(name);
    if (holders.length === 0) this.addChart([name]);
    this.changed();
  }

  private press(): void {
    for (const chip of Array.from(byId("variables").children) as HTMLElement[]) {
      const shown = this.charts.some((c) => c.names.includes(chip.dataset.name ?? ""));
      chip.setAttribute("aria-pressed", String(shown));
    }
  }

  // ---- host of the charts ------------------------------------------------------------------------

  colour(name: string): string {
    const theme = readTheme();
    return theme.series[Math.max(0, this.order.indexOf(name)) % theme.series.length];
  }

  zoom({ from, to }: Range): void {
    const { start, end } = this.data;
    const span = Math.max(Math.min(to - from, end - start), (end - start) * 1e-12, 1e-300);
    const left = Math.min(Math.max(from, start), end - span);
    this.range = Number.isFinite(to - from) ? { from: left, to: left + span } : { from: start, to: end };
    this.changed();
  }

  setCursor(t: number | null): void {
    this.cursor = t === null ? null : Math.min(Math.max(t, this.data.start), this.data.end);
    this.changed();
  }

  pick(t: number, tolerance: number): void {
    let best = -1;
    this.run.events.forEach((event, i) => {
      if (event.kind === "initial" || Math.abs(event.t - t) > tolerance) return;
      if (best < 0 || Math.abs(event.t - t) < Math.abs(this.run.events[best].t - t)) best = i;
    });
    if (best >= 0) this.events.select(best);
  }

  changed(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      const theme = readTheme();
      this.charts.forEach((chart) => chart.measure());
      const ends = (i: number): boolean => this.charts[i + 1]?.x !== null; // of charts above each other, the lowest
      this.charts.forEach((chart, i) => chart.draw(theme, ends(i)));
      byId("bands").style.setProperty("--right", `${this.right + 1}px`);
      this.bands.draw(this.run, this.range, this.cursor);
      this.press();
      const unit = this.data.timeUnit ? ` ${this.data.timeUnit}` : "";
      this.readout.textContent = this.cursor === null ? "" : `t = ${short(this.cursor, 8)}${unit}`;
    });
  }

  /** An event that was chosen: the cursor goes there, and its line of the model is shown. */
  private show(event: EventRecord): void {
    this.cursor = event.t;
    const { from, to } = this.range;
    if (event.t < from || event.t > to) this.zoom({ from: event.t - (to - from) / 2, to: event.t + (to - from) / 2 });
    for (const line of Array.from(document.querySelectorAll(".l.now"))) line.classList.remove("now");
    const line = event.line ? document.getElementById(`L${event.line}`) : null;
    line?.classList.add("now");
    const note = this.events.element.querySelector(".actions small");
    if (line && note) note.replaceChildren(make("a", { href: `#L${event.line}` }, `line ${event.line} of the model`));
    this.changed();
  }
}

const holder = document.getElementById("data");
if (holder) {
  const data = JSON.parse(holder.textContent ?? "") as Data;
  document.documentElement.classList.add("live");
  const report = new Report(makeRun(data), data);
  Object.assign(window, { report });
}
