// SPDX-License-Identifier: MIT
//
// Bars between parts of the page, moved by a hand or by the arrow keys: one between the model and its run, one between the charts
// and the panel below them.

export interface Splitting {
  bar: HTMLElement;
  property: string; // of the page's style: the share of the first part, in per cent
  upright: boolean; // the bar stands, and the parts lie side by side
  least: number; // shares
  most: number;
}

export function listenToSplitter({ bar, property, upright, least, most }: Splitting, changed: () => void): void {
  const shareAt = (place: number): number => {
    const whole = (bar.parentElement ?? document.body).getBoundingClientRect();
    return 100 * (upright ? (place - whole.left) / whole.width : (place - whole.top) / whole.height);
  };
  const set = (share: number): void => {
    document.documentElement.style.setProperty(property, `${Math.min(most, Math.max(least, share))}%`);
    changed();
  };
  bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) set(shareAt(upright ? event.clientX : event.clientY));
  });
  bar.addEventListener("dblclick", () => {
    document.documentElement.style.removeProperty(property);
    changed();
  });
  bar.addEventListener("keydown", (event) => {
    const box = bar.getBoundingClientRect();
    const by = event.key === (upright ? "ArrowLeft" : "ArrowUp") ? -3 : event.key === (upright ? "ArrowRight" : "ArrowDown") ? 3 : 0;
    if (by) set(shareAt(upright ? box.left : box.top) + by);
  });
}
