// SPDX-License-Identifier: MIT
//
// The graph of the automata as the engine draws it, with the states at the cursor lit.
import { make } from "./dom";
import { Engine } from "./engine";
import { emptyNote, Panel } from "./panels";
import { Run } from "./session";

export interface AutomataHost {
  readonly run: Run | null;
  readonly cursor: number | null;
}

export class Automata implements Panel {
  readonly element = make("div", { class: "graph", tabindex: 0 });

  constructor(private readonly engine: Engine, private readonly host: AutomataHost) {}

  show(): void {
    void this.engine.ask({ op: "graph" }).then(
      ({ json }) => this.take(json.text),
      () => this.element.replaceChildren(emptyNote("This model has neither automata nor switches.")),
    );
  }

  modelChanged(): void {
    this.show();
  }

  runChanged(run: Run): void {
    if (!run.unfinished) this.show();
  }

  cursorMoved(): void {
    this.light();
  }

  /** The engine's drawing, as SVG. */
  private take(svg: string): void {
    const drawing = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    this.element.replaceChildren(document.importNode(drawing, true));
    this.light();
  }

  /** The states at the cursor, or now. */
  private light(): void {
    const run = this.host.run;
    if (!run) return;
    const row = Math.max(0, run.rows.find(this.host.cursor ?? run.t, true) - 1);
    const now = new Set(run.model.automata.map((a) => {
      const states = run.rows.columns[run.column(`${a.name}.state`)];
      return `${a.name}\n${a.states[states?.values[row] ?? 0]}`;
    }));
    for (const node of this.element.querySelectorAll<SVGElement>("[data-state]")) {
      node.classList.toggle("now", now.has(`${node.dataset.automaton}\n${node.dataset.state}`));
    }
  }
}
