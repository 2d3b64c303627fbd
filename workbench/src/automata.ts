// SPDX-License-Identifier: MIT
//
// The graph of the automata as the engine draws it, with the states at the cursor lit. Conditions that switch are an automaton,
// too: its states are the conditions that hold together.
import { make } from "./dom";
import { Engine } from "./engine";
import { emptyNote, Panel } from "./panels";
import { Run } from "./session";
import { switched } from "./situations";
import { tell } from "./story";

const MODES = "conditions that hold"; // the automaton of the conditions
const AND = " ∧ ";
const SMALLEST = 0.9; // scale at which it can be read; beyond it is scrolled
const LARGEST = 1.5;
const EDGE = 12;

export interface AutomataHost {
  readonly run: Run | null;
  readonly cursor: number | null;
}

export class Automata implements Panel {
  readonly element = make("div", { class: "graph", tabindex: 0 });
  private drawing: SVGSVGElement | null = null;

  constructor(private readonly engine: Engine, private readonly host: AutomataHost) {
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

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
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    this.drawing = document.importNode(parsed, true) as unknown as SVGSVGElement;
    this.drawing.querySelector(":scope > rect")?.remove(); // its ground
    for (const text of this.drawing.querySelectorAll("text")) {
      const box = text.previousElementSibling;
      const named = box instanceof SVGElement && box.dataset.state !== undefined && box.dataset.automaton !== MODES; // by the user
      if (!named) text.textContent = tell(text.textContent ?? "");
    }
    this.element.replaceChildren(this.drawing);
    this.fit();
    this.light();
  }

  /** As large as there is room for and a reader wants, without its empty edges. */
  private fit(): void {
    if (!this.drawing?.isConnected) return;
    const box = this.drawing.getBBox();
    if (!box.width) return;
    const [width, height] = [box.width + 2 * EDGE, box.height + 2 * EDGE];
    const room = Math.min((this.element.clientWidth - 2) / width, (this.element.clientHeight - 2) / height);
    const scale = Math.min(LARGEST, Math.max(SMALLEST, room));
    this.drawing.setAttribute("viewBox", `${box.x - EDGE} ${box.y - EDGE} ${width} ${height}`);
    this.drawing.setAttribute("width", String(width * scale));
    this.drawing.setAttribute("height", String(height * scale));
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
    const nodes = [...this.element.querySelectorAll<SVGElement>("[data-state]")];
    const modes = nodes.filter((node) => node.dataset.automaton === MODES);
    const truths = switched(run, row);
    const namesOf = (node: SVGElement): string[] => (node.dataset.state ?? "").split(AND).filter((name) => truths.has(name));
    const told = new Set(modes.flatMap(namesOf)); // conditions that tell the modes apart
    for (const node of nodes) {
      const here = modes.includes(node) ? [...told].every((name) => truths.get(name) === namesOf(node).includes(name)) : now.has(`${node.dataset.automaton}\n${node.dataset.state}`);
      node.classList.toggle("now", here);
    }
  }
}
