// SPDX-License-Identifier: MIT
//
// A tour of five minutes: each step shows a place and asks for something; doing it ticks the step.
import { make } from "./dom";
import { GALLERY_FOLDER } from "./store";
import { getLanguage, say } from "./words";

/** What a step can see. */
export interface TourView {
  path: string;
  set: number; // values that were set by hand
  zoomed: boolean;
  selected: boolean; // an event is
  panel: string;
  live: boolean;
  changes: number;
  text: string;
  kept: number;
  cursor: number | null;
  manual: boolean;
}

export interface TourHost {
  /** Bring a part of the page into sight. */
  reveal(part: Element | null): void;
  tourView(): TourView;
  open(path: string): Promise<void>;
}

interface Step {
  at: string; // selector of what is shown
  en: string;
  ru: string;
  opens?: string; // a model to be looked at
  done?: (now: TourView, then: TourView) => boolean;
}

const STEPS: Step[] = [
  { at: "#left", opens: `${GALLERY_FOLDER}ball.lisma`,
    en: "A model is a text: equations, and what jumps at an event. This ball falls and bounces. It was run when the page opened.",
    ru: "Модель — это текст: уравнения и то, что скачком меняется в событии. Этот мяч падает и отскакивает. Прогон уже сделан." },
  { at: "#parameters", done: (now) => now.set > 0,
    en: "Move the slider k, how much of its speed the ball keeps. The run is made anew while you move it.",
    ru: "Сдвиньте ползунок k — какую часть скорости мяч сохраняет. Прогон делается заново, пока вы двигаете." },
  { at: "#charts", done: (now) => now.zoomed,
    en: "Zoom into a chart with the wheel or the keys + and −, drag it sideways; a double click or 0 shows all. No event and no extreme is ever hidden.",
    ru: "Приблизьте график колесом или клавишами + и −, сдвиньте мышью; двойной щелчок или 0 показывает всё. Ни одно событие и ни один экстремум не скрываются." },
  { at: "#panel", done: (now) => now.selected,
    en: "Click an event. Beside it stands why it happened and what changed; its line in the text is lit. Alt+→ goes to the next.",
    ru: "Щёлкните событие. Рядом написано, почему оно произошло и что изменилось; его строка в тексте подсвечена. Alt+→ — к следующему." },
  { at: "#panel-tabs", done: (now) => now.panel === "guards",
    en: "Open Conditions: what could happen at the cursor, what the conditions lack, and how near those that did not fire came.",
    ru: "Откройте «Условия»: что может произойти у курсора, чего не хватает и насколько близко подошли условия, которые не сработали." },
  { at: "#run-controls", done: (now) => now.live,
    en: "Press Live: the model runs at the pace of the clock.",
    ru: "Нажмите «Вживую»: модель идёт в темпе часов." },
  { at: "#parameters", done: (now, then) => now.changes > then.changes,
    en: "Move a slider now: it acts on the run that is going on, and a triangle on the axis marks when. Such a run can be repeated to the last bit.",
    ru: "Сдвиньте ползунок сейчас: он действует на идущий прогон, треугольник на оси отмечает когда. Такой прогон повторяется бит в бит." },
  { at: "#editor", done: (now, then) => now.text !== then.text,
    en: "Change a number in the text. Mistakes are underlined as you type; Ctrl+Z takes everything back, in text, tables, sliders and charts.",
    ru: "Измените число в тексте. Ошибки подчёркиваются при вводе; Ctrl+Z отменяет всё: в тексте, таблицах, ползунках и графиках." },
  { at: "#left", opens: `${GALLERY_FOLDER}rules/hoop.rules.md`,
    en: "The same with tables: a springy hoop as state vector, predicates, situations and rules. Beside a rule stands its equation; F4 in a cell shows all procedures.",
    ru: "То же таблицами: упругий обруч как вектор состояния, предикаты, ситуации и правила. Рядом с правилом — его уравнение; F4 в ячейке показывает все процедуры." },
  { at: "#stage", done: (now, then) => now.cursor !== then.cursor,
    en: "The table Drawing says how it looks. Press ▶ below the picture: it plays with the charts' cursor.",
    ru: "Таблица «Рисунок» говорит, как она выглядит. Нажмите ▶ под рисунком: он движется вместе с курсором графиков." },
  { at: "#tools", done: (now, then) => now.kept > then.kept,
    en: "Keep leaves this run in the charts to compare others with it. Export writes tables, pictures and a report; Share makes a link that repeats the run anywhere.",
    ru: "«Запомнить» оставляет прогон на графиках для сравнения. «Вывести» пишет таблицы, рисунки и отчёт; «Ссылка» повторяет прогон где угодно." },
  { at: "#help", done: (now) => now.manual,
    en: "F1 opens the manual at what is selected and follows you. Ctrl+Shift+P lists everything the page can do. That is all: have fun.",
    ru: "F1 открывает руководство на выбранном месте и следует за вами. Ctrl+Shift+P — список всего, что умеет страница. Это всё: удачи." },
];

export class Tour {
  private readonly card = make("section", { id: "tour", role: "dialog", tabindex: -1 });
  private readonly frame = make("div", { id: "tour-frame" });
  private place = -1;
  private then: TourView | null = null;
  private ticked = false;
  private timer = 0;

  constructor(private readonly host: TourHost) {
    this.card.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.end();
      else return;
      event.stopPropagation();
    });
  }

  get isOpen(): boolean {
    return this.place >= 0;
  }

  begin(): void {
    document.body.append(this.frame, this.card);
    clearInterval(this.timer);
    this.timer = window.setInterval(() => this.watch(), 200);
    this.go(0);
  }

  end(): void {
    clearInterval(this.timer);
    this.place = -1;
    this.card.remove();
    this.frame.remove();
  }

  private go(place: number): void {
    if (place >= STEPS.length) return this.end();
    const step = STEPS[place];
    this.place = place;
    this.ticked = false;
    const show = (): void => {
      if (this.place !== place) return;
      this.host.reveal(document.querySelector(step.at ?? "body"));
      this.then = this.host.tourView();
      this.draw();
      this.card.querySelector<HTMLElement>("button.main")?.focus();
    };
    if (step.opens && this.host.tourView().path !== step.opens) void this.host.open(step.opens).then(show, show);
    else show();
  }

  private watch(): void {
    const step = STEPS[this.place];
    if (!step || !this.then) return;
    if (!this.ticked && step.done?.(this.host.tourView(), this.then)) {
      this.ticked = true;
      this.draw();
    }
    this.put();
  }

  private draw(): void {
    const step = STEPS[this.place];
    const last = this.place === STEPS.length - 1;
    const asks = step.done ? make("small", { class: this.ticked ? "ticked" : "" }, this.ticked ? `✓ ${say("done")}` : say("try it")) : null;
    const focused = this.card.contains(document.activeElement);
    this.card.replaceChildren(
      make("p", {}, step[getLanguage()]),
      make("footer", {}, make("small", {}, `${this.place + 1} / ${STEPS.length}`), asks, make("span", { class: "space" }),
        make("button", { click: () => this.end() }, say("End the tour")),
        this.place > 0 ? make("button", { click: () => this.go(this.place - 1) }, "‹") : null,
        make("button", { class: "main", click: () => this.go(this.place + 1) }, last ? "OK" : say("Next"))));
    this.card.setAttribute("aria-label", say("Tour"));
    if (focused) this.card.querySelector<HTMLElement>("button.main")?.focus();
    this.put();
  }

  /** The frame around what is shown, and the card where it covers none of it if that can be. */
  private put(): void {
    const target = document.querySelector(STEPS[this.place]?.at ?? "body");
    const box = (target ?? document.body).getBoundingClientRect();
    const hidden = box.width === 0;
    Object.assign(this.frame.style, { left: `${box.left - 3}px`, top: `${box.top - 3}px`, width: `${box.width + 6}px`, height: `${box.height + 6}px`, display: hidden ? "none" : "" });
    const [w, h] = [this.card.offsetWidth, this.card.offsetHeight];
    const places = [
      [box.right + 12, box.top], [box.left - w - 12, box.top], [box.left, box.bottom + 12], [box.left, box.top - h - 12],
    ];
    const fits = places.find(([x, y]) => x >= 4 && y >= 4 && x + w <= innerWidth - 4 && y + h <= innerHeight - 4);
    const [x, y] = hidden || !fits ? [(innerWidth - w) / 2, innerHeight - h - 16] : fits;
    Object.assign(this.card.style, { left: `${x}px`, top: `${y}px` });
  }
}
