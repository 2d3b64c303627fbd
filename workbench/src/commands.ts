// SPDX-License-Identifier: MIT
//
// Everything the page can do, by name and keys: one list for the bar's keys, the help and the palette, so that no command is
// out of reach of the keyboard.
import { byId, make } from "./dom";
import { say } from "./words";

export interface Command {
  name: string; // English; its translation is in words.ts
  keys?: string; // "Ctrl+Enter"
  anywhere?: boolean; // the keys work inside of fields and the editor, too
  action: () => void;
}

/** Keys as they stand on a keyboard. */
export function keyText(keys: string): string {
  return keys.replace("ArrowRight", "→").replace("ArrowLeft", "←");
}

/** The key that was pressed; a letter of another alphabet counts as the Latin one on its key. */
export function keyOf(event: KeyboardEvent): string {
  const latin = /^Key([A-Z])$/.exec(event.code)?.[1].toLowerCase();
  return latin && /^[^\x00-\x7f]$/.test(event.key) ? latin : event.key;
}

/** Whether an event is these keys; Ctrl is Cmd where that is usual. */
function isPressed(keys: string, event: KeyboardEvent): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1) ?? "";
  const wants = (name: string): boolean => parts.slice(0, -1).includes(name);
  return keyOf(event).toLowerCase() === key.toLowerCase() && wants("Ctrl") === (event.ctrlKey || event.metaKey) &&
    wants("Alt") === event.altKey && (wants("Shift") === event.shiftKey || key.length === 1 && !/[a-z]/i.test(key));
}

/** Whether keys typed at a place are meant for it. */
export function takesText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && !["range", "checkbox", "button"].includes(target.type)));
}

export class Commands {
  constructor(private readonly all: () => Command[]) {}

  /** Do what the keys mean, if they mean something here. */
  take(event: KeyboardEvent): boolean {
    const inText = takesText(event.target);
    const command = this.all().find((c) => c.keys && (c.anywhere || !inText) && isPressed(c.keys, event));
    if (!command) return false;
    event.preventDefault();
    command.action();
    return true;
  }

  /** All commands in a list to be searched by typing. */
  palette(): void {
    const dialog = byId<HTMLDialogElement>("dialog");
    const find = make("input", { type: "search", placeholder: say("what to do"), "aria-label": say("what to do"), role: "combobox", "aria-controls": "commands" });
    const list = make("div", { id: "commands", class: "commands", role: "listbox" });
    let chosen = 0;
    let shown: Command[] = [];
    const run = (command: Command | undefined): void => {
      dialog.close();
      command?.action();
    };
    const fill = (): void => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = this.all().filter((c) => words.every((w) => `${say(c.name)} ${c.name}`.toLowerCase().includes(w)));
      chosen = Math.max(0, Math.min(chosen, shown.length - 1));
      list.replaceChildren(...shown.map((c, i) => make("button", { type: "button", class: "command", role: "option", tabindex: -1, "aria-selected": String(i === chosen), click: () => run(c) },
        say(c.name), c.keys ? make("kbd", {}, keyText(c.keys)) : null)));
      list.children[chosen]?.scrollIntoView({ block: "nearest" });
    };
    find.addEventListener("input", () => {
      chosen = 0;
      fill();
    });
    find.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (by) chosen += by;
      else if (event.key === "Enter") run(shown[chosen]);
      if (by) fill();
      if (by || event.key === "Enter") event.preventDefault();
    });
    fill();
    dialog.replaceChildren(find, list);
    dialog.showModal();
    find.focus();
  }
}
