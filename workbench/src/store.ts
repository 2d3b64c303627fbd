// SPDX-License-Identifier: MIT
//
// Where models are: the gallery that is part of the page, the user's folder behind `saltus serve`, the browser's own
// storage, and drafts of what is not saved.
import { ServedEngine } from "./engine";
import { Form, fromBytes, toBytes } from "./form";
import { lasting } from "./memory";
import { aboutModel } from "./words";

declare const GALLERY: Record<string, string>; // put there by build.mjs: path and text
declare const SUBJECTS: Record<string, { subject: string; what?: string }>; // of models of the gallery

export const GALLERY_FOLDER = ".gallery/"; // no folder of the user's: those that begin with a dot are not listed
const LINKED_FOLDER = ".linked/"; // models of links, each with the files that came with it in a folder of its own
const GIVEN_FOLDER = "models/"; // what an exported page was given

/** Models that `saltus serve --export` has put into the page. */
function givenModels(): Record<string, string> {
  try {
    return JSON.parse(document.getElementById("own-models")?.textContent || "{}") as Record<string, string>;
  } catch {
    return {};
  }
}

const GIVEN = givenModels();
const DRAFT = "saltus.draft:";
const OWN = "saltus.model:";
const VIEW = "saltus.view:";
const LAST = "saltus.last:";
const FILES = "saltus.files:"; // of a folder

export function folderOf(path: string): string {
  return path.replace(/[^/]*$/, "");
}

/** A path as users know it. */
export function shownPath(path: string): string {
  return path.replace(/^\.(gallery|linked\/\w+)\//, "");
}

/** Keep a text in the browser's storage; where that is full, what was only looked at makes room. Whether it is kept. */
function keep(key: string, text: string): boolean {
  if (lasting.set(key, text)) return true;
  for (const name of lasting.keys()) if (name.startsWith(VIEW)) lasting.remove(name);
  return lasting.set(key, text);
}

/** The path of a model that is to be called like this; null: there can be none. */
export function pathOfName(name: string, tables: boolean): string | null {
  const base = name.replace(/\.(lisma|rules\.md)$/, "");
  const usable = base.split("/").every((part) => part !== "" && !part.startsWith(".")) && !/[\\\p{Cc}]/u.test(base);
  return usable ? base + (tables ? ".rules.md" : ".lisma") : null;
}

export interface Entry {
  path: string;
  place: "draft" | "gallery" | "folder" | "own";
  title: string;
  subject?: string; // of a model of the gallery
}

export interface Opened {
  text: string;
  version: string | null; // of a file in the folder
}

function isModel(path: string): boolean {
  return path.endsWith(".lisma") || path.endsWith(".rules.md");
}

/** The first sentence of a model's heading. */
function titleOf(text: string): string {
  const comment = /^\s*(?:\/\/|#+|\/\*)\s*(.+)/.exec(text);
  return comment ? comment[1].replace(/\*\/.*/, "").trim() : "";
}

/** What an exported page opens with: the first of the models it was given. */
export function firstGiven(): string | null {
  const path = Object.keys(GIVEN).find(isModel);
  return path ? GIVEN_FOLDER + path : null;
}

export class Store {
  private readonly forms = new Map<string, Form>(); // of files in the folder, by path

  constructor(private readonly server: ServedEngine | null) {}

  /** What is kept for a path: folders that are served from one address do not share it. */
  private key(kind: string, path: string): string {
    return `${kind}${this.server ? `${this.server.folder}/` : ""}${path}`;
  }

  /** The model that was open before. */
  get last(): string | null {
    return lasting.get(this.key(LAST, ""));
  }

  set last(path: string) {
    lasting.set(this.key(LAST, ""), path);
  }

  /** Whether a model is part of the page, or came with it, and is saved elsewhere. */
  isGiven(path: string): boolean {
    return path.startsWith(GALLERY_FOLDER) || path.startsWith(LINKED_FOLDER) || (path.startsWith(GIVEN_FOLDER) && !this.server);
  }

  /** Where a model that came by a link is kept, with the files that came with it. */
  placeOfLinked({ path, text, files }: { path: string; text: string; files: Record<string, string> }): string {
    const written = JSON.stringify(files);
    let number = 0;
    for (let i = 0; i < written.length; i++) number = (Math.imul(number, 31) + written.charCodeAt(i)) >>> 0;
    const place = this.freePlace(`${LINKED_FOLDER}${number.toString(36)}/${path}`, text);
    keep(this.key(FILES, folderOf(place)), written);
    return place;
  }

  private linkedFiles(path: string): Record<string, string> {
    const folder = folderOf(path);
    const files = JSON.parse(lasting.get(this.key(FILES, folder)) ?? "{}") as Record<string, string>;
    return Object.fromEntries(Object.entries(files).map(([name, text]) => [folder + name, text]));
  }

  /** Files that a model reads, by their names in it; those that cannot be read are left out. */
  async filesOf(path: string, names: string[]): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    for (const name of names) {
      const opened = await this.open(folderOf(path) + name).catch(() => null);
      if (opened) files[name] = opened.text;
    }
    return files;
  }

  /** A name like this one under which nothing else waits to be saved. */
  freePlace(path: string, text: string): string {
    for (let n = 1; ; n++) {
      const place = n === 1 ? path : path.replace(/\.(lisma|rules\.md)$/, `.${n}.$1`);
      const draft = this.draft(place);
      if (draft === null || draft === text) return place;
    }
  }

  /** Whether models can be saved to a folder. */
  get hasFolder(): boolean {
    return this.server !== null;
  }

  /** Files that a model may read, as far as the engine does not find them itself, by path. */
  beside(path: string): Record<string, string> {
    if (path.startsWith(GIVEN_FOLDER)) {
      const files = Object.entries(GIVEN).filter(([name]) => GIVEN_FOLDER + name !== path);
      return Object.fromEntries(files.map(([name, text]) => [GIVEN_FOLDER + name, text]));
    }
    if (path.startsWith(GALLERY_FOLDER)) {
      const files = Object.entries(GALLERY).filter(([name]) => GALLERY_FOLDER + name !== path);
      return Object.fromEntries(files.map(([name, text]) => [GALLERY_FOLDER + name, text]));
    }
    const result = Object.fromEntries(Object.entries(GALLERY).filter(([name]) => name.startsWith("parts/")).map(([name, text]) => [GALLERY_FOLDER + name, text]));
    if (path.startsWith(LINKED_FOLDER)) Object.assign(result, this.linkedFiles(path));
    if (this.server) return result;
    for (const [name, text] of this.ownModels()) if (name !== path) result[name] = text;
    return result;
  }

  private ownModels(): [string, string][] {
    const keys = lasting.keys().filter((key) => key.startsWith(OWN));
    return keys.map((key): [string, string] => [key.slice(OWN.length), lasting.get(key) ?? ""]).sort(([a], [b]) => a.localeCompare(b));
  }

  /** All models; `left`: how many files and folders of the user's are not among them, NaN where nobody can say. */
  async list(): Promise<{ entries: Entry[]; left: number }> {
    const entries: Entry[] = [];
    let left = 0;
    if (this.server) {
      const response = await this.server.request("/folder").catch(() => null);
      const listing = response?.ok ? ((await response.json()) as { files: { path: string }[]; left: number }) : null;
      left = listing?.left ?? NaN;
      for (const f of listing?.files ?? []) if (isModel(f.path)) entries.push({ path: f.path, place: "folder", title: "" });
    } else {
      for (const [path, text] of this.ownModels()) entries.push({ path, place: "own", title: titleOf(text) });
    }
    for (const [path, text] of this.drafts()) entries.push({ path, place: "draft", title: titleOf(text) });
    for (const [path, text] of Object.entries(GIVEN)) {
      if (isModel(path)) entries.push({ path: GIVEN_FOLDER + path, place: "folder", title: titleOf(text) });
    }
    for (const [path, text] of Object.entries(GALLERY)) {
      if (isModel(path)) entries.push({ path: GALLERY_FOLDER + path, place: "gallery", title: aboutModel(path, SUBJECTS[path]?.what ?? titleOf(text)), subject: SUBJECTS[path]?.subject });
    }
    return { entries, left };
  }

  async open(path: string): Promise<Opened> {
    const given = path.startsWith(GIVEN_FOLDER) ? GIVEN[path.slice(GIVEN_FOLDER.length)] : undefined;
    if (given !== undefined) return { text: given, version: null };
    if (path.startsWith(GALLERY_FOLDER)) {
      const text = GALLERY[path.slice(GALLERY_FOLDER.length)];
      if (text === undefined) throw new Error(`the gallery has no ${path}`);
      return { text, version: null };
    }
    if (path.startsWith(LINKED_FOLDER)) {
      const text = this.linkedFiles(path)[path];
      if (text === undefined) throw new Error("there is no such model");
      return { text, version: null };
    }
    if (!this.server) {
      const text = lasting.get(OWN + path);
      if (text === null) throw new Error(`there is no model ${path}`);
      return { text, version: text };
    }
    const response = await this.server.request(`/file?path=${encodeURIComponent(path)}`);
    if (!response.ok) throw new Error((await response.text()).trim());
    const { text, form } = fromBytes(await response.arrayBuffer());
    this.forms.set(path, form);
    return { text, version: response.headers.get("ETag") };
  }

  /** Save; "changed" when somebody else has changed the file since `version`, "full" where there is no room. `version` "": a new file. */
  async save(path: string, text: string, version: string | null): Promise<{ version: string | null } | "changed" | "full"> {
    if (!this.server) {
      // another page may have saved it since
      if (version !== null && (lasting.get(OWN + path) ?? "") !== version) return "changed";
      if (!keep(OWN + path, text)) return "full";
      return { version: text };
    }
    const headers: Record<string, string> = {};
    if (version === "") headers["If-None-Match"] = "*";
    else if (version !== null) headers["If-Match"] = version;
    const response = await this.server.request(`/file?path=${encodeURIComponent(path)}`, { method: "PUT", body: toBytes(text, this.forms.get(path)), headers });
    if (response.status === 412) return "changed";
    if (!response.ok) throw new Error((await response.text()).trim());
    return { version: response.headers.get("ETag") };
  }

  /** Take a model out of the browser's storage; its text, to bring it back. */
  remove(path: string): string {
    const text = lasting.get(OWN + path) ?? "";
    lasting.remove(OWN + path);
    this.dropDraft(path);
    this.dropView(path);
    return text;
  }

  // ---- what is not saved -------------------------------------------------------------------------

  draft(path: string): string | null {
    return lasting.get(this.key(DRAFT, path));
  }

  private drafts(): [string, string][] {
    const prefix = this.key(DRAFT, "");
    const paths = lasting.keys().filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length)).sort();
    return paths.map((path) => [path, this.draft(path) ?? ""]);
  }

  keepDraft(path: string, text: string): boolean {
    return keep(this.key(DRAFT, path), text);
  }

  // ---- what was set and looked at ----------------------------------------------------------------

  /** What the user has made around a model, or null. */
  view(path: string): unknown {
    try {
      return JSON.parse(lasting.get(this.key(VIEW, path)) ?? "null");
    } catch {
      return null;
    }
  }

  dropView(path: string): void {
    lasting.remove(this.key(VIEW, path));
  }

  keepView(path: string, view: object): void {
    keep(this.key(VIEW, path), JSON.stringify(view));
  }

  dropDraft(path: string): void {
    lasting.remove(this.key(DRAFT, path));
  }
}
