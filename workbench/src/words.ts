// SPDX-License-Identifier: MIT
//
// The page in English and Russian. A text in English is the key of its translation.

/** What is counted: more than one in English; one, few and many in Russian. */
const counted: Record<string, [string, [string, string, string]]> = {
  event: ["events", ["событие", "события", "событий"]],
  row: ["rows", ["строка", "строки", "строк"]],
  warning: ["warnings", ["предупреждение", "предупреждения", "предупреждений"]],
  mistake: ["mistakes", ["ошибка", "ошибки", "ошибок"]],
  run: ["runs", ["прогон", "прогона", "прогонов"]],
  value: ["values", ["значение", "значения", "значений"]],
};
const russianForms = new Intl.PluralRules("ru");

/** Texts of the page, what models of the gallery are about, and what the codes of messages mean, in another language. */
export interface Vocabulary {
  words: Record<string, string>;
  gallery: Record<string, string>;
  codes: Record<string, string>;
}

export const ENGLISH: Vocabulary = { words: {}, gallery: {}, codes: {} };

let language: "en" | "ru" = "en";
let vocabulary = ENGLISH;

export function setLanguage(to: "en" | "ru", its: Vocabulary): void {
  language = to;
  vocabulary = its;
  document.documentElement.lang = to;
}

export function getLanguage(): "en" | "ru" {
  return language;
}

/** A text of the page in the user's language. */
export function say(text: string): string {
  return vocabulary.words[text] ?? text;
}

/** What the code of a message means, where the message itself is not in the user's language; or "". */
export function meaningOf(code: string | undefined): string {
  return vocabulary.codes[code ?? ""] ?? "";
}

/** A message behind what its code means in the page's language, where that is another one. */
export function bilingual(code: string | undefined, message: string): string[] {
  const meaning = meaningOf(code);
  return meaning ? [`${meaning}: `, message] : [message];
}

/** What a model of the gallery is about. */
export function aboutModel(path: string, english: string): string {
  return vocabulary.gallery[path] ?? english;
}

/** A number of things: 1 event, 2 события, 5 событий. */
export function count(n: number, thing: string): string {
  const [many, [one, few, rest]] = counted[thing];
  const form = russianForms.select(n);
  return `${n} ${language === "en" ? (n === 1 ? thing : many) : form === "one" ? one : form === "few" ? few : rest}`;
}
