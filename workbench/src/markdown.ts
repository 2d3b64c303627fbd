// SPDX-License-Identifier: MIT
//
// Where the cells of rule tables stand in their document. Nothing is rewritten: an edit replaces the bytes of a cell or of
// a line, and everything else stays as its author has written it.

export type SectionId = "settings" | "constants" | "states" | "predicates" | "situations" | "rules" | "drawing" | "controls";

/** Names of sections and columns as src/rules/read_words.c accepts them; the first of each language is shown. */
const sections: Record<SectionId, { words: string[]; en: string; ru: string }> = {
  settings: { words: ["settings", "setting", "настройки", "параметры расчета"], en: "Settings", ru: "Настройки" },
  constants: { words: ["constants", "constant", "parameters", "константы", "параметры"], en: "Constants", ru: "Константы" },
  states: { words: ["states", "state", "variables", "состояния", "переменные"], en: "State vector", ru: "Вектор состояния" },
  predicates: { words: ["predicates", "predicate", "предикаты"], en: "Predicates", ru: "Предикаты" },
  situations: { words: ["situations", "situation", "ситуации"], en: "Situations", ru: "Ситуации" },
  rules: { words: ["rules", "rule", "transition rules", "правила", "правила трансформации"], en: "Rules", ru: "Правила" },
  drawing: { words: ["drawing", "animation", "рисунок", "анимация", "мультипликация"], en: "Drawing", ru: "Рисунок" },
  controls: { words: ["controls", "control", "управление", "органы управления"], en: "Controls", ru: "Управление" },
};

const columnWords: [id: string, en: string, ru: string, words: string[]][] = [
  ["number", "#", "№", ["#", "№", "n", "no", "number", "номер"]],
  ["variable", "Variable", "Переменная", ["variable", "переменная"]],
  ["procedure", "Procedure", "Процедура", ["procedure", "процедура"]],
  ["coefficient", "Coef.", "Коэфф.", ["coefficient", "coef", "coeff", "коэффициент", "коэфф", "кэфф", "коэф"]],
  ["argument1", "Argument 1", "Аргумент 1", ["argument 1", "argument", "arg 1", "аргумент 1", "аргумент"]],
  ["argument2", "Argument 2", "Аргумент 2", ["argument 2", "arg 2", "аргумент 2"]],
  ["situation", "Situation", "Ситуация", ["situation", "ситуация"]],
  ["parameter", "Parameter", "Имя параметра", ["parameter", "parameter name", "параметр", "имя параметра"]],
  ["value", "Value", "Значение", ["value", "значение"]],
  ["name", "Name", "Имя", ["name", "constant", "state", "predicate", "setting", "имя", "название", "константа", "состояние", "предикат", "настройка"]],
  ["initial", "Initial", "Начальное", ["initial", "initial value", "start", "начальное", "начальное значение"]],
  ["unit", "Unit", "Единица", ["unit", "units", "единица", "ед", "единицы"]],
  ["kind", "Kind", "Вид", ["kind", "type", "вид", "тип"]],
  ["relation", "Relation", "Отношение", ["relation", "condition", "отношение", "условие"]],
  ["when", "When", "Если", ["when", "condition", "если", "когда", "условие"]],
  ["then", "Then", "То", ["then", "assign", "то", "тогда", "присвоить"]],
  ["shape", "Shape", "Фигура", ["shape", "figure", "фигура"]],
  ["x", "x", "x", ["x", "х", "x1", "х1"]],
  ["y", "y", "y", ["y", "у", "y1", "у1"]],
  ["x2", "x2", "x2", ["x2", "х2"]],
  ["y2", "y2", "y2", ["y2", "у2"]],
  ["size", "Size", "Размер", ["size", "radius", "width", "размер", "радиус", "ширина"]],
  ["height", "Height", "Высота", ["height", "высота"]],
  ["angle", "Angle", "Угол", ["angle", "угол"]],
  ["text", "Text", "Текст", ["text", "текст", "надпись"]],
  ["colour", "Colour", "Цвет", ["colour", "color", "цвет"]],
  ["range", "Range", "Диапазон", ["range", "values", "диапазон", "значения"]],
  ["comment", "Comment", "Примечание", ["comment", "note", "notes", "remark", "meaning", "комментарий", "примечание", "смысл"]],
];

/** Columns of a table that is begun here. */
export const freshColumns: Record<SectionId, { en: string[]; ru: string[] }> = {
  settings: { en: ["name", "value"], ru: ["имя", "значение"] },
  constants: { en: ["name", "value", "unit"], ru: ["имя", "значение", "единица"] },
  states: { en: ["name", "initial", "unit"], ru: ["имя", "начальное", "единица"] },
  predicates: { en: ["name", "relation"], ru: ["имя", "отношение"] },
  situations: { en: ["situation", "when"], ru: ["ситуация", "если"] },
  rules: {
    en: ["#", "variable", "procedure", "coefficient", "argument 1", "argument 2", "situation", "parameter", "value"],
    ru: ["№", "переменная", "процедура", "коэфф.", "аргумент 1", "аргумент 2", "ситуация", "имя параметра", "значение"],
  },
  drawing: {
    en: ["#", "shape", "x", "y", "x2", "y2", "size", "height", "text", "colour"],
    ru: ["№", "фигура", "х", "у", "х2", "у2", "размер", "высота", "текст", "цвет"],
  },
  controls: { en: ["name", "range"], ru: ["имя", "диапазон"] },
};

export interface Cell {
  from: number;
  to: number;
  text: string;
}

export interface TableRow {
  from: number; // of the line
  to: number; // without its end
  line: number; // from 1
  cells: Cell[];
  off: boolean;
  place: number; // of one that is off, among all rows of its table, from 1
}

export interface Table {
  section: SectionId;
  title: string;
  columns: { id: string; title: string }[];
  rows: TableRow[];
  end: number; // behind the last line of the table, where a row can be put
}

function fold(text: string): string {
  return text.trim().toLowerCase().replaceAll("ё", "е").replace(/\s+/g, " ").replace(/[.: ]+$/, "");
}

function sectionOf(title: string): SectionId | null {
  const words = fold(title);
  for (const [id, { words: names }] of Object.entries(sections)) {
    for (const name of names) {
      const rest = words.slice(name.length).trim();
      if (words.startsWith(name) && (rest === "" || "(:,;".includes(rest[0]))) return id as SectionId;
    }
  }
  return null;
}

export function sectionTitle(id: SectionId, language: "en" | "ru"): string {
  return sections[id][language];
}

function columnOf(header: string, section: SectionId): string {
  const word = fold(header);
  // "variable" is the name of a state, and the column of a rule
  if (section !== "rules" && (word === "variable" || word === "переменная")) return "name";
  if (section === "situations" && (word === "condition" || word === "условие")) return "when";
  return columnWords.find(([, , , words]) => words.includes(word))?.[0] ?? word;
}

export function columnTitle(id: string, own: string, language: "en" | "ru"): string {
  const known = columnWords.find(([name]) => name === id);
  if (!known) return own;
  return language === "ru" ? known[2] : known[1];
}

/** The cells between the bars of a line; `begin` is its place in the document. */
function split(line: string, begin: number): Cell[] {
  const cells: Cell[] = [];
  let at = line.indexOf("|") + 1;
  while (at > 0 && at <= line.length) {
    let end = at;
    while (end < line.length && line[end] !== "|") end += line[end] === "\\" ? 2 : 1;
    if (end >= line.length && line.slice(at).trim() === "") break;
    end = Math.min(end, line.length);
    const raw = line.slice(at, end);
    const text = raw.trim();
    const lead = text ? raw.length - raw.trimStart().length : Math.min(1, raw.length);
    const from = begin + at + lead;
    cells.push({ from, to: from + text.length, text: text.replaceAll("\\|", "|") });
    at = end + 1;
  }
  return cells;
}

export const OFF = /^<!-- off (\|.*\|)(?: row (\d+))? -->\s*$/;

/** All tables of a document, in its order. */
export function readTables(text: string): Table[] {
  const tables: Table[] = [];
  const lines = text.split("\n");
  let section: SectionId | null = null;
  let title = "";
  let table: Table | null = null;
  let inside = false; // the line before belongs to the table
  let at = 0;
  lines.forEach((whole, i) => {
    const line = whole.replace(/\r$/, "");
    const heading = /^#+\s+(.*)/.exec(line);
    const ruled = i + 1 < lines.length && /^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$/.test(lines[i + 1]);
    const off = OFF.exec(line);
    if (heading) {
      section = sectionOf(heading[1]);
      title = heading[1];
      inside = false;
      table = null;
    } else if (section && line.includes("|") && ruled && !inside) {
      const columns = split(line, at).map((c) => ({ id: columnOf(c.text, section as SectionId), title: c.text }));
      table = { section, title, columns, rows: [], end: at + whole.length + 1 + lines[i + 1].length };
      tables.push(table);
      inside = true;
    } else if (table && inside && /^\s*\|/.test(line)) {
      const rule = /^\s*\|?[\s:|-]*$/.test(line) && line.includes("-") && table.rows.length === 0 && lines[i - 1].includes("|");
      if (!rule) {
        table.rows.push({ from: at, to: at + line.length, line: i + 1, cells: split(line, at), off: false, place: 0 });
        table.end = at + line.length;
      }
    } else if (table && off) {
      table.rows.push({ from: at, to: at + line.length, line: i + 1, cells: split(line.replace(/(\|)[^|]*-->\s*$/, "$1"), at), off: true, place: Number(off[2] ?? Infinity) });
      inside = false;
    } else {
      inside = false;
    }
    at += whole.length + 1;
  });
  return tables;
}

/** A text as it stands in a cell. */
export function cellText(text: string): string {
  return text.replace(/[\r\n]+/g, " ").trim().replaceAll("\\|", "|").replaceAll("|", "\\|");
}
