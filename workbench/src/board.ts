// SPDX-License-Identifier: MIT
//
// The board of charts: which quantities are shown where, over one stretch of time with one cursor for all.
import { Chart, ChartHost, Panel, Range } from "./chart";
import { byId, make } from "./dom";
import { Measured } from "./measured";
import { Run, STEP } from "./session";
import { say } from "./words";

const CHARTS_FIRST = 3;

/** A chart as it is remembered. */
export interface ChartView {
  names: string[];
  x: string | null;
  log: boolean;
  wish?: Panel; // what the model asks for
}

export abstract class Board implements ChartHost {
  protected charts: Chart[] = [];
  protected colours = new Map<string, string>();
  protected following = true; // the range shown is all of the run
  protected remembered: ChartView[] | null = null; // what the next run is to be looked at with
  range: Range = { from: 0, to: 1 };
  cursor: number | null = null;
  run: Run | null = null;
  kept: Run[] = [];
  measured: Measured | null = null; // drawn as points

  abstract changed(): void;
  abstract setCursor(t: number | null): void;
  abstract pick(t: number, tolerance: number): void;
  /** Something else is shown: it is to be remembered. */
  abstract rearranged(): void;
  /** Another stretch of time is looked at. */
  protected abstract zoomed(): void;

  colour(name: string): string {
    let variable = this.colours.get(name);
    if (!variable) {
      variable = `--series-${this.colours.size % 8}`;
      this.colours.set(name, variable);
    }
    return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  }
  /** What a run begins with: the panels of the model's picture, or a chart for each of the first quantities. */
  protected usualCharts(run: Run): ChartView[] {
    const known = (name: string): boolean => run.column(name) >= 0;
    // curves in space and histograms are no charts
    const drawn = run.model.panels.filter((p) => p.svg === undefined && (p.x === null || known(p.x)));
    const panels = drawn.map((wish) => ({ names: wish.lines.map((l) => l.name).filter(known), x: wish.x, log: wish.axes[1].log, wish }));
    if (panels.some((p) => p.names.length)) return panels.filter((p) => p.names.length);
    return this.firstQuantities(run).map((name) => ({ names: [name], x: null, log: false }));
  }
  private firstQuantities(run: Run): string[] {
    const all = run.quantities.map((q) => q.name);
    const wanted = run.model.experiment.out.filter((n) => all.includes(n));
    const byHand = new Set(run.model.controls.map((c) => c.name));
    const kinds = new Map(run.model.names.variables.map((v) => [v.name, v.kind]));
    const quiet = (n: string): boolean => byHand.has(n) && kinds.get(n) === "discrete"; // known to who moves it
    return (wanted.length ? wanted : [...all.filter((n) => !quiet(n)), ...all.filter(quiet)]).slice(0, CHARTS_FIRST);
  }
  /** The stretch of time that the model's picture shows; null: all. */
  protected usualRange(run: Run): Range | null {
    const wish = run.model.panels.find((p) => p.x === null)?.axes[0];
    const [from, to] = [wish?.from ?? run.start, wish?.to ?? run.end];
    return wish && from < to && (from > run.start || to < run.end) ? { from, to } : null;
  }
  /** Whether nobody has chosen other charts than those that a run begins with. */
  protected hasUsualCharts(run: Run): boolean {
    return JSON.stringify(this.chartViews()) === JSON.stringify(this.usualCharts(run));
  }
  protected chooseCharts(run: Run): void {
    const before = (this.remembered ?? []).map((c) => ({ ...c, names: c.names.filter((n) => run.column(n) >= 0) })).filter((c) => c.names.length);
    this.remembered = null;
    if (before.length) {
      this.charts = before.map((c) => this.restoreChart(c));
    } else {
      this.colours.clear();
      this.charts = this.usualCharts(run).map((c) => this.restoreChart(c));
    }
    this.placeCharts();
  }
  protected makeChart(names: string[]): Chart {
    names.forEach((name) => this.colour(name));
    return new Chart(this, names, (chart) => {
      this.charts = this.charts.filter((c) => c !== chart);
      this.placeCharts();
    });
  }
  protected restoreChart({ names, x, log, wish }: ChartView): Chart {
    const chart = this.makeChart([...names]);
    if (wish) chart.obey(structuredClone(wish));
    chart.x = x !== null && (this.run?.column(x) ?? -1) >= 0 ? x : null;
    chart.log = log;
    chart.describe();
    return chart;
  }
  protected placeCharts(): void {
    const empty = this.run ? "Click a quantity above to see its chart." : "The charts of a run stand here.";
    byId("charts").replaceChildren(...(this.charts.length ? this.charts.map((c) => c.element) : [make("p", { class: "empty" }, say(empty))]));
    for (const chart of this.charts) chart.describe();
    this.rearranged();
    this.changed();
  }
  /** A chart of something the run has beside the model's quantities. */
  showCurve(column: string): void {
    if (this.charts.some((c) => c.names.includes(column))) return;
    const chart = this.makeChart([column]);
    chart.log = column === STEP;
    this.charts.push(chart);
    this.placeCharts();
  }
  protected toggleChart(name: string): void {
    const holding = this.charts.filter((c) => c.names.includes(name));
    if (holding.length) holding.forEach((c) => c.remove(name));
    else this.charts.push(this.makeChart([name]));
    this.placeCharts();
  }
  protected showVariables(): void {
    const run = this.run;
    const box = byId("variables");
    const shown = new Set(this.charts.flatMap((c) => c.names));
    const key = [...shown].join("\n") + (run?.model.path ?? "") + (run?.columns.length ?? 0);
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.replaceChildren(...(run?.quantities ?? []).map(({ name, unit }) => {
      const chip = make("button", {
        class: "chip", draggable: "true", title: say("drag a variable into a chart"), "aria-pressed": String(shown.has(name)),
        click: (event: Event) => {
          if (event instanceof MouseEvent && event.shiftKey) this.charts.at(-1)?.add(name);
          else this.toggleChart(name);
          this.rearranged();
        },
      }, shown.has(name) ? make("i", { style: `background:${this.colour(name)}` }) : null, name, unit ? make("small", {}, unit) : null);
      chip.addEventListener("dragstart", (event) => event.dataTransfer?.setData("text/plain", name));
      return chip;
    }));
    const all = run?.model.names.variables.length ?? 0;
    const shownHere = run?.quantities.length ?? 0;
    if (all > shownHere) box.append(make("small", { title: "experiment { out = ...; }" }, `${shownHere} / ${all}`));
  }
  zoom(range: Range): void {
    const run = this.run;
    if (!run) return;
    const least = Math.max(1e-12 * Math.abs(run.end), Number.MIN_VALUE * 1e10);
    let from = Math.max(range.from, run.start);
    let to = Math.min(range.to, Math.max(run.end, run.start + least));
    const span = range.to - range.from;
    // moving to the edge keeps the scale
    if (Number.isFinite(span) && span <= run.end - run.start) {
      if (from === run.start) to = from + span;
      else if (to === run.end) from = to - span;
    }
    if (!(to - from > least)) return;
    this.following = from <= run.start && to >= run.end;
    this.range = { from, to };
    this.changed();
    this.zoomed();
  }
  protected chartViews(): ChartView[] {
    return this.charts.map((c) => ({ names: [...c.names], x: c.x, log: c.log, ...(c.wish ? { wish: c.wish } : {}) }));
  }
  /** Room for the axis at the right, where a chart over the time has one. */
  get right(): number {
    return this.charts.some((chart) => chart.hasRight) ? 56 : 14;
  }
  get shownCharts(): Chart[] {
    return this.charts;
  }
}
