// SPDX-License-Identifier: MIT
//
// What a run has cost and where: steps and why they were short, what fired most often, and what became of the energy.
import { make, short } from "./dom";
import { eventText } from "./events";
import { Panel } from "./panels";
import { ENERGY, EventRecord, Run, STEP } from "./session";
import { tell } from "./story";
import { say } from "./words";

export interface CostsHost {
  run: Run | null;
  showCurve(column: string): void;
  selectEvent(event: EventRecord): void;
  goToLine(line: number): void;
}

function number(value: number | string | undefined): string {
  return typeof value === "number" ? value.toLocaleString("en").replaceAll(",", " ") : String(value ?? "–");
}

/** Times between which steps are shortest: a tenth of the run each. */
function shortest(run: Run): { from: number; to: number; step: number }[] {
  const column = run.column(STEP);
  const parts: { from: number; to: number; step: number }[] = [];
  for (let i = 0; i < 10; i++) {
    const from = run.start + ((run.t - run.start) * i) / 10;
    const to = run.start + ((run.t - run.start) * (i + 1)) / 10;
    const [low] = run.rows.columns[column].extremes(run.rows.find(from), run.rows.find(to, true));
    if (Number.isFinite(low)) parts.push({ from, to, step: low });
  }
  return parts.sort((a, b) => a.step - b.step);
}

export class Costs implements Panel {
  readonly element = make("div", { class: "costs", tabindex: 0 });

  constructor(private readonly host: CostsHost) {}

  runChanged(): void {
    this.show();
  }

  show(): void {
    const run = this.host.run;
    if (!run) return;
    this.element.replaceChildren(this.work(run), this.dearest(run), this.often(run), ...(run.column(ENERGY) >= 0 ? [this.energy(run)] : []));
  }

  private work(run: Run): HTMLElement {
    const s = run.statistics;
    const rows: [string, string][] = [
      [say("method"), `${s.method}${s.reason ? ` · ${tell(String(s.reason))}` : ""}`],
      [say("steps"), `${number(s.steps)} (${number(s.rejected)} ${say("rejected")})`],
      [say("evaluations"), number(s.evaluations)],
      [say("of guards"), number(s.guards)],
      [say("modes"), number(s.modes)],
      [say("not certified"), number(s.notCertified)],
      [say("wall clock"), `${short(run.wall, 3)} ms`],
    ];
    const [least] = shortest(run);
    if (least) rows.push([say("shortest step"), `${short(least.step, 4)} · t = ${short(least.from, 4)} … ${short(least.to, 4)}`]);
    return make("section", {}, make("h3", {}, say("Work")), make("table", {}, ...rows.map(([a, b]) => make("tr", {}, make("td", {}, a), make("td", { class: "number" }, b)))),
      make("button", { click: () => this.host.showCurve(STEP) }, say("chart of step sizes")));
  }

  /** What the work is spent on: conditions that had to be followed, equations that keep the steps short. */
  private dearest(run: Run): HTMLElement {
    const steps = Math.max(Number(run.statistics.steps) || 1, ...run.relations.map((c) => c.steps)); // steps that were not kept count, too
    const share = (n: number): string => `${Math.round((100 * n) / steps)} %`;
    const guards = run.relations.map((c) => make("tr", {}, make("td", { class: "number" }, share(c.steps)),
      make("td", { class: "code" }, make("button", { class: "mini", click: () => this.host.goToLine(c.line) }, c.name.replaceAll("`", "")))));
    const equations = run.limits.map((c) => make("tr", {}, make("td", { class: "number" }, share(c.steps)),
      make("td", {}, make("button", { class: "mini", click: () => this.host.showCurve(c.name) }, c.name))));
    const table = (rows: HTMLElement[]): HTMLElement => (rows.length ? make("table", {}, ...rows) : make("p", {}, say("none")));
    return make("section", { class: "dearest" }, make("h3", {}, say("Conditions that were followed, by steps")), table(guards),
      make("h3", {}, say("Equations that kept the steps short")), table(equations));
  }

  /** Each event ends a step and begins another: what fires most costs most. */
  private often(run: Run): HTMLElement {
    const counts = new Map<string, { count: number; event: EventRecord }>();
    for (const event of run.events) {
      if (event.kind === "initial") continue;
      const text = eventText(event);
      const relation = event.atom.join(" ∧ ").replaceAll("`", "");
      const key = `${text}\n${text.includes(relation) ? "" : relation}`;
      const found = counts.get(key);
      if (found) found.count++;
      else counts.set(key, { count: 1, event });
    }
    const sorted = [...counts.entries()].sort((a, b) => b[1].count - a[1].count).slice(0, 12);
    const rows = sorted.map(([key, { count, event }]) => make("tr", {}, make("td", { class: "number" }, number(count)),
      make("td", {}, make("button", { class: "mini", click: () => this.host.selectEvent(event) }, key.split("\n")[0])), make("td", { class: "code" }, key.split("\n")[1])));
    return make("section", {}, make("h3", {}, say("What fired most")), rows.length ? make("table", {}, ...rows) : make("p", {}, say("The run has no events.")));
  }

  private energy(run: Run): HTMLElement {
    const s = run.statistics as Record<string, number>;
    const end = s.energyStart + s.energyMotion + s.energyEvents;
    const rows: [string, number][] = [
      ["at the start", s.energyStart], ["changed by the motion", s.energyMotion], ["changed by events", s.energyEvents],
      ["created by events", s.energyGained], ["at the end", end],
    ];
    const largest = run.events.filter((e) => e.energy).sort((a, b) => lost(b) - lost(a)).slice(0, 5);
    return make("section", {}, make("h3", {}, say("Energy")),
      make("table", {}, ...rows.map(([name, value]) => make("tr", {}, make("td", {}, say(name)), make("td", { class: "number" }, short(value, 7))))),
      make("button", { click: () => this.host.showCurve(ENERGY) }, say("chart of the energy")),
      make("table", {}, ...largest.map((e) => make("tr", {}, make("td", {}, make("button", { class: "mini", click: () => this.host.selectEvent(e) }, `t = ${short(e.t, 7)} · ${eventText(e)}`)),
        make("td", { class: "number" }, short(e.energy ? e.energy[1] - e.energy[0] : 0, 5))))));
  }
}

function lost(event: EventRecord): number {
  return event.energy ? Math.abs(event.energy[1] - event.energy[0]) : 0;
}
