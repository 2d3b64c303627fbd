// SPDX-License-Identifier: MIT
//
// Controls that are made by a click: a slider for a constant, a switch for a discrete value, a gauge for what is computed.
import { byId, make, short } from "./dom";
import { quoteName } from "./expression";
import { Run } from "./session";
import { say } from "./words";

export interface NewControl {
  name: string;
  range: string; // "0 : 10" or "0, 1"
}

/** The span of a slider: around the value the model gives, from 0 where that is natural. */
export function spanOf(value: number): [number, number] {
  if (value === 0) return [-1, 1];
  const far = Math.abs(value) * 2;
  return value > 0 ? [0, far] : [-far, 0];
}

/** What a control of this name would offer: values around the present one, or all that the run has shown. */
function proposal(run: Run, name: string): string {
  const discrete = run.model.names.variables.find((v) => v.name === name)?.kind === "discrete";
  if (discrete) return "0, 1";
  const column = run.column(name);
  const seen = column >= 0 ? run.rows.columns[column].extremes(0, run.rows.length) : null;
  const [low, high] = seen && seen[0] < seen[1] ? seen : spanOf(run.constants[name] ?? 0);
  return `${short(low, 3)} : ${short(high, 3)}`;
}

/** Ask for a name and a range; null where nothing is wanted. */
export function askControl(run: Run): Promise<NewControl | null> {
  const controlled = new Set(run.model.controls.map((c) => c.name));
  const constants = run.model.names.constants.map((c) => c.name).filter((n) => n in run.constants);
  const names = [...constants, ...run.quantities.map((q) => q.name)].filter((n, i, all) => !controlled.has(n) && all.indexOf(n) === i);
  const dialog = byId<HTMLDialogElement>("dialog");
  const name = make("select", { "aria-label": say("quantity") }, ...names.map((n) => make("option", { value: n }, n)));
  const range = make("input", { "aria-label": say("range"), spellcheck: "false" });
  const propose = (): void => void (range.value = names.length ? proposal(run, name.value) : "");
  name.addEventListener("change", propose);
  propose();
  dialog.replaceChildren(make("h2", {}, say("add a control")), make("form", { method: "dialog" },
    make("label", {}, make("small", {}, say("quantity")), make("br"), name), make("label", {}, make("small", {}, say("range")), make("br"), range),
    make("small", {}, say("A range makes a slider, 0, 1 a switch, other values buttons; what is computed gets a gauge.")),
    make("div", { class: "buttons" }, make("button", { type: "button", click: () => dialog.close("") }, "✕"), make("button", { class: "main", value: "ok" }, "OK"))));
  dialog.returnValue = "";
  dialog.showModal();
  name.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" && name.value ? { name: name.value, range: range.value.trim() } : null), { once: true });
  });
}

/** The statement of a control, before the experiment or at the end of a text. */
export function controlEdit(text: string, { name, range }: NewControl): { from: number; to: number; insert: string } {
  const at = /^experiment\b/m.exec(text)?.index ?? text.length;
  const gap = at > 0 && text[at - 1] !== "\n" ? "\n" : "";
  const values = range ? ` = ${range.replace(/\s*:\s*/, ":")}` : "";
  return { from: at, to: at, insert: `${gap}control ${quoteName(name)}${values};\n` };
}
