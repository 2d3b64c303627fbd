// SPDX-License-Identifier: MIT
//
// The list of models: the user's own, those of the folder, the gallery; and what a new one begins with.
import { byId, make } from "./dom";
import { Entry, GALLERY_FOLDER, shownPath, Store } from "./store";
import { getLanguage, say } from "./words";

export interface ModelsHost {
  readonly modelName: string; // of the one that is open
  openModel(path: string): void;
  create(proposal: string, text: string): void;
  remove(path: string): void;
  discard(path: string): void;
  upload(): void;
}

const FIRST = ["ball.lisma", "dae/fragile_pendulum.lisma", "rules/hoop.rules.md", "stick_slip.lisma", "water_tanks.lisma", "pong.lisma"];

interface Template {
  name: string;
  file: string;
  text: () => string;
}

const BALL = `const g = 9.81, k = 0.8;
control k = 0:1;

y' = v;    y(t0) = 10;
v' = -g;   v(t0) = 0;

state bounce [y <= 0] && [v < 0] { v(t0) = -k * v; } from init, bounce;

animate { line(-3, 0, 3, 0); circle(0, y + 0.4, 0.4); }
experiment { end = 8; }
`;
const SWITCH = `const outside = 5, power = 30, low = 19, high = 21;

T' = (outside - T)/10 + heat;   T(t0) = 15;
heat(t0) = power/10;

automaton heater {
  state off [T >= high] { set heat = 0; } from init, on;
  state on  [T <= low]  { set heat = power/10; } from off;
}

experiment { end = 20; }
`;
const PENDULUM = `const l = 1, m = 1;

x' = u;            x(t0) = 1;
y' = v;            y(t0) ~ 0;
m*u' = -N*x/l;     u(t0) ~ 0;
m*v' = -N*y/l - m*g;
x*x + y*y = l*l;

animate { line(0, 0, x, y); circle(x, y, 0.08, "tomato"); trace(x, y); }
experiment { end = 5; }
`;
const EMPTY = `x' = -x;   x(t0) = 1;

experiment { end = 5; }
`;
const TABLES = {
  en: `# A new model

## Constants

| name | value | unit |
|---|---|---|

## States

| name | initial | unit |
|---|---|---|

## Predicates

| name | relation |
|---|---|

## Situations

| situation | when |
|---|---|

## Rules

| # | variable | procedure | coefficient | argument 1 | argument 2 | situation | parameter | value |
|---|---|---|---|---|---|---|---|---|
`,
  ru: `# Новая модель

## Константы

| имя | значение | единица |
|---|---|---|

## Состояния

| имя | начальное | единица |
|---|---|---|

## Предикаты

| имя | отношение |
|---|---|

## Ситуации

| ситуация | если |
|---|---|

## Правила

| № | переменная | процедура | коэфф. | аргумент 1 | аргумент 2 | ситуация | имя параметра | значение |
|---|---|---|---|---|---|---|---|---|
`,
};

const TEMPLATES: Template[] = [
  { name: "New model", file: "model.lisma", text: () => `// ${say("A ball that bounces.")}\n${BALL}` },
  { name: "New rule tables", file: "model.rules.md", text: () => TABLES[getLanguage()] },
  { name: "Automaton", file: "switch.lisma", text: () => `// ${say("A room that is heated when it is too cold.")}\n${SWITCH}` },
  { name: "Constraint", file: "pendulum.lisma", text: () => `// ${say("A pendulum in Cartesian coordinates: the rod is a constraint, N its force.")}\n${PENDULUM}` },
  { name: "Empty", file: "model.lisma", text: () => EMPTY },
];

export class ModelMenu {
  constructor(
    private readonly store: Store,
    private readonly host: ModelsHost,
  ) {
    const button = byId("models-button");
    button.addEventListener("click", () => void this.toggle());
    document.addEventListener("pointerdown", (event) => {
      const inside = event.target instanceof Node && (byId("models").contains(event.target) || button.contains(event.target));
      if (!inside && this.isOpen) void this.toggle();
    });
    byId("models").addEventListener("keydown", (event) => this.onKey(event));
  }

  get isOpen(): boolean {
    return !byId("models").hidden;
  }

  close(): void {
    byId("models").hidden = true;
    byId("models-button").setAttribute("aria-expanded", "false");
  }

  async toggle(): Promise<void> {
    if (this.isOpen) {
      this.close();
      byId("models-button").focus();
      return;
    }
    const box = byId("models");
    box.hidden = false;
    byId("models-button").setAttribute("aria-expanded", "true");
    const find = make("input", { type: "search", placeholder: say("find a model"), "aria-label": say("find a model") });
    const list = make("div", { class: "list" });
    const fresh = TEMPLATES.map((t) => make("button", { click: () => this.make(t) }, say(t.name)));
    box.replaceChildren(make("div", { class: "head" }, find, make("small", {}, say("begin with")), ...fresh, make("button", { click: () => this.leave(() => this.host.upload()) }, say("From a file"))), list);
    find.focus();
    // the field takes letters while the folder is still looked up
    const { entries, left } = await this.store.list();
    const fill = (): void => this.fill(list, entries, find.value, left);
    find.addEventListener("input", fill);
    fill();
  }

  private make(template: Template): void {
    this.leave(() => this.host.create(template.file, template.text()));
  }

  private leave(action: () => void): void {
    this.close();
    action();
  }

  /** Models that show most with least, before the whole gallery. */
  private firstOnes(entries: Entry[]): HTMLElement[] {
    const found = FIRST.map((path) => entries.find((e) => e.path === GALLERY_FOLDER + path)).filter((e) => e !== undefined);
    return found.length ? [make("h3", {}, say("Good to begin with")), ...found.map((e) => this.item(e))] : [];
  }

  private fill(list: HTMLElement, entries: Entry[], text: string, left: number): void {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    for (const [place, heading] of [["draft", "Not saved"], ["own", "My models"], ["folder", "Folder"], ["gallery", "Gallery"]] as const) {
      const found = entries.filter((e) => e.place === place && words.every((w) => `${e.path} ${e.title}`.toLowerCase().includes(w)));
      if (place === "gallery" && !words.length) list.append(...this.firstOnes(found));
      if (place === "folder" && Number.isNaN(left)) list.append(make("h3", {}, say(heading)), make("p", { class: "left" }, say("The folder cannot be read: `saltus serve` does not answer.")));
      if (!found.length) continue;
      // the gallery by its subjects, in the order of its list
      const groups = new Map<string, Entry[]>();
      for (const e of found) {
        const group = `${say(heading)}${place === "gallery" ? ` · ${say(e.subject ?? (e.path.includes("/rules/") ? "Rule tables" : "Parts"))}` : ""}`;
        groups.set(group, [...(groups.get(group) ?? []), e]);
      }
      for (const [group, of] of groups) list.append(make("h3", {}, group), ...of.map((e) => this.item(e)));
      if (place === "folder" && left > 0) list.append(make("p", { class: "left" }, `${say("not shown, too many, too deep or without a name in UTF-8:")} ${left}`));
    }
  }

  private item(e: Entry): HTMLElement {
    const open = make("button", {
      class: "item", "aria-current": String(e.path === this.host.modelName), click: () => this.leave(() => this.host.openModel(e.path)),
    }, shownPath(e.path), e.title ? make("small", { title: e.title }, e.title) : null);
    if (e.place !== "own" && e.place !== "draft") return open;
    const [does, act] = e.place === "own" ? ["remove", this.host.remove] : ["discard", this.host.discard];
    return make("div", { class: "own" }, open,
      make("button", { class: "mini", title: say(does), "aria-label": `${say(does)} ${e.path}`, click: () => this.leave(() => act.call(this.host, e.path)) }, "×"));
  }

  /** Arrows go through the list; Escape closes it. */
  private onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      void this.toggle();
      event.stopPropagation();
      return;
    }
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!by) return;
    const items = [...byId("models").querySelectorAll<HTMLElement>("input, .item")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[Math.min(items.length - 1, Math.max(0, at + by))]?.focus();
    event.preventDefault();
  }
}
