// SPDX-License-Identifier: MIT

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | EventListener | null | undefined>;

/** An element; attributes that are functions are listeners. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child !== null && child !== false) element.append(child);
  }
  return element;
}

/** One of several buttons of which one is chosen. */
export function tab(label: string, selected: boolean, action: () => void): HTMLElement {
  return make("button", { role: "tab", "aria-selected": String(selected), click: action }, label);
}

export function byId<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

/** A number for people: six digits, no noise. */
export function short(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(Math.max(0, digits - 1)).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(digits)));
}

/** The same beside others of a size: what is zero but for their rounding is said to be so. */
export function shortBeside(value: number, size: number): string {
  return value !== 0 && Math.abs(value) < 1e-11 * size ? "≈ 0" : short(value);
}

/** Call once when calls have stopped for a while. */
export function quiet(ms: number, action: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(action, ms);
  };
}

export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
