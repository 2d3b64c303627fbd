// SPDX-License-Identifier: MIT
//
// A run under the hands: it is steered, changed while it goes on, kept, taken back, and looked at in charts, drawing and panels.
// Where its model comes from is not known here.
import { Automata } from "./automata";
import { Bands } from "./bands";
import { Board } from "./board";
import { readTheme } from "./chart";
import { Costs } from "./costs";
import { byId, quiet } from "./dom";
import { Drawing } from "./drawing";
import { Engine } from "./engine";
import { EventList } from "./events";
import { Experiments } from "./experiments";
import { Guards } from "./guards";
import { commandLine } from "./link";
import { Look, Looking, LookingHost, View } from "./looking";
import { Measured } from "./measured";
import { Panels } from "./panels";
import { Parameters } from "./parameters";
import { Runs } from "./runs";
import { EventRecord, Listener, Model, Run, Session, Values } from "./session";
import { Store } from "./store";
import { Structure } from "./structure";
import { say } from "./words";

export abstract class Desk extends Board implements Listener, LookingHost {
  protected readonly session: Session;
  protected readonly looking: Looking;
  protected readonly parameters: Parameters;
  protected readonly events: EventList;
  protected readonly experiments: Experiments;
  protected readonly panels: Panels;
  protected readonly drawing = new Drawing(this);
  private readonly bands = new Bands(byId("bands"));
  protected wanted: View | null = null; // what the next run is to be looked at with
  protected refusal = ""; // why there is no run of what was asked for
  private dirty = false; // something is to be drawn
  private changedAt = 0;
  lastLatency = 0; // ms from a slider to its picture

  constructor(protected readonly engine: Engine, store: Store) {
    super();
    this.session = new Session(engine, this);
    this.looking = new Looking(store, this);
    this.parameters = new Parameters(byId("parameters"), (name, value) => this.onSlider(name, value), () => {
      this.session.set = {};
      this.restart();
    }, () => this.addControl());
    this.events = new EventList({ select: (event) => this.onEvent(event), goBack: (t) => void this.session.back(t) });
    this.experiments = new Experiments(engine, this.session, this);
    this.panels = new Panels({
      events: { element: this.events.element, show: () => undefined }, guards: new Guards(this), automata: new Automata(engine, this),
      structure: new Structure(engine, this), experiments: this.experiments, costs: new Costs(this), runs: new Runs(this),
    });
    this.drawing.speed = () => this.session.speed;
    byId("stage").append(this.drawing.element);
  }

  abstract get path(): string; // of the model
  abstract get modelPath(): string; // for command lines
  abstract get isSaved(): boolean;
  /** Light a line of the text or a row of the tables; null: none. */
  abstract goToLine(line: number | null): void;
  abstract onModel(model: Model | null, messages: { severity: string; line: number; text: string }[]): void;
  abstract onTrouble(text: string): void;
  protected abstract showStatus(): void;
  /** The time that is looked at has changed. */
  protected abstract showTime(): void;
  abstract toast(text: string): void;
  /** Let the user choose a slider, a switch or a gauge. */
  protected abstract addControl(): void;

  // ---- what the session tells --------------------------------------------------------------------

  onRun(run: Run, fresh: boolean): void {
    const before = this.run;
    const asks = (r: Run): string => JSON.stringify([r.columns, r.model.panels]);
    const another = fresh && (!before || asks(before) !== asks(run));
    this.run = run;
    this.refusal = "";
    if (another && before?.model.path === run.model.path && !this.hasUsualCharts(before)) this.remembered ??= this.chartViews();
    if (another || this.charts.length === 0) this.chooseCharts(run);
    this.wanted = null;
    byId("stage").hidden = run.model.drawing.length === 0;
    this.parameters.show(run.model, run);
    this.events.show(run, fresh);
    if (this.following) this.range = { from: run.start, to: run.end > run.start ? run.end : run.start + 1 };
    const usual = another ? this.usualRange(run) : null;
    if (usual) this.zoom(usual);
    this.showStatus();
    this.changed();
    this.panels.current.runChanged?.(run, another);
    this.looking.begin();
    this.looking.changed();
    if (!run.unfinished) this.refineSoon();
  }

  onNotice(text: string): void {
    this.toast(say(text));
  }

  /** The model that is open has no run: nothing of the one before it stays in sight. */
  protected showNothing(): void {
    byId("stage").hidden = true;
    this.placeCharts();
    this.events.show(null, true);
    this.panels.show();
  }

  onKept(run: Run): void {
    this.kept.push(run);
  }

  onBusy(): void {
    this.showStatus();
  }

  protected readonly refineSoon = quiet(140, () => {
    const run = this.run;
    if (!run || this.following || run.unfinished) return;
    const { from, to } = this.range;
    const inside = run.rows.find(to, true) - run.rows.find(from);
    const near = run.detail;
    if (inside > 600 || (near && near.from <= from && to <= near.to && to - from > 0.3 * (near.to - near.from))) return;
    const pad = 0.5 * (to - from);
    void this.session.refine(run, Math.max(run.start, from - pad), Math.min(run.end, to + pad), 1500).catch(() => undefined);
  });

  protected zoomed(): void {
    this.refineSoon();
  }

  // ---- steering ----------------------------------------------------------------------------------

  protected restart(): void {
    void this.session.restart();
  }

  protected playOrPause(): void {
    if (!this.session.isPlaying) this.setCursor(null); // what goes on is looked at
    void (this.session.isPlaying ? this.session.pause() : this.session.play());
  }

  showMeasured(measured: Measured | null): void {
    this.measured = measured;
    this.changed();
  }

  /** In a run that goes on the drawing and the values follow it again. */
  pointerLeft(): void {
    if (this.session.isPlaying) this.setCursor(null);
  }

  /** The run stands at this time, and values can be changed there. */
  goTo(t: number): void {
    void this.session.goTo(t).then(() => this.setCursor(null));
  }

  setEnd(t: number | null): void {
    this.session.until = t;
    this.following = true;
    this.restart();
  }

  /** In a run that stands somewhere the run moves; in one that is over the selection does. */
  protected toEvent(by: 1 | -1): void {
    const run = this.run;
    if (!run) return;
    if (!run.unfinished) {
      this.events.neighbour(by, this.cursor);
    } else if (by > 0) {
      void this.session.step().then(() => this.events.select(run.events.length - 1));
    } else {
      const before = run.events.findLast((e) => e.t < run.t);
      void this.session.back(before ? before.t : run.start).then(() => this.events.select(run.events.length - 1));
    }
  }

  protected onSlider(name: string, value: number): void {
    this.changedAt = performance.now();
    void this.session.change(name, value);
  }

  /** Values that were found become those of the sliders. */
  use(values: Values): void {
    Object.assign(this.session.set, values);
    this.restart();
  }

  // ---- what is kept and taken back ---------------------------------------------------------------

  rearranged(): void {
    this.looking.changed();
  }

  looksNow(): { path: string; look: Look; usual: boolean } | null {
    const run = this.run;
    if (!run || !this.path || run.model.path !== this.path || this.wanted) return null;
    return { path: this.path, usual: this.hasUsualCharts(run), look: { set: { ...this.session.set }, until: this.session.until, changes: run.changes, charts: this.chartViews(), kept: [...this.kept] } };
  }

  /** Take back, or make again, what was set, shown and kept. */
  protected travel(to: Look | null): void {
    const run = this.run;
    if (!to || !run) return;
    const reruns = JSON.stringify([to.set, to.until, to.changes]) !== JSON.stringify([this.session.set, this.session.until, run.changes]);
    this.kept = [...to.kept];
    this.charts = to.charts.map((c) => this.restoreChart(c));
    this.session.set = { ...to.set };
    this.session.until = to.until;
    this.placeCharts();
    // a run that stands somewhere stands there again
    if (reruns) void this.session.replay(to.changes, run.live && run.unfinished ? run.t : null);
    if (this.panels.name === "runs") this.panels.show();
  }

  protected undo(): void {
    this.travel(this.looking.undo());
  }

  protected redo(): void {
    this.travel(this.looking.redo());
  }

  keepRun(): void {
    if (this.run && !this.kept.includes(this.run)) this.kept.push(this.run);
    this.looking.changed();
    this.panels.show("runs");
    this.changed();
  }

  dropRun(run: Run): void {
    this.kept = this.kept.filter((k) => k !== run);
    this.looking.changed();
    this.panels.show("runs");
    this.changed();
  }

  /** The settings of a kept run become the present ones. */
  useRun(run: Run): void {
    this.session.set = { ...run.set };
    this.session.until = run.until;
    void (run.changes.length ? this.session.replay(run.changes) : this.session.restart());
  }

  /** Constants, end and changes of the present run, for the engine. */
  settings(): object {
    return { ...this.session.settingsOfRun(), changes: this.run?.changes ?? [] };
  }

  command(): string {
    return commandLine(this.modelPath, this.run?.set ?? {}, this.session.until, Boolean(this.run?.changes.length));
  }

  // ---- looking -----------------------------------------------------------------------------------

  setCursor(t: number | null): void {
    const run = this.run;
    this.cursor = t === null || !run ? null : Math.min(Math.max(t, run.start), run.t);
    this.panels.current.cursorMoved?.();
    this.showTime();
    this.changed();
  }

  protected onEvent(event: EventRecord): void {
    this.setCursor(event.t);
    if (event.t < this.range.from || event.t > this.range.to) {
      const half = (this.range.to - this.range.from) / 2;
      this.zoom({ from: event.t - half, to: event.t + half });
    }
    this.goToLine(event.line);
  }

  selectEvent(event: EventRecord): void {
    this.panels.show("events");
    this.events.select(this.run?.events.indexOf(event) ?? -1);
  }

  pick(t: number, tolerance: number): void {
    const events = this.run?.events ?? [];
    let best = -1;
    events.forEach((event, i) => {
      if (event.kind !== "initial" && Math.abs(event.t - t) <= tolerance && (best < 0 || Math.abs(event.t - t) < Math.abs(events[best].t - t))) best = i;
    });
    if (best >= 0) this.events.select(best);
  }

  /** Draw at the next frame. */
  changed(): void {
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => this.drawNow());
  }

  /** Everything that moves and is in sight, `wholly`: or not; how long it took, in ms. */
  drawNow(wholly = false): number {
    const begun = performance.now();
    this.dirty = false;
    const theme = readTheme();
    this.showVariables();
    this.bands.draw(this.run, this.range, this.cursor);
    const sight = wholly ? undefined : byId("charts").getBoundingClientRect();
    for (const chart of this.charts) chart.measure(sight);
    this.charts.forEach((chart, i) => chart.draw(theme, i === this.charts.length - 1));
    if (!byId("stage").hidden) this.drawing.draw();
    if (this.run) this.parameters.gauge(this.run, this.cursor ?? this.run.t);
    if (this.changedAt) {
      this.lastLatency = performance.now() - this.changedAt;
      if (!this.run?.unfinished) this.changedAt = 0;
    }
    return performance.now() - begun;
  }
}
