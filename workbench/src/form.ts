// SPDX-License-Identifier: MIT
//
// Files as bytes and as the lines of an editor. How a file begins and ends its lines is kept, so that saving changes
// nothing but what was changed.

export interface Form {
  mark: boolean; // it begins with a byte order mark
  returns: boolean; // all of its lines end with CR LF
}

const MARK = "\ufeff";

/** The text of a file; throws words for the user where it is none. */
export function fromBytes(bytes: ArrayBuffer): { text: string; form: Form } {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("The file is not UTF-8 text, and saving it would change its letters: convert it first.");
  }
  const mark = text.startsWith(MARK);
  const returns = /\r\n/.test(text) && !/\r(?!\n)|(?<!\r)\n/.test(text);
  if (mark) text = text.slice(MARK.length);
  return { text: returns ? text.replaceAll("\r\n", "\n") : text, form: { mark, returns } };
}

export function toBytes(text: string, form: Form = { mark: false, returns: false }): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode((form.mark ? MARK : "") + (form.returns ? text.replaceAll("\n", "\r\n") : text)) as Uint8Array<ArrayBuffer>;
}
