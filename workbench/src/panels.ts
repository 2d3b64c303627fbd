// SPDX-License-Identifier: MIT
//
// The panel below the charts: one of several looks at the run, chosen by a tab.
import { byId, make, tab } from "./dom";
import { Run } from "./session";
import { say } from "./words";

export type PanelName = "events" | "guards" | "automata" | "structure" | "experiments" | "costs" | "runs";

const NAMES: [PanelName, string][] = [
  ["events", "Events"], ["guards", "Conditions"], ["automata", "Automata"], ["structure", "Structure"],
  ["experiments", "Experiments"], ["costs", "Costs"], ["runs", "Runs"],
];

/** Where the manual tells about a panel. */
const TOPICS: Record<PanelName, string> = {
  events: "Events", guards: "Charts", automata: "Charts", structure: "Charts", experiments: "Experiments", costs: "Charts", runs: "The same run elsewhere",
};

/** A look at the run. What is not in sight is told nothing. */
export interface Panel {
  readonly element: HTMLElement;
  show(): void;
  /** Another model is there. */
  modelChanged?(): void;
  /** The run has gone on; `another`: it has other quantities than the one before. */
  runChanged?(run: Run, another: boolean): void;
  cursorMoved?(): void;
}

export class Panels {
  name: PanelName = "events";

  constructor(private readonly parts: Record<PanelName, Panel>) {}

  get names(): [PanelName, string][] {
    return NAMES;
  }

  get current(): Panel {
    return this.parts[this.name];
  }

  /** What the manual is asked about when the keyboard is in the panel; null: it is elsewhere. */
  get topic(): string | null {
    return byId("panel").contains(document.activeElement) ? TOPICS[this.name] : null;
  }

  show(name: PanelName = this.name): void {
    this.name = name;
    this.buildTabs();
    byId("panel").replaceChildren(this.current.element);
    this.current.show();
  }

  buildTabs(): void {
    byId("panel-tabs").replaceChildren(...NAMES.map(([id, name]) => tab(say(name), this.name === id, () => this.show(id))));
  }
}

/** What stands in a panel that has nothing to show. */
export function emptyNote(text: string): HTMLElement {
  return make("p", { class: "empty" }, say(text));
}
