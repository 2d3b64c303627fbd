// SPDX-License-Identifier: MIT
//
// Everything that can be done without a mouse. Each has a name to be found by; the first with its keys is done.
import { byId } from "./dom";
import { Command } from "./commands";
import { PanelName } from "./panels";
import { say } from "./words";

/** What commands do. */
export interface Doing {
  restart(): void;
  playOrPause(): void;
  toEvent(by: 1 | -1): void;
  goToCursor(): void;
  save(): void;
  saveElsewhere(): void;
  models(): void;
  undo(): void;
  redo(): void;
  manual(): void;
  palette(): void;
  addControl(): void;
  keepRun(): void;
  export(): void;
  share(): void;
  tour(): void;
  help(): void;
  theme(): void;
  language(): void;
  showText(): void;
  showTables: (() => void) | null; // null: the model has none
  panels: [PanelName, string][];
  showPanel(name: PanelName): void;
  quantities: string[];
  toggleChart(name: string): void;
  intoLastChart(name: string): void;
}

const NAMED = 100; // quantities that have commands

export function allCommands(on: Doing): Command[] {
  return [
    { name: "run from the start", keys: "Ctrl+Enter", anywhere: true, action: () => on.restart() },
    { name: "live, pause, continue", keys: "Ctrl+Shift+Enter", anywhere: true, action: () => on.playOrPause() },
    { name: "next event", keys: "Alt+ArrowRight", anywhere: true, action: () => on.toEvent(1) },
    { name: "previous event", keys: "Alt+ArrowLeft", anywhere: true, action: () => on.toEvent(-1) },
    { name: "go to the time", keys: "Ctrl+G", action: () => byId<HTMLInputElement>("at").select() },
    { name: "go to the time of the cursor", action: () => on.goToCursor() },
    { name: "save", keys: "Ctrl+S", anywhere: true, action: () => on.save() },
    { name: "save under another name", keys: "Ctrl+Shift+S", anywhere: true, action: () => on.saveElsewhere() },
    { name: "models", keys: "Ctrl+O", anywhere: true, action: () => on.models() },
    { name: "undo", keys: "Ctrl+Z", action: () => on.undo() },
    { name: "redo", keys: "Ctrl+Y", action: () => on.redo() },
    { name: "redo", keys: "Ctrl+Shift+Z", action: () => on.redo() },
    { name: "manual of what is selected", keys: "F1", anywhere: true, action: () => on.manual() },
    { name: "all commands", keys: "Ctrl+Shift+P", anywhere: true, action: () => on.palette() },
    { name: "next part of the page", keys: "F6", anywhere: true, action: () => nextPart() },
    { name: "add a control", action: () => on.addControl() },
    { name: "keep this run", action: () => on.keepRun() },
    { name: "export", action: () => on.export() },
    { name: "share", action: () => on.share() },
    { name: "tour of five minutes", action: () => on.tour() },
    { name: "Help", action: () => on.help() },
    { name: "Dark or light", action: () => on.theme() },
    { name: "English / Русский", action: () => on.language() },
    { name: "text", action: () => on.showText() },
    ...(on.showTables ? [{ name: "tables", action: on.showTables }] : []),
    ...on.panels.map(([id, name]) => ({ name, action: () => on.showPanel(id) })),
    ...on.quantities.slice(0, NAMED).flatMap((name) => [
      { name: `${say("show or hide")}: ${name}`, action: () => on.toggleChart(name) },
      { name: `${say("into the last chart")}: ${name}`, action: () => on.intoLastChart(name) },
    ]),
  ];
}

/** The keyboard goes from part to part: text or tables, values, charts, panel. */
function nextPart(): void {
  const parts = ["#editor .cm-content", "#tables input", "#parameters input", "#variables button", "#charts canvas", "#panel-tabs [aria-selected=true]", "#panel [tabindex]"]
    .map((s) => ({ place: byId(/^#([\w-]+)/.exec(s)?.[1] ?? ""), first: [...document.querySelectorAll<HTMLElement>(s)].find((e) => e.offsetParent !== null) }))
    .filter((p) => p.first !== undefined);
  const at = parts.findIndex((p) => p.place.contains(document.activeElement));
  parts[(at + 1) % parts.length]?.first?.focus();
}
