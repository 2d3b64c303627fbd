// SPDX-License-Identifier: MIT
//
// Rule tables as grids, as the environment EnviCon has them: state vector, predicates, situations, rules. A grid is a view
// of the document in the editor; what is typed into a cell replaces that cell there.
import { keyOf } from "./commands";
import { byId, make, quiet } from "./dom";
import { Editor } from "./editor";
import { Engine } from "./engine";
import { Cell, cellText, columnTitle, freshColumns, OFF, readTables, SectionId, sectionTitle, Table, TableRow } from "./markdown";
import { tellFormula } from "./story";
import { bilingual, getLanguage, say } from "./words";

declare const PROCEDURES: { name: string; russian: string; formula: string; arguments: string; picture: string }[];

const ORDER: SectionId[] = ["states", "constants", "predicates", "situations", "rules", "drawing", "controls", "settings"];
const SHAPES = ["circle", "rect", "line", "polygon", "arrow", "spring", "trace", "text"];
const SHAPES_RUSSIAN = ["круг", "прямоугольник", "линия", "многоугольник", "стрелка", "пружина", "след", "текст"];
const COLOURS = ["steelblue", "tomato", "seagreen", "orange", "gray", "black", "purple", "gold"];
const NUMBERS = new Set(["coefficient", "value", "initial", "number"]);

/** Whether the first column counts the rows. */
function isNumbered(section: SectionId): boolean {
  return section === "rules" || section === "drawing";
}

/** The rows of a table, those that are off in their places: the order of rows counts. */
function inOrder(table: Table): TableRow[] {
  const rows = table.rows.filter((r) => !r.off);
  const off = table.rows.filter((r) => r.off).sort((a, b) => a.place - b.place);
  for (const row of off) rows.splice(Math.min(row.place - 1, rows.length), 0, row);
  return rows;
}

export class Tables {
  private path = "";
  private meanings = new Map<string, string>(); // by number of the rule
  private lit: number | null = null;
  private shape = ""; // of what is shown: tables, columns, rows
  private pending: { section: SectionId; row: number; column: number } | null = null; // where the cursor goes next

  constructor(
    private readonly parent: HTMLElement,
    private readonly editor: Editor,
    private readonly engine: Engine,
    private readonly open: (path: string) => void,
  ) {
    parent.addEventListener("keydown", (event) => this.onKey(event));
    for (const kind of ["focusin", "pointerover"]) parent.addEventListener(kind, (event) => this.showMeaning(event.target));
    parent.addEventListener("focusin", (event) => this.showTools(event.target));
    parent.addEventListener("focusout", (event) => {
      if (!(event.relatedTarget instanceof Node && parent.contains(event.relatedTarget))) this.tools.replaceChildren();
    });
    this.tools.addEventListener("pointerdown", (event) => event.preventDefault()); // the cell keeps the cursor
  }

  show(path: string): void {
    this.path = path;
    this.meanings.clear();
    this.shape = "";
    this.parent.replaceChildren();
  }

  /** What the manual is asked about: the procedure of the row, or the section. */
  topic(): string {
    const input = document.activeElement;
    if (!(input instanceof HTMLInputElement) || !input.dataset.key) return "";
    const [section, row] = input.dataset.key.split(":");
    const found = this.find(section as SectionId, Number(row));
    const place = found?.table.columns.findIndex((c) => c.id === "procedure") ?? -1;
    const word = (place >= 0 ? found?.row.cells[place]?.text : "") ?? "";
    const known = PROCEDURES.find((p) => [p.name, p.russian].some((n) => n.toLowerCase() === word.toLowerCase()));
    return known?.name ?? word;
  }

  /** Light the row of an event. */
  light(line: number | null): void {
    this.lit = line;
    this.parent.querySelectorAll("tr.lit").forEach((tr) => tr.classList.remove("lit"));
    const row = line === null ? null : this.parent.querySelector(`tr[data-line="${line}"]`);
    if (!row) return;
    row.classList.add("lit");
    // only up and down: a row is wider than what is in sight of it, and the foot covers some of the tables
    const [at, box] = [row.getBoundingClientRect(), this.parent.getBoundingClientRect()];
    if (at.top < box.top || at.bottom > box.bottom - 40) this.parent.scrollTop += at.top - box.top - box.height / 2;
  }

  /** Show the document as it is now. */
  update(force = false): void {
    if (!this.path.endsWith(".rules.md") || (this.parent.hidden && !force)) return;
    this.explainSoon();
    const tables = readTables(this.editor.text);
    const shape = JSON.stringify([getLanguage(), this.path, tables.map((t) => [t.section, t.columns.map((c) => c.title), t.rows.map((r) => r.off)])]);
    if (shape === this.shape && !force) {
      this.patch(tables);
      return;
    }
    this.shape = shape;
    this.meant = null;
    const focus = document.activeElement instanceof HTMLInputElement ? document.activeElement.dataset.key : undefined;
    const typing = focus && this.parent.contains(document.activeElement) ? (document.activeElement as HTMLInputElement).value : null;
    const scroll = [this.parent.scrollLeft, this.parent.scrollTop];
    this.parent.replaceChildren(...this.lists(tables), ...this.included(tables), ...ORDER.map((id) => this.section(id, tables)), this.footer);
    [this.parent.scrollLeft, this.parent.scrollTop] = scroll;
    this.light(this.lit);
    const wanted = this.pending ? `${this.pending.section}:${this.pending.row}:${this.pending.column}` : focus;
    const input = wanted ? this.parent.querySelector<HTMLInputElement>(`input[data-key="${CSS.escape(wanted)}"]`) : null;
    if (input && (this.pending || typing !== null)) {
      if (!this.pending && typing !== null) input.value = typing;
      input.focus();
    }
    if (input) this.pending = null;
  }

  /** The same tables with other contents: cells stay, so that a hand on one of them is not disturbed. */
  private patch(tables: Table[]): void {
    for (const list of this.lists(tables)) {
      const old = this.parent.querySelector(`#${list.id}`);
      if (old && old.innerHTML !== list.innerHTML) old.replaceChildren(...list.childNodes);
    }
    for (const section of ORDER) {
      let index = 0;
      for (const table of tables.filter((t) => t.section === section)) {
        for (const row of table.rows) this.patchRow(table, row, index++);
      }
    }
    this.light(this.lit);
  }

  private patchRow(table: Table, row: TableRow, index: number): void {
    const fresh = this.row(table, row, index);
    const first = this.parent.querySelector(`input[data-key="${table.section}:${index}:0"]`);
    const old = first?.closest("tr");
    if (!old) return;
    old.dataset.line = fresh.dataset.line;
    for (let i = 0; i < old.children.length; i++) {
      const [to, from] = [old.children[i] as HTMLElement, fresh.children[i] as HTMLElement | undefined];
      if (!from) continue;
      if (to.className !== from.className) to.className = from.className;
      if (to.title !== from.title) to.title = from.title;
      const [input, other] = [to.querySelector("input"), from.querySelector("input")];
      if (input && other && document.activeElement !== input) {
        if (input.value !== other.value) input.value = other.value;
        input.style.width = other.style.width;
      } else if (to.classList.contains("meaning")) {
        to.dataset.number = from.dataset.number;
        if (to.textContent !== from.textContent) to.textContent = from.textContent;
      }
    }
  }

  // ---- what rows mean ----------------------------------------------------------------------------

  private readonly explainSoon = quiet(250, () => void this.explain());

  private readonly meaning = make("output");
  private meant: HTMLElement | null = null; // the row that it is about
  private readonly tools = make("div", { class: "row-tools", role: "toolbar" });
  private readonly footer = make("div", { class: "row-foot" }, this.meaning, this.tools);

  /** What can be done with the row that has the cursor. It stands at the foot, where it hides no cell and is reached by a finger, too. */
  private showTools(target: EventTarget | null): void {
    if (!(target instanceof HTMLInputElement) || !target.dataset.key) return;
    const [section, index] = target.dataset.key.split(":") as [SectionId, string];
    const row = Number(index);
    const off = target.readOnly;
    const tool = (sign: string, words: string, keys: string, action: () => void): HTMLElement =>
      make("button", { class: "mini", title: keys, "data-tool": words, click: action }, `${sign} ${say(words)}`);
    const others = [tool("2×", "copy", "Alt+D", () => this.copyRow(section, row)), tool("↑", "up", "Alt+↑", () => this.moveRow(section, row, -1)),
      tool("↓", "down", "Alt+↓", () => this.moveRow(section, row, 1))];
    this.tools.replaceChildren(...(off ? [] : others), tool(off ? "●" : "○", off ? "switch on" : "switch off", "Alt+O", () => this.switchRow(section, row)),
      tool("×", "remove", "Alt+Delete", () => this.removeRow(section, row)));
  }

  /** What the row under the hand or the cursor stands for, at the foot of the tables. */
  private showMeaning(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest("tr") : null;
    if (row?.dataset.line) this.meant = row;
    const cell = this.meant?.querySelector<HTMLElement>("td.meaning");
    this.meaning.textContent = cell?.textContent ? `${cell.dataset.number}:  ${cell.textContent}` : "";
  }

  private async explain(): Promise<void> {
    const { json } = await this.engine.ask({ op: "rules", path: this.path, text: this.editor.text }).catch(() => ({ json: { text: "" } }));
    const before = JSON.stringify([...this.meanings]);
    const found = [...String(json.text).matchAll(/^ {2}rule (\S+) {2,}(.*)$/gm)];
    if (!found.length) return;
    this.meanings = new Map(found.map((m) => [m[1], m[2].replaceAll("`", "").replace(/ {2,}/g, "   ")]));
    if (JSON.stringify([...this.meanings]) === before) return;
    for (const cell of this.parent.querySelectorAll<HTMLElement>("td.meaning")) {
      cell.textContent = this.meanings.get(cell.dataset.number ?? "") ?? "";
    }
    this.showMeaning(null);
  }

  // ---- grids -------------------------------------------------------------------------------------

  /** Names that can be picked, as lists of the browser. */
  private lists(tables: Table[]): HTMLElement[] {
    const column = (section: SectionId, id: string): string[] =>
      tables.filter((t) => t.section === section).flatMap((t) => {
        const index = t.columns.findIndex((c) => c.id === id);
        return t.rows.filter((r) => !r.off).map((r) => r.cells[index]?.text ?? "").filter(Boolean);
      });
    const states = column("states", "name");
    const constants = column("constants", "name");
    const conditions = ["EverTrue", ...column("predicates", "name"), ...column("situations", "situation")];
    const russian = getLanguage() === "ru";
    const list = (id: string, names: string[]): HTMLElement =>
      make("datalist", { id }, ...[...new Set(names)].map((n) => make("option", { value: n })));
    return [
      list("list-variable", states),
      list("list-argument", [...states, ...constants]),
      list("list-condition", conditions),
      list("list-shape", russian ? SHAPES_RUSSIAN : SHAPES),
      list("list-colour", COLOURS),
      list("list-procedure", PROCEDURES.map((p) => (russian && p.russian ? p.russian : p.name))),
    ];
  }

  /** Models whose rows count here, too: they stand in tables of their own. */
  private included(tables: Table[]): HTMLElement[] {
    const settings = tables.filter((t) => t.section === "settings").flatMap((t) => t.rows.filter((r) => !r.off).map((r) => r.cells.map((c) => c.text)));
    const files = settings.filter(([name]) => /^(include|включить)$/i.test(name)).map(([, file]) => file);
    return files.map((file) => make("p", { class: "included" }, say("with all rows of"), " ",
      make("button", { class: "link", click: () => this.open(this.path.replace(/[^/]*$/, "") + file) }, file)));
  }

  private section(id: SectionId, tables: Table[]): HTMLElement {
    const own = tables.filter((t) => t.section === id);
    const table = own[0];
    const head = make("h3", {}, sectionTitle(id, getLanguage()),
      make("button", { class: "mini", click: () => this.addRow(id), "data-add": id }, `+ ${say("add a row")}`),
      id === "rules" ? make("button", { class: "mini", click: () => this.showProcedures(null) }, say("Procedures")) : null);
    if (!table) return make("section", {}, head);
    let index = 0;
    const body = own.flatMap((t) => t.rows.map((row) => this.row(t, row, index++)));
    const titles = table.columns.map((c) => make("th", { scope: "col" }, columnTitle(c.id, c.title, getLanguage())));
    return make("section", {}, head, make("table", { "data-section": id }, make("thead", {}, make("tr", {}, ...titles)), make("tbody", {}, ...body)));
  }

  private row(table: Table, row: TableRow, index: number): HTMLElement {
    const cells = table.columns.map((column, c) => this.cell(table, row, index, c, column.id));
    const number = row.cells[table.columns.findIndex((c) => c.id === "number")]?.text ?? "";
    const meaning = make("td", { class: "meaning", "data-number": row.off ? "" : number, title: say("stands for") }, row.off ? "" : (this.meanings.get(number) ?? ""));
    return make("tr", { class: row.off ? "off" : "", "data-line": row.line }, ...cells, table.section === "rules" ? meaning : null);
  }

  private cell(table: Table, row: TableRow, index: number, c: number, id: string): HTMLElement {
    const cell = row.cells[c];
    const lists: Record<string, string> = {
      variable: "list-variable", argument1: "list-argument", argument2: "list-argument", situation: "list-condition", procedure: "list-procedure",
    };
    const drawn = id === "shape" ? "list-shape" : id === "colour" ? "list-colour" : id === "text" || id === "number" ? undefined : "list-argument";
    const picks = table.section === "rules" ? lists[id] : table.section === "drawing" ? drawn : table.section === "controls" && id === "name" ? "list-argument" : undefined;
    const input = make("input", {
      value: cell?.text ?? "", "data-key": `${table.section}:${index}:${c}`, list: picks, spellcheck: "false", autocomplete: "off",
      "aria-label": `${columnTitle(id, table.columns[c].title, getLanguage())} ${index + 1}`, readonly: row.off,
      style: `width:${Math.max(4, Math.min(34, 1.05 * (cell?.text ?? "").length + (picks ? 4 : 2.5)))}ch`,
    });
    input.addEventListener("change", () => this.write(table.section, index, c, input.value));
    const wrong = cell ? this.editor.diagnostics.find((d) => d.from < cell.to + 1 && d.to > cell.from - 1 && !(d.from <= row.from && d.to >= row.to)) : undefined;
    const whole = this.editor.diagnostics.find((d) => d.from >= row.from && d.from <= row.to && d.to >= row.to - 1 && c === 0);
    const bad = wrong ?? whole;
    const message = bad && bilingual(bad.source, bad.message).join("");
    const number = NUMBERS.has(id) && !(table.section === "settings");
    return make("td", { class: [message ? "wrong" : "", number ? "number" : ""].join(" ").trim(), title: message ?? null }, input);
  }

  // ---- edits -------------------------------------------------------------------------------------

  /** A row of the document as it is now, and its table. */
  private find(section: SectionId, index: number): { table: Table; row: TableRow; tables: Table[]; all: TableRow[] } | null {
    const tables = readTables(this.editor.text).filter((t) => t.section === section);
    const all = tables.flatMap((t) => t.rows);
    const row = all[index];
    const table = tables.find((t) => t.rows.includes(row));
    return row && table ? { table, row, tables, all } : null;
  }

  private write(section: SectionId, index: number, column: number, text: string): void {
    const found = this.find(section, index);
    if (!found) return;
    const cells = found.row.cells;
    const cell: Cell | undefined = cells[column];
    const value = cellText(text);
    if (cell && cell.text === value.replaceAll("\\|", "|")) return;
    if (cell) {
      // an empty cell needs blanks around its first word
      const doc = this.editor.text;
      const before = cell.from === cell.to && doc[cell.from - 1] === "|" ? " " : "";
      const after = value && cell.from === cell.to && doc[cell.to] === "|" ? " " : "";
      this.editor.edit([{ from: cell.from, to: cell.to, insert: before + value + after }]);
    } else {
      const missing = Array.from({ length: column - cells.length }, () => " |").join("");
      this.editor.edit([{ from: found.row.to, to: found.row.to, insert: `${missing} ${value} |` }]);
    }
  }

  /** A new row, with these cells. */
  addRow(section: SectionId, cells: string[] = []): void {
    const text = this.editor.text;
    const tables = readTables(text).filter((t) => t.section === section);
    const language = getLanguage();
    if (!tables.length) {
      const columns = freshColumns[section][language];
      const title = language === "ru" ? sectionTitle(section, "ru") : sectionTitle(section, "en").replace("State vector", "States");
      const heading = title === "Вектор состояния" ? "Состояния" : title;
      const gap = text.endsWith("\n\n") || text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
      const lines = [`## ${heading}`, "", `| ${columns.join(" | ")} |`, `|${columns.map(() => "---").join("|")}|`, this.freshLine(section, columns.length, 1, cells)];
      this.pending = { section, row: 0, column: isNumbered(section) ? 1 : 0 };
      this.editor.edit([{ from: text.length, to: text.length, insert: `${gap}${lines.join("\n")}\n` }]);
      return;
    }
    const table = tables[tables.length - 1];
    const rows = tables.flatMap((t) => t.rows);
    const numbers = rows.map((r) => Number(r.cells[table.columns.findIndex((c) => c.id === "number")]?.text)).filter(Number.isFinite);
    const line = this.freshLine(section, table.columns.length, 1 + Math.floor(Math.max(0, ...numbers)), cells);
    this.pending = { section, row: rows.filter((r) => !r.off || r.from < table.end).length, column: isNumbered(section) ? 1 : 0 };
    this.editor.edit([{ from: table.end, to: table.end, insert: `\n${line}` }]);
  }

  private freshLine(section: SectionId, columns: number, number: number, given: string[]): string {
    const cells = Array.from({ length: columns }, (_, i) => cellText(given[i] ?? ""));
    if (isNumbered(section)) cells[0] = String(number);
    if (section === "rules") {
      if (columns > 3) cells[3] = "1.00";
      if (columns > 6) cells[6] = "EverTrue";
    }
    return `|${cells.map((c) => (c ? ` ${c} ` : " ")).join("|")}|`;
  }

  private lineOf(row: TableRow): string {
    return this.editor.text.slice(row.from, row.to);
  }

  private copyRow(section: SectionId, index: number): void {
    const found = this.find(section, index);
    if (!found || found.row.off) return;
    let line = this.lineOf(found.row);
    const place = found.table.columns.findIndex((c) => c.id === "number");
    if (place >= 0) {
      const numbers = found.all.map((r) => Number(r.cells[place]?.text)).filter(Number.isFinite);
      const cell = found.row.cells[place];
      if (cell) {
        const at = cell.from - found.row.from;
        line = `${line.slice(0, at)}${1 + Math.floor(Math.max(0, ...numbers))}${line.slice(at + (cell.to - cell.from))}`;
      }
    }
    this.pending = { section, row: index + 1, column: isNumbered(section) ? 1 : 0 };
    this.editor.edit([{ from: found.row.to, to: found.row.to, insert: `\n${line}` }]);
  }

  private moveRow(section: SectionId, index: number, by: 1 | -1): void {
    const found = this.find(section, index);
    const other = this.find(section, index + by);
    if (!found || !other || found.row.off || other.row.off) return;
    const [first, second] = by < 0 ? [other.row, found.row] : [found.row, other.row];
    this.pending = { section, row: index + by, column: 0 };
    this.editor.edit([
      { from: first.from, to: first.to, insert: this.lineOf(second) },
      { from: second.from, to: second.to, insert: this.lineOf(first) },
    ]);
  }

  private removeRow(section: SectionId, index: number): void {
    const found = this.find(section, index);
    if (!found) return;
    const text = this.editor.text;
    const to = found.row.to < text.length ? found.row.to + 1 : found.row.to;
    const from = to === found.row.to && found.row.from > 0 ? found.row.from - 1 : found.row.from;
    this.editor.edit([{ from, to, insert: "" }]);
  }

  /** A row that is switched off stands behind its table as a remark, and comes back to its place. */
  private switchRow(section: SectionId, index: number): void {
    const found = this.find(section, index);
    if (!found) return;
    const { table, row } = found;
    const line = this.lineOf(row);
    const text = this.editor.text;
    const end = row.to < text.length ? row.to + 1 : row.to;
    const order = inOrder(table);
    if (row.off) {
      const cells = OFF.exec(line)?.[1] ?? line;
      const next = order.slice(order.indexOf(row)).find((r) => !r.off);
      const back = next ? { from: next.from, to: next.from, insert: `${cells}\n` } : { from: table.end, to: table.end, insert: `\n${cells}` };
      const alone = table.rows.filter((r) => r.off).length === 1 && text.slice(row.from - 2, row.from) === "\n\n"; // the gap goes with the last one
      this.editor.edit([back, { from: row.from - (alone ? 1 : 0), to: end, insert: "" }]);
      return;
    }
    const remark = `<!-- off ${line.trim()} row ${order.indexOf(row) + 1} -->\n`;
    const hasOff = table.rows.some((r) => r.off);
    const last = table.rows.filter((r) => !r.off).at(-1) === row && table.rows.filter((r) => !r.off).length >= 1;
    const behind = last ? end : Math.min(table.end + 1, text.length);
    const gap = hasOff ? "" : "\n";
    const place = hasOff ? (table.rows.find((r) => r.off)?.from ?? behind) : behind;
    this.editor.edit([{ from: row.from, to: end, insert: "" }, { from: Math.max(place, end), to: Math.max(place, end), insert: gap + remark }]);
  }

  // ---- procedures with their pictures ------------------------------------------------------------

  private showProcedures(target: HTMLInputElement | null): void {
    const dialog = byId<HTMLDialogElement>("dialog");
    const russian = getLanguage() === "ru";
    const cards = PROCEDURES.map((p) => {
      const name = russian && p.russian ? p.russian : p.name;
      return make("button", { class: "procedure", type: "button", click: () => {
        dialog.close();
        if (target) {
          target.value = name;
          target.dispatchEvent(new Event("change"));
        }
      } }, p.picture ? make("img", { src: `data:image/svg+xml,${encodeURIComponent(p.picture)}`, alt: "", loading: "lazy" }) : null,
      make("b", {}, name), make("small", {}, tellFormula(p.formula)));
    });
    dialog.replaceChildren(make("h2", {}, say("Procedures")), make("div", { class: "procedures" }, ...cards),
      make("form", { method: "dialog" }, make("div", { class: "buttons" }, make("button", {}, "OK"))));
    dialog.showModal();
  }

  /** A row is moved, copied, switched off or removed by keys. */
  private rowKey(key: string, section: SectionId, row: number): boolean {
    if (key === "ArrowUp" || key === "ArrowDown") this.moveRow(section, row, key === "ArrowUp" ? -1 : 1);
    else if (key === "d") this.copyRow(section, row);
    else if (key === "o") this.switchRow(section, row);
    else if (key === "Delete") this.removeRow(section, row);
    else return false;
    return true;
  }

  // ---- keys --------------------------------------------------------------------------------------

  /** Arrows and Enter move through a grid; F4 shows the procedures. */
  private onKey(event: KeyboardEvent): void {
    const input = event.target;
    if (!(input instanceof HTMLInputElement) || !input.dataset.key) return;
    const [section, row, column] = input.dataset.key.split(":");
    const go = (r: number, c: number): boolean => {
      const next = this.parent.querySelector<HTMLInputElement>(`input[data-key="${section}:${r}:${c}"]`);
      next?.focus();
      next?.select();
      return Boolean(next);
    };
    const picking = input.hasAttribute("list");
    if (event.key === "Enter") {
      const next = { section: section as SectionId, row: Number(row) + 1, column: Number(column) };
      this.pending = next;
      input.dispatchEvent(new Event("change"));
      if (!go(next.row, next.column)) this.pending = null;
    } else if (event.key === "ArrowDown" && !picking) go(Number(row) + 1, Number(column));
    else if (event.key === "ArrowUp" && !picking) go(Number(row) - 1, Number(column));
    else if (event.key === "F4") this.showProcedures(input);
    else if (event.altKey && this.rowKey(keyOf(event), section as SectionId, Number(row))) return event.preventDefault();
    else if (event.key === "Insert" || (keyOf(event) === "n" && event.altKey)) this.addRow(section as SectionId);
    else return;
    event.preventDefault();
  }
}
