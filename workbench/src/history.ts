// SPDX-License-Identifier: MIT
//
// What was set and shown, one state after the other, so that each can be taken back. The text has a history of its own.

const KEPT = 200;

export class History<T> {
  private states: T[] = [];
  private place = -1;

  constructor(private readonly key: (state: T) => string) {}

  /** Another model: nothing leads back to the one before. */
  clear(): void {
    this.states = [];
    this.place = -1;
  }

  /** The state as it is now; one that was taken back before is forgotten. */
  note(state: T): void {
    if (this.place >= 0 && this.key(this.states[this.place]) === this.key(state)) return;
    this.states.length = this.place + 1;
    this.states.push(state);
    if (this.states.length > KEPT) this.states.shift();
    this.place = this.states.length - 1;
  }

  get isEmpty(): boolean {
    return this.states.length === 0;
  }

  get canUndo(): boolean {
    return this.place > 0;
  }

  get canRedo(): boolean {
    return this.place + 1 < this.states.length;
  }

  undo(): T | null {
    return this.canUndo ? this.states[--this.place] : null;
  }

  redo(): T | null {
    return this.canRedo ? this.states[++this.place] : null;
  }
}
