// SPDX-License-Identifier: MIT
//
// A program in C that runs under `saltus watch`: its graphs and its animation while they come. The program writes lines of
// JSON, the server hands over what is new of them.
import { ServedEngine } from "./engine";
import { Model, Run } from "./session";
import { say } from "./words";

const PAUSE = 60; // ms between requests
const PEN = 1000; // a coordinate from here on is no point: a circle around the one before, or the pen is lifted

interface Outline {
  a: number[];
  b: number[];
}

type Place = [number, number, number, number]; // number of the outline, x, y, angle

export interface Watcher {
  onWatched(run: Run, fresh: boolean): void;
  onEnd(text: string): void;
}

/** The names of graphs may repeat: columns may not. */
function uniqueNames(names: string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count > 1 ? `${name} (${count})` : name || "–";
  });
}

export class Watch {
  run: Run | null = null;
  private outlines: Outline[] = [];
  private field: [number, number] = [1, 1];
  private fixed: Place[] = [];
  private frames: { t: number; places: Place[] }[] = [];
  private fresh = true;

  constructor(
    private readonly server: ServedEngine,
    private readonly watcher: Watcher,
  ) {}

  get hasScene(): boolean {
    return this.outlines.length > 0;
  }

  /** Ask for what is new until the program has ended. */
  async follow(): Promise<void> {
    let from = 0;
    for (;;) {
      const response = await this.server.request(`/watch?from=${from}`).catch(() => null);
      if (!response?.ok) {
        this.watcher.onEnd(say("`saltus watch` does not answer any more."));
        return;
      }
      const bytes = new Uint8Array(await response.arrayBuffer());
      from += bytes.length;
      if (bytes.length) this.take(new TextDecoder().decode(bytes));
      const state = response.headers.get("X-Saltus-State") ?? "";
      if (state !== "running" && bytes.length === 0) {
        if (this.run) this.run.state = "done";
        this.watcher.onEnd(`${say("the program has ended")} (${state.replace("ended ", "")})`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  private take(text: string): void {
    for (const line of text.split("\n")) {
      if (line) this.takeLine(JSON.parse(line) as Record<string, any>);
    }
    const run = this.run;
    if (!run) return;
    const last = this.frames.at(-1)?.t ?? -Infinity;
    const rows = run.rows.length ? run.rows.time.values[run.rows.length - 1] : -Infinity;
    run.t = run.end = Math.max(last, rows, run.start);
    this.watcher.onWatched(run, this.fresh);
    this.fresh = false;
  }

  private takeLine(line: Record<string, any>): void {
    if (line.graphs) this.begin(line.graphs as { name: string }[]);
    else if (line.row) this.run?.rows.append(Float64Array.from(line.row as (number | null)[], (v) => v ?? NaN));
    else if (line.shape) {
      this.outlines.push(line.shape as Outline);
      const [x, y] = line.field as [number, number];
      this.field = [Math.max(this.field[0], x), Math.max(this.field[1], y)];
    } else if (line.fixed) this.fixed = line.fixed as Place[];
    else if (line.frame) {
      const [t, ...places] = line.frame as [number, ...Place[]];
      this.frames.push({ t, places });
    }
  }

  /** A program may begin anew. */
  private begin(graphs: { name: string }[]): void {
    const names = uniqueNames(graphs.map((g) => g.name));
    const model: Model = {
      path: "", text: "", experiment: { method: "", out: [] }, panels: [], automata: [], drawing: [], controls: [],
      names: { variables: names.map((name) => ({ name, kind: "", unit: "" })), constants: [], automata: [], transitions: [] },
    };
    this.run = new Run(model, {}, names);
    this.outlines = [];
    this.fixed = [];
    this.frames = [];
    this.field = [0, 0];
    this.fresh = true;
  }

  /** The frame of a time: the last one before it. */
  draw(canvas: HTMLCanvasElement, t: number): void {
    const context = canvas.getContext("2d");
    if (!context) return;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * scale;
    canvas.height = height * scale;
    context.scale(scale, scale);
    context.translate(width / 2, height / 2);
    const k = Math.min(width / (this.field[0] || 1), height / (this.field[1] || 1));
    context.scale(k, -k);
    context.lineWidth = 1.6 / k;
    const style = getComputedStyle(document.documentElement);
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle].t <= t) low = middle + 1;
      else high = middle;
    }
    const frame = this.frames[Math.max(0, low - 1)];
    [...this.fixed, ...(frame?.places ?? [])].forEach(([shape, x, y, angle]) => {
      context.strokeStyle = style.getPropertyValue(`--series-${shape % 8}`).trim();
      context.save();
      context.translate(x, y);
      context.rotate(angle);
      drawOutline(context, this.outlines[shape]);
      context.restore();
    });
  }
}

function drawOutline(context: CanvasRenderingContext2D, outline: Outline | undefined): void {
  if (!outline) return;
  let pen = false;
  let [x, y] = [0, 0];
  context.beginPath();
  outline.a.forEach((a, i) => {
    const b = outline.b[i];
    if (a >= PEN) {
      if (b > 0) {
        context.moveTo(x + b, y);
        context.arc(x, y, b, 0, 2 * Math.PI);
        context.moveTo(x, y);
      } else {
        pen = false;
      }
      return;
    }
    if (pen) context.lineTo(a, b);
    else context.moveTo(a, b);
    pen = true;
    [x, y] = [a, b];
  });
  context.stroke();
}
