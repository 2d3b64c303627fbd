// SPDX-License-Identifier: MIT
//
// What the user has made around a model: values that were set, the end of the run, charts, kept runs. It comes back with the
// model on another day, and each change of it can be taken back.
import { ChartView } from "./board";
import { quiet } from "./dom";
import { History } from "./history";
import { Change, Run, Settings, Values } from "./session";
import { Store } from "./store";

/** As it is stored: kept runs are made anew from their settings. */
export interface View {
  set: Values;
  until: number | null;
  changes?: Change[]; // made while the run went on
  charts: ChartView[];
  kept: Settings[];
}

/** The same with the runs themselves, to go back to. */
export interface Look {
  set: Values;
  until: number | null;
  changes: Change[];
  charts: ChartView[];
  kept: Run[];
}

/** A view as it was stored, as far as it is one. */
export function readView(raw: unknown): View | null {
  const view = raw as View | null;
  const good = view && typeof view.set === "object" && Array.isArray(view.charts) && Array.isArray(view.kept);
  return good ? view : null;
}

function settingsOf({ set, until, changes }: Run): Settings {
  return { set, until, changes };
}

export interface LookingHost {
  /** How the model is looked at now, and whether nobody has chosen other charts than the first ones; null: it is not to be kept yet. */
  looksNow(): { path: string; look: Look; usual: boolean } | null;
}

export class Looking {
  private readonly history = new History<Look>((l) => JSON.stringify([l.set, l.until, l.changes, l.charts, l.kept.map(settingsOf)]));

  constructor(private readonly store: Store, private readonly host: LookingHost) {}

  /** Another model: nothing leads back to the one before. */
  clear(): void {
    this.history.clear();
  }

  undo(): Look | null {
    return this.history.undo();
  }

  redo(): Look | null {
    return this.history.redo();
  }

  /** The first run of a model is there: whatever is changed from now on, this can be gone back to. */
  begin(): void {
    const now = this.history.isEmpty ? this.host.looksNow() : null;
    if (now) this.history.note(now.look);
  }

  /** Something was changed; a hand that rests ends a step of the history. */
  readonly changed = quiet(300, () => {
    const now = this.host.looksNow();
    if (!now) return;
    const { path, look, usual } = now;
    this.history.note(look);
    const kept = look.kept.map(settingsOf);
    const plain = Object.keys(look.set).length === 0 && look.until === null && look.changes.length === 0 && kept.length === 0 && usual;
    if (plain) this.store.dropView(path);
    else this.store.keepView(path, { ...look, kept } satisfies View);
  });
}
