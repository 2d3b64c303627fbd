// SPDX-License-Identifier: MIT
//
// The bar between the model and its run, moved by a hand or by the arrow keys.

export function listenToSplitter(splitter: HTMLElement, changed: () => void): void {
  const set = (share: number): void => {
    document.documentElement.style.setProperty("--left", `${Math.min(75, Math.max(20, share))}%`);
    changed();
  };
  splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
  splitter.addEventListener("pointermove", (event) => {
    if (splitter.hasPointerCapture(event.pointerId)) set((100 * event.clientX) / window.innerWidth);
  });
  splitter.addEventListener("keydown", (event) => {
    const now = (100 * splitter.getBoundingClientRect().left) / window.innerWidth;
    if (event.key === "ArrowLeft") set(now - 3);
    if (event.key === "ArrowRight") set(now + 3);
  });
}
