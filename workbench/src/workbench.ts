// SPDX-License-Identifier: MIT
//
// The workbench: puts the parts of the page together.
import { Commands, keyOf, keyText } from "./commands";
import { askControl, controlEdit } from "./controls";
import { Desk } from "./desk";
import { askText, leaveByPress, showHelp, toast } from "./dialogs";
import { askPath, OpenModel } from "./document";
import { byId, make, quiet, short, tab } from "./dom";
import { Editor } from "./editor";
import { openEngine, ServedEngine } from "./engine";
import { eventText } from "./events";
import { Exporter } from "./exporting";
import { fromBytes } from "./form";
import { allCommands } from "./keys";
import { readLink, writeLink } from "./link";
import { readView, View } from "./looking";
import { Manual } from "./manual";
import { lasting } from "./memory";
import { showMessages } from "./messages";
import { ModelMenu } from "./models";
import { speak } from "./russian";
import { Change, Model, Warning } from "./session";
import { listenToSplitter } from "./splitter";
import { firstGiven, folderOf, GALLERY_FOLDER, shownPath, Store } from "./store";
import { Tables } from "./tables";
import { Toolbar } from "./toolbar";
import { Tour, TourView } from "./tour";
import { Watch } from "./watch";
import { count, getLanguage, say } from "./words";

const FIRST_MODEL = `${GALLERY_FOLDER}ball.lisma`;
const UPLOAD_MAX = 4_000_000; // bytes
const PATIENCE = 1500; // ms without an answer after which the page says so

export class Workbench extends Desk {
  private readonly store: Store;
  private readonly editor: Editor;
  private readonly model: OpenModel;
  private readonly tables: Tables;
  private readonly toolbar: Toolbar;
  private readonly exporter: Exporter;
  private readonly menu: ModelMenu;
  private readonly manual = new Manual(byId("manual"));
  private readonly tour = new Tour(this);
  private readonly commands = new Commands(() => this.allCommands());
  private readonly watched: ServedEngine | null; // not null: a program in C is looked at
  private view: "text" | "tables" = "text";
  private opening = 0; // counts models that were asked for: the last one is shown
  private requested = { path: "", text: "" }; // what the session was given last

  constructor() {
    const { engine, server, watches } = openEngine();
    const store = new Store(server);
    super(engine, store);
    this.store = store;
    this.watched = watches ? server : null;
    this.editor = new Editor(byId("editor"), engine, {
      onText: () => this.onText(),
      onMessages: () => this.onMessages(),
      onTrouble: (text) => this.onTrouble(text),
      ask: (old) => askText("Rename", "new name", old),
      run: () => this.restart(),
    });
    this.model = new OpenModel(this.store, () => this.editor.text);
    this.tables = new Tables(byId("tables"), this.editor, engine, (path) => this.openModel(path));
    this.exporter = new Exporter(engine, this);
    this.menu = new ModelMenu(this.store, this);
    this.toolbar = new Toolbar(this.session, this, {
      run: () => this.restart(), live: () => this.playOrPause(), back: () => this.toEvent(-1), next: () => this.toEvent(1),
      save: () => void this.save(), keep: () => this.keepRun(), export: () => this.exporter.show(), share: () => void this.share(),
      language: () => this.switchLanguage(), theme: () => this.switchTheme(), help: () => this.showHelp(),
    });
    this.setTheme(lasting.get("saltus.theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.toolbar.build();
    this.buildTabs();
    this.panels.show("events");
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
    let complaint = "";
    try {
      const shared = await readLink(location.hash);
      if (shared) {
        history.replaceState(null, "", location.pathname + location.search);
        this.session.until = shared.until;
        await this.showModel(this.store.placeOfLinked(shared), shared.text, "", true, () => {
          Object.assign(this.session.set, shared.set);
          return shared.changes;
        });
        this.keepFresh();
        return;
      }
    } catch (error) {
      complaint = error instanceof Error ? say(error.message) : String(error);
    }
    const last = this.store.last ?? firstGiven() ?? FIRST_MODEL;
    await this.open(last).catch(() => this.open(FIRST_MODEL));
    if (complaint) this.toast(complaint); // rather than what else there is to be said
  }

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
    this.model.differsFrom(opened.text);
    if (restored) this.toast(say("Unsaved work was restored."));
  }

  private async showModel(path: string, text: string, version: string | null, keep: boolean, before?: () => Change[]): Promise<void> {
    const turn = ++this.opening;
    const files = this.store.beside(path);
    await this.session.hand(files).catch(() => undefined);
    if (turn !== this.opening) return;
    this.model.take(path, text, version);
    this.kept = [];
    this.looking.clear();
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
    this.model.showName();
    this.session.set = keep ? this.session.set : {};
    if (!keep) this.session.until = null;
    const changes = before?.() ?? [];
    this.requested = { path, text };
    await this.session.open(path, text, files, true, this.wanted?.kept, changes);
  }

  /** What belongs to the model that is opened; the changes of its run. */
  private restore(view: View): Change[] {
    this.session.set = { ...view.set };
    this.session.until = view.until;
    this.wanted = view;
    this.remembered = view.charts;
    return Array.isArray(view.changes) ? view.changes : [];
  }

  // ---- what the session tells --------------------------------------------------------------------

  onModel(model: Model | null, messages: { severity: string; line: number; text: string }[]): void {
    this.refusal = model ? "" : (messages.find((m) => m.severity === "error")?.text.split("\n")[0] ?? say("failed"));
    if (!model) {
      this.wanted = this.remembered = null;
      if (!this.run) this.showNothing();
      this.showStatus();
      return;
    }
    this.panels.current.modelChanged?.();
  }

  onTrouble(text: string): void {
    this.toast(say(text));
    this.refusal = say(text);
    this.editor.reconnect();
    this.showStatus();
  }

  private warnings: Warning[] = []; // of the run, as they are shown

  private showMessages(): void {
    this.warnings = [...(this.run?.warnings ?? [])];
    const older = this.editor.diagnostics.some((d) => d.severity === "error"); // than the text, the run is
    showMessages(this.editor, older ? [] : this.warnings, () => this.setView("text"));
  }

  protected showTime(): void {
    this.toolbar.update();
  }

  protected showStatus(): void {
    this.toolbar.update();
    const warnings = this.run?.warnings ?? [];
    if (this.warnings.length !== warnings.length || this.warnings.some((w, i) => w !== warnings[i])) this.showMessages();
    const errors = this.editor.diagnostics.filter((d) => d.severity === "error").length;
    // what is shown is not the run that was asked for
    document.body.toggleAttribute("data-stale", this.run !== null && (errors > 0 || this.refusal !== ""));
    if (errors) this.toolbar.tell(`${say("not run")}: ${count(errors, "mistake")}`, true);
    else if (this.engine.busy > PATIENCE) this.toolbar.tellBusy(this.engine.busy, () => void this.engine.end());
    else if (this.refusal) this.toolbar.tell(this.refusal, true, this.refusal);
    else if (this.run) this.toolbar.tellRun(this.run);
  }

  // ---- the text ----------------------------------------------------------------------------------

  private readonly keepDraft = quiet(150, () => this.model.keepDraft());
  private readonly compileSoon = quiet(260, () => {
    if (this.editor.diagnostics.some((d) => d.severity === "error")) return;
    if (this.requested.path === this.path && this.requested.text === this.editor.text) return;
    this.requested = { path: this.path, text: this.editor.text };
    void this.session.open(this.path, this.editor.text, this.store.beside(this.path), true);
  });

  private onText(): void {
    // nobody waits for what an older text means
    if (this.engine.busy > PATIENCE) void this.engine.end();
    this.model.showName();
    this.keepDraft();
    this.tables.update();
  }

  /** The language server has looked at the newest text. */
  private onMessages(): void {
    this.showMessages();
    this.tables.update();
    this.showStatus();
    this.compileSoon();
  }

  async save(elsewhere = false): Promise<void> {
    const from = this.path;
    const moved = await this.model.save(elsewhere);
    if (!moved) return;
    // a model of the gallery or of a link takes along what it reads; files that are there stay as they are
    const files = await this.store.filesOf(from, this.session.model?.reads ?? []);
    for (const [name, text] of Object.entries(files)) await this.store.save(folderOf(moved) + name, text, "").catch(() => undefined);
    await this.open(moved);
  }

  // ---- sliders and buttons -----------------------------------------------------------------------

  /** A slider, a switch or a gauge of the user's choice, written into the text or the tables. */
  protected async addControl(): Promise<void> {
    const run = this.run;
    const control = run ? await askControl(run) : null;
    if (!control) return;
    if (this.model.isTables) this.tables.addRow("controls", [control.name, control.range]);
    else this.editor.edit([controlEdit(this.editor.text, control)]);
  }

  private buildTabs(): void {
    byId("text-tabs").replaceChildren(
      tab(say("Text"), this.view === "text", () => this.setView("text")),
      this.model.isTables ? tab(say("Tables"), this.view === "tables", () => this.setView("tables")) : "",
      make("span", { class: "space" }),
      make("button", { class: "mini", title: "Ctrl+Z", "aria-label": say("undo"), "data-do": "undo", click: () => this.editor.undo() }, "↶"),
      make("button", { class: "mini", title: "Ctrl+Y", "aria-label": say("redo"), "data-do": "redo", click: () => this.editor.redo() }, "↷"),
    );
    const page = document.body.dataset.page ?? "model";
    byId("pages").replaceChildren(
      tab(say("Model"), page === "model", () => this.setPage("model")),
      tab(say("Results"), page === "run", () => this.setPage("run")),
    );
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

  private allCommands(): ReturnType<typeof allCommands> {
    return allCommands({
      restart: () => this.restart(), playOrPause: () => this.playOrPause(), toEvent: (by) => this.toEvent(by), goToCursor: () => this.goTo(this.cursor ?? 0),
      save: () => void this.save(), saveElsewhere: () => void this.save(true), models: () => void this.menu.toggle(), undo: () => this.undo(), redo: () => this.redo(),
      manual: () => this.manual.open(this.topic()), palette: () => this.commands.palette(), addControl: () => void this.addControl(), keepRun: () => this.keepRun(),
      export: () => this.exporter.show(), share: () => void this.share(), tour: () => this.tour.begin(), help: () => this.showHelp(),
      theme: () => this.switchTheme(), language: () => this.switchLanguage(),
      showText: () => this.setView("text"), showTables: this.model.isTables ? () => this.setView("tables") : null,
      panels: this.panels.names, showPanel: (name) => this.panels.show(name),
      quantities: this.run?.quantities.map((q) => q.name) ?? [], toggleChart: (name) => this.toggleChart(name), intoLastChart: (name) => this.charts.at(-1)?.add(name),
    });
  }

  private onKey(event: KeyboardEvent): void {
    const key = keyOf(event).toLowerCase();
    if (this.inTables(event) && (event.ctrlKey || event.metaKey) && /^[zy]$/.test(key)) {
      event.preventDefault();
      if (key === "z" && !event.shiftKey) this.editor.undo();
      else this.editor.redo();
      return;
    }
    this.commands.take(event);
  }

  /** What the manual is asked about. */
  private topic(): string {
    if (this.panels.topic) return this.panels.topic;
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
    byId("charts").addEventListener("scroll", () => this.changed());
    addEventListener("hashchange", () => /^#(token|model)=/.test(location.hash) && location.reload()); // the address is all the same otherwise
    addEventListener("pagehide", () => this.model.keepDraft());
    addEventListener("beforeunload", () => this.model.keepDraft());
    new ResizeObserver(() => this.changed()).observe(byId("charts"));
    for (const kind of ["keyup", "pointerup", "focusin"]) {
      document.addEventListener(kind, (event) => {
        if (!(event.target instanceof Node) || !byId("manual").contains(event.target)) this.followSoon();
      });
    }
    listenToSplitter({ bar: byId("splitter"), property: "--left", upright: true, least: 20, most: 75 }, () => this.changed());
    listenToSplitter({ bar: byId("panel-splitter"), property: "--look", upright: false, least: 20, most: 85 }, () => this.changed());
    leaveByPress();
    this.takeDrops();
    let waited = false;
    setInterval(() => {
      const waits = this.engine.busy > PATIENCE;
      if (waits || waited) this.showStatus();
      waited = waits;
    }, 500);
  }

  // ---- charts ------------------------------------------------------------------------------------

  goToLine(line: number | null): void {
    if (this.model.isTables) this.tables.light(line);
    else this.editor.light(line);
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

  get path(): string {
    return this.model.path;
  }

  get modelPath(): string {
    const path = shownPath(this.path);
    return this.path.startsWith(GALLERY_FOLDER) ? `models/${path}` : path.replace(/^-/, "./-");
  }

  get modelName(): string {
    return this.path;
  }

  get modelText(): string {
    return this.editor.text;
  }

  get isSaved(): boolean {
    return this.model.isSaved;
  }

  // ---- models, export, links, help ---------------------------------------------------------------

  openModel(path: string): void {
    void this.open(path).catch((error: Error) => this.toast(say(error.message)));
  }

  /** A model of the browser's storage goes. */
  remove(path: string): void {
    const text = this.store.remove(path);
    this.offerBack(path, () => void this.store.save(path, text, null));
    if (path === this.path) this.openModel(FIRST_MODEL);
  }

  /** What is not saved of a model goes. */
  discard(path: string): void {
    const text = this.store.draft(path) ?? "";
    if (path === this.path) this.model.forget();
    this.store.dropDraft(path);
    this.offerBack(path, () => {
      this.store.keepDraft(path, text);
      if (path === this.path) this.openModel(path);
    });
    if (path === this.path) void this.open(path).catch(() => this.open(FIRST_MODEL));
  }

  /** What was removed can be brought back for a while. */
  private offerBack(path: string, bring: () => void): void {
    const back = make("button", { class: "mini", click: () => {
      bring();
      byId("toast").hidden = true;
    } }, say("bring it back"));
    this.toast(`${shownPath(path)}: ${say("removed")} `, back);
  }

  /** A model from the user's disk. */
  upload(): void {
    const input = make("input", { type: "file", accept: ".lisma,.md,.txt" });
    input.addEventListener("change", () => void this.takeFile(input.files?.[0]));
    input.click();
  }

  /** A file of the user's: a table is data to be fitted to, everything else a model. */
  private async takeFile(file: File | undefined): Promise<void> {
    if (!file) return;
    try {
      if (file.size > UPLOAD_MAX) throw new Error("The file is too large for the page.");
      const { text } = fromBytes(await file.arrayBuffer());
      if (/\.(csv|tsv)$/i.test(file.name)) {
        this.panels.show("experiments");
        this.experiments.takeData(file.name, text);
      } else {
        await this.showFresh(/\.(lisma|rules\.md)$/.test(file.name) ? file.name : `${file.name}.lisma`, text);
      }
    } catch (error) {
      this.toast(error instanceof Error ? say(error.message) : String(error));
    }
  }

  /** Files that are dropped on the page are taken; otherwise the browser would leave the page for them. */
  private takeDrops(): void {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      void this.takeFile(event.dataTransfer?.files[0]);
    });
  }

  async create(proposal: string, text: string): Promise<void> {
    const path = await askPath("New model", this.store.freePlace(proposal, text), proposal.endsWith(".rules.md"));
    if (path) await this.showFresh(path, text);
  }

  private async showFresh(path: string, text: string): Promise<void> {
    await this.showModel(this.store.freePlace(path, text), text, "", false);
    this.keepFresh();
  }

  /** What is shown is nowhere else: it is to survive a reload. */
  private keepFresh(): void {
    this.model.differsFrom("");
    this.model.keepDraft();
  }

  private async share(): Promise<void> {
    const run = this.run;
    const link = await writeLink({
      path: this.path, text: this.editor.text, files: await this.store.filesOf(this.path, this.session.model?.reads ?? []), set: this.session.set, until: this.session.until, changes: run?.changes ?? [],
    });
    const address = location.href.replace(/#.*/, "") + link;
    // pages of other machines have no clipboard
    const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    if (copied) this.toast(say("The link is in the clipboard."));
    else await askText("Copy this address", "Copy this address", address);
  }

  private showHelp(): void {
    showHelp(this.allCommands().filter((c) => c.keys).map((c) => [keyText(c.keys ?? ""), c.name]), [
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
    speak(getLanguage() === "en" ? "ru" : "en");
    lasting.set("saltus.language", getLanguage());
    this.toolbar.build();
    this.buildTabs();
    this.drawing.name();
    this.manual.name();
    this.events.name();
    this.placeCharts();
    this.tables.update(true);
    this.showMessages();
    if (this.run) {
      this.parameters.clear();
      this.parameters.show(this.run.model, this.run);
    }
    this.showStatus();
    this.panels.show();
    this.changed();
  }

  tourView(): TourView {
    const run = this.run;
    return {
      path: this.path, set: Object.keys(this.session.set).length, zoomed: !this.following, selected: this.events.selected >= 0, panel: this.panels.name,
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
      cursor: this.cursor,
      playing: this.session.isPlaying,
      kept: this.kept.length,
      measured: this.measured?.time.length ?? 0,
      experiment: this.experiments.look(),
    };
  }
}
