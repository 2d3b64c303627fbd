// SPDX-License-Identifier: MIT
//
// What the browser keeps for the page. Some browsers close their storage to pages; then it lasts as long as the page does.

export class Memory {
  private readonly own = new Map<string, string>();
  private readonly storage: Storage | null;

  constructor(open: () => Storage) {
    try {
      this.storage = open();
    } catch {
      this.storage = null;
    }
  }

  get(key: string): string | null {
    return this.storage ? this.storage.getItem(key) : (this.own.get(key) ?? null);
  }

  /** Whether there was room for it. */
  set(key: string, text: string): boolean {
    try {
      if (this.storage) this.storage.setItem(key, text);
      else this.own.set(key, text);
      return true;
    } catch {
      return false;
    }
  }

  remove(key: string): void {
    this.storage?.removeItem(key);
    this.own.delete(key);
  }

  keys(): string[] {
    return this.storage ? Object.keys(this.storage) : [...this.own.keys()];
  }
}

export const lasting = new Memory(() => localStorage);
export const ofTab = new Memory(() => sessionStorage);
