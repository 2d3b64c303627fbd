// SPDX-License-Identifier: MIT
//
// Measured rows that a run is compared with: a table with a column of times and columns of quantities, as a program or a
// spreadsheet writes it. They are read here to be drawn; what is fitted to them is read by the engine.

export interface Measured {
  time: number[];
  columns: Map<string, number[]>; // NaN where a cell is no number
}

function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = [];
  let cell = "";
  let quoted = false;
  for (const c of line) {
    if (c === '"') quoted = !quoted;
    else if (c === separator && !quoted) cells.push(cell), (cell = "");
    else cell += c;
  }
  return [...cells, cell].map((c) => c.trim());
}

/** A table; null: it has no times. */
export function readMeasured(text: string): Measured | null {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).filter((l) => l.trim());
  const head = lines[0] ?? "";
  const separator = [";", "\t", ","].find((s) => head.includes(s)) ?? ",";
  const number = (cell: string | undefined): number => (cell ? Number(separator === "," ? cell : cell.replace(",", ".")) : NaN);
  const names = cellsOf(head, separator);
  const at = names.findIndex((n) => /^(time|t)$/i.test(n));
  if (at < 0) return null;
  const rows = lines.slice(1).map((l) => cellsOf(l, separator).map(number)).filter((r) => Number.isFinite(r[at]));
  const columns = names.map((name, i): [string, number[]] => [name, rows.map((r) => r[i] ?? NaN)]).filter((_, i) => i !== at);
  return { time: rows.map((r) => r[at]), columns: new Map(columns) };
}

/** How far the values of the columns lie from their means, as a root of mean squares. */
export function spread(measured: Measured, names: string[]): number {
  let [sum, count] = [0, 0];
  for (const name of names) {
    const values = (measured.columns.get(name) ?? []).filter(Number.isFinite);
    const mean = values.reduce((a, b) => a + b, 0) / (values.length || 1);
    for (const v of values) sum += (v - mean) ** 2;
    count += values.length;
  }
  return Math.sqrt(sum / (count || 1));
}
