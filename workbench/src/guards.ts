// SPDX-License-Identifier: MIT
//
// The conditions of a model at the cursor: which transitions could be taken from here, which of their conditions hold, how
// far the others are from it, and how near they came while the automaton was where it is.
import { make, quiet, short } from "./dom";
import { margin } from "./expression";
import { Panel } from "./panels";
import { Run } from "./session";
import { tellConditions } from "./situations";
import { say } from "./words";

const SHOWN = 200; // lines

export interface GuardsHost {
  run: Run | null;
  cursor: number | null;
  setCursor(t: number | null): void;
  goToLine(line: number): void;
}

/** Rows during which an automaton is in the state it is in at a row. */
function stay(run: Run, column: number, row: number): [number, number] {
  const states = run.rows.columns[column];
  return [states.equalUpTo(row, -1), states.equalUpTo(row, 1) - 1];
}

export class Guards implements Panel {
  readonly element = make("div", { class: "guards", tabindex: 0 });

  private known = { rows: null as Run["rows"] | null, length: 0, best: new Map<string, number>() }; // rows where conditions came nearest

  constructor(private readonly host: GuardsHost) {}

  runChanged(): void {
    this.show();
  }

  readonly cursorMoved = quiet(40, () => this.show());

  show(): void {
    const run = this.host.run;
    if (!run || run.rows.length === 0) return;
    if (this.known.rows !== run.rows || this.known.length !== run.rows.length) this.known = { rows: run.rows, length: run.rows.length, best: new Map() };
    const t = this.host.cursor ?? run.t;
    const row = Math.max(0, run.rows.find(t, true) - 1);
    const lines: HTMLElement[] = [];
    for (const automaton of run.model.automata) {
      const column = run.column(`${automaton.name}.state`);
      if (column < 0 || lines.length > SHOWN) continue;
      const state = automaton.states[run.rows.columns[column].values[row]];
      const [from, to] = stay(run, column, row);
      for (const transition of run.model.names.transitions) {
        if (transition.automaton !== automaton.name || !transition.from.includes(state)) continue;
        lines.push(...this.transition(run, automaton.name, state, transition, row, from, to));
      }
    }
    const head = make("tr", {}, ...["transition", "condition", "now", "nearest so far", "taken"].map((h) => make("th", {}, say(h))));
    const conditions = this.conditions(run, row);
    this.element.replaceChildren(
      make("p", { class: "told" }, `${say("what could happen at")} t = ${short(t, 8)}`), conditions,
      lines.length ? make("table", {}, head, ...lines.slice(0, SHOWN)) : conditions ? "" : make("p", { class: "empty" }, say("No transition leads on from here.")));
  }

  /** Predicates and situations of rule tables, those that hold first among their kind. */
  private conditions(run: Run, row: number): HTMLElement | string {
    const conditions = run.model.conditions;
    if (!conditions?.predicates.length) return "";
    const told = tellConditions(conditions, run, row);
    const line = (c: (typeof told)[number]): HTMLElement => make("tr", { class: c.holds ? "true" : "" },
      make("td", { class: c.holds ? "holds" : "" }, c.holds ? "●" : c.holds === null ? "?" : "○"), make("td", {}, c.name), make("td", { class: "code" }, c.text),
      make("td", { class: c.holds ? "holds" : "" }, c.holds ? say("holds") : c.lacks === null ? "" : `${say("lacks")} ${short(c.lacks, 4)}`));
    const table = (situation: boolean, title: string): HTMLElement => {
      const rows = told.filter((c) => c.situation === situation).slice(0, SHOWN);
      return make("table", { class: situation ? "situations" : "predicates" }, make("tr", {}, make("th", {}), make("th", {}, say(title)), make("th", {}), make("th", {})), ...rows.map(line));
    };
    return make("div", { class: "conditions" }, table(true, "Situations"), table(false, "Predicates"));
  }

  private transition(run: Run, name: string, state: string, transition: Run["model"]["names"]["transitions"][number], row: number, from: number, to: number): HTMLElement[] {
    const taken = run.events.filter((e) => e.automaton === name && e.to === transition.to && e.from === state).length;
    const where = name === "main" ? "" : `${name}: `;
    return transition.atoms.map((atom, i) => make("tr", {},
      make("td", {}, i === 0 ? make("button", { class: "mini", click: () => this.host.goToLine(transition.line) }, `${where}${state} → ${transition.to}`) : ""),
      make("td", { class: "code" }, atom),
      ...this.margins(run, atom, row, from, to),
      make("td", { class: "number" }, i === 0 ? String(taken) : "")));
  }

  private margins(run: Run, atom: string, row: number, from: number, to: number): HTMLElement[] {
    const value = margin(atom, run);
    if (!value) return [make("td", {}), make("td", {})];
    const now = value(row);
    // it is the same wherever the cursor stands in this stay
    const key = `${atom}\n${from}\n${to}`;
    let best = this.known.best.get(key) ?? -1;
    if (best < 0) {
      best = from;
      let most = value(from);
      for (let i = from + 1; i <= to; i++) {
        const here = value(i);
        if (here > most) [best, most] = [i, here];
      }
      this.known.best.set(key, best);
    }
    const t = run.rows.time.values[best];
    const nearest = value(best);
    return [
      make("td", { class: now >= 0 ? "holds" : "" }, now >= 0 ? say("holds") : `${say("lacks")} ${short(-now, 4)}`),
      make("td", {}, nearest >= 0 ? "" : make("button", { class: "mini", click: () => this.host.setCursor(t) }, `${short(-nearest, 4)} · t = ${short(t, 6)}`)),
    ];
  }
}
