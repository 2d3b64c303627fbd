// SPDX-License-Identifier: MIT
//
// What the engine tells about an event, in Russian: its sentences have few shapes, and names, relations and numbers stay as they are.
import { getLanguage } from "./words";

const RUSSIAN: [RegExp, string][] = [
  [/, located to /, ", найдено с точностью "],
  [/, certified$/, ", доказано"],
  [/, seen at the end of a step/, ", замечено в конце шага"],
  [/^the run begins$/, "прогон начинается"],
  [/^the motion goes on in /, "движение продолжается: "],
  [/^the motion goes on$/, "движение продолжается"],
  [/ becomes true: /, " становится верным: "],
  [/ becomes false: no longer /, " перестаёт быть верным: больше не "],
  [/ becomes false/, " перестаёт быть верным"],
  [/ again, because /, " снова, потому что "],
  [/, because the delay is over/, ", потому что задержка истекла"],
  [/, because the flow leads there/, ", потому что туда ведёт движение"],
  [/, because of that/, ", вследствие этого"],
  [/, because /, ", потому что "],
  [/: the flow leads there/, ": туда ведёт движение"],
  [/, following the other states/, ", вслед за другими состояниями"],
  [/, at its time/, ", в своё время"],
  [/, at once/, ", сразу"],
  [/ switches with the new values/, " переключается с новыми значениями"],
  [/ switches$/, " переключается"],
  [/(?: now)? \(line (\d+)\)/g, " (строка $1)"],
  [/^energy /, "энергия "],
  [/^tried: /, "испробовано: "],
  [/^nothing determines /, "ничем не определяется: "],
  [/^sliding: the motion is (\S+) of the flow where this holds and (\S+) of the other/, "скольжение: движение составлено из $1 потока, где это верно, и $2 другого"],
  [/^pinnacle: the values jump at this point in time/, "скачок: значения меняются в этот момент"],
  [/^mythical: the mode is left before it exists, and nothing of it is kept/, "мнимое: режим покидается, ещё не начавшись, и от него ничего не остаётся"],
  [/^boundary: its own flow leaves this mode at once/, "граничное: собственное движение сразу выводит из режима"],
  [/ is (\S+), between (\S+) and (\S+)/g, " = $1, между $2 и $3"],
];

/** A line of a story in the user's language. */
export function tell(line: string): string {
  if (getLanguage() === "en") return line;
  const said = RUSSIAN.reduce((text, [shape, words]) => text.replace(shape, words), line);
  return /потому что|верным/.test(said) ? said.replaceAll(" and ", " и ").replaceAll(" or ", " или ") : said;
}
