// SPDX-License-Identifier: MIT
//
// Runs that were kept: what they were made with, and how far the present one is from them.
import { DASHES } from "./chart";
import { make, short } from "./dom";
import { eventText } from "./events";
import { Panel } from "./panels";
import { EventRecord, Run } from "./session";
import { count, say } from "./words";

const PLACES = 4000; // at which two runs are compared, beside the ends of their common time
const SHOWN = 8; // quantities with the largest differences

export interface RunsHost {
  run: Run | null;
  kept: Run[];
  keepRun(): void;
  dropRun(run: Run): void;
  useRun(run: Run): void;
  setCursor(t: number | null): void;
  command(): string;
  readonly isSaved: boolean;
}

/** What makes a run different from what the text says. */
export function describeRun(run: Run): string {
  const set = Object.entries(run.set).map(([n, v]) => `${n} = ${short(v)}`);
  const changes = run.changes.map((c) => `t = ${short(c.t)}: ${c.name} = ${short(c.value)}`);
  return [...set, ...changes].join(", ") || say("as the text says");
}

export interface Difference {
  name: string;
  largest: number; // of the absolute values
  t: number; // where
}

/** The largest differences of two runs over their common time, greatest part of its quantity's span first. */
export function differences(a: Run, b: Run): Difference[] {
  const from = Math.max(a.start, b.start);
  const to = Math.min(a.t, b.t);
  const found: (Difference & { share: number })[] = [];
  if (!(to > from)) return [];
  for (const { name } of a.quantities) {
    const [i, k] = [a.column(name), b.column(name)];
    if (i < 0 || k < 0) continue;
    const [low, high] = a.rows.columns[i].extremes(0, a.rows.length);
    let [largest, t] = [0, from];
    for (let p = 0; p <= PLACES; p++) {
      const at = from + ((to - from) * p) / PLACES;
      const difference = Math.abs(a.rows.valueAt(i, at) - b.rows.valueAt(k, at));
      if (difference > largest) [largest, t] = [difference, at];
    }
    found.push({ name, largest, t, share: largest / (high - low || Math.abs(high) || 1) });
  }
  return found.sort((x, y) => y.share - x.share);
}

/** The first event at which two runs take different ways, as an index; -1: there is none. */
export function parting(a: Run, b: Run): number {
  const what = (run: Run): string[] => run.events.map(eventText);
  const [x, y] = [what(a), what(b)];
  for (let i = 0; i < Math.max(x.length, y.length); i++) if (x[i] !== y[i]) return i;
  return -1;
}

export class Runs implements Panel {
  readonly element = make("div", { class: "runs", tabindex: 0 });

  constructor(private readonly host: RunsHost) {}

  runChanged(): void {
    this.show();
  }

  show(): void {
    const { run, kept } = this.host;
    this.element.replaceChildren(
      make("b", {}, say("the present run")), ": ", run ? describeRun(run) : "—", " ",
      make("button", { click: () => this.host.keepRun() }, say("Keep")),
      kept.length ? make("ul", {}, ...kept.map((r, i) => this.item(r, i))) : make("p", {}, make("small", {}, say("nothing was kept yet"))),
      make("p", {}, make("small", {}, `${say("command line")}: `), make("code", {}, this.host.command()), this.host.isSaved ? "" : make("small", {}, ` ${say("(once the text is saved)")}`)));
  }

  private item(kept: Run, index: number): HTMLElement {
    const dash = DASHES[index % DASHES.length].join(" ");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    line.setAttribute("viewBox", "0 0 30 6");
    line.setAttribute("class", "swatch");
    const stroke = document.createElementNS("http://www.w3.org/2000/svg", "path");
    stroke.setAttribute("d", "M0 3H30");
    stroke.setAttribute("stroke-dasharray", dash);
    line.append(stroke);
    const head = make("div", {},
      make("button", { class: "mini", title: say("remove"), "aria-label": `${say("remove")} ${index + 1}`, click: () => this.host.dropRun(kept) }, "×"));
    head.append(line, describeRun(kept), make("small", {}, ` · ${count(kept.eventCount, "event")} `),
      make("button", { class: "mini", click: () => this.host.useRun(kept) }, say("Use these values")));
    return make("li", {}, head, this.compare(kept));
  }

  /** The present run beside a kept one. */
  private compare(kept: Run): HTMLElement | null {
    const run = this.host.run;
    if (!run || run === kept || run.unfinished) return null;
    const rows = differences(run, kept).filter((d) => d.largest > 0).slice(0, SHOWN);
    const at = parting(run, kept);
    if (!rows.length && at < 0) return make("small", {}, say("equal in every row and event"));
    const event: EventRecord | undefined = run.events[at] ?? kept.events[at];
    const order = at < 0 || !event ? say("the same order of events")
      : `${say("other events from")} t = ${short(event.t, 6)} ${say("on")}: ${run.events[at] ? eventText(run.events[at]) : "—"} / ${kept.events[at] ? eventText(kept.events[at]) : "—"}`;
    return make("div", { class: "compared" }, make("small", {}, order),
      make("table", {}, make("tr", {}, make("th", {}, say("quantity")), make("th", { class: "number" }, say("largest difference")), make("th", {}, "t")),
        ...rows.map((d) => make("tr", {}, make("td", {}, d.name), make("td", { class: "number" }, short(d.largest, 4)),
          make("td", {}, make("button", { class: "mini", click: () => this.host.setCursor(d.t) }, short(d.t, 5)))))));
  }
}
