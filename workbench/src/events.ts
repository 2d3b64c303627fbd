// SPDX-License-Identifier: MIT
//
// The events of a run: a list of any length of which only what is in sight exists, and beside it why the selected one
// has happened.
import { make, short } from "./dom";
import { EventRecord, Run } from "./session";
import { tell } from "./story";
import { shownPath } from "./store";
import { meaningOf, say } from "./words";

const HEIGHT = 24;
const BROWSER_MAX = 30_000_000; // pixels an element can be high

export interface EventsHost {
  select(event: EventRecord): void;
  goBack(t: number): void;
}

/** What the classes of events mean. */
const CLASSES: Record<string, string> = {
  interior: "the values go on without a jump", pinnacle: "the values jump at this point in time", mythical: "the mode is left before it exists",
  boundary: "its own flow leaves this mode at once", sliding: "the motion goes on along a boundary",
};

/** Kinds of events without a transition. */
const KINDS: Record<string, string> = {
  "slide-in": "sliding begins", "slide-out": "sliding ends", zeno: "accumulation", reinit: "new start", chatter: "chattering", limit: "limit", stop: "stop", time: "time",
};

/** The name of an automaton: one that stands for a place of the model is called by its line, one of a rule table by its own part. */
function automatonText(name: string): string {
  return name.replace(/@(\d+):\d+/g, ":$1").replace(/@.*/, "");
}

/** What happened, in a few words. */
export function eventText(event: EventRecord): string {
  const relation = event.atom.join(" ∧ ").replaceAll("`", "");
  if (event.automaton && event.from && event.to) {
    // a place of the model is known by what stands there
    const name = event.automaton.includes("@") && relation ? relation : automatonText(event.automaton);
    return `${event.automaton === "main" ? "" : `${name}: `}${event.from} → ${event.to}`;
  }
  const about = event.text || relation;
  return `${say(KINDS[event.kind] ?? event.kind)}${about ? `: ${about}` : ""}`;
}

/** A story as paragraphs: its head, what fired, what follows from it. */
function told(story: string): HTMLElement[] {
  return story.split("\n").filter((line) => line.trim()).map((line) => {
    const indent = line.length - line.trimStart().length;
    const depth = line.startsWith("t = ") ? "head" : indent > 3 ? "deep" : "";
    return make("p", { class: depth, style: `padding-left:${indent > 3 ? 14 : 0}px` }, tell(line.trim()).replaceAll("`", ""));
  });
}

export class EventList {
  readonly element: HTMLElement;
  private readonly scroll = make("div", { class: "event-scroll", tabindex: 0, role: "listbox", "aria-label": "events" });
  private readonly room = make("div");
  private readonly filter: HTMLInputElement;
  private readonly explanation = make("div", { class: "explanation" });
  private run: Run | null = null;
  private shown: number[] = []; // indices of events that pass the filter
  private counted = 0;
  selected = -1; // index in run.events

  constructor(private readonly host: EventsHost) {
    this.filter = make("input", { type: "search" });
    this.name();
    this.filter.addEventListener("input", () => this.refilter());
    this.scroll.append(this.room);
    this.scroll.addEventListener("scroll", () => this.paint());
    this.scroll.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.paint()).observe(this.scroll);
    this.element = make("div", { style: "display:flex;flex:1;min-width:0" },
      make("div", { class: "event-list" }, this.filter, this.scroll), this.explanation);
    this.explain();
  }

  /** Its words, in the page's language. */
  name(): void {
    this.filter.placeholder = say("filter events");
    this.filter.setAttribute("aria-label", say("filter events"));
    this.scroll.setAttribute("aria-label", say("Events"));
  }

  show(run: Run | null, fresh: boolean): void {
    this.run = run;
    if (fresh || !run || run.events.length < this.counted) {
      this.selected = -1;
      this.refilter();
      this.explain();
    } else {
      this.take();
      this.paint();
      if (this.selected >= 0) this.explain();
    }
  }

  private passes(event: EventRecord, words: string[]): boolean {
    const text = `${eventText(event)} ${event.class} ${say(event.class)} ${event.kind} ${event.atom.join(" ")} ${Object.keys(event.changed).join(" ")}`.toLowerCase();
    return words.every((w) => text.includes(w));
  }

  private take(): void {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const events = this.run?.events ?? [];
    for (; this.counted < events.length; this.counted++) {
      const event = events[this.counted];
      if (event.kind !== "initial" && this.passes(event, words)) this.shown.push(this.counted);
    }
    this.room.style.height = `${Math.min(this.shown.length * HEIGHT, BROWSER_MAX)}px`;
  }

  private refilter(): void {
    this.shown = [];
    this.counted = 0;
    this.take();
    this.scroll.scrollTop = 0;
    this.paint();
  }

  get count(): number {
    return this.shown.length;
  }

  /** Rows in sight. Beyond the browser's height of an element, scrolling is proportional. */
  private paint(): void {
    const full = this.shown.length * HEIGHT;
    const view = this.scroll.clientHeight;
    const squeeze = full > BROWSER_MAX ? (full - view) / (BROWSER_MAX - view) : 1;
    const top = this.scroll.scrollTop;
    const first = Math.max(0, Math.floor((top * squeeze) / HEIGHT) - 2);
    const last = Math.min(this.shown.length, first + Math.ceil(view / HEIGHT) + 5);
    const offset = top - top * squeeze;
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) rows.push(this.row(i, i * HEIGHT + offset));
    this.room.replaceChildren(...rows);
    if (this.shown.length === 0 && this.run) {
      const none = this.run.unfinished ? "No events so far." : "The run has no events.";
      this.room.append(make("p", { class: "empty" }, say(this.filter.value.trim() ? "No event matches." : none)));
    }
  }

  private row(i: number, top: number): HTMLElement {
    const index = this.shown[i];
    const event = (this.run as Run).events[index];
    const text = eventText(event);
    const why = event.atom.join(" ∧ ").replaceAll("`", "");
    const further = text.includes(why) ? "" : why;
    const changes = Object.entries(event.changed).slice(0, 3).map(([n, [, after]]) => `${n} = ${after === null ? "–" : short(after, 4)}`);
    return make("div", {
      class: index === this.selected ? "event selected" : "event",
      style: `top:${top}px`,
      role: "option",
      "aria-selected": String(index === this.selected),
      click: () => this.select(index),
    },
    make("span", { class: "t" }, short(event.t, 9)),
    make("span", { class: `class ${event.class}`, title: say(CLASSES[event.class] ?? "") }, say(event.class)),
    make("span", { title: text }, text),
    make("span", { class: "why", title: why }, changes.length ? changes.join(", ") : further));
  }

  select(index: number, quiet = false): void {
    const run = this.run;
    if (!run || index < 0 || index >= run.events.length) return;
    this.selected = index;
    const place = this.shown.indexOf(index);
    if (place >= 0) {
      const top = place * HEIGHT;
      const view = this.scroll.clientHeight;
      if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
      else if (top + HEIGHT > this.scroll.scrollTop + view) this.scroll.scrollTop = top + HEIGHT - view;
    }
    this.paint();
    this.explain();
    if (!quiet) this.host.select(run.events[index]);
  }

  /** The event before (-1) or behind (+1) the selected one, or a time. */
  neighbour(by: 1 | -1, from: number | null): void {
    const events = this.run?.events ?? [];
    let index = this.selected + by;
    if (this.selected < 0) {
      const t = from ?? (by > 0 ? -Infinity : Infinity);
      index = by > 0 ? events.findIndex((e) => e.t > t) : events.findLastIndex((e) => e.t < t);
    }
    if (index >= 0 && events[index]?.kind === "initial") index += by;
    this.select(index);
  }

  private explain(): void {
    const run = this.run;
    const event = run?.events[this.selected];
    if (!run || !event) {
      const text = run?.failure ? shownPath(run.failure.text) : "";
      const meaning = meaningOf(run?.failure?.code);
      this.explanation.replaceChildren(meaning ? make("p", { class: "head" }, meaning) : "", text ? make("pre", {}, text) : make("p", { class: "empty" }, say("Run the model to see its events.")));
      this.explanation.hidden = !text && Boolean(run);
      return;
    }
    this.explanation.hidden = false;
    this.explanation.replaceChildren(
      ...told(run.story(event) || `t = ${short(event.t, 10)}\n${eventText(event)}`),
      make("div", { class: "actions" },
        make("button", { click: () => this.host.goBack(event.t), title: say("back to the values just after this event: change them, or go on") }, say("go back here")),
        event.line ? make("small", {}, `${say("line")} ${event.line}`) : null),
    );
  }

  private onKey(event: KeyboardEvent): void {
    const run = this.run;
    if (event.key === "Enter" && run?.events[this.selected]) this.host.goBack(run.events[this.selected].t);
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const place = this.shown.indexOf(this.selected) + (event.key === "ArrowDown" ? 1 : -1);
    if (place >= 0 && place < this.shown.length) this.select(this.shown[place]);
  }
}
