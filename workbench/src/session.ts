// SPDX-License-Identifier: MIT
//
// The model that is open and its run. A run goes on a slice at a time; what the user does between two slices (another
// value, a pause, a new text) simply comes next, and of several values of one slider only the newest is asked for.
import type { Panel } from "./chart";
import { Engine, EngineError } from "./engine";
import { Rows } from "./pyramid";
import { Conditions, readConditions } from "./situations";
import { say } from "./words";

export interface EventRecord {
  t: number;
  n: number;
  kind: string;
  class: string;
  automaton: string | null;
  from: string | null;
  to: string | null;
  atom: string[];
  line: number | null;
  certified: boolean;
  changed: Record<string, [number | null, number | null]>;
  energy?: [number, number]; // before and after
  text?: string;
}

export interface Names {
  variables: { name: string; kind: string; unit: string }[];
  constants: { name: string; appearance: number; structural: boolean }[];
  automata: { name: string; kind: string; states: string[]; line: number }[];
  transitions: { automaton: string; from: string[]; to: string; atoms: string[]; line: number }[];
}

export interface Shape {
  kind: string;
  numbers: string[]; // columns
  text: string;
  colour: string;
}

export interface Control {
  name: string;
  low: number | null;
  high: number | null;
  values: number[];
}

export const STEP = "{step}"; // column of the shortest step since the row before
export const ENERGY = "{energy}"; // column of the energy that the model declares

/** How a column is called on the page. */
export function labelOf(column: string): string {
  return column === STEP ? say("step size") : column === ENERGY ? say("energy") : column;
}

/** What makes a run out of a model. */
export interface Settings {
  set: Values;
  until: number | null;
  changes: Change[];
}

export interface Model {
  path: string;
  text: string;
  names: Names;
  experiment: { start?: number; end?: number; method: string; out: string[] };
  panels: Panel[]; // of the picture that its experiment asks for
  automata: { name: string; states: string[] }[]; // those with a column
  drawing: Shape[];
  controls: Control[];
  reads?: string[]; // files, beside the model or below it
  conditions?: Conditions; // of rule tables
}

export interface Change {
  t: number;
  name: string;
  value: number;
}

/** What a run finds strange. */
export interface Warning {
  code: string;
  file: string;
  line: number; // of the file
  text: string;
  hint: string;
}

/** What one relation or variable has cost, in steps. */
export interface Cost {
  name: string;
  line: number;
  steps: number;
}

export type Values = Record<string, number>;
export type RunState = "running" | "done" | "stopped" | "failed";

/** A run as far as it has come. */
export class Run {
  rows: Rows;
  events: EventRecord[] = [];
  stories = new Map<string, string>(); // by time, as it is told
  state: RunState = "running";
  start = 0;
  t = 0;
  end = 0;
  constants: Values = {};
  changes: Change[] = [];
  warnings: Warning[] = [];
  failure: { code: string; line: number; text: string } | null = null;
  statistics: Record<string, number | string> = {};
  relations: Cost[] = []; // that were followed most
  limits: Cost[] = []; // variables whose error decided about most steps
  detail: { from: number; to: number; rows: Rows } | null = null; // rows closer to each other, where one looks
  wall = 0;
  live = false; // values changed now take effect now
  waitsAt = EVENTS_PAUSE; // number of events

  until: number | null = null; // what it was asked for; null: the model's end

  readonly quantities: { name: string; unit: string }[]; // those with values; a large model hands over some of its own
  private readonly places: Map<string, number>;

  constructor(
    readonly model: Model,
    readonly set: Values,
    readonly columns: string[],
  ) {
    this.rows = new Rows(columns.length);
    this.places = new Map(columns.map((name, i) => [name, i]));
    const units = new Map(model.names.variables.map((v) => [v.name, v.unit]));
    const twice = columns.includes(ENERGY) ? "energy" : ""; // the declared energy has a column of its own
    const shown = columns.filter((name) => units.has(name) || !(name.endsWith(".state") || name.startsWith("{") || name === twice));
    this.quantities = shown.map((name) => ({ name, unit: units.get(name) ?? "" }));
  }


  /** Index of a quantity among the columns of its rows, or -1. */
  column(name: string): number {
    return this.places.get(name) ?? -1;
  }

  get unfinished(): boolean {
    return this.state === "running";
  }

  /** Number of events: those of one instant that follow from each other count once. */
  get eventCount(): number {
    return this.events.filter((e) => e.n === 0 && e.kind !== "initial").length;
  }

  story(event: EventRecord): string {
    return this.stories.get(timeKey(event.t)) ?? "";
  }
}

/** How a story writes a time. */
function timeKey(t: number): string {
  return String(Number(t.toPrecision(10)));
}

interface RunAnswer {
  state: RunState;
  t: number;
  end: number;
  width: number;
  events: EventRecord[];
  story: string;
  warnings: Warning[];
  statistics: Record<string, number | string>;
  relations?: Cost[];
  limits?: Cost[];
  changes: Change[];
  constants?: Values;
  columns?: string[];
  failure?: { code: string; line: number; text: string };
  keepRows?: number;
  keepEvents?: number;
}

export interface Listener {
  onModel(model: Model | null, messages: { severity: string; line: number; text: string }[]): void;
  /** A run has begun or gone on; `fresh`: it is another one. */
  onRun(run: Run, fresh: boolean): void;
  onBusy(busy: boolean): void;
  /** A run that was kept before is there again. */
  onKept(run: Run): void;
  /** Words about what happens. */
  onNotice(text: string): void;
  onTrouble(text: string): void;
}

const SLICE = 40; // ms
const AUTOMATA = 32; // that have columns
const FIRST_SLICE = 30;
const EVENTS_PAUSE = 200_000; // events after which a run waits: a browser has room for some millions
const KEPT_MS = 3000; // for all runs that are made anew

export class Session {
  model: Model | null = null;
  run: Run | null = null; // the one the engine has
  private told: Run | null = null; // the one the listener knows
  set: Values = {};
  until: number | null = null; // null: the model's
  speed = 1;
  private turn = 0; // counts what the user has asked for: an older loop ends
  private playing = false;
  private wanted: (() => Promise<void>) | null = null;
  private working = false;
  private handed = new Map<string, string>(); // files the engine has
  private readonly waiting = new Map<string, number>(); // values for the run as it stands: the newest of each name

  constructor(
    readonly engine: Engine,
    private readonly listener: Listener,
  ) {
    engine.restore = async (ask) => {
      for (const [path, text] of this.handed) await ask({ op: "put", path, text });
      if (this.model) await ask({ op: "compile", path: this.model.path, text: this.model.text, set: this.structural() });
    };
  }

  get isPlaying(): boolean {
    return this.playing;
  }

  // ---- requests ----------------------------------------------------------------------------------

  /** Do this next; what waited instead is dropped. */
  private next(action: () => Promise<void>): Promise<void> {
    this.turn++;
    this.wanted = action;
    return this.working ? Promise.resolve() : this.work();
  }

  private async work(): Promise<void> {
    this.working = true;
    this.listener.onBusy(true);
    while (this.wanted) {
      const action = this.wanted;
      this.wanted = null;
      try {
        await this.applyWaiting();
        await action();
      } catch (error) {
        this.playing = false;
        if (error instanceof EngineError && error.ended) await this.recover(error.message);
        else this.listener.onTrouble(error instanceof Error ? error.message : String(error));
      }
    }
    this.working = false;
    this.listener.onBusy(false);
  }

  /** The engine has lost the run: tell, and bring a run that stood somewhere back there; once, for it may be the run that ends it. */
  private async recover(message: string): Promise<void> {
    this.listener.onTrouble(message);
    const run = this.run;
    this.run = null;
    if (!run?.live || !run.unfinished || this.wanted) return;
    await this.standAt(run.t, run.changes).catch(() => (this.run = null));
  }

  /** Files that models may read beside what the engine finds itself. */
  async hand(files: Record<string, string>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      if (this.handed.get(path) === text) continue;
      this.handed.set(path, text);
      await this.engine.ask({ op: "put", path, text });
    }
  }

  private source: { path: string; text: string; names?: Names } | null = null; // what was compiled last, and its names as far as they are known

  private structural(): Values {
    const names = this.source?.names?.constants.filter((c) => c.structural).map((c) => c.name) ?? [];
    return Object.fromEntries(names.filter((n) => n in this.set).map((n) => [n, this.set[n]]));
  }

  // ---- the model ---------------------------------------------------------------------------------

  /** Compile a text and run it; `kept`: settings of runs to be made before, `changes`: made in the course of this one. */
  open(path: string, text: string, files: Record<string, string>, keepSettings: boolean, kept: Settings[] = [], changes: Change[] = []): Promise<void> {
    this.playing = false;
    return this.next(async () => {
      if (!keepSettings) {
        this.set = {};
        this.until = null;
      }
      await this.hand(files);
      if (!(await this.compile(path, text))) return;
      await this.again(kept);
      await this.begin(false, changes).catch((error: Error) => {
        if (!changes.length || (error instanceof EngineError && error.ended)) throw error;
        this.listener.onTrouble(error.message); // the model is not the one that they were made in
        return this.begin(false);
      });
    });
  }

  /** Runs that were kept are made anew, as long as nobody has to wait for them. */
  private async again(kept: Settings[]): Promise<void> {
    const model = this.model;
    const deadline = performance.now() + KEPT_MS;
    for (const { set, until, changes } of kept) {
      const left = deadline - performance.now();
      if (!model || left <= 0) return;
      const end = until === null ? {} : { until };
      const answer = await this.engine.ask({ op: "run", set, changes, ...end, ms: left }).catch(() => null);
      if (!answer) continue;
      const run = new Run(model, set, [...((answer.json as RunAnswer).columns ?? []), STEP]);
      run.start = answer.numbers.length ? answer.numbers[0] : 0;
      run.until = until;
      this.take(run, answer.json, answer.numbers);
      if (!run.unfinished) this.listener.onKept(run);
    }
  }

  private async compile(path: string, text: string): Promise<boolean> {
    if (this.source?.path !== path) this.source = null;
    const { json } = await this.engine.ask({ op: "compile", path, text, set: this.structural() });
    this.model = null;
    this.source = { path, text, names: this.source?.names };
    if (json.ok) {
      const names = (this.source.names = json.names as Names);
      const automata = names.automata.filter((a) => a.kind === "automaton").slice(0, AUTOMATA);
      const panels = (json.figure?.panels ?? []) as Panel[];
      this.model = { path, text, names, experiment: json.experiment, panels, automata, drawing: json.drawing, controls: json.controls, reads: [...new Set(json.reads as string[])] };
      if (path.endsWith(".rules.md")) {
        const told = await this.engine.ask({ op: "rules", path, text }).catch(() => null);
        this.model.conditions = readConditions(String(told?.json.text ?? ""));
      }
      const known = new Set([...names.constants, ...names.variables].map((c) => c.name));
      for (const name of Object.keys(this.set)) if (!known.has(name)) delete this.set[name];
    }
    this.listener.onModel(this.model, json.messages);
    return json.ok;
  }

  // ---- the run -----------------------------------------------------------------------------------

  private settings(model: Model): { set: Values; until?: number } {
    const free = new Set(model.names.constants.filter((c) => !c.structural).map((c) => c.name));
    const set = Object.fromEntries(Object.entries(this.set).filter(([name]) => free.has(name)));
    return { set, ...(this.until === null ? {} : { until: this.until }) };
  }

  /** Constants and end of the present run, for other requests about it. */
  settingsOfRun(): { set: Values; until?: number } {
    return this.model ? { ...this.settings(this.model), ...(this.run?.live && this.run.unfinished ? { until: this.run.t } : {}) } : { set: {} };
  }

  /** Variables that were set before the run, as changes at its start. */
  private initial(model: Model): Change[] {
    const variables = new Set(model.names.variables.map((v) => v.name));
    const t = model.experiment.start ?? 0;
    return Object.entries(this.set).filter(([name]) => variables.has(name)).map(([name, value]) => ({ t, name, value }));
  }

  private take(run: Run, answer: RunAnswer, numbers: Float64Array): void {
    if (answer.keepRows !== undefined) {
      run.rows.truncate(answer.keepRows);
      run.events.length = Math.min(run.events.length, answer.keepEvents ?? 0);
      run.detail = null;
      run.failure = null;
    }
    run.rows.append(numbers);
    for (const event of answer.events) run.events.push(event);
    for (const block of answer.story.split(/\n\n/)) {
      const head = /^\n?t = ([-+0-9.e]+)/.exec(block);
      if (!head) continue;
      const key = String(Number(head[1]));
      const told = run.stories.get(key);
      const text = block.trim();
      if (told !== text) run.stories.set(key, told ? `${told}\n\n${text}` : text);
    }
    run.state = answer.state;
    run.t = answer.t;
    run.end = answer.end;
    run.changes = answer.changes;
    run.statistics = answer.statistics;
    run.relations = answer.relations ?? run.relations;
    run.limits = answer.limits ?? run.limits;
    run.warnings.push(...answer.warnings.filter((w) => !run.warnings.some((known) => known.code === w.code && known.text === w.text))); // it may come this way again
    if (answer.constants) run.constants = { ...this.controlled(run), ...answer.constants };
    if (answer.failure) run.failure = answer.failure;
  }

  /** Variables that are controlled by hand, as they begin. */
  private controlled(run: Run): Values {
    const values: Values = {};
    for (const { name } of run.model.controls) {
      const column = run.column(name);
      if (column >= 0 && run.rows.length) values[name] = this.set[name] ?? run.rows.columns[column].values[0];
    }
    return values;
  }

  private tell(run: Run): void {
    const fresh = run !== this.told;
    this.told = run;
    this.listener.onRun(run, fresh);
  }

  /** Values that were changed by hand take effect, each of them, whatever was asked for after them. */
  private async applyWaiting(): Promise<void> {
    const run = this.run;
    for (const [name, value] of this.waiting) {
      this.waiting.delete(name);
      if (!run?.live || !run.unfinished) continue;
      const { json, numbers } = await this.engine.ask({ op: "change", name, value });
      this.take(run, json, numbers);
      run.constants = { ...run.constants, [name]: value };
      this.tell(run);
    }
  }

  /** A new run: as fast as it goes to its end, or standing at its start. */
  private async begin(standing: boolean, changes: Change[] = []): Promise<void> {
    const model = this.model;
    if (!model) return;
    const turn = this.turn;
    const begun = performance.now();
    const first = standing ? { ms: 0, to: model.experiment.start ?? 0 } : { ms: FIRST_SLICE };
    const all = changes.length ? changes : this.initial(model);
    const { json, numbers } = await this.engine.ask({ op: "run", ...this.settings(model), changes: all, ...first });
    const run = new Run(model, { ...this.set }, [...((json as RunAnswer).columns ?? []), STEP]);
    run.start = numbers.length ? numbers[0] : 0;
    run.live = standing;
    run.until = this.until;
    this.take(run, json, numbers);
    this.run = run;
    run.wall = performance.now() - begun;
    // an old picture stays until the new one has something to show
    if (turn !== this.turn && this.told) return;
    this.tell(run);
    while (!standing && run.unfinished && turn === this.turn && !this.waits(run)) await this.more(run, { ms: SLICE }, begun);
    if (!standing && run.live && run === this.run) this.tell(run);
  }

  /** Whether a run has so many events that somebody has to say that it goes on. */
  private waits(run: Run): boolean {
    if (run.events.length < run.waitsAt) return false;
    run.waitsAt = run.events.length + EVENTS_PAUSE;
    run.live = true;
    this.listener.onNotice("The run waits: it has very many events. It can be continued.");
    return true;
  }

  private async more(run: Run, how: object, begun?: number): Promise<void> {
    const { json, numbers } = await this.engine.ask({ op: "more", ...how });
    this.take(run, json, numbers);
    if (begun !== undefined) run.wall = performance.now() - begun;
    if (run === this.run) this.tell(run);
  }

  /** From the start to the end. */
  restart(): Promise<void> {
    this.playing = false;
    return this.next(() => this.begin(false));
  }

  /** The same run once more, with what was changed in it; to its end, or to a time where it stands. */
  replay(changes: Change[], to: number | null = null): Promise<void> {
    this.playing = false;
    return this.next(() => (to === null ? this.begin(false, changes) : this.standAt(to, changes)));
  }

  private async standAt(t: number, changes: Change[]): Promise<void> {
    await this.begin(true, changes);
    const turn = this.turn;
    const run = this.run;
    while (run?.unfinished && run.t < t && turn === this.turn) await this.more(run, { ms: SLICE, to: t });
  }

  /** At the pace of the clock, from where the run stands, or from the start. */
  play(): Promise<void> {
    return this.next(async () => {
      if (!this.run?.unfinished || !this.run.live) await this.begin(true);
      const run = this.run;
      if (!run) return;
      const turn = this.turn;
      this.playing = true;
      const from = run.t;
      const begun = performance.now();
      while (run.unfinished && turn === this.turn && !this.waits(run)) {
        // as fast as it goes: no time is asked for
        const to = this.speed === Infinity ? {} : { to: Math.max(from + ((performance.now() - begun) / 1000) * this.speed, run.t) };
        await this.more(run, { ms: SLICE, ...to });
        await this.applyWaiting();
        await new Promise(requestAnimationFrame);
      }
      if (turn === this.turn) this.playing = false;
      this.tell(run);
    });
  }

  pause(): Promise<void> {
    this.playing = false;
    return this.next(async () => {
      if (this.run) {
        this.run.live = this.run.unfinished;
        this.tell(this.run);
      }
    });
  }

  /** On to the next event. */
  step(): Promise<void> {
    this.playing = false;
    return this.next(async () => {
      if (!this.run?.unfinished) await this.begin(true);
      if (!this.run) return;
      this.run.live = true;
      await this.more(this.run, { events: 1, ms: 10000 });
    });
  }

  /** Back to a time; the run stands there, and values can be changed. */
  back(to: number): Promise<void> {
    this.playing = false;
    return this.next(async () => {
      if (this.run) await this.goBack(this.run, to);
    });
  }

  private async goBack(run: Run, to: number): Promise<void> {
    const { json, numbers } = await this.engine.ask({ op: "back", to });
    run.live = true;
    this.take(run, json, numbers);
    this.tell(run);
  }

  /** The run stands at a time, before or behind where it is. */
  goTo(t: number): Promise<void> {
    this.playing = false;
    return this.next(async () => {
      const { run, turn } = this;
      if (!run) return;
      if (t < run.t || !run.unfinished) await this.goBack(run, Math.min(t, run.t));
      run.live = true;
      while (run.unfinished && run.t < t && turn === this.turn) await this.more(run, { ms: SLICE, to: t });
    });
  }

  /** A slider has moved: at once in a live run, otherwise by a new run. */
  change(name: string, value: number): Promise<void> {
    const run = this.run;
    if (run?.live && run.unfinished) {
      this.waiting.set(name, value);
      return this.playing ? Promise.resolve() : this.next(() => Promise.resolve());
    }
    this.set[name] = value;
    return this.next(async () => {
      const source = this.source;
      if (!source) return;
      const structural = source.names?.constants.find((c) => c.name === name)?.structural ?? false;
      if ((structural || !this.model) && !(await this.compile(source.path, source.text))) return;
      await this.begin(false);
    });
  }

  /** Rows closer to each other between two times; asked for only while nothing else is to be done. */
  async refine(run: Run, from: number, to: number, samples: number): Promise<void> {
    if (this.working || run.unfinished || run !== this.run) return;
    const request = { op: "rows", ...this.settings(run.model), changes: run.changes, window: [from, to], samples, ms: 400 };
    const { json, numbers } = await this.engine.ask(request);
    if (!json.complete || run !== this.run) return;
    const rows = new Rows(json.width - 1);
    rows.append(numbers);
    run.detail = { from, to, rows };
    this.tell(run);
  }
}
