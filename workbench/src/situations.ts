// SPDX-License-Identifier: MIT
//
// Predicates and situations of rule tables at a time: which hold, and how far the others are from it. The engine tells the
// conditions of a model with everything it includes; here they are read and asked about rows of a run.
import { margin } from "./expression";
import { Run } from "./session";

interface Literal {
  name: string;
  negated: boolean;
}

export interface Conditions {
  predicates: { name: string; relations: string[] }[];
  situations: { name: string; ways: Literal[][] }[]; // it holds when all of one way hold
}

const NAME = /^(?:`([^`]*)`|([^\s`=,:]+))/;

function literals(text: string): Literal[] {
  return [...text.matchAll(/(not )?(?:`([^`]*)`|([^\s`,]+))/g)].map((m) => ({ name: m[2] ?? m[3], negated: Boolean(m[1]) }));
}

/** The part "conditions" of what the engine explains. */
export function readConditions(explained: string): Conditions {
  const result: Conditions = { predicates: [], situations: [] };
  const part = /\nconditions\n([\s\S]*?)(\n\n|$)/.exec(explained)?.[1] ?? "";
  for (const line of part.split("\n").map((l) => l.trim())) {
    const name = NAME.exec(line);
    if (!name) continue;
    const called = name[1] ?? name[2];
    const rest = line.slice(name[0].length).trim();
    const when = /^(?:or )?when (.*?)(?:: set .*)?$/.exec(rest);
    if (rest.startsWith("= ")) {
      result.predicates.push({ name: called, relations: [...rest.matchAll(/\[((?:`[^`]*`|[^\]])*)\]/g)].map((m) => m[1]) });
    } else if (when) {
      const known = result.situations.find((s) => s.name === called);
      if (known) known.ways.push(literals(when[1]));
      else result.situations.push({ name: called, ways: [literals(when[1])] });
    }
  }
  return result;
}

export interface Told {
  name: string;
  situation: boolean;
  holds: boolean | null; // null: it cannot be told from the rows
  text: string; // what it is made of
  lacks: number | null; // of the relation that lacks most
}

/** Conditions that the engine switches by: what its events say about them up to a row. On a boundary a value alone does not tell. */
export function switched(run: Run, row: number): Map<string, boolean> {
  const t = run.rows.time.values[row];
  const truths = new Map<string, boolean>();
  for (const event of run.events) {
    if (!event.automaton || (event.to !== "true" && event.to !== "false")) continue;
    if (event.t <= t) truths.set(event.automaton, event.to === "true");
    else if (!truths.has(event.automaton)) truths.set(event.automaton, event.from === "true");
  }
  return truths;
}

/** Each predicate and situation at a row of a run. */
export function tellConditions(conditions: Conditions, run: Run, row: number): Told[] {
  const known = switched(run, row);
  const truths = new Map<string, boolean | null>();
  const told: Told[] = [];
  for (const { name, relations } of conditions.predicates) {
    const margins = relations.map((r) => margin(r, run)?.(row) ?? NaN);
    // at the boundary a relation holds if it is written with =
    const holds = known.get(name) ?? (margins.some(Number.isNaN) ? null : margins.every((m, i) => m > 0 || (m === 0 && relations[i].includes("="))));
    truths.set(name, holds);
    told.push({ name, situation: false, holds, text: relations.join(" ∧ ").replaceAll("`", ""), lacks: holds === false ? -Math.min(...margins) : null });
  }
  const truthOf = ({ name, negated }: Literal): boolean | null => {
    const column = run.column(name); // a logical state
    const truth = truths.get(name) ?? (name === "EverTrue" ? true : column >= 0 ? run.rows.columns[column].values[row] > 0.5 : null);
    return truth === null ? null : truth !== negated;
  };
  for (const { name, ways } of conditions.situations) {
    const found = ways.map((way) => way.map(truthOf));
    const holds = known.get(name) ?? (found.some((w) => w.every((t) => t === true)) ? true : found.some((w) => w.includes(null) && !w.includes(false)) ? null : false);
    truths.set(name, holds);
    told.push({ name, situation: true, holds, lacks: null, text: ways.map((w) => w.map((l) => (l.negated ? `¬ ${l.name}` : l.name)).join(", ")).join(" ∨ ") });
  }
  return told;
}
