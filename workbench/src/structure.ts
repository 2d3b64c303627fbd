// SPDX-License-Identifier: MIT
//
// What each mode of a model computes and in which order; the mode at the cursor is open, the others are folded.
import { make } from "./dom";
import { Engine } from "./engine";
import { emptyNote, Panel } from "./panels";
import { Run } from "./session";
import { tell } from "./story";

export interface StructureHost {
  run: Run | null;
  cursor: number | null;
}

/** The states of a mode: "mode main=Falling, door=open". */
function statesOf(head: string): [string, string][] {
  return [...head.matchAll(/(`[^`]*`|[^\s,=]+)=(`[^`]*`|[^\s,]+)/g)].map((m) => [m[1].replaceAll("`", ""), m[2].replaceAll("`", "")]);
}

export class Structure implements Panel {
  readonly element = make("div", { class: "structure", tabindex: 0 });
  private modes: { states: [string, string][]; fold: HTMLDetailsElement }[] = [];

  constructor(private readonly engine: Engine, private readonly host: StructureHost) {}

  show(): void {
    void this.engine.ask({ op: "structure" }).then(
      ({ json }) => this.take(json.text),
      () => this.element.replaceChildren(emptyNote("There is no model to look at.")),
    );
  }

  modelChanged(): void {
    this.show();
  }

  /** The text of `saltus explain`. */
  private take(text: string): void {
    const [head, ...blocks] = text.split(/\n(?=mode )/);
    this.modes = blocks.map((block) => {
      const [title, ...lines] = block.split("\n");
      const fold = make("details", {}, make("summary", {}, tell(title)), make("pre", { class: "plain-text" }, lines.join("\n").trimEnd().split("\n").map(tell).join("\n")));
      return { states: statesOf(title), fold };
    });
    this.element.replaceChildren(make("p", { class: "told" }, tell(head.split("\n").slice(1).join(" ").trim())), ...this.modes.map((m) => m.fold));
    this.cursorMoved();
  }

  /** Open the mode at the cursor. */
  cursorMoved(): void {
    const { run, cursor } = this.host;
    if (!run || !run.rows.length) return;
    const row = Math.max(0, run.rows.find(cursor ?? run.t, true) - 1);
    const now = new Map(run.model.automata.map((a) => [a.name, a.states[run.rows.columns[run.column(`${a.name}.state`)]?.values[row] ?? 0]]));
    for (const { states, fold } of this.modes) {
      const here = states.every(([automaton, state]) => !now.has(automaton) || now.get(automaton) === state);
      if (fold.classList.contains("now") !== here || !fold.dataset.seen) fold.open = here;
      fold.classList.toggle("now", here);
      fold.dataset.seen = "yes";
    }
  }
}
