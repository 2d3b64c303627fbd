// SPDX-License-Identifier: MIT
//
// The workbench: puts the parts of the page together.
import { Automata } from "./automata";
import { Bands } from "./bands";
import { Board, ChartView } from "./board";
import { readTheme } from "./chart";
import { Command, Commands } from "./commands";
import { Costs } from "./costs";
import { askControl, controlEdit } from "./controls";
import { byId, make, quiet, short } from "./dom";
import { askText, leaveByPress, showHelp, toast } from "./dialogs";
import { Drawing } from "./drawing";
import { Editor } from "./editor";
import { Engine, openEngine, ServedEngine } from "./engine";
import { EventList, eventText } from "./events";
import { Experiments } from "./experiments";
import { Exporter } from "./exporting";
import { Guards } from "./guards";
import { History } from "./history";
import { commandLine, readLink, writeLink } from "./link";
import { Manual } from "./manual";
import { lasting } from "./memory";
import { ModelMenu } from "./models";
import { Parameters } from "./parameters";
import { Runs } from "./runs";
import { EventRecord, Listener, Model, Run, Session, Settings, Values } from "./session";
import { firstGiven, Store } from "./store";
import { listenToSplitter } from "./splitter";
import { Structure } from "./structure";
import { Tables } from "./tables";
import { Tour, TourView } from "./tour";
import { Watch } from "./watch";
import { count, getLanguage, say, setLanguage } from "./words";

type Panel = "events" | "guards" | "automata" | "structure" | "experiments" | "costs" | "runs";

/** What the user has made around a model: it comes back with it. */
interface View {
  set: Values;
  until: number | null;
  charts: ChartView[];
  kept: Settings[];
}

/** The same with the runs themselves, to go back to. */
interface Past {
  set: Values;
  until: number | null;
  charts: ChartView[];
  kept: Run[];
}

/** A view as it was stored, as far as it is one. */
function readView(raw: unknown): View | null {
  const view = raw as View | null;
  const good = view && typeof view.set === "object" && Array.isArray(view.charts) && Array.isArray(view.kept);
  return good ? view : null;
}

const FIRST_MODEL = "gallery/ball.lisma";
const PATIENCE = 1500; // ms without an answer after which the page says so
class Workbench extends Board implements Listener {
  private readonly store: Store;
  private readonly session: Session;
  private readonly editor: Editor;
  private readonly tables: Tables;
  private readonly parameters: Parameters;
  private readonly events: EventList;
  private readonly bands = new Bands(byId("bands"));
  private readonly drawing = new Drawing(this);
  private readonly experiments: Experiments;
  private readonly guards = new Guards(this);
  private readonly costs = new Costs(this);
  private readonly structure = new Structure(this);
  private readonly automata = new Automata(this);
  private readonly runs = new Runs(this);
  private readonly exporter: Exporter;
  private readonly menu: ModelMenu;
  private readonly manual = new Manual(byId("manual"));
  private readonly tour = new Tour(this);
  private readonly commands = new Commands(() => this.allCommands());
  private readonly past = new History<Past>((p) => JSON.stringify([p.set, p.until, p.charts, p.kept.map((r) => [r.set, r.until, r.changes])]));
  private readonly watched: ServedEngine | null; // not null: a program in C is looked at
  private wanted: View | null = null; // what the next run is to be looked at with
  private readonly engine: Engine;
  private path = "";
  private savedText = "";
  private version: string | null = null;
  private replaced = ""; // the file that the next saving may replace, whoever wrote it
  private panel: Panel = "events";
  private view: "text" | "tables" = "text";
  private dirty = false; // something is to be drawn
  private refusal = ""; // why there is no run of what was asked for
  lastLatency = 0; // ms from a slider to its picture
  private changedAt = 0;

  constructor() {
    super();
    const { engine, server, watches } = openEngine();
    this.engine = engine;
    this.watched = watches ? server : null;
    this.store = new Store(server);
    this.session = new Session(engine, this);
    this.editor = new Editor(byId("editor"), engine, {
      onText: () => this.onText(),
      onMessages: () => this.onMessages(),
      ask: (old) => askText("Rename", "new name", old),
      run: () => void this.session.restart(),
    });
    this.tables = new Tables(byId("tables"), this.editor, engine, (path) => this.openModel(path));
    this.parameters = new Parameters(byId("parameters"), (name, value) => this.onSlider(name, value), () => {
      this.session.set = {};
      void this.session.restart();
    }, () => void this.addControl());
    this.events = new EventList({ select: (event) => this.onEvent(event), goBack: (t) => void this.session.back(t) });
    this.experiments = new Experiments(engine, this.session, this);
    this.exporter = new Exporter(engine, this);
    this.menu = new ModelMenu(this.store, this);
    this.drawing.speed = () => this.session.speed;
    byId("stage").append(this.drawing.element);
    this.setTheme(lasting.get("saltus.theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.buildControls();
    this.showPanel("events");
    this.listen();
  }

  // ---- beginning ---------------------------------------------------------------------------------

  /** A program in C under `saltus watch`: its graphs and its animation. */
  private watch(server: ServedEngine): void {
    document.body.dataset.watch = "yes";
    document.body.dataset.page = "run";
    const status = byId("status");
    status.textContent = say("waiting for the program");
    const watch = new Watch(server, {
      onWatched: (run, fresh) => {
        this.run = run;
        if (fresh) {
          this.charts = run.quantities.map((q) => this.makeChart([q.name]));
          this.placeCharts();
        }
        byId("stage").hidden = !watch.hasScene;
        if (this.following) this.range = { from: run.start, to: run.end > run.start ? run.end : run.start + 1 };
        status.textContent = `${say("running")} · t = ${short(run.t)} · ${count(run.rows.length, "row")}`;
        this.changed();
      },
      onEnd: (text) => {
        status.textContent = `${text} · t = ${short(this.run?.t ?? 0)}`;
        this.changed();
      },
    });
    this.drawing.scene = (canvas, t) => watch.draw(canvas, t);
    void watch.follow();
  }

  async begin(): Promise<void> {
    if (this.watched) {
      this.watch(this.watched);
      return;
    }
    try {
      const shared = await readLink(location.hash);
      if (shared) {
        history.replaceState(null, "", location.pathname + location.search);
        this.session.until = shared.until;
        await this.showModel(shared.path, shared.text, "", true, () => {
          Object.assign(this.session.set, shared.set);
        });
        if (shared.changes.length) await this.session.replay(shared.changes);
        return;
      }
    } catch (error) {
      this.toast(error instanceof Error ? say(error.message) : String(error));
    }
    const last = lasting.get("saltus.last") ?? firstGiven() ?? FIRST_MODEL;
    await this.open(last).catch(() => this.open(FIRST_MODEL));
  }

  private opening = 0; // counts models that were asked for: the last one is shown

  async open(path: string): Promise<void> {
    const turn = ++this.opening;
    let opened = { text: "", version: "" as string | null };
    const draft = this.store.draft(path);
    try {
      opened = await this.store.open(path);
    } catch (error) {
      if (draft === null) throw error;
    }
    if (turn !== this.opening) return;
    const restored = draft !== null && draft !== opened.text;
    const view = readView(this.store.view(path));
    await this.showModel(path, restored ? draft : opened.text, opened.version, false, view ? () => this.restore(view) : undefined);
    if (turn !== this.opening - 1) return;
    this.savedText = opened.text;
    this.showName();
    if (restored) this.toast(say("Unsaved work was restored."));
  }

  private async showModel(path: string, text: string, version: string | null, keep: boolean, before?: () => void): Promise<void> {
    const turn = ++this.opening;
    const files = this.store.beside(path);
    await this.session.hand(files).catch(() => undefined);
    if (turn !== this.opening) return;
    this.path = path;
    this.version = version;
    this.replaced = "";
    this.savedText = text;
    lasting.set("saltus.last", path);
    this.kept = [];
    this.past.clear();
    this.run = null;
    this.charts = [];
    this.colours.clear();
    this.cursor = null;
    this.following = true;
    this.parameters.clear();
    this.drawing.stop();
    this.experiments.clear();
    this.editor.open(path, text);
    this.tables.show(path);
    this.setView(path.endsWith(".rules.md") ? "tables" : "text");
    this.showName();
    this.session.set = keep ? this.session.set : {};
    if (!keep) this.session.until = null;
    before?.();
    this.requested = { path, text };
    await this.session.open(path, text, files, true, this.wanted?.kept);
  }

  private restore(view: View): void {
    this.session.set = { ...view.set };
    this.session.until = view.until;
    this.wanted = view;
    this.remembered = view.charts;
  }

  /** What is set, shown and kept comes back with the model. */
  private readonly keepView = quiet(300, () => {
    const run = this.run;
    if (!run || run.model.path !== this.path || this.wanted || this.watched) return;
    const charts = this.chartViews();
    const usual = this.hasUsualCharts(run);
    this.past.note({ set: { ...this.session.set }, until: this.session.until, charts, kept: [...this.kept] });
    const kept = this.kept.map((r) => ({ set: r.set, until: r.until, changes: r.changes }));
    const plain = Object.keys(this.session.set).length === 0 && this.session.until === null && kept.length === 0 && usual;
    if (plain) this.store.dropView(this.path);
    else this.store.keepView(this.path, { set: this.session.set, until: this.session.until, charts, kept } satisfies View);
  });

  /** Take back, or make again, what was set, shown and kept. */
  private travel(to: Past | null): void {
    if (!to || !this.run) return;
    const reruns = JSON.stringify([to.set, to.until]) !== JSON.stringify([this.session.set, this.session.until]);
    this.kept = [...to.kept];
    this.charts = to.charts.map((c) => this.restoreChart(c));
    this.session.set = { ...to.set };
    this.session.until = to.until;
    this.placeCharts();
    if (reruns) void this.session.restart();
    if (this.panel === "runs") this.showPanel("runs");
  }

  // ---- what the session tells --------------------------------------------------------------------

  onModel(model: Model | null, messages: { severity: string; line: number; text: string }[]): void {
    this.refusal = model ? "" : (messages.find((m) => m.severity === "error")?.text.split("\n")[0] ?? say("failed"));
    if (!model) {
      this.wanted = this.remembered = null;
      this.showStatus();
      return;
    }
    if (this.panel === "structure" || this.panel === "automata") this.showPanel(this.panel);
  }

  onRun(run: Run, fresh: boolean): void {
    const before = this.run;
    const another = fresh && (!before || before.columns.join("\n") !== run.columns.join("\n"));
    this.run = run;
    this.refusal = "";
    if (another && before?.model.path === run.model.path && !this.hasUsualCharts(before)) this.remembered ??= this.chartViews();
    if (another || this.charts.length === 0) this.chooseCharts(run);
    this.wanted = null;
    if (another && this.panel === "experiments") this.showPanel("experiments");
    byId("stage").hidden = run.model.drawing.length === 0;
    this.parameters.show(run.model, run);
    this.events.show(run, fresh);
    if (this.following) this.range = { from: run.start, to: run.end > run.start ? run.end : run.start + 1 };
    this.showStatus();
    this.changed();
    if (this.panel === "runs" || this.panel === "guards" || this.panel === "costs") this.showPanel(this.panel);
    this.keepView();
    if (this.panel === "automata" && !run.unfinished) this.showPanel("automata");
    if (!run.unfinished) this.refineSoon();
  }

  onKept(run: Run): void {
    this.kept.push(run);
  }

  onBusy(): void {
    this.showStatus();
  }

  onTrouble(text: string): void {
    this.toast(say(text));
    if (!this.run) this.refusal = say(text);
    this.editor.reconnect();
    this.showStatus();
  }

  private readonly refineSoon = quiet(140, () => {
    const run = this.run;
    if (!run || this.following || run.unfinished) return;
    const { from, to } = this.range;
    const inside = run.rows.find(to, true) - run.rows.find(from);
    const near = run.detail;
    if (inside > 600 || (near && near.from <= from && to <= near.to && to - from > 0.3 * (near.to - near.from))) return;
    const pad = 0.5 * (to - from);
    void this.session.refine(run, Math.max(run.start, from - pad), Math.min(run.end, to + pad), 1500).catch(() => undefined);
  });

  private showStatus(): void {
    const run = this.run;
    const status = byId("status");
    this.updateButtons();
    const errors = this.editor.diagnostics.filter((d) => d.severity === "error").length;
    if (errors) {
      status.textContent = `${say("not run")}: ${count(errors, "mistake")}`;
      status.className = "failed";
      return;
    }
    if (this.engine.busy > PATIENCE) {
      status.replaceChildren(`${say("the engine works")}, ${Math.round(this.engine.busy / 1000)} s `,
        make("button", { class: "mini", id: "halt", click: () => void this.engine.end() }, say("Stop")));
      status.className = "";
      return;
    }
    if (this.refusal) {
      status.textContent = status.title = this.refusal;
      status.className = "failed";
      return;
    }
    if (!run) return;
    const state = run.unfinished && run.live && !this.session.isPlaying ? "paused" : run.state;
    const seen = run.events.filter((e) => e.n === 0 && e.kind !== "initial").length;
    const parts = [say(state), count(seen, "event")]; // the time stands beside it
    if (!run.unfinished && !run.live) parts.push(`${run.wall < 10 ? run.wall.toFixed(1) : Math.round(run.wall)} ms`);
    status.textContent = parts.join(" · ");
    status.className = run.state === "failed" ? "failed" : "";
    status.title = run.failure?.text ?? "";
  }

  // ---- the text ----------------------------------------------------------------------------------

  private readonly keepDraft = quiet(150, () => this.saveDraft());
  private readonly compileSoon = quiet(260, () => {
    if (this.editor.diagnostics.some((d) => d.severity === "error")) return;
    if (this.requested.path === this.path && this.requested.text === this.editor.text) return;
    this.requested = { path: this.path, text: this.editor.text };
    void this.session.open(this.path, this.editor.text, this.store.beside(this.path), true);
  });
  private requested = { path: "", text: "" }; // what the session was given last

  private saveDraft(): void {
    if (this.editor.text === this.savedText) this.store.dropDraft(this.path);
    else if (!this.store.keepDraft(this.path, this.editor.text)) this.toast(say("The browser has no room left: save the text to keep it."));
  }

  private onText(): void {
    // nobody waits for what an older text means
    if (this.engine.busy > PATIENCE) void this.engine.end();
    this.showName();
    this.keepDraft();
    this.tables.update();
  }

  /** The language server has looked at the newest text. */
  private onMessages(): void {
    const list = this.editor.diagnostics;
    const box = byId("messages");
    box.replaceChildren();
    for (const d of list.slice(0, 50)) {
      const line = this.editor.view.state.doc.lineAt(d.from).number;
      const [first, ...rest] = d.message.split("\n");
      box.append(make("button", { class: d.severity, click: () => {
        this.setView("text");
        this.editor.view.dispatch({ selection: { anchor: d.from, head: d.to }, scrollIntoView: true });
        this.editor.view.focus();
      } }, make("small", {}, `${say("line")} ${line} · ${d.source ?? ""} `), make("b", {}, first), rest.length ? ` ${rest.join(" ")}` : ""));
      for (const action of d.actions ?? []) {
        box.append(make("button", { class: "fix", click: () => action.apply(this.editor.view, d.from, d.to) }, action.name));
      }
    }
    this.tables.update();
    const errors = list.filter((d) => d.severity === "error").length;
    // what is shown is the run of an older text
    document.body.toggleAttribute("data-stale", errors > 0);
    this.showStatus();
    this.compileSoon();
  }

  private showName(): void {
    const name = byId("model-name");
    name.textContent = this.path.replace(/.*\//, "");
    name.title = this.path;
    name.classList.toggle("dirty", this.editor.text !== this.savedText);
  }

  async save(): Promise<void> {
    let path = this.path;
    let version = this.version;
    if (/^(gallery|models)\/|^linked\./.test(path) && !this.store.hasFolder || path.startsWith("gallery/") || path.startsWith("linked.")) {
      const proposal = path.replace(/.*\//, "");
      const name = await askText("Save", "name of the model", proposal);
      if (!name) return;
      path = /\.(lisma|rules\.md)$/.test(name) ? name : name + (this.path.endsWith(".rules.md") ? ".rules.md" : ".lisma");
      version = "";
    }
    const text = this.editor.text;
    const result = await this.store.save(path, text, this.replaced === path ? null : version).catch((error: Error) => error);
    if (result instanceof Error) {
      this.toast(say(result.message));
      return;
    }
    this.replaced = result === "changed" ? path : "";
    if (result === "changed") {
      this.toast(say("The file was changed elsewhere. Save again to replace it."));
      return;
    }
    this.store.dropDraft(this.path);
    this.savedText = text;
    this.version = result.version;
    const moved = path !== this.path;
    this.path = path;
    lasting.set("saltus.last", path);
    this.showName();
    this.toast(say("Saved."));
    if (moved) await this.open(path);
  }

  // ---- sliders and buttons -----------------------------------------------------------------------

  private onSlider(name: string, value: number): void {
    this.changedAt = performance.now();
    void this.session.change(name, value);
  }

  /** A slider, a switch or a gauge of the user's choice, written into the text or the tables. */
  private async addControl(): Promise<void> {
    const run = this.run;
    const control = run ? await askControl(run) : null;
    if (!control) return;
    if (this.path.endsWith(".rules.md")) this.tables.addRow("controls", [control.name, control.range]);
    else this.editor.edit([controlEdit(this.editor.text, control)]);
  }

  private buttons: Record<string, HTMLButtonElement> = {};

  private buildControls(): void {
    const button = (id: string, label: string, title: string, action: () => void, style = ""): HTMLButtonElement => {
      const element = make("button", { id, class: style, title, click: action }, label);
      this.buttons[id] = element;
      return element;
    };
    const until = make("input", { id: "until", "aria-label": say("until"), inputmode: "decimal" });
    until.addEventListener("change", () => {
      const value = Number(until.value.replace(",", "."));
      this.session.until = until.value.trim() === "" || !Number.isFinite(value) ? null : value;
      this.following = true;
      void this.session.restart();
    });
    const at = make("input", { id: "at", "aria-label": say("go to the time"), title: say("go to the time"), inputmode: "decimal" });
    at.addEventListener("change", () => {
      const value = Number(at.value.replace(",", "."));
      if (at.value.trim() !== "" && Number.isFinite(value)) this.goTo(value);
      at.blur();
    });
    const speed = make("select", { id: "speed", title: say("speed"), "aria-label": say("speed"), change: () => (this.session.speed = Number(speed.value)) });
    for (const k of [0.1, 0.25, 0.5, 1, 2, 5, 10, 100, Infinity]) {
      speed.append(make("option", { value: k, selected: k === this.session.speed }, k === Infinity ? say("as fast as it goes") : `${k}×`));
    }
    byId("run-controls").replaceChildren(
      button("run", `▶ ${say("Run")}`, "Ctrl+Enter", () => this.restart(), "main"),
      button("live", `◉ ${say("Live")}`, "Ctrl+Shift+Enter", () => this.playOrPause()),
      button("back", "|◀", `${say("Previous event")} (Alt+←)`, () => this.toEvent(-1)),
      button("next", "▶|", `${say("Next event")} (Alt+→)`, () => this.toEvent(1)),
      make("label", {}, make("span", {}, "t ="), at),
      make("label", {}, make("span", {}, say("until")), until),
      speed,
    );
    byId("tools").replaceChildren(
      button("save", say("Save"), "Ctrl+S", () => void this.save(), "plain"),
      button("keep", say("Keep"), say("keep this run to compare others with it"), () => this.keepRun(), "plain"),
      button("export", say("Export"), say("write rows, events, pictures, a report"), () => this.exporter.show(), "plain"),
      button("share", say("Share"), say("a link with the model and its settings"), () => void this.share(), "plain"),
      button("language", getLanguage() === "en" ? "Рус" : "Eng", "English / Русский", () => this.switchLanguage(), "plain"),
      button("theme", "◐", say("Dark or light"), () => this.switchTheme(), "plain"),
      button("help", "?", say("Help"), () => this.showHelp(), "plain"),
    );
    this.buildTabs();
    this.updateButtons();
  }

  private buildTabs(): void {
    const tab = (label: string, selected: boolean, action: () => void): HTMLElement =>
      make("button", { role: "tab", "aria-selected": String(selected), click: action }, label);
    byId("text-tabs").replaceChildren(
      tab(say("Text"), this.view === "text", () => this.setView("text")),
      this.path.endsWith(".rules.md") ? tab(say("Tables"), this.view === "tables", () => this.setView("tables")) : "",
      make("span", { class: "space" }),
      make("button", { class: "mini", title: "Ctrl+Z", "aria-label": say("undo"), "data-do": "undo", click: () => this.editor.undo() }, "↶"),
      make("button", { class: "mini", title: "Ctrl+Y", "aria-label": say("redo"), "data-do": "redo", click: () => this.editor.redo() }, "↷"),
    );
    byId("panel-tabs").replaceChildren(...this.panelNames().map(([id, name]) => tab(say(name), this.panel === id, () => this.showPanel(id))));
    const page = document.body.dataset.page ?? "model";
    byId("pages").replaceChildren(
      tab(say("Model"), page === "model", () => this.setPage("model")),
      tab(say("Results"), page === "run", () => this.setPage("run")),
    );
  }

  private panelNames(): [Panel, string][] {
    return [
      ["events", "Events"], ["guards", "Conditions"], ["automata", "Automata"], ["structure", "Structure"],
      ["experiments", "Experiments"], ["costs", "Costs"], ["runs", "Runs"],
    ];
  }

  /** On a tablet one half of the page is seen: the one with this part. */
  reveal(part: Element | null): void {
    if (byId("left").contains(part)) this.setPage("model");
    else if (byId("right").contains(part)) this.setPage("run");
  }

  private setPage(page: string): void {
    document.body.dataset.page = page;
    this.buildTabs();
    this.changed();
  }

  private updateButtons(): void {
    const run = this.run;
    this.buttons.live.textContent = this.session.isPlaying ? `❚❚ ${say("Pause")}` : run?.live && run.unfinished ? `▶ ${say("Continue")}` : `◉ ${say("Live")}`;
    this.buttons.live.setAttribute("aria-pressed", String(Boolean(run?.live && run.unfinished)));
    const until = byId<HTMLInputElement>("until");
    if (document.activeElement !== until && run) until.value = short(run.end);
    const at = byId<HTMLInputElement>("at");
    if (document.activeElement !== at && run) at.value = short(run.live ? run.t : (this.cursor ?? run.t), 5);
  }

  /** In a run that stands somewhere the run moves; in one that is over the selection does. */
  private toEvent(by: 1 | -1): void {
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

  protected zoomed(): void {
    this.refineSoon();
  }

  rearranged(): void {
    this.keepView();
  }

  keepRun(): void {
    if (this.run && !this.kept.includes(this.run)) this.kept.push(this.run);
    this.keepView();
    this.showPanel("runs");
    this.changed();
  }

  dropRun(run: Run): void {
    this.kept = this.kept.filter((k) => k !== run);
    this.keepView();
    this.showPanel("runs");
    this.changed();
  }

  /** The settings of a kept run become the present ones. */
  useRun(run: Run): void {
    this.session.set = { ...run.set };
    this.session.until = run.until;
    void (run.changes.length ? this.session.replay(run.changes) : this.session.restart());
  }

  private restart(): void {
    void this.session.restart();
  }

  private playOrPause(): void {
    void (this.session.isPlaying ? this.session.pause() : this.session.play());
  }

  /** The run stands at this time, and values can be changed there. */
  goTo(t: number): void {
    void this.session.goTo(t).then(() => this.setCursor(null));
  }

  private onEvent(event: EventRecord): void {
    this.setCursor(event.t);
    if (event.t < this.range.from || event.t > this.range.to) {
      const half = (this.range.to - this.range.from) / 2;
      this.zoom({ from: event.t - half, to: event.t + half });
    }
    if (!this.path.endsWith(".rules.md")) this.editor.light(event.line);
    else this.tables.light(event.line);
    if (this.panel === "automata") this.automata.light();
  }

  /** Everything that can be done without a mouse; the first with its keys is done. */
  private allCommands(): Command[] {
    const panels: [Panel, string][] = this.panelNames();
    return [
      { name: "run from the start", keys: "Ctrl+Enter", anywhere: true, action: () => this.restart() },
      { name: "live, pause, continue", keys: "Ctrl+Shift+Enter", anywhere: true, action: () => this.playOrPause() },
      { name: "next event", keys: "Alt+ArrowRight", anywhere: true, action: () => this.toEvent(1) },
      { name: "previous event", keys: "Alt+ArrowLeft", anywhere: true, action: () => this.toEvent(-1) },
      { name: "go to the time", keys: "Ctrl+G", action: () => byId<HTMLInputElement>("at").select() },
      { name: "go to the time of the cursor", action: () => this.goTo(this.cursor ?? 0) },
      { name: "save", keys: "Ctrl+S", anywhere: true, action: () => void this.save() },
      { name: "models", keys: "Ctrl+O", anywhere: true, action: () => void this.menu.toggle() },
      { name: "undo", keys: "Ctrl+Z", action: () => this.undo() },
      { name: "redo", keys: "Ctrl+Y", action: () => this.redo() },
      { name: "redo", keys: "Ctrl+Shift+Z", action: () => this.redo() },
      { name: "manual of what is selected", keys: "F1", anywhere: true, action: () => this.manual.open(this.topic()) },
      { name: "all commands", keys: "Ctrl+Shift+P", anywhere: true, action: () => this.commands.palette() },
      { name: "next part of the page", keys: "F6", anywhere: true, action: () => this.nextPart(1) },
      { name: "add a control", action: () => void this.addControl() },
      { name: "keep this run", action: () => this.keepRun() },
      { name: "export", action: () => this.exporter.show() },
      { name: "share", action: () => void this.share() },
      { name: "tour of five minutes", action: () => this.tour.begin() },
      { name: "Help", action: () => this.showHelp() },
      { name: "Dark or light", action: () => this.switchTheme() },
      { name: "English / Русский", action: () => this.switchLanguage() },
      { name: "text", action: () => this.setView("text") },
      ...(this.path.endsWith(".rules.md") ? [{ name: "tables", action: () => this.setView("tables") }] : []),
      ...panels.map(([id, name]) => ({ name, action: () => this.showPanel(id) })),
      ...(this.run?.quantities ?? []).slice(0, 100).flatMap(({ name }) => [
        { name: `${say("show or hide")}: ${name}`, action: () => this.toggleChart(name) },
        { name: `${say("into the last chart")}: ${name}`, action: () => this.charts.at(-1)?.add(name) },
      ]),
    ];
  }

  private onKey(event: KeyboardEvent): void {
    if (this.inTables(event) && (event.ctrlKey || event.metaKey) && /^[zy]$/i.test(event.key)) {
      event.preventDefault();
      if (event.key.toLowerCase() === "z" && !event.shiftKey) this.editor.undo();
      else this.editor.redo();
      return;
    }
    this.commands.take(event);
  }

  private undo(): void {
    this.travel(this.past.undo());
  }

  private redo(): void {
    this.travel(this.past.redo());
  }

  /** The keyboard goes from part to part: text or tables, values, charts, panel. */
  private nextPart(by: number): void {
    const parts = ["#editor .cm-content", "#tables input", "#parameters input", "#variables button", "#charts canvas", "#panel-tabs [aria-selected=true]", "#panel [tabindex]"]
      .map((s) => ({ place: byId(/^#([\w-]+)/.exec(s)?.[1] ?? ""), first: [...document.querySelectorAll<HTMLElement>(s)].find((e) => e.offsetParent !== null) }))
      .filter((p) => p.first !== undefined);
    const at = parts.findIndex((p) => p.place.contains(document.activeElement));
    parts[(at + by + parts.length) % parts.length]?.first?.focus();
  }

  /** What the manual is asked about. */
  private topic(): string {
    const about: Record<Panel, string> = {
      events: "Events", guards: "Charts", automata: "Charts", structure: "Charts", experiments: "Experiments", costs: "Charts", runs: "The same run elsewhere",
    };
    const inside = document.activeElement;
    if (inside && byId("panel").contains(inside)) return about[this.panel];
    if (this.view === "tables") return this.tables.topic() || "The tables";
    return this.editor.topic() || "Five minutes";
  }

  private readonly followSoon = quiet(200, () => this.manual.isOpen && this.manual.follow(this.topic()));

  private inTables(event: KeyboardEvent): boolean {
    return event.target instanceof Node && byId("tables").contains(event.target);
  }

  private listen(): void {
    addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("resize", () => this.changed());
    addEventListener("pagehide", () => this.saveDraft());
    addEventListener("beforeunload", () => this.saveDraft());
    new ResizeObserver(() => this.changed()).observe(byId("charts"));
    for (const kind of ["keyup", "pointerup", "focusin"]) {
      document.addEventListener(kind, (event) => {
        if (!(event.target instanceof Node) || !byId("manual").contains(event.target)) this.followSoon();
      });
    }
    listenToSplitter(byId("splitter"), () => this.changed());
    leaveByPress();
    let waited = false;
    setInterval(() => {
      const waits = this.engine.busy > PATIENCE;
      if (waits || waited) this.showStatus();
      waited = waits;
    }, 500);
  }

  /** Values that were found become those of the sliders. */
  use(values: Values): void {
    Object.assign(this.session.set, values);
    void this.session.restart();
  }

  // ---- charts ------------------------------------------------------------------------------------

  selectEvent(event: EventRecord): void {
    this.showPanel("events");
    this.events.select(this.run?.events.indexOf(event) ?? -1);
  }

  goToLine(line: number): void {
    if (this.path.endsWith(".rules.md")) this.tables.light(line);
    else this.editor.light(line);
  }

  setCursor(t: number | null): void {
    const run = this.run;
    this.cursor = t === null || !run ? null : Math.min(Math.max(t, run.start), run.t);
    if (this.panel === "automata") this.automata.light();
    if (this.panel === "structure") this.structure.show();
    if (this.panel === "guards") this.guardsSoon();
    this.changed();
  }

  private readonly guardsSoon = quiet(40, () => this.panel === "guards" && this.guards.show());

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

  /** Everything that moves; how long it took, in ms. */
  drawNow(): number {
    const begun = performance.now();
    this.dirty = false;
    const theme = readTheme();
    this.showVariables();
    this.bands.draw(this.run, this.range, this.cursor);
    for (const chart of this.charts) chart.measure();
    this.charts.forEach((chart, i) => chart.draw(theme, i === this.charts.length - 1));
    if (!byId("stage").hidden) this.drawing.draw();
    if (this.run) this.parameters.gauge(this.run, this.cursor ?? this.run.t);
    if (this.changedAt) {
      this.lastLatency = performance.now() - this.changedAt;
      if (!this.run?.unfinished) this.changedAt = 0;
    }
    return performance.now() - begun;
  }

  // ---- panels ------------------------------------------------------------------------------------

  private setView(view: "text" | "tables"): void {
    this.view = view;
    document.body.dataset.view = view;
    byId("editor").hidden = view !== "text";
    byId("tables").hidden = view !== "tables";
    this.buildTabs();
    if (view === "tables") this.tables.update();
    this.changed();
  }

  private showPanel(panel: Panel): void {
    this.panel = panel;
    this.buildTabs();
    const box = byId("panel");
    if (panel === "events") {
      box.replaceChildren(this.events.element);
    } else if (panel === "runs") {
      this.runs.show();
      box.replaceChildren(this.runs.element);
    } else if (panel === "guards") {
      this.guards.show();
      box.replaceChildren(this.guards.element);
    } else if (panel === "costs") {
      this.costs.show();
      box.replaceChildren(this.costs.element);
    } else if (panel === "experiments") {
      this.experiments.show();
      box.replaceChildren(this.experiments.element);
    } else {
      void this.engine.ask({ op: panel === "automata" ? "graph" : "structure" }).then(
        ({ json }) => this.panel === panel && (panel === "automata" ? this.showGraph(json.text) : this.showStructure(json.text)),
        () => this.panel === panel && box.replaceChildren(make("p", { class: "empty" }, say("This model has neither automata nor switches."))),
      );
    }
  }

  private showGraph(svg: string): void {
    this.automata.take(svg);
    byId("panel").replaceChildren(this.automata.element);
  }

  private showStructure(text: string): void {
    this.structure.take(text);
    byId("panel").replaceChildren(this.structure.element);
  }

  get modelPath(): string {
    return this.path.replace(/^gallery\//, "models/");
  }

  get modelName(): string {
    return this.path;
  }

  get modelText(): string {
    return this.editor.text;
  }

  /** Constants, end and changes of the present run, for the engine. */
  settings(): object {
    return { ...this.session.settingsOfRun(), changes: this.run?.changes ?? [] };
  }

  get isSaved(): boolean {
    return this.editor.text === this.savedText;
  }

  command(): string {
    return commandLine(this.modelPath, this.run?.set ?? {}, this.session.until, Boolean(this.run?.changes.length));
  }

  // ---- models, export, links, help ---------------------------------------------------------------

  openModel(path: string): void {
    void this.open(path).catch((error: Error) => this.toast(error.message));
  }

  /** A model of the browser's storage goes; it can be brought back as long as the page is open. */
  remove(path: string): void {
    const text = this.store.remove(path);
    const back = make("button", { class: "mini", click: () => {
      void this.store.save(path, text, null);
      byId("toast").hidden = true;
    } }, say("bring it back"));
    this.toast(`${path}: ${say("removed")} `, back);
    if (path === this.path) this.openModel(FIRST_MODEL);
  }

  /** A model or a table from the user's disk. */
  upload(): void {
    const input = make("input", { type: "file", accept: ".lisma,.md,.txt" });
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (!file || file.size > 4_000_000) return;
      void file.text().then((text) => this.showFresh(file.name.endsWith(".rules.md") || /\.lisma$/.test(file.name) ? file.name : `${file.name}.lisma`, text));
    });
    input.click();
  }

  async create(proposal: string, text: string): Promise<void> {
    const name = await askText("New model", "name of the model", proposal);
    if (!name) return;
    const ending = proposal.endsWith(".rules.md") ? ".rules.md" : ".lisma";
    await this.showFresh(name.endsWith(ending) ? name : name + ending, text);
  }

  private async showFresh(path: string, text: string): Promise<void> {
    await this.showModel(path, text, "", false);
    this.savedText = "";
    this.saveDraft();
    this.showName();
  }

  private async share(): Promise<void> {
    const run = this.run;
    const link = await writeLink({
      path: this.path, text: this.editor.text, set: this.session.set, until: this.session.until, changes: run?.changes ?? [],
    });
    const address = location.href.replace(/#.*/, "") + link;
    await navigator.clipboard.writeText(address).then(
      () => this.toast(say("The link is in the clipboard.")),
      () => this.toast(address),
    );
  }

  private showHelp(): void {
    showHelp(this.allCommands().filter((c) => c.keys).map((c) => [c.keys ?? "", c.name]), [
      ["tour of five minutes", () => this.tour.begin()], ["Manual", () => this.manual.open("Five minutes")], ["all commands", () => this.commands.palette()],
    ]);
  }

  toast(text: string, action?: HTMLElement): void {
    toast(text, action);
  }

  private switchTheme(): void {
    this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  }

  private setTheme(theme: string): void {
    document.documentElement.dataset.theme = theme;
    lasting.set("saltus.theme", theme);
    for (const chart of this.charts) chart.describe();
    byId("variables").dataset.key = "";
    this.changed();
  }

  private switchLanguage(): void {
    setLanguage(getLanguage() === "en" ? "ru" : "en");
    lasting.set("saltus.language", getLanguage());
    this.buildControls();
    this.drawing.name();
    this.manual.name();
    this.events.name();
    for (const chart of this.charts) chart.describe();
    this.tables.update(true);
    if (this.run) {
      this.parameters.clear();
      this.parameters.show(this.run.model, this.run);
    }
    this.showStatus();
    this.showPanel(this.panel);
    this.changed();
  }

  tourView(): TourView {
    const run = this.run;
    return {
      path: this.path, set: Object.keys(this.session.set).length, zoomed: !this.following, selected: this.events.selected >= 0, panel: this.panel,
      live: Boolean(run?.live), changes: run?.changes.length ?? 0, text: this.editor.text, kept: this.kept.length, cursor: this.cursor, manual: this.manual.isOpen,
    };
  }

  /** For scripts that test the page: what it shows, to read. */
  look(): object {
    const run = this.run;
    return {
      path: run?.model.path ?? null,
      text: this.editor.text,
      state: run?.state ?? null,
      t: run?.t ?? null,
      rows: run?.rows.length ?? 0,
      events: run?.events.filter((e) => e.kind !== "initial").map((e) => ({ t: e.t, what: eventText(e) })) ?? [],
      last: run ? Object.fromEntries(run.quantities.map(({ name }) => [name, run.rows.columns[run.column(name)].values[run.rows.length - 1]])) : {},
      changes: run?.changes ?? [],
      constants: run?.constants ?? {},
      latency: this.lastLatency,
      messages: this.editor.diagnostics.map((d) => d.message),
      charts: this.charts.map((c) => c.names),
      range: this.range,
      playing: this.session.isPlaying,
      kept: this.kept.length,
      experiment: this.experiments.look(),
    };
  }
}

setLanguage((lasting.get("saltus.language") ?? (navigator.language.startsWith("ru") ? "ru" : "en")) === "ru" ? "ru" : "en");
const workbench = new Workbench();
(window as unknown as { saltus: object }).saltus = {
  look: () => workbench.look(),
  zoom: (from: number, to: number) => workbench.zoom({ from, to }),
  frame: () => workbench.drawNow(),
  places: (name: string) => workbench.shownCharts.find((c) => c.names.includes(name))?.places(name),
};
void workbench.begin();
