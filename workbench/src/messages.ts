// SPDX-License-Identifier: MIT
//
// What the language server says about the text, below it: a click goes there, a button mends it.
import { byId, make } from "./dom";
import { Editor } from "./editor";
import { bilingual, say } from "./words";

const SHOWN = 50;

/** What a quick fix does: the language server says "write 'this'". */
export function fixName(title: string): string {
  return title.replace(/^write /, `${say("write")} `);
}

/** `before`: what is to be done so that the place is in sight. */
export function showMessages(editor: Editor, before: () => void): void {
  const box = byId("messages");
  box.replaceChildren();
  for (const d of editor.diagnostics.slice(0, SHOWN)) {
    const line = editor.view.state.doc.lineAt(d.from).number;
    const [first, ...rest] = d.message.split("\n");
    const go = (): void => {
      before();
      editor.view.dispatch({ selection: { anchor: d.from, head: d.to }, scrollIntoView: true });
      editor.view.focus();
    };
    box.append(make("button", { class: d.severity, click: go },
      make("small", {}, `${say("line")} ${line} · ${d.source ?? ""} `), make("b", {}, ...bilingual(d.source, first)), rest.length ? ` ${rest.join(" ")}` : ""));
    for (const action of d.actions ?? []) {
      box.append(make("button", { class: "fix", click: () => action.apply(editor.view, d.from, d.to) }, fixName(action.name)));
    }
  }
}
