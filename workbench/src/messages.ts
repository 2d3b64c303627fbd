// SPDX-License-Identifier: MIT
//
// What the language server says about the text, and a run about itself, below the text: a click goes there, a button mends it.
import { byId, make } from "./dom";
import { Editor } from "./editor";
import { Warning } from "./session";
import { bilingual, say } from "./words";

const SHOWN = 50;

interface Action {
  name: string;
  apply(): void;
}

/** What a quick fix does: the language server says "write 'this'". */
export function fixName(title: string): string {
  return title.replace(/^write /, `${say("write")} `);
}

interface Message {
  severity: string;
  line: number;
  code: string;
  text: string;
  go(): void;
  actions?: readonly Action[];
}

/** What is said about the text and, below it, by the run; `before`: what is to be done so that the place is in sight. */
export function showMessages(editor: Editor, warnings: Warning[], before: () => void): void {
  const { view } = editor;
  const goTo = (from: number, to: number): void => {
    before();
    view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    view.focus();
  };
  const about = editor.diagnostics.map((d): Message =>
    ({ severity: d.severity, line: view.state.doc.lineAt(d.from).number, code: d.source ?? "", text: d.message, go: () => goTo(d.from, d.to), actions: d.actions?.map((a) => ({ name: a.name, apply: () => a.apply(view, d.from, d.to) })) }));
  const toLine = (line: number): void => {
    const { from, to } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    goTo(from, to);
  };
  const own = (w: Warning): boolean => w.line > 0 && editor.isOpen(w.file);
  const told = warnings.map((w): Message => ({ severity: "warning", line: own(w) ? w.line : 0, code: w.code, text: w.hint ? `${w.text}\n${w.hint}` : w.text, go: () => own(w) && toLine(w.line) })).filter((w) => !about.some((m) => m.code === w.code && m.line === w.line));
  byId("messages").replaceChildren(...[...about, ...told].slice(0, SHOWN).flatMap(lines));
}

function lines(m: Message): HTMLElement[] {
  const [first, ...rest] = m.text.split("\n");
  const place = m.line ? `${say("line")} ${m.line} · ` : "";
  return [
    make("button", { class: m.severity, click: () => m.go() },
      make("small", {}, `${place}${m.code} `), make("b", {}, ...bilingual(m.code, first)), rest.length ? ` ${rest.join(" ")}` : ""),
    ...(m.actions ?? []).map((action) => make("button", { class: "fix", click: () => action.apply() }, fixName(action.name))),
  ];
}
