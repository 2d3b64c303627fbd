// SPDX-License-Identifier: MIT
//
// A model and its settings in the fragment of an address: nothing of it is sent anywhere, and nothing in it is run but
// by the engine.

export interface Shared {
  path: string;
  text: string;
  files: Record<string, string>; // that the model reads, by their names in it
  set: Record<string, number>;
  until: number | null;
  changes: { t: number; name: string; value: number }[];
}

const TEXT_MAX = 4_000_000; // characters
const TOO_MUCH = "the link holds too much";

async function pass(bytes: Uint8Array, through: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(through as unknown as TransformStream<Uint8Array, Uint8Array>);
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 4 * TEXT_MAX) throw new Error(TOO_MUCH);
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

export async function writeLink(shared: Shared): Promise<string> {
  const packed = await pass(new TextEncoder().encode(JSON.stringify(shared)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `#model=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What was packed; nothing where a part of the link is missing or it is none of ours. */
async function unpack(packed: string): Promise<Record<string, unknown>> {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const json = new TextDecoder().decode(await pass(bytes, new DecompressionStream("deflate-raw")));
    return (/^\s*\{/.test(json) ? JSON.parse(json) : {}) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof Error && error.message === TOO_MUCH) throw error;
    return {};
  }
}

/** What a link holds; everything that is not of the expected kind is left out. */
export async function readLink(fragment: string): Promise<Shared | null> {
  const packed = /(?:^#|&)model=([\w-]+)/.exec(fragment);
  if (!packed) return null;
  const raw = await unpack(packed[1]);
  if (typeof raw.text !== "string" || raw.text.length > TEXT_MAX) throw new Error("the link holds no model");
  const number = (v: unknown): v is number => typeof v === "number" && Number.isFinite(v);
  const set = Object.entries((raw.set ?? {}) as Record<string, unknown>).filter((e): e is [string, number] => number(e[1]));
  const changes = (Array.isArray(raw.changes) ? raw.changes : []).filter(
    (c): c is Shared["changes"][number] => number(c?.t) && number(c?.value) && typeof c?.name === "string");
  const files = Object.entries((raw.files ?? {}) as Record<string, unknown>).filter(
    (e): e is [string, string] => typeof e[1] === "string" && !/^\/|(^|\/)\.\.?(\/|$)|\\/.test(e[0]));
  const rules = typeof raw.path === "string" && raw.path.endsWith(".rules.md");
  return {
    path: rules ? "linked.rules.md" : "linked.lisma",
    text: raw.text,
    files: Object.fromEntries(files),
    set: Object.fromEntries(set),
    until: number(raw.until) ? raw.until : null,
    changes,
  };
}

/** Words as a shell takes them. */
export function shellLine(words: string[]): string {
  return words.map((text) => (/^[\w./=:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** `saltus run` with the same settings. */
export function commandLine(path: string, set: Record<string, number>, until: number | null, replay: boolean): string {
  const words = ["saltus", "run", path];
  for (const [name, value] of Object.entries(set)) words.push("--set", `${name}=${value}`);
  if (until !== null) words.push("--until", String(until));
  if (replay) words.push("--replay", `${path.replace(/.*\//, "").replace(/\.(lisma|rules\.md)$/, "")}.replay.jsonl`);
  return shellLine(words);
}
