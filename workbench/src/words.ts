// SPDX-License-Identifier: MIT
//
// The page in English and Russian. A text in English is the key of its translation.

const russian: Record<string, string> = {
  Run: "Пуск",
  Pause: "Пауза",
  Continue: "Дальше",
  Live: "Вживую",
  "Next event": "К событию",
  "Previous event": "Назад",
  until: "до",
  speed: "скорость",
  Models: "Модели",
  Gallery: "Галерея",
  Folder: "Папка",
  "My models": "Мои модели",
  Text: "Текст",
  Tables: "Таблицы",
  Parameters: "Параметры",
  Events: "События",
  Automata: "Автоматы",
  Structure: "Структура",
  Runs: "Прогоны",
  Messages: "Сообщения",
  "no messages": "сообщений нет",
  "filter events": "отбор событий",
  "find a model": "найти модель",
  "New model": "Новая модель",
  "New rule tables": "Новые таблицы правил",
  Save: "Сохранить",
  Share: "Ссылка",
  Export: "Вывести",
  Help: "Справка",
  Keep: "Запомнить",
  Reset: "Сброс",
  "Dark or light": "Тёмная или светлая",
  "a change begins the run anew": "изменение начинает прогон заново",
  "a change takes effect at once": "изменение действует сразу",
  "The model has no constants.": "В модели нет констант.",
  "Run the model to see its events.": "Запустите модель, чтобы увидеть события.",
  "The run has no events.": "В прогоне нет событий.",
  "This model has neither automata nor switches.": "В модели нет ни автоматов, ни переключений.",
  "drag a variable into a chart": "перетащите переменную на график",
  "new chart": "новый график",
  "horizontal axis": "горизонтальная ось",
  time: "время",
  log: "лог.",
  "logarithmic scale": "логарифмическая шкала",
  "remove the chart": "убрать график",
  Constants: "Константы",
  States: "Состояния",
  Predicates: "Предикаты",
  Situations: "Ситуации",
  Rules: "Правила",
  Settings: "Настройки",
  "State vector": "Вектор состояния",
  "add a row": "добавить строку",
  Procedures: "Процедуры",
  copy: "копировать",
  up: "выше",
  down: "ниже",
  remove: "удалить",
  "switch off": "отключить",
  "stands for": "означает",
  running: "идёт",
  done: "готово",
  stopped: "остановлена моделью",
  failed: "прервана ошибкой",
  paused: "пауза",
  events: "событий",
  rows: "строк",
  steps: "шагов",
  "certified": "доказано",
  "values changed": "значение изменено",
  "start": "начало",
  "The link is in the clipboard.": "Ссылка в буфере обмена.",
  "Saved.": "Сохранено.",
  "Unsaved work was restored.": "Несохранённая работа восстановлена.",
  "The file was changed elsewhere. Save again to replace it.":
    "Файл изменён в другом месте. Сохраните ещё раз, чтобы заменить его.",
  "write to": "записать",
  "name of the model": "имя модели",
  "line": "строка",
  "Rows (CSV)": "Строки (CSV)",
  "Events (JSON lines)": "События (JSON lines)",
  "Changes for --replay": "Изменения для --replay",
  "Picture (PNG)": "Рисунок (PNG)",
  "Model text": "Текст модели",
  "command line": "командная строка",
  "nothing was kept yet": "пока ничего не запомнено",
  "the present run": "текущий прогон",
  "Rename": "Переименовать",
  "new name": "новое имя",
  "as the text says": "как в тексте",
  "not run": "не запущена",
  mistake: "ошибка",
  mistakes: "ошибок",
  rejected: "отвергнуто",
  evaluations: "вычислений",
  "of guards": "вычислений условий",
  modes: "режимов",
  "go back here": "вернуться сюда",
  "back to the values just after this event: change them, or go on":
    "к значениям сразу после этого события: их можно изменить или продолжить",
  "A row per table; add the first.": "Таблица пуста; добавьте первую строку.",
};

let language: "en" | "ru" = "en";

export function setLanguage(to: "en" | "ru"): void {
  language = to;
  document.documentElement.lang = to;
}

export function getLanguage(): "en" | "ru" {
  return language;
}

/** A text of the page in the user's language. */
export function say(text: string): string {
  return language === "ru" ? (russian[text] ?? text) : text;
}
