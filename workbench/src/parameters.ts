// SPDX-License-Identifier: MIT
//
// A slider and a field for each constant of the model.
import { make, short } from "./dom";
import { Model, Run, Values } from "./session";
import { say } from "./words";

const STEPS = 1000;
const SHOWN = 60; // sliders; a model with more constants has a field to find them by

/** The span of a slider: around the value the model gives, from 0 where that is natural. */
function spanOf(value: number): [number, number] {
  if (value === 0) return [-1, 1];
  const far = Math.abs(value) * 2;
  return value > 0 ? [0, far] : [-far, 0];
}

interface Row {
  element: HTMLElement;
  slider: HTMLInputElement;
  field: HTMLInputElement;
  low: number;
  high: number;
}

export class Parameters {
  private rows = new Map<string, Row>();
  private defaults: Values = {};
  private model: Model | null = null;
  private readonly note = make("small");
  private readonly list = make("div");

  constructor(
    private readonly parent: HTMLElement,
    private readonly change: (name: string, value: number) => void,
    private readonly reset: () => void,
  ) {}

  /** The model's constants, in the order of its text. */
  show(model: Model, run: Run): void {
    const same = this.model && this.model.names.constants.map((c) => c.name).join("\n") === model.names.constants.map((c) => c.name).join("\n");
    const changed = Object.keys(run.set);
    if (!same || this.model?.path !== model.path) {
      this.model = model;
      this.defaults = {};
      this.build(run);
    }
    this.model = model;
    // what the model says, as far as it is not set here
    for (const [name, value] of Object.entries(run.constants)) {
      if (!changed.includes(name) && !run.live) this.defaults[name] = value;
    }
    this.update(run);
  }

  clear(): void {
    this.model = null;
    this.parent.replaceChildren();
  }

  private build(run: Run): void {
    this.rows.clear();
    const constants = [...(this.model?.names.constants ?? [])].sort((a, b) => a.appearance - b.appearance);
    this.list.replaceChildren();
    for (const { name } of constants.slice(0, SHOWN)) {
      if (name in run.constants) this.list.append(this.addRow(name, run.constants[name]));
    }
    const header = make("header", {}, make("b", {}, say("Parameters")), this.note,
      make("button", { class: "mini", click: () => this.reset() }, say("Reset")));
    this.parent.replaceChildren(header, this.list);
    if (constants.length === 0) this.list.append(make("p", {}, say("The model has no constants.")));
    if (constants.length > SHOWN) this.list.append(make("p", {}, `… ${constants.length - SHOWN}`));
  }

  private addRow(name: string, value: number): HTMLElement {
    const id = `parameter-${this.rows.size}`;
    const slider = make("input", { type: "range", min: 0, max: STEPS, id, "data-name": name });
    const field = make("input", { type: "text", inputmode: "decimal", "aria-label": name });
    const element = make("div", { class: "slider" }, make("label", { for: id, title: name }, name), slider, field);
    const [low, high] = spanOf(value);
    const row: Row = { element, slider, field, low, high };
    this.rows.set(name, row);
    slider.addEventListener("input", () => {
      const raw = row.low + (Number(slider.value) / STEPS) * (row.high - row.low);
      const rounded = Number(raw.toPrecision(6));
      field.value = short(rounded);
      this.change(name, rounded);
    });
    slider.addEventListener("dblclick", () => {
      if (name in this.defaults) this.change(name, this.defaults[name]);
    });
    field.addEventListener("change", () => {
      const typed = Number(field.value.replace(",", "."));
      if (field.value.trim() === "" || !Number.isFinite(typed)) {
        field.setAttribute("aria-invalid", "true");
        return;
      }
      field.removeAttribute("aria-invalid");
      this.change(name, typed);
    });
    return element;
  }

  private update(run: Run): void {
    this.note.textContent = run.live && run.unfinished ? say("a change takes effect at once") : say("a change begins the run anew");
    for (const [name, row] of this.rows) {
      const value = run.constants[name];
      if (value === undefined) continue;
      if (value < row.low || value > row.high) [row.low, row.high] = [Math.min(row.low, value), Math.max(row.high, value)];
      // a slider that is being moved leads, the run follows
      if (document.activeElement !== row.slider) row.slider.value = String(((value - row.low) / (row.high - row.low)) * STEPS);
      if (document.activeElement !== row.field) row.field.value = short(value, 9);
      row.element.classList.toggle("changed", name in this.defaults && value !== this.defaults[name]);
    }
  }
}
