// SPDX-License-Identifier: MIT
//
// The manual beside the work: the section about what is selected, the word under the cursor, a message, a procedure or a
// panel. Its pages are part of this page; they are shown as elements, never as markup.
import { byId, make, quiet } from "./dom";
import { say } from "./words";

declare const MANUAL: Record<string, string>; // put there by build.mjs: name of a page and its Markdown

interface Section {
  page: string;
  title: string;
  level: number;
  anchor: string;
  lines: string[];
}

/** Sections of all pages, in their order. */
function readSections(): Section[] {
  const sections: Section[] = [];
  for (const [page, text] of Object.entries(MANUAL)) {
    let fenced = false;
    for (const line of text.split("\n")) {
      if (/^```/.test(line)) fenced = !fenced;
      const heading = fenced ? null : /^(#{1,4})\s+(.*)/.exec(line);
      if (heading) sections.push({ page, title: heading[2], level: heading[1].length, anchor: anchorOf(heading[2]), lines: [] });
      else sections.at(-1)?.lines.push(line);
    }
  }
  return sections;
}

/** The anchor that a heading has on the web. */
function anchorOf(title: string): string {
  return title.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

// ---- Markdown as elements ------------------------------------------------------------------------

type Open = (address: string) => void;

function inline(text: string, open: Open): (HTMLElement | string)[] {
  const parts: (HTMLElement | string)[] = [];
  const pattern = /(``?)(.+?)\1|\*\*(.+?)\*\*|!\[[^\]]*\]\([^)]*\)|\[([^\]]+)\]\(([^)\s]+)\)/g;
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    parts.push(text.slice(at, found.index));
    at = (found.index ?? 0) + found[0].length;
    if (found[2] !== undefined) parts.push(make("code", {}, found[2].trim()));
    else if (found[3] !== undefined) parts.push(make("b", {}, ...inline(found[3], open)));
    else if (found[4] !== undefined) parts.push(link(found[4], found[5], open));
  }
  parts.push(text.slice(at));
  return parts.filter((p) => p !== "");
}

function link(text: string, address: string, open: Open): HTMLElement | string {
  const plain = text.replaceAll("`", "");
  if (/^\w+:/.test(address)) return plain; // nothing leads out of this page
  return make("button", { class: "link", type: "button", click: () => open(address) }, plain);
}

function table(lines: string[], open: Open): HTMLElement {
  const cells = (line: string): string[] => line.replace(/^\s*\||\|\s*$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
  const [head, , ...rows] = lines;
  const titles = cells(head);
  return make("table", {},
    titles.some(Boolean) ? make("tr", {}, ...titles.map((c) => make("th", {}, ...inline(c, open)))) : null,
    ...rows.map((row) => make("tr", {}, ...cells(row).map((c) => make("td", {}, ...inline(c, open))))));
}

/** Blocks of a section: fences, tables, lists, paragraphs. */
function blocks(lines: string[], open: Open): HTMLElement[] {
  const result: HTMLElement[] = [];
  for (let i = 0; i < lines.length;) {
    const begin = i;
    const take = (more: (line: string) => boolean): string[] => {
      while (i < lines.length && more(lines[i])) i++;
      return lines.slice(begin, i);
    };
    if (/^```/.test(lines[i])) {
      i++;
      const inside = take((line) => !/^```/.test(line)).slice(1);
      i++;
      result.push(make("pre", { tabindex: 0 }, make("code", {}, inside.join("\n"))));
    } else if (/^\s*\|/.test(lines[i])) {
      result.push(table(take((line) => /^\s*\|/.test(line)), open));
    } else if (/^\s*([-*]|\d+\.)\s/.test(lines[i])) {
      const items = take((line) => line.trim() !== "").join("\n").split(/\n(?=\s*(?:[-*]|\d+\.)\s)/);
      result.push(make("ul", {}, ...items.map((item) => make("li", {}, ...inline(item.replace(/^\s*([-*]|\d+\.)\s+/, "").replace(/\s*\n\s*/g, " "), open)))));
    } else if (lines[i].trim() === "") {
      i++;
    } else {
      const paragraph = take((line) => line.trim() !== "" && !/^(```|\s*\|)/.test(line)).join(" ");
      const inside = inline(paragraph, open);
      if (inside.length) result.push(make("p", {}, ...inside));
    }
  }
  return result;
}

// ---- the pane ------------------------------------------------------------------------------------

export class Manual {
  private readonly sections = readSections();
  private readonly find: HTMLInputElement;
  private readonly body = make("div", { class: "manual-body", tabindex: 0 });
  private place = -1;
  private topic = "";

  constructor(private readonly pane: HTMLElement) {
    this.find = make("input", { type: "search" });
    this.find.addEventListener("input", quiet(120, () => this.search(this.find.value)));
    pane.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
    this.name();
  }

  /** Its words, in the page's language. */
  name(): void {
    this.find.placeholder = say("find in the manual");
    this.find.setAttribute("aria-label", say("find in the manual"));
    const tool = (label: string, title: string, action: () => void): HTMLElement =>
      make("button", { class: "mini", title: say(title), "aria-label": say(title), click: action }, label);
    this.pane.setAttribute("aria-label", say("Manual"));
    this.pane.replaceChildren(
      make("header", {}, this.find, tool("‹", "section before", () => this.show(this.place - 1)), tool("›", "next section", () => this.show(this.place + 1)),
        tool("☰", "contents", () => this.contents()), tool("×", "close", () => this.close())), this.body);
  }

  get isOpen(): boolean {
    return !this.pane.hidden;
  }

  close(): void {
    this.pane.hidden = true;
    byId("help").focus();
  }

  /** Open it at a topic, or where it was. */
  open(topic: string): void {
    this.pane.hidden = false;
    this.follow(topic);
    if (this.place < 0) this.contents();
  }

  /** What is selected has changed. */
  follow(topic: string): void {
    if (this.pane.hidden || topic === this.topic || topic === "") return;
    this.topic = topic;
    const found = this.about(topic);
    if (found >= 0) this.show(found);
  }

  /** The section that tells most about a word: a code of a message, a procedure, a word of the language. */
  about(topic: string): number {
    const word = topic.toLowerCase();
    const exact = this.sections.findIndex((s) => s.title.toLowerCase() === word || s.title.toLowerCase().startsWith(`${word} `) && /^[ew]\d+$/.test(word));
    if (exact >= 0) return exact;
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const whole = new RegExp(`(^|[^\\p{L}\\p{N}_])${escaped}($|[^\\p{L}\\p{N}_])`, "giu");
    let best = -1;
    let most = 0;
    this.sections.forEach((section, i) => {
      if (section.page === "diagnostics.md") return;
      const text = section.lines.join("\n");
      const code = (text.match(/```[\s\S]*?```|`[^`\n]+`/g) ?? []).join("\n").toLowerCase();
      const inCode = code.match(whole)?.length ?? 0;
      const inTitle = section.title.toLowerCase().match(whole) ? 1 : 0;
      const home = section.page === "language.md" ? 1.5 : 1;
      const score = home * (20 * inTitle + inCode / Math.sqrt(1 + text.length / 500));
      if (score > most) [best, most] = [i, score];
    });
    return best;
  }

  private show(index: number): void {
    const section = this.sections[index];
    if (!section) return;
    this.place = index;
    // a section without a text of its own is shown with those below it
    let end = index + 1;
    while (end < this.sections.length && this.sections[end].level > Math.max(2, section.level)) end++;
    const parts = this.sections.slice(index, Math.min(end, index + 8)).flatMap((s) => [
      make(s === section ? "h2" : "h3", {}, ...inline(s.title, this.openAddress)), ...blocks(s.lines, this.openAddress)]);
    const book = this.sections.find((s) => s.page === section.page);
    this.body.replaceChildren(make("p", { class: "where" }, make("button", { class: "link", click: () => this.contents() }, say("Manual")), ` › ${book?.title ?? section.page}`), ...parts);
    this.body.scrollTop = 0;
  }

  private readonly openAddress: Open = (address) => {
    const [file, anchor] = address.split("#");
    const here = this.sections[this.place]?.page ?? "";
    const page = file.replace(/^.*\//, "") || here;
    const found = this.sections.findIndex((s) => s.page === page && (!anchor || s.anchor === anchor));
    if (found >= 0) this.show(found);
  };

  private list(sections: Section[]): HTMLElement {
    return make("ul", { class: "contents" }, ...sections.map((s) => make("li", { class: `level-${s.level}` },
      make("button", { class: "link", click: () => this.show(this.sections.indexOf(s)) }, s.title.replaceAll("`", "")))));
  }

  private contents(): void {
    this.place = -1;
    this.body.replaceChildren(make("h2", {}, say("Manual")), this.list(this.sections.filter((s) => s.level <= 2 && s.page !== "diagnostics.md" || s.level === 1)));
  }

  private search(text: string): void {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return this.contents();
    const found = this.sections.map((s) => {
      const title = s.title.toLowerCase();
      const body = s.lines.join("\n").toLowerCase();
      const all = words.every((w) => title.includes(w) || body.includes(w));
      const weight = s.page === "diagnostics.md" ? 0.2 : 1; // messages are found by their codes
      return { s, score: !all ? 0 : weight * words.reduce((sum, w) => sum + (title.includes(w) ? 10 : 0) + Math.min(5, body.split(w).length - 1), 0) };
    }).filter((f) => f.score > 0).sort((a, b) => b.score - a.score).slice(0, 30);
    this.body.replaceChildren(found.length ? this.list(found.map((f) => f.s)) : make("p", { class: "empty" }, say("nothing was found")));
  }
}
