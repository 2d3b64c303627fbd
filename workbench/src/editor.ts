// SPDX-License-Identifier: MIT
//
// The text of the model. Messages, hovers, completion, declarations, layout and quick fixes are the language
// server's, which runs in the engine; grids and sliders edit this document too, so there is one history.
import { autocompletion, Completion, CompletionContext, CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, redo, undo } from "@codemirror/commands";
import { bracketMatching, codeFolding, foldEffect, indentUnit, StreamLanguage, StringStream, syntaxHighlighting } from "@codemirror/language";
import { Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, StateEffect, StateField, Text } from "@codemirror/state";
import {
  Decoration, DecorationSet, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap,
  lineNumbers, Tooltip,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { make } from "./dom";
import { Engine } from "./engine";
import { bilingual } from "./words";

interface Position {
  line: number;
  character: number;
}

interface Span {
  start: Position;
  end: Position;
}

interface Edit {
  range: Span;
  newText: string;
}

interface LspMessage {
  id?: number;
  method?: string;
  result?: unknown;
  error?: { message: string };
  params?: { uri: string; diagnostics: LspDiagnostic[] };
}

interface LspDiagnostic {
  range: Span;
  severity: number;
  code: string;
  message: string;
}

function toOffset(doc: Text, p: Position): number {
  if (p.line >= doc.lines) return doc.length;
  const line = doc.line(p.line + 1);
  return Math.min(line.from + p.character, line.to);
}

function toPosition(doc: Text, offset: number): Position {
  const line = doc.lineAt(offset);
  return { line: line.number - 1, character: offset - line.from };
}

// ---- colours of words ----------------------------------------------------------------------------

const KEYWORDS = new Set(
  ("const macro data state automaton from like at each repeat priority for if else set ic delete goto stop invariant energy " +
    "contact friction experiment function part port connect include after persistent trigger every control animate measure " +
    "unilateral bilateral ordinary shortliving noEvent and or not xor implies init return").split(" "),
);
const BUILTIN = new Set(
  ("sin cos tan tg asin acos atan atan2 sinh cosh tanh exp ln log10 sqrt pow abs sign min max floor ceil mod sum prod table delay der " +
    "pre post random uniform normal exponential time t0 pi inf true false").split(" "),
);

const lisma = StreamLanguage.define<{ comment: boolean }>({
  name: "lisma",
  startState: () => ({ comment: false }),
  token(stream: StringStream, state): string | null {
    if (state.comment) {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.comment = false;
      } else {
        stream.skipToEnd();
      }
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    if (stream.match(/^"[^"]*"?/)) return "string";
    if (stream.match(/^`[^`\n]*`?/)) return "variableName";
    if (stream.match(/^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?/)) return "number";
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
    if (word) {
      if (KEYWORDS.has(word[0])) return "keyword";
      return BUILTIN.has(word[0]) ? "atom" : "variableName";
    }
    if (stream.match(/^[-+*/%^=<>!&|~]+/)) return "operator";
    stream.next();
    return "punctuation";
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
});

const rules = StreamLanguage.define<{ head: boolean }>({
  name: "rules",
  startState: () => ({ head: false }),
  token(stream): string | null {
    if (stream.sol() && stream.match(/^#+ .*/)) return "heading";
    if (stream.match(/^`[^`]*`/)) return "variableName";
    if (stream.match(/^\|[-|: ]+\|$/)) return "comment";
    if (stream.match("|")) return "punctuation";
    if (stream.match(/^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?/)) return "number";
    stream.next();
    return null;
  },
});

// ---- the line of an event ------------------------------------------------------------------------

const showLine = StateEffect.define<number | null>();
const shownLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    let result = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(showLine)) continue;
      const line = effect.value;
      result = line === null || line < 1 || line > transaction.state.doc.lines
        ? Decoration.none
        : Decoration.set([Decoration.line({ class: "event-line" }).range(transaction.state.doc.line(line).from)]);
    }
    return result;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export interface EditorHost {
  onText(text: string): void;
  onMessages(messages: Diagnostic[]): void;
  /** The text could not be looked at. */
  onTrouble(text: string): void;
  ask(question: string): Promise<string | null>;
  run(): void;
}

export class Editor {
  /** What the manual is asked about: the message or the word at the cursor. */
  topic(): string {
    const { state } = this.view;
    const at = state.selection.main.head;
    const message = this.diagnostics.find((d) => d.from <= at && at <= d.to);
    if (message?.source && /^[EW]\d+$/.test(message.source)) return message.source;
    const word = state.wordAt(at);
    return word ? state.sliceDoc(word.from, word.to) : "";
  }

  readonly view: EditorView;
  private readonly language = new Compartment();
  private path = "model.lisma";
  private passing = false; // the keyboard has come here by Tab and has done nothing yet: Tab goes on
  private version = 0;
  private number = 0;
  private fixes: { title: string; range: Span; edits: Edit[] }[] = [];
  private ready: Promise<void> | null = null;
  diagnostics: Diagnostic[] = [];

  constructor(
    parent: HTMLElement,
    private readonly engine: Engine,
    private readonly host: EditorHost,
  ) {
    this.view = new EditorView({ parent, state: this.makeState("") });
  }

  private makeState(text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), history(), drawSelection(), bracketMatching(),
        // lines that end differently: their ends stay what they are
        text.includes("\r") ? EditorState.lineSeparator.of("\n") : [],
        indentUnit.of("  "), codeFolding(), highlightSelectionMatches(), lintGutter(), shownLine,
        syntaxHighlighting(classHighlighter),
        this.language.of(this.path.endsWith(".rules.md") ? rules : lisma),
        autocompletion({ override: [(context) => this.complete(context)] }),
        hoverTooltip((view, at) => this.hover(view, at)),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "model text" }),
        keymap.of([
          { key: "Mod-Enter", run: () => (this.host.run(), true) },
          { key: "F2", run: () => (void this.rename(), true) },
          { key: "F12", run: () => (void this.define(this.view.state.selection.main.head), true) },
          { key: "Shift-Alt-f", run: () => (void this.format(), true) },
          ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap,
          { key: "Tab", run: (view) => !this.passing && indentMore(view), shift: (view) => !this.passing && indentLess(view) },
        ]),
        EditorView.domEventHandlers({
          // lines that come at once and not from the clipboard, as some keyboards hand them over: browsers take them line by line
          beforeinput: (event, view) => {
            if (event.inputType !== "insertText" || !event.data?.includes("\n")) return false;
            view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.paste", scrollIntoView: true });
            return true;
          },
          focus: () => void (this.passing = true),
          pointerup: () => void (this.passing = false),
          keydown: (event) => void (this.passing &&= event.key === "Tab" || event.key === "Shift"),
          click: (event, view) => {
            if (!event.ctrlKey && !event.metaKey) return false;
            const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
            if (at !== null) void this.define(at);
            return true;
          },
        }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          void this.check();
          this.host.onText(this.text);
        }),
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Whether it shows this file. */
  isOpen(path: string): boolean {
    return path === this.path;
  }

  /** Another model: its own history. */
  open(path: string, text: string): void {
    this.path = path;
    this.diagnostics = [];
    this.view.setState(this.makeState(text));
    this.foldExpectations();
    void this.check();
  }

  /** What gallery models expect of their runs is for tests: it is folded away, and a click unfolds it. */
  private foldExpectations(): void {
    const doc = this.view.state.doc;
    let first = 0;
    let last = 0;
    for (let n = 1; n <= doc.lines; n++) {
      const line = doc.line(n).text;
      if (/^\/\/ (expect|run) /.test(line)) {
        first ||= n;
        last = n;
      } else if (line.trim() !== "//") {
        if (first) break;
      }
    }
    if (first < 2 || last <= first) return;
    this.view.dispatch({ effects: foldEffect.of({ from: doc.line(first - 1).to, to: doc.line(last).to }) });
  }

  /** Replace pieces of the text as one step of the history. */
  edit(changes: { from: number; to: number; insert: string }[]): void {
    this.view.dispatch({ changes, userEvent: "input" });
  }

  undo(): void {
    undo(this.view);
  }

  redo(): void {
    redo(this.view);
  }

  /** Light a line, and bring it into sight. */
  light(line: number | null): void {
    const effects: StateEffect<unknown>[] = [showLine.of(line)];
    if (line !== null && line >= 1 && line <= this.view.state.doc.lines) {
      effects.push(EditorView.scrollIntoView(this.view.state.doc.line(line).from, { y: "center" }));
    }
    this.view.dispatch({ effects });
  }

  // ---- the language server -----------------------------------------------------------------------

  private get uri(): string {
    return `file:///${this.path.split("/").map(encodeURIComponent).join("/")}`;
  }

  private async send(message: object): Promise<LspMessage[]> {
    const { json } = await this.engine.ask({ jsonrpc: "2.0", ...message });
    return json as LspMessage[];
  }

  private async question(method: string, params: object): Promise<unknown> {
    await this.start();
    const id = ++this.number;
    const answers = await this.send({ id, method, params: { textDocument: { uri: this.uri }, ...params } });
    return answers.find((a) => a.id === id)?.result ?? null;
  }

  private start(): Promise<void> {
    this.ready ??= this.send({ id: ++this.number, method: "initialize", params: { capabilities: {} } }).then(() => undefined);
    return this.ready;
  }

  /** The engine was started anew and knows nothing. */
  reconnect(): void {
    this.ready = null;
    // a text that has ended the engine would end it again
    if (this.view.state.doc !== this.refused) void this.check();
  }

  private checking = false;
  private stale = false;
  private refused: Text | null = null; // what the engine looked at when it ended

  /** Hand the text over and show its messages; while one text is looked at, only the newest other waits. */
  private async check(): Promise<void> {
    this.version++;
    if (this.checking) {
      this.stale = true;
      return;
    }
    this.checking = true;
    do {
      this.stale = false;
      const { doc } = this.view.state;
      try {
        await this.start();
        const textDocument = { uri: this.uri, languageId: "lisma", version: this.version, text: doc.toString() };
        const answers = await this.send({ method: "textDocument/didOpen", params: { textDocument } });
        const published = answers.find((a) => a.method === "textDocument/publishDiagnostics")?.params;
        if (published && doc === this.view.state.doc) await this.show(doc, published.diagnostics);
      } catch (error) {
        this.ready = null;
        this.refused = doc;
        if (doc === this.view.state.doc) this.host.onTrouble(error instanceof Error ? error.message : String(error));
      }
    } while (this.stale);
    this.checking = false;
  }

  private async show(doc: Text, list: LspDiagnostic[]): Promise<void> {
    const whole = { start: { line: 0, character: 0 }, end: toPosition(doc, doc.length) };
    const actions = list.length
      ? ((await this.question("textDocument/codeAction", { range: whole, context: { diagnostics: [] } })) as
          { title: string; edit: { changes: Record<string, Edit[]> } }[] | null) ?? []
      : [];
    if (doc !== this.view.state.doc) return;
    this.fixes = actions.flatMap((a) => Object.values(a.edit.changes).map((edits) => ({ title: a.title, range: edits[0].range, edits })));
    this.diagnostics = list.map((d) => this.diagnostic(doc, d));
    this.view.dispatch(setDiagnostics(this.view.state, this.diagnostics));
    this.host.onMessages(this.diagnostics);
  }

  private diagnostic(doc: Text, d: LspDiagnostic): Diagnostic {
    const from = toOffset(doc, d.range.start);
    const to = Math.max(from, toOffset(doc, d.range.end));
    const fixes = this.fixes.filter((f) => toOffset(doc, f.range.start) === from);
    return {
      from,
      to,
      severity: d.severity === 1 ? "error" : d.severity === 2 ? "warning" : "info",
      source: d.code,
      message: d.message,
      renderMessage: () => make("span", {}, ...bilingual(d.code, d.message)),
      actions: fixes.map((f) => ({ name: f.title, apply: () => this.apply(f.edits) })),
    };
  }

  private apply(edits: Edit[]): void {
    const doc = this.view.state.doc;
    this.edit(edits.map((e) => ({ from: toOffset(doc, e.range.start), to: toOffset(doc, e.range.end), insert: e.newText })));
  }

  private async complete(context: CompletionContext): Promise<CompletionResult | null> {
    const word = context.matchBefore(/[\p{L}_.][\p{L}\p{N}_]*$/u);
    if (!word && !context.explicit) return null;
    const items = (await this.question("textDocument/completion", { position: toPosition(context.state.doc, context.pos) })) as
      { label: string; detail: string; kind: number }[] | null;
    if (!items) return null;
    const types: Record<number, string> = { 3: "function", 6: "variable", 7: "class", 14: "keyword", 18: "property", 21: "constant" };
    const options: Completion[] = items.map((i) => ({ label: i.label, detail: i.detail, type: types[i.kind] ?? "variable" }));
    const from = word ? word.from + (word.text.startsWith(".") ? 1 : 0) : context.pos;
    return { from, options, validFor: /^[\p{L}\p{N}_]*$/u };
  }

  private async hover(view: EditorView, at: number): Promise<Tooltip | null> {
    const answer = (await this.question("textDocument/hover", { position: toPosition(view.state.doc, at) })) as
      { contents: { value: string }; range: Span } | null;
    if (!answer) return null;
    const [, code = "", words = ""] = /^```\w*\n([^]*?)\n```\n?([^]*)$/.exec(answer.contents.value) ?? [];
    return {
      pos: toOffset(view.state.doc, answer.range.start),
      end: toOffset(view.state.doc, answer.range.end),
      create: () => ({ dom: make("div", { class: "hover" }, make("pre", {}, code), words ? make("p", {}, words) : null) }),
    };
  }

  private async define(at: number): Promise<void> {
    const place = (await this.question("textDocument/definition", { position: toPosition(this.view.state.doc, at) })) as
      { range: Span } | null;
    if (!place) return;
    const doc = this.view.state.doc;
    const selection = { anchor: toOffset(doc, place.range.start), head: toOffset(doc, place.range.end) };
    this.view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
    this.view.focus();
  }

  /** Every place of the word under the cursor gets another name. */
  private async rename(): Promise<void> {
    const doc = this.view.state.doc;
    const position = toPosition(doc, this.view.state.selection.main.head);
    const places = (await this.question("textDocument/references", { position, context: {} })) as { range: Span }[] | null;
    if (!places?.length) return;
    const name = await this.host.ask(doc.sliceString(toOffset(doc, places[0].range.start), toOffset(doc, places[0].range.end)));
    if (!name || doc !== this.view.state.doc) return;
    this.apply(places.map((p) => ({ range: p.range, newText: name })));
    this.view.focus();
  }

  async format(): Promise<void> {
    const doc = this.view.state.doc;
    const edits = (await this.question("textDocument/formatting", { options: {} })) as Edit[] | null;
    if (edits?.length && doc === this.view.state.doc) this.apply(edits);
  }
}
