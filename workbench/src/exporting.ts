// SPDX-License-Identifier: MIT
//
// A run as files: rows, events, pictures, a report, and what is needed to repeat it.
import { Chart, readTheme } from "./chart";
import { byId, download, make } from "./dom";
import { Engine } from "./engine";
import { Run } from "./session";
import { say } from "./words";

export interface ExportHost {
  run: Run | null;
  readonly modelName: string;
  readonly modelText: string;
  readonly shownCharts: Chart[];
  drawNow(wholly: boolean): void;
  settings(): object; // of the present run, for the engine
  command(): string;
  readonly isSaved: boolean;
  toast(text: string): void;
}

export class Exporter {
  constructor(
    private readonly engine: Engine,
    private readonly host: ExportHost,
  ) {}

  show(): void {
    const run = this.host.run;
    if (!run) return;
    const file = this.host.modelName.replace(/.*\//, "");
    const base = file.replace(/\.(lisma|rules\.md)$/, "");
    const lines = (items: object[]): string => items.map((item) => JSON.stringify(item)).join("\n") + "\n";
    const choices: [string, () => unknown][] = [
      ["Rows (CSV)", () => this.written(`${base}.csv`, "csv", "text/csv")],
      ["Rows (MAT)", () => this.written(`${base}.mat`, "mat", "application/octet-stream")],
      ["Events (JSON lines)", () => download(`${base}.jsonl`, lines(run.events), "application/jsonl")],
      ["Picture (SVG)", () => this.written(`${base}.svg`, "svg", "image/svg+xml")],
      ["Picture (PNG)", () => this.picture(`${base}.png`)],
      ["Report (HTML)", () => this.written(`${base}.html`, "report", "text/html")],
      ["Model text", () => download(file, this.host.modelText, "text/plain")],
    ];
    if (run.changes.length) choices.push(["Changes for --replay", () => download(`${base}.replay.jsonl`, lines(run.changes), "application/jsonl")]);
    const dialog = byId<HTMLDialogElement>("dialog");
    dialog.replaceChildren(make("h2", {}, say("Export")),
      make("form", { method: "dialog", class: "choices" }, ...choices.map(([label, action]) => make("button", { click: () => void action() }, say(label))),
        make("p", {}, make("small", {}, say("command line")), make("br"), make("code", {}, this.host.command()), this.host.isSaved ? "" : make("small", {}, ` ${say("(once the text is saved)")}`)), make("div", { class: "buttons" }, make("button", {}, say("close")))));
    dialog.showModal();
  }

  /** What the engine writes as the command line would. */
  private async written(name: string, as: string, type: string): Promise<void> {
    // names of a chart's curves, as far as they are quantities of the model
    const panels = this.host.shownCharts.map((c) => ({ names: c.names.filter((n) => !n.startsWith("{")).join(","), log: c.log, x: c.x })).filter((p) => p.names);
    try {
      const { json, numbers } = await this.engine.ask({ op: "export", as, panels, path: this.host.modelName, text: this.host.modelText, ...this.host.settings() });
      const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, json.bytes as number);
      download(name, bytes.slice(), type);
    } catch (error) {
      this.host.toast(error instanceof Error ? say(error.message) : String(error));
    }
  }

  private picture(name: string): void {
    this.host.drawNow(true);
    const canvases = this.host.shownCharts.map((c) => c.canvas);
    const whole = document.createElement("canvas");
    whole.width = Math.max(...canvases.map((c) => c.width));
    whole.height = canvases.reduce((sum, c) => sum + c.height, 0);
    const context = whole.getContext("2d");
    if (!context) return;
    context.fillStyle = readTheme().ground;
    context.fillRect(0, 0, whole.width, whole.height);
    let y = 0;
    for (const canvas of canvases) {
      context.drawImage(canvas, 0, y);
      y += canvas.height;
    }
    whole.toBlob((blob) => blob && download(name, blob, "image/png"));
  }
}
