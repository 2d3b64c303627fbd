// SPDX-License-Identifier: MIT
//
// What can be changed by hand: the controls that a model declares, with their ranges and choices, then a slider and a
// field for each constant. A control of something that is computed shows it: a gauge.
import { spanOf } from "./controls";
import { make, short } from "./dom";
import { Control, Model, Run, Values } from "./session";
import { say } from "./words";

const STEPS = 1000;
const SHOWN = 60; // sliders; others are found by their names

/** A value on the page and how to show another. */
interface Row {
  element: HTMLElement;
  show(value: number): void;
  counts?: boolean; // decides how many equations there are: not while the run goes on
}

export class Parameters {
  private rows = new Map<string, Row>();
  private gauges = new Map<string, Row>();
  private defaults: Values = {};
  private model: Model | null = null;
  private run: Run | null = null;
  private readonly note = make("small");
  private readonly list = make("div");

  constructor(
    private readonly parent: HTMLElement,
    private readonly change: (name: string, value: number) => void,
    private readonly reset: () => void,
    private readonly add: () => void,
  ) {}

  /** The model's constants, in the order of its text. */
  show(model: Model, run: Run): void {
    this.run = run;
    const key = (m: Model | null): string => JSON.stringify([m?.path, m?.controls, m?.names.constants.map((c) => c.name)]);
    if (key(this.model) !== key(model)) {
      this.model = model;
      this.defaults = {};
      this.build(run);
    }
    this.model = model;
    // what the model says, as far as it is not set here
    for (const [name, value] of Object.entries(run.constants)) {
      if (!(name in run.set) && !run.live) this.defaults[name] = value;
    }
    this.update(run);
  }

  clear(): void {
    this.model = null;
    this.parent.replaceChildren();
  }

  /** Gauges at a time. */
  gauge(run: Run, t: number): void {
    for (const [name, row] of this.gauges) {
      const column = run.column(name);
      if (column >= 0) row.show(run.rows.valueAt(column, t));
    }
  }

  private build(run: Run): void {
    const model = this.model;
    if (!model) return;
    this.rows.clear();
    this.gauges.clear();
    this.list.replaceChildren();
    for (const control of model.controls) this.list.append(this.addControl(control, run));
    const constants = [...model.names.constants].sort((a, b) => a.appearance - b.appearance).filter((c) => !this.rows.has(c.name));
    const known = constants.filter((c) => c.name in run.constants);
    const rest = known.slice(0, SHOWN).map((c) => this.addSlider(c.name, ...spanOf(run.constants[c.name])));
    if (model.controls.length && rest.length) {
      // what the model does not offer is there for who looks for it
      this.list.append(make("details", {}, make("summary", {}, `${say("other constants")} (${rest.length})`), ...rest));
    } else {
      this.list.append(...rest);
    }
    const header = make("header", {}, make("b", {}, say("Parameters")), this.note,
      make("button", { class: "mini", id: "add-control", title: say("add a control"), click: () => this.add() }, `+ ${say("control")}`),
      make("button", { class: "mini", id: "reset", click: () => this.reset() }, say("Reset")));
    this.parent.replaceChildren(header, this.list);
    if (constants.length + model.controls.length === 0) this.list.append(make("p", {}, say("The model has no constants.")));
    if (known.length > SHOWN) this.list.append(this.finder(known.slice(SHOWN).map((c) => c.name)));
  }

  /** Constants beyond those that are shown, to be found by their names. */
  private finder(names: string[]): HTMLElement {
    const pick = make("input", { list: "more-constants", placeholder: `${names.length} ${say("more: find one")}`, "aria-label": say("more: find one") });
    const list = make("datalist", { id: "more-constants" }, ...names.map((n) => make("option", { value: n })));
    pick.addEventListener("input", () => {
      const run = this.run;
      if (!run || !names.includes(pick.value) || this.rows.has(pick.value)) return;
      pick.parentElement?.before(this.addSlider(pick.value, ...spanOf(run.constants[pick.value])));
      pick.value = "";
      this.update(run);
    });
    return make("div", { class: "finder" }, pick, list);
  }

  private addControl(control: Control, run: Run): HTMLElement {
    const { name, low, high, values } = control;
    const variable = run.model.names.variables.find((v) => v.name === name);
    if (variable && variable.kind !== "discrete") return this.addGauge(control, variable.unit);
    if (values.length === 2 && values.includes(0) && values.includes(1)) return this.addSwitch(name);
    if (values.length) return this.addChoice(name, values);
    const value = run.constants[name] ?? 0;
    return this.addSlider(name, ...(low === null || high === null ? spanOf(value) : ([low, high] as [number, number])), low !== null);
  }

  private keep(name: string, element: HTMLElement, show: (value: number) => void, counts?: boolean): HTMLElement {
    this.rows.set(name, { element, show, counts });
    return element;
  }

  private addSwitch(name: string): HTMLElement {
    const box = make("input", { type: "checkbox", role: "switch", "data-name": name });
    box.addEventListener("change", () => this.change(name, box.checked ? 1 : 0));
    const element = make("label", { class: "slider switch" }, make("span", { title: name }, name), box);
    return this.keep(name, element, (value) => (box.checked = value !== 0));
  }

  private addChoice(name: string, values: number[]): HTMLElement {
    const buttons = values.map((value) => make("button", { click: () => this.change(name, value), "aria-pressed": "false" }, short(value)));
    const element = make("div", { class: "slider choice", role: "group", "aria-label": name, "data-name": name }, make("span", { title: name }, name), make("div", {}, ...buttons));
    return this.keep(name, element, (value) => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(values[i] === value))));
  }

  private addGauge({ name, low, high }: Control, unit: string): HTMLElement {
    const bar = make("meter", { min: low ?? 0, max: high ?? 1, "aria-label": name });
    const text = make("output", {});
    const element = make("div", { class: "slider gauge" }, make("span", { title: name }, name), bar, text);
    this.gauges.set(name, { element, show: (value) => {
      bar.value = Number.isFinite(value) ? value : 0;
      text.textContent = `${short(value, 5)} ${unit}`;
    } });
    return element;
  }

  private addSlider(name: string, low: number, high: number, fixed = false): HTMLElement {
    const id = `parameter-${this.rows.size}`;
    const counts = this.model?.names.constants.find((c) => c.name === name)?.structural;
    const whole = counts === true && Number.isInteger(this.run?.constants[name] ?? 0);
    const slider = make("input", { type: "range", min: 0, max: STEPS, id, "data-name": name });
    const field = make("input", { type: "text", inputmode: "decimal", "aria-label": name });
    const element = make("div", { class: "slider" }, make("label", { for: id, title: name }, name), slider, field);
    slider.addEventListener("input", () => {
      const raw = low + (Number(slider.value) / STEPS) * (high - low);
      const rounded = whole ? Math.round(raw) : Number(raw.toPrecision(6));
      field.value = short(rounded);
      this.change(name, rounded);
    });
    slider.addEventListener("dblclick", () => {
      if (name in this.defaults) this.change(name, this.defaults[name]);
    });
    field.addEventListener("change", () => {
      const typed = Number(field.value.replace(",", "."));
      const bad = field.value.trim() === "" || !Number.isFinite(typed) || (fixed && (typed < low || typed > high));
      field.toggleAttribute("aria-invalid", bad);
      field.title = bad && fixed ? `${short(low)} … ${short(high)}` : "";
      if (!bad) this.change(name, typed);
    });
    return this.keep(name, element, (value) => {
      [low, high] = [Math.min(low, value), Math.max(high, value)];
      // a slider that is being moved leads, the run follows
      if (document.activeElement !== slider) slider.value = String(((value - low) / (high - low)) * STEPS);
      if (document.activeElement !== field) field.value = short(value, 9);
    }, counts);
  }

  private update(run: Run): void {
    this.note.textContent = run.live && run.unfinished ? say("a change takes effect at once") : say("a change begins the run anew");
    for (const [name, row] of this.rows) {
      const value = run.constants[name];
      if (value === undefined) continue;
      row.show(value);
      if (row.counts) row.element.querySelectorAll("input").forEach((input) => (input.disabled = run.live && run.unfinished));
      row.element.classList.toggle("changed", name in this.defaults && value !== this.defaults[name]);
    }
  }
}
