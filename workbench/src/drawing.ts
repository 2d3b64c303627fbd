// SPDX-License-Identifier: MIT
//
// The drawing that a model declares, at the time of the cursor or of the run; it can be played.
import { make, short } from "./dom";
import { Run, Shape } from "./session";
import { say } from "./words";

const MARGIN = 18; // pixels
const TRACE_MAX = 20000; // points of a trace that are drawn

interface Box {
  left: number;
  right: number;
  bottom: number;
  top: number;
}

export interface DrawingHost {
  run: Run | null;
  cursor: number | null;
  setCursor(t: number | null): void;
}

/** Points that a shape covers, as pairs of its numbers; a size is added around them. */
function reach(shape: Shape, number: (i: number) => [number, number]): Box {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  const take = (x: [number, number], y: [number, number], around = 0): void => {
    box.left = Math.min(box.left, x[0] - around);
    box.right = Math.max(box.right, x[1] + around);
    box.bottom = Math.min(box.bottom, y[0] - around);
    box.top = Math.max(box.top, y[1] + around);
  };
  const plus = (a: [number, number], b: [number, number]): [number, number] => [a[0] + Math.min(b[0], 0), a[1] + Math.max(b[1], 0)];
  if (shape.kind === "circle") {
    take(number(0), number(1), Math.abs(number(2)[1]));
  } else if (shape.kind === "rect" && shape.numbers.length === 4) {
    take(plus(number(0), number(2)), plus(number(1), number(3)));
  } else if (shape.kind === "rect") {
    take(number(0), number(1), Math.hypot(number(2)[1], number(3)[1]));
  } else {
    const count = shape.kind === "text" || shape.kind === "trace" ? 2 : shape.numbers.length;
    for (let i = 0; i + 1 < count; i += 2) take(number(i), number(i + 1));
  }
  return box;
}

/** "T = {2:.1f}" with the shape's numbers in their places. */
export function fill(text: string, value: (i: number) => number): string {
  return text.replace(/\{(\d+)(?::\.(\d+)([efg]))?\}/g, (_, index: string, digits?: string, form?: string) => {
    const v = value(Number(index));
    if (!Number.isFinite(v)) return "–";
    if (digits === undefined) return short(v);
    const n = Math.min(20, Number(digits));
    // what rounds to zero has no sign
    return form === "e" ? v.toExponential(n) : form === "g" ? short(v, Math.max(1, n)) : v.toFixed(n).replace(/^-(?=0(\.0*)?$)/, "");
  });
}

export class Drawing {
  readonly element: HTMLElement;
  readonly canvas = make("canvas", { role: "img", tabindex: 0 });
  private readonly play = make("button", { class: "mini" });
  private readonly time = make("span", { class: "drawing-time" });
  private readonly slider = make("input", { type: "range", min: 0, max: 1000, value: 0 });
  private playing = false;
  private box: Box | null = null;
  private boxOf: { run: Run | null; rows: number } = { run: null, rows: 0 };
  speed: () => number = () => 1;
  scene: ((canvas: HTMLCanvasElement, t: number) => void) | null = null; // drawn in place of a model's shapes

  constructor(private readonly host: DrawingHost) {
    this.play.addEventListener("click", () => this.toggle());
    this.slider.addEventListener("input", () => {
      const run = host.run;
      if (run) host.setCursor(run.start + (Number(this.slider.value) / 1000) * (run.t - run.start));
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      this.toggle();
    });
    this.element = make("section", { class: "drawing" }, this.canvas, make("div", { class: "drawing-controls" }, this.play, this.slider, this.time));
    this.name();
  }

  name(): void {
    this.play.textContent = this.playing ? "❚❚" : "▶";
    this.play.title = `${say(this.playing ? "Pause" : "play the drawing")} (${say("space bar")})`;
    this.slider.setAttribute("aria-label", say("time"));
    this.canvas.setAttribute("aria-label", say("drawing of the model"));
  }

  toggle(): void {
    this.playing = !this.playing;
    this.name();
    if (this.playing) this.go();
  }

  stop(): void {
    this.playing = false;
    this.name();
  }

  /** Move the cursor with the clock, from where it stands; from the start when it stands at the end. */
  private go(): void {
    const host = this.host;
    const run = host.run;
    if (!run) return;
    const length = run.t - run.start;
    // a run of microseconds or years is played in ten seconds
    const pace = (length >= 0.5 && length <= 120 ? 1 : length / 10) * this.speed();
    let at = host.cursor ?? run.start;
    if (at >= run.t) at = run.start;
    let before = performance.now();
    const step = (now: number): void => {
      if (!this.playing) return;
      at += ((now - before) / 1000) * pace;
      before = now;
      const end = host.run?.t ?? 0;
      host.setCursor(Math.min(at, end));
      if (at < end) requestAnimationFrame(step);
      else this.stop();
    };
    requestAnimationFrame(step);
  }

  /** What all times of the run need, so that nothing moves but what moves. */
  private fit(run: Run): Box {
    const rows = run.rows;
    if (this.box && this.boxOf.run === run && this.boxOf.rows === rows.length) return this.box;
    const all: Box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
    for (const shape of run.model.drawing) {
      const box = reach(shape, (i) => {
        const column = run.column(shape.numbers[i]);
        const [low, high] = column < 0 ? [NaN, NaN] : rows.columns[column].extremes(0, rows.length);
        return [low, high];
      });
      if (box.left < all.left) all.left = box.left;
      if (box.right > all.right) all.right = box.right;
      if (box.bottom < all.bottom) all.bottom = box.bottom;
      if (box.top > all.top) all.top = box.top;
    }
    if (!(all.left <= all.right)) [all.left, all.right] = [-1, 1];
    if (!(all.bottom <= all.top)) [all.bottom, all.top] = [-1, 1];
    this.box = all;
    this.boxOf = { run, rows: rows.length };
    return all;
  }

  draw(): void {
    const run = this.host.run;
    const context = this.canvas.getContext("2d");
    if (!run || !context) return;
    const scale = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    context.scale(scale, scale);
    const t = this.host.cursor ?? run.t;
    this.showTime(run, t);
    if (this.scene) {
      this.scene(this.canvas, t);
      return;
    }
    const box = this.fit(run);
    const spanX = box.right - box.left;
    const spanY = box.top - box.bottom;
    const k = Math.min((width - 2 * MARGIN) / (spanX || spanY || 1), (height - 2 * MARGIN) / (spanY || spanX || 1));
    const px = (x: number): number => width / 2 + (x - (box.left + box.right) / 2) * k;
    const py = (y: number): number => height / 2 - (y - (box.bottom + box.top) / 2) * k;
    const style = getComputedStyle(document.documentElement);
    const colours = Array.from({ length: 8 }, (_, i) => style.getPropertyValue(`--series-${i}`).trim());
    run.model.drawing.forEach((shape, index) => {
      const value = (i: number): number => run.rows.valueAt(run.column(shape.numbers[i]), t);
      const line = shape.kind === "line" || shape.kind === "spring" || shape.kind === "text";
      const colour = colourOf(shape.colour) ?? (line ? style.getPropertyValue("--text").trim() : colours[index % 8]);
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = shape.kind === "trace" ? 1 : 2;
      if (shape.kind === "trace") this.drawTrace(context, run, shape, t, px, py);
      else drawShape(context, shape, value, px, py, k);
    });
  }

  private showTime(run: Run, t: number): void {
    this.time.textContent = `t = ${short(t, 5)}`;
    if (document.activeElement !== this.slider || this.playing) this.slider.value = String((1000 * (t - run.start)) / (run.t - run.start || 1));
  }

  private drawTrace(context: CanvasRenderingContext2D, run: Run, shape: Shape, t: number, px: (x: number) => number, py: (y: number) => number): void {
    const xs = run.rows.columns[run.column(shape.numbers[0])];
    const ys = run.rows.columns[run.column(shape.numbers[1])];
    if (!xs || !ys) return;
    const end = run.rows.find(t, true);
    context.beginPath();
    const begin = Math.max(0, end - TRACE_MAX);
    for (let i = begin; i < end; i++) {
      if (i === begin) context.moveTo(px(xs.values[i]), py(ys.values[i]));
      else context.lineTo(px(xs.values[i]), py(ys.values[i]));
    }
    context.stroke();
  }
}

/** Names and hexadecimal numbers of colours: nothing else reaches the canvas. */
function colourOf(text: string): string | null {
  return /^([a-z]{3,24}|#[0-9a-f]{3,8})$/i.test(text) && CSS.supports("color", text) ? text : null;
}

type Place = (v: number) => number;

function drawShape(context: CanvasRenderingContext2D, shape: Shape, value: (i: number) => number, px: Place, py: Place, k: number): void {
  const count = shape.numbers.length;
  context.beginPath();
  switch (shape.kind) {
    case "circle":
      context.arc(px(value(0)), py(value(1)), Math.max(1.5, Math.abs(value(2)) * k), 0, 2 * Math.PI);
      context.fill();
      break;
    case "rect": {
      context.save();
      context.translate(px(value(0)), py(value(1)));
      if (count > 4) context.rotate(-value(4));
      context.globalAlpha = 0.75;
      context.fillRect(0, 0, value(2) * k, -value(3) * k);
      context.globalAlpha = 1;
      context.strokeRect(0, 0, value(2) * k, -value(3) * k);
      context.restore();
      break;
    }
    case "spring":
      drawSpring(context, px(value(0)), py(value(1)), px(value(2)), py(value(3)));
      break;
    case "text":
      context.font = "13px system-ui, sans-serif";
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(fill(shape.text, value), px(value(0)), py(value(1)));
      break;
    default:
      for (let i = 0; i + 1 < count; i += 2) {
        if (i === 0) context.moveTo(px(value(0)), py(value(1)));
        else context.lineTo(px(value(i)), py(value(i + 1)));
      }
      if (shape.kind === "polygon") {
        context.closePath();
        context.globalAlpha = 0.75;
        context.fill();
        context.globalAlpha = 1;
      }
      context.stroke();
      if (shape.kind === "arrow") drawHead(context, px(value(0)), py(value(1)), px(value(2)), py(value(3)));
  }
}

function drawHead(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const size = Math.min(9, Math.hypot(x1 - x0, y1 - y0));
  context.beginPath();
  context.moveTo(x1, y1);
  for (const side of [-0.4, 0.4]) context.lineTo(x1 - size * Math.cos(angle + side), y1 - size * Math.sin(angle + side));
  context.fill();
}

function drawSpring(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  const turns = 8;
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [nx, ny] = [(-(y1 - y0) / length) * 6, ((x1 - x0) / length) * 6];
  context.moveTo(x0, y0);
  for (let i = 0; i <= 2 * turns; i++) {
    const part = 0.08 + (0.84 * i) / (2 * turns);
    const side = i === 0 || i === 2 * turns ? 0 : i % 2 ? 1 : -1;
    context.lineTo(x0 + (x1 - x0) * part + side * nx, y0 + (y1 - y0) * part + side * ny);
  }
  context.lineTo(x1, y1);
  context.stroke();
}
