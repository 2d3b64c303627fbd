// SPDX-License-Identifier: MIT
//
// What the engine tells about events, modes and its own choices, in Russian: its sentences have few shapes, and names, relations and
// numbers stay as they are.
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
  [/^mythical: the mode is left before it exists; assigned, and kept: /, "мнимое: режим покидается, ещё не начавшись; присвоено и остаётся: "],
  [/^boundary: its own flow leaves this mode at once/, "граничное: собственное движение сразу выводит из режима"],
  [/ is (\S+), between (\S+) and (\S+)/g, " = $1, между $2 и $3"],
  // the graph of automata
  [/^conditions that hold$/, "условия, верные вместе"],
  [/^none$/, "ни одного"],
  [/^switches of conditions and piecewise functions$/, "переключения условий и кусочных функций"],
  [/: turned (\d+) times?$/, ": переключилось, раз: $1"],
  [/^sliding along a boundary began (\d+) times?$/, "скольжение вдоль границы начиналось, раз: $1"],
  [/^not taken in this run$/, "не выполнен в этом прогоне"],
  [/(,|\() ?(\d+) alike/, "$1одинаковых: $2"],
  [/^and (\d+) more( automata)?$/, "и ещё $1"],
  [/^sets /, "задаёт "],
  [/^interior: goes on in the new mode$/, "плавное: продолжается в новом режиме"],
  [/^pinnacle: values jump$/, "скачок: значения меняются"],
  [/^mythical: left before it exists$/, "мнимое: покидается, ещё не начавшись"],
  [/^boundary: left at once by its own flow$/, "граничное: собственное движение сразу выводит из него"],
  [/^sliding: goes on along a boundary$/, "скольжение: продолжается вдоль границы"],
  [/(\d+× )interior/, "$1плавное"],
  [/(\d+× )pinnacle/, "$1скачок"],
  [/(\d+× )mythical/, "$1мнимое"],
  [/(\d+× )boundary/, "$1граничное"],
  [/(\d+× )sliding/, "$1скольжение"],
  // the structure of a mode
  [/^(\d+) variables, (\d+) constants, (\d+) automata, (\d+) relations, (\d+) schedules/, "переменных $1, констант $2, автоматов $3, отношений $4, расписаний $5"],
  [/^mode \(the only one\)/, "режим (единственный)"],
  [/^mode /, "режим "],
  [/^states {8}/, "состояния     "],
  [/^discrete {6}/, "дискретные    "],
  [/^algebraic {5}/, "алгебраич.    "],
  [/^undetermined {2}/, "неопределены  "],
  [/^aliases {7}(\d+) quantities that are another one, its negative, or a constant/, "совпадают     $1 величин с другой, с обратной ей или с константой"],
  [/^implicit {6}index (\d+), (\d+) degrees of freedom, (\d+) constraints/, "неявный       индекс $1, степеней свободы $2, связей $3"],
  [/^blocks {8}(\d+) linear, (\d+) nonlinear, the largest of (\d+) equations/, "блоки         линейных $1, нелинейных $2, наибольший из $3 уравнений"],
  [/^differentiated$/, "продифференцировано"],
  [/^( +\d+) times?( {2})/, "$1 раз$2"],
  [/^order of solution$/, "порядок решения"],
  [/linear equations solved together/, "линейные уравнения решаются вместе"],
  [/equations solved together/, "уравнения решаются вместе"],
  [/, torn: given (.*),$/, ", разрыв: задано $1,"],
  [/^( +)and (.*) from$/, "$1и $2 из"],
  [/^shapes: (\d+) for (\d+) equations?/, "видов уравнений: $1 на $2"],
  [/^( +\d+ {2})like /, "$1как "],
  [/^programs: derivatives (\d+) operations?, all values (\d+) operations?/, "действий: для производных $1, для всех значений $2"],
  // the choice of a method
  [/^no sign of stiffness/, "признаков жёсткости нет"],
  [/^stiff from t = (\S+) on, (\S+) before/, "жёсткая с t = $1, до этого $2"],
  [/^stiff at times, (\d+) switches between (\S+) and (\S+) from t = (\S+) to ([^;]+)/, "временами жёсткая: переключений $1 между $2 и $3, с t = $4 до $5"],
  [/; (\S+) where events limit the steps, from t = /, "; $1, где шаги ограничены событиями, с t = "],
  [/; (\S+) goes farther, from t = /, "; $1 идёт дальше, с t = "],
];

/** A line of a story in the user's language. */
export function tell(line: string): string {
  if (getLanguage() === "en") return line;
  const said = RUSSIAN.reduce((text, [shape, words]) => text.replace(shape, words), line);
  return /потому что|верным/.test(said) ? said.replaceAll(" and ", " и ").replaceAll(" or ", " или ") : said;
}

/** Words between the formulas of procedures; longer ones first. */
const FORMULAS: [RegExp, string][] = [
  [/y keeps its value and the division is counted/, "y сохраняет значение, а деление считается"],
  [/,? cut to the limits/, ", в пределах границ"],
  [/0 in the first cycle; with a filter/, "0 в первом цикле; с фильтром"],
  [/0 at a = 0 \(with keep: as it was\)/, "0 при a = 0 (с keep: как было)"],
  [/ as it was (round\(T\/dt\)) cycles ago/, ", каким было $1 циклов назад"],
  [/that is (above|below) y/g, "оно $1 y"],
  [/above/g, "выше"],
  [/below/g, "ниже"],
  [/every (round\(T\/dt\)) cycles/, "раз в $1 циклов"],
  [/f through the points/, "f через точки"],
  [/, or (.*) without argument 2/, ", или $1 без аргумента 2"],
  [/times a normal number/, "× нормальное случайное число"],
  [/unless v is beyond a limit and e drives it further/, "если v не за границей и e не ведёт его дальше"],
  [/in the cycle in which the situation begins/, "в цикле, в котором ситуация наступает"],
  [/while the situation holds/, "пока ситуация верна:"],
  [/y begins at 0 each time, or goes on/, "y каждый раз начинается с 0 или продолжается"],
  [/that wins/, "это важнее"],
  [/with an argument/, "с аргументом"],
  [/else as it was/, "иначе как было"],
  [/\belse\b/g, "иначе"],
  [/\bif\b/g, "если"],
  [/\band\b/g, "и"],
];

/** The formula of a procedure in the user's language. */
export function tellFormula(formula: string): string {
  return getLanguage() === "en" ? formula : FORMULAS.reduce((text, [shape, words]) => text.replace(shape, words), formula);
}
