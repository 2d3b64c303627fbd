// SPDX-License-Identifier: MIT
//
// What the page asks and tells: a line of text, a note at the foot, the keys.
import { byId, make } from "./dom";
import { say } from "./words";

/** A dialog is left by a press beside it, too: a tablet has no Escape. */
export function leaveByPress(): void {
  const dialog = byId<HTMLDialogElement>("dialog");
  dialog.addEventListener("pointerdown", (event) => {
    const box = dialog.getBoundingClientRect();
    const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    if (event.target === dialog && !inside) dialog.close("");
  });
}

/** A line of text from the user, or null; `complaint`: what is wrong with a text, or nothing. */
export function askText(title: string, label: string, old: string, complaint: (text: string) => string = () => ""): Promise<string | null> {
  const dialog = byId<HTMLDialogElement>("dialog");
  const input = make("input", { value: old, "aria-label": say(label) });
  const check = (): void => input.setCustomValidity(complaint(input.value.trim()));
  input.addEventListener("input", check);
  check();
  dialog.replaceChildren(make("h2", {}, say(title)), make("form", { method: "dialog" }, input,
    make("div", { class: "buttons" }, make("button", { value: "" , type: "button", click: () => dialog.close("") }, "✕"), make("button", { class: "main", value: "ok" }, "OK"))));
  dialog.returnValue = "";
  dialog.showModal();
  input.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? input.value.trim() : null), { once: true });
  });
}

let toastTimer = 0;

/** A note that goes away by itself; `action`: what can be done about it. */
export function toast(text: string, action?: HTMLElement): void {
  const box = byId("toast");
  box.replaceChildren(text, action ?? "");
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => (box.hidden = true), action ? 20_000 : 3000 + 40 * text.length);
}

const FURTHER_KEYS: [string, string][] = [
  ["F12, Ctrl+click", "to the declaration"], ["F2", "rename"], ["Ctrl+Space", "complete"], ["Shift+Alt+F", "put the layout in order"], ["Ctrl+F", "find"],
  ["wheel, + −", "zoom a chart"], ["drag, Shift+← →", "move along the time"], ["double click, 0", "all of the run"], ["← →", "move the cursor of a chart"],
  ["Enter", "go there (in a chart)"], ["F4", "all procedures (in a table)"], ["Alt+↑ ↓, Alt+D, Alt+O, Alt+Delete", "move, copy, switch off, remove a row"],
];
const INTRODUCTION = "Write a model on the left; it is checked and run as you write. Move a slider: the run is made anew at once. Press Live to let it run at the pace of the clock and change values while it does. Click an event to read why it happened.";

/** The keys, and where to read on; `ways`: buttons by their names. */
export function showHelp(keys: [string, string][], ways: [string, () => void][]): void {
  const rows = [...keys, ...FURTHER_KEYS].filter(([k], i, all) => all.findIndex(([other]) => other === k) === i);
  const dialog = byId<HTMLDialogElement>("dialog");
  const buttons = ways.map(([name, action], i) => make("button", { class: i === 0 ? "main" : "", click: () => {
    dialog.close();
    action();
  } }, say(name)));
  dialog.replaceChildren(make("h2", {}, "Saltus"), make("p", {}, say(INTRODUCTION)), make("div", { class: "buttons" }, ...buttons),
    make("div", { class: "keys" }, make("table", {}, ...rows.map(([k, what]) => make("tr", {}, make("td", {}, make("kbd", {}, say(k))), make("td", {}, say(what)))))),
    make("form", { method: "dialog" }, make("div", { class: "buttons" }, make("button", {}, "OK"))));
  dialog.showModal();
}
