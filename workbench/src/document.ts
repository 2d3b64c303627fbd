// SPDX-License-Identifier: MIT
//
// The model that is open: where it is kept, what of its text is not saved, and saving it.
import { askText, toast } from "./dialogs";
import { byId, download, make } from "./dom";
import { EngineError } from "./engine";
import { pathOfName, Store } from "./store";
import { say } from "./words";

/** A path for a model, from its name; null: the user wants none. */
export async function askPath(title: string, proposal: string, tables: boolean): Promise<string | null> {
  const complaint = (name: string): string => (name && pathOfName(name, tables) === null ? say("This name cannot be used.") : "");
  const name = await askText(title, "name of the model", proposal, complaint);
  return name ? pathOfName(name, tables) : null;
}

export class OpenModel {
  path = "";
  private savedText = "";
  private version: string | null = null;
  private replaced = ""; // the file that the next saving may replace, whoever wrote it
  private refused = false; // nothing can be saved under this path

  constructor(private readonly store: Store, private readonly text: () => string) {}

  get isTables(): boolean {
    return this.path.endsWith(".rules.md");
  }

  get isSaved(): boolean {
    return this.text() === this.savedText;
  }

  /** Another model is shown. */
  take(path: string, text: string, version: string | null): void {
    this.path = path;
    this.version = version;
    this.replaced = "";
    this.refused = false;
    this.savedText = text;
    this.store.last = path;
  }

  /** What is in the store differs from what is shown. */
  differsFrom(saved: string): void {
    this.savedText = saved;
    this.showName();
  }

  /** What is shown is not to be kept any more. */
  forget(): void {
    this.savedText = this.text();
  }

  keepDraft(): void {
    if (this.isSaved) this.store.dropDraft(this.path);
    else if (!this.store.keepDraft(this.path, this.text())) this.offerFile();
  }

  /** The browser cannot keep the text: it can be written to the user's disk. */
  private offerFile(): void {
    const write = make("button", { class: "mini", click: () => download(this.path.replace(/.*\//, ""), this.text(), "text/plain") }, say("Model text"));
    toast(`${say("The browser has no room left: keep the text as a file.")} `, write);
  }

  showName(): void {
    const name = byId("model-name");
    name.textContent = this.path.replace(/.*\//, "");
    name.title = this.path;
    name.classList.toggle("dirty", !this.isSaved);
  }

  /** Where the text is to be saved, asked for where the present place is not the user's, or `elsewhere`; null: nowhere. */
  private async place(elsewhere: boolean): Promise<{ path: string; version: string | null } | null> {
    if (!elsewhere && !this.refused && !this.store.isGiven(this.path)) return { path: this.path, version: this.version };
    const proposal = this.store.isGiven(this.path) ? this.path.replace(/.*\//, "") : this.path;
    const path = await askPath("Save", proposal, this.isTables);
    return path ? { path, version: path === this.path ? this.version : "" } : null;
  }

  /** Save, `elsewhere`: under another name; the path when it is another one than before. */
  async save(elsewhere = false): Promise<string | null> {
    const place = await this.place(elsewhere);
    if (!place) return null;
    const text = this.text();
    const result = await this.store.save(place.path, text, this.replaced === place.path ? null : place.version).catch((error: Error) => error);
    if (result instanceof Error) {
      this.refused = place.version === "" && !(result instanceof EngineError);
      toast(say(result.message));
      return null;
    }
    if (result === "full") {
      this.offerFile();
      return null;
    }
    this.replaced = result === "changed" ? place.path : "";
    if (result === "changed") {
      toast(say(place.version === "" ? "There is a model of this name. Save again to replace it." : "The file was changed elsewhere. Save again to replace it."));
      return null;
    }
    this.store.dropDraft(this.path);
    this.savedText = text;
    this.version = result.version;
    const moved = place.path !== this.path;
    this.path = place.path;
    this.store.last = this.path;
    this.showName();
    toast(say("Saved."));
    return moved ? this.path : null;
  }
}
