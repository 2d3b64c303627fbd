// SPDX-License-Identifier: MIT
//
// The bar above everything: what runs the model, what is done with it, and in what state the run is.
import { byId, make, short } from "./dom";
import { Run, Session } from "./session";
import { count, getLanguage, meaningOf, say } from "./words";

/** Buttons by their names. */
export interface Actions {
  run(): void;
  live(): void;
  back(): void;
  next(): void;
  save(): void;
  keep(): void;
  export(): void;
  share(): void;
  language(): void;
  theme(): void;
  help(): void;
}

export interface ToolbarHost {
  readonly run: Run | null;
  readonly cursor: number | null;
  goTo(t: number): void;
  setEnd(t: number | null): void;
}

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 100, Infinity];

/** A number that was typed; null: it is none. */
function typed(input: HTMLInputElement): number | null {
  const value = Number(input.value.replace(",", "."));
  return input.value.trim() === "" || !Number.isFinite(value) ? null : value;
}

export class Toolbar {
  private buttons = new Map<string, HTMLButtonElement>();

  constructor(private readonly session: Session, private readonly host: ToolbarHost, private readonly actions: Actions) {}

  private button(id: keyof Actions, label: string, title: string, style = ""): HTMLButtonElement {
    const element = make("button", { id, class: style, title, click: () => this.actions[id]() }, label);
    this.buttons.set(id, element);
    return element;
  }

  /** Everything anew, in the page's language. */
  build(): void {
    const until = make("input", { id: "until", "aria-label": say("until"), inputmode: "decimal" });
    until.addEventListener("change", () => this.host.setEnd(typed(until)));
    const at = make("input", { id: "at", "aria-label": say("go to the time"), title: say("go to the time"), inputmode: "decimal" });
    at.addEventListener("change", () => {
      const t = typed(at);
      if (t !== null) this.host.goTo(t);
      at.blur();
    });
    const speed = make("select", { id: "speed", title: say("speed"), "aria-label": say("speed"), change: () => (this.session.speed = Number(speed.value)) });
    for (const k of SPEEDS) {
      speed.append(make("option", { value: k, selected: k === this.session.speed, title: k === Infinity ? say("as fast as it goes") : null }, k === Infinity ? say("max") : `${k}×`));
    }
    byId("run-controls").replaceChildren(
      this.button("run", `▶ ${say("Run")}`, "Ctrl+Enter", "main"),
      this.button("live", `◉ ${say("Live")}`, "Ctrl+Shift+Enter"),
      this.button("back", "|◀", `${say("Previous event")} (Alt+←)`),
      this.button("next", "▶|", `${say("Next event")} (Alt+→)`),
      make("label", {}, make("span", {}, "t ="), at),
      make("label", {}, make("span", {}, say("until")), until),
      speed,
    );
    byId("tools").replaceChildren(
      this.button("save", say("Save"), "Ctrl+S", "plain"),
      this.button("keep", say("Keep"), say("keep this run to compare others with it"), "plain"),
      this.button("export", say("Export"), say("write rows, events, pictures, a report"), "plain"),
      this.button("share", say("Share"), say("a link with the model and its settings"), "plain"),
      this.button("language", getLanguage() === "en" ? "Рус" : "Eng", "English / Русский", "plain"),
      this.button("theme", "◐", say("Dark or light"), "plain"),
      this.button("help", "?", say("Help"), "plain"),
    );
    this.update();
  }

  /** Where the run is. */
  update(): void {
    const run = this.host.run;
    const live = this.buttons.get("live");
    const stands = Boolean(run?.live && run.unfinished);
    if (live) live.textContent = this.session.isPlaying ? `❚❚ ${say("Pause")}` : stands ? `▶ ${say("Continue")}` : `◉ ${say("Live")}`;
    live?.setAttribute("aria-pressed", String(stands));
    const show = (id: string, t: number | undefined, digits: number): void => {
      const input = byId<HTMLInputElement>(id);
      if (document.activeElement !== input) input.value = t === undefined ? "" : short(t, digits);
    };
    show("until", run?.end, 6);
    show("at", run?.live ? run.t : (this.host.cursor ?? run?.t), 5);
  }

  /** A sentence beside the buttons. */
  tell(text: string, failed = false, title = ""): void {
    const status = byId("status");
    status.textContent = text;
    status.className = failed ? "failed" : "";
    status.title = title || text; // there may be no room for all of it
  }

  /** The engine has not answered for a while. */
  tellBusy(ms: number, stop: () => void): void {
    this.tell("");
    byId("status").append(`${say("the engine works")}, ${Math.round(ms / 1000)} s `, make("button", { class: "mini", id: "halt", click: stop }, say("Stop")));
  }

  tellRun(run: Run): void {
    const state = run.unfinished && run.live && !this.session.isPlaying ? "paused" : run.state;
    const parts = [say(state), count(run.eventCount, "event")]; // the time stands beside it
    if (run.warnings.length) parts.push(count(run.warnings.length, "warning"));
    if (!run.unfinished && !run.live) parts.push(`${run.wall < 10 ? run.wall.toFixed(1) : Math.round(run.wall)} ms`);
    const why = /error\[\w+\]: (.*)/.exec(run.failure?.text ?? ""); // its first sentence; all of it stands beside the events
    if (why) parts.push(meaningOf(run.failure?.code) || why[1]);
    this.tell(parts.join(" · "), run.state === "failed", why ? why[1] : "");
  }
}
