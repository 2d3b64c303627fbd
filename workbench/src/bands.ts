// SPDX-License-Identifier: MIT
//
// The states of the automata over the time, as coloured stretches with their names.
import { Range } from "./chart";
import { make } from "./dom";
import { Run } from "./session";

export class Bands {
  private canvases: HTMLCanvasElement[] = [];
  private model = "";

  constructor(private readonly parent: HTMLElement, private readonly most = 4) {}

  draw(run: Run | null, range: Range, cursor: number | null): void {
    const automata = run?.model.automata ?? [];
    const key = automata.map((a) => a.name).join("\n");
    if (key !== this.model) {
      this.model = key;
      this.canvases = automata.slice(0, this.most).map(() => make("canvas"));
      this.parent.replaceChildren(...this.canvases.map((canvas, i) =>
        make("div", { class: "band" }, make("span", { title: automata[i].name }, automata[i].name), canvas)));
    }
    if (!run) return;
    this.canvases.forEach((canvas, i) => this.drawBand(canvas, run, i, range, cursor));
  }

  private drawBand(canvas: HTMLCanvasElement, run: Run, automaton: number, range: Range, cursor: number | null): void {
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext("2d");
    if (!context || width === 0) return;
    context.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colours = Array.from({ length: 6 }, (_, k) => style.getPropertyValue(`--band-${k}`).trim());
    const text = style.getPropertyValue("--text").trim();
    const column = run.column(`${run.model.automata[automaton].name}.state`);
    const rows = run.rows;
    const time = rows.time.values;
    const values = rows.columns[column].values;
    const px = (t: number): number => ((t - range.from) / (range.to - range.from)) * width;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const end = rows.find(range.to, true);
    let from = Math.max(0, rows.find(range.from) - 1);
    while (from < end) {
      const state = values[from];
      const to = rows.columns[column].equalUpTo(from, 1, end);
      const left = Math.max(0, px(time[from]));
      const right = Math.min(width, px(to < rows.length ? time[to] : time[to - 1]));
      context.fillStyle = colours[state % colours.length];
      context.fillRect(left, 0, Math.max(right - left, 0.6), height);
      const name = run.model.automata[automaton].states[state] ?? "";
      if (right - left > 16 && context.measureText(name).width < right - left - 8) {
        context.fillStyle = text;
        context.fillText(name, left + 5, height / 2 + 0.5);
      }
      // of the states within a pixel one is seen
      const pixel = Math.floor(left) + 1;
      from = right < pixel ? Math.max(to, rows.find(range.from + ((range.to - range.from) * pixel) / width)) : to;
    }
    if (cursor !== null && cursor >= range.from && cursor <= range.to) {
      context.fillStyle = text;
      context.fillRect(px(cursor), 0, 1, height);
    }
  }
}
