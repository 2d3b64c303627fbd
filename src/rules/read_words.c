// SPDX-License-Identifier: MIT
//
// The words of the tables, in English and in Russian.
#include "rules/read.h"

#include <string.h>

Str rules_trim(Str s) {
  while (s.length && (unsigned char)s.data[0] <= ' ') {
    s.data++;
    s.length--;
  }
  while (s.length && (unsigned char)s.data[s.length - 1] <= ' ')
    s.length--;
  return s;
}

/// Lower case of the letters the tables' words are made of.
static uint32_t fold_letter(uint32_t c) {
  if (c >= 'A' && c <= 'Z') return c + 32;
  if (c >= 0x410 && c <= 0x42f) return c + 32;
  if (c == 0x401 || c == 0x451) return 0x435;  // Ё and ё are written as е as well
  if (c == 0xa0) return ' ';
  return c;
}

static uint32_t put_utf8(char* out, uint32_t c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  out[0] = (char)(0xc0 | c >> 6);
  out[1] = (char)(0x80 | (c & 0x3f));
  return 2;
}

Str rules_fold(Arena* arena, Str s) {
  s = rules_trim(s);
  char* out = ARENA_ARRAY(arena, char, (size_t)s.length + 1);
  uint32_t length = 0;
  for (uint32_t i = 0; i < s.length;) {
    uint32_t c = 0;
    uint32_t size = utf8_decode(s.data + i, s.length - i, &c);
    if (size == 0) size = 1;
    uint32_t folded = fold_letter(c);
    if (folded == ' ' || folded == '\t') {
      if (length && out[length - 1] != ' ') out[length++] = ' ';
    } else if (folded != c || c < 0x80) {
      length += put_utf8(out + length, folded);
    } else {
      memcpy(out + length, s.data + i, size);
      length += size;
    }
    i += size;
  }
  while (length && (out[length - 1] == '.' || out[length - 1] == ' ' || out[length - 1] == ':')) {
    length--;
  }
  return (Str){out, length};
}

/// The next name of a list separated by |; false at the end.
static bool next_name(const char** list, Str* name) {
  if (**list == '\0') return false;
  const char* end = strchr(*list, '|');
  size_t length = end ? (size_t)(end - *list) : strlen(*list);
  *name = (Str){*list, (uint32_t)length};
  *list += length + (end ? 1 : 0);
  return true;
}

bool rules_in_list(const char* names, Str word) {
  Str name = {0};
  while (next_name(&names, &name)) {
    if (str_equal(name, word)) return true;
  }
  return false;
}

Str rules_first_name(const char* names) {
  Str name = {0};
  next_name(&names, &name);
  return name;
}

// ---- sections and columns
// -------------------------------------------------------------------------

static const struct {
  const char* title;
  const char* names;
} sections[RULES_SECTION_COUNT] = {
    [RULES_SECTION_NONE] = {"", ""},
    [RULES_SECTION_SETTINGS] = {"Settings", "settings|setting|настройки|параметры расчета"},
    [RULES_SECTION_CONSTANTS] = {"Constants", "constants|constant|parameters|константы|параметры"},
    [RULES_SECTION_STATES] = {"States", "states|state|variables|состояния|переменные"},
    [RULES_SECTION_PREDICATES] = {"Predicates", "predicates|predicate|предикаты"},
    [RULES_SECTION_SITUATIONS] = {"Situations", "situations|situation|ситуации"},
    [RULES_SECTION_RULES] = {"Rules", "rules|rule|transition rules|правила|правила трансформации"},
    [RULES_SECTION_DRAWING] = {"Drawing", "drawing|animation|рисунок|анимация|мультипликация"},
    [RULES_SECTION_CONTROLS] = {"Controls", "controls|control|управление|органы управления"},
};

const char* rules_section_title(RulesSection section) {
  return sections[section].title;
}

RulesSection rules_find_section(Str title) {
  for (uint32_t i = 1; i < RULES_SECTION_COUNT; i++) {
    const char* list = sections[i].names;
    Str name = {0};
    while (next_name(&list, &name)) {
      if (title.length < name.length || memcmp(title.data, name.data, name.length) != 0) continue;
      // "Rules", "Rules (figure 1)", "Rules: contact", but not "Rules of thumb"
      Str rest = rules_trim((Str){title.data + name.length, title.length - name.length});
      if (rest.length == 0 || strchr("(:,;", rest.data[0])) return (RulesSection)i;
    }
  }
  return RULES_SECTION_NONE;
}

#define IN(section) (1u << RULES_SECTION_##section)
static const struct {
  uint32_t in;
  const char* names;
} columns[COLUMN_COUNT] = {
    [COLUMN_COMMENT] = {~0u, "comment|note|notes|remark|meaning|комментарий|примечание|смысл"},
    [COLUMN_NAME] = {IN(SETTINGS) | IN(CONSTANTS) | IN(STATES) | IN(PREDICATES) | IN(CONTROLS),
                     "name|constant|state|variable|predicate|setting|имя|название|константа|"
                     "состояние|переменная|предикат|настройка"},
    [COLUMN_VALUE] = {IN(SETTINGS) | IN(CONSTANTS) | IN(RULES), "value|значение"},
    [COLUMN_UNIT] = {IN(CONSTANTS) | IN(STATES), "unit|units|единица|ед|единицы"},
    [COLUMN_INITIAL] = {IN(STATES), "initial|initial value|start|начальное|начальное значение"},
    [COLUMN_KIND] = {IN(STATES), "kind|type|вид|тип"},
    [COLUMN_RELATION] = {IN(PREDICATES), "relation|condition|отношение|условие"},
    [COLUMN_X1] = {IN(PREDICATES), "x1|х1"},
    [COLUMN_A] = {IN(PREDICATES), "a|а"},
    [COLUMN_X2] = {IN(PREDICATES) | IN(DRAWING), "x2|х2"},
    [COLUMN_X3] = {IN(PREDICATES) | IN(DRAWING), "x3|х3"},
    [COLUMN_B] = {IN(PREDICATES), "b|в"},
    [COLUMN_X4] = {IN(PREDICATES) | IN(DRAWING), "x4|х4"},
    [COLUMN_STRICT] = {IN(PREDICATES), "strict|строгое|строго"},
    [COLUMN_SITUATION] = {IN(SITUATIONS) | IN(RULES), "situation|ситуация"},
    [COLUMN_WHEN] = {IN(SITUATIONS), "when|condition|если|когда|условие"},
    [COLUMN_THEN] = {IN(SITUATIONS), "then|assign|то|тогда|присвоить"},
    [COLUMN_NUMBER] = {IN(RULES) | IN(DRAWING), "#|№|n|no|number|номер"},
    [COLUMN_VARIABLE] = {IN(RULES), "variable|переменная"},
    [COLUMN_PROCEDURE] = {IN(RULES), "procedure|процедура"},
    [COLUMN_COEFFICIENT] = {IN(RULES), "coefficient|coef|coeff|коэффициент|коэфф|кэфф|коэф"},
    [COLUMN_ARGUMENT1] = {IN(RULES), "argument 1|argument|arg 1|аргумент 1|аргумент"},
    [COLUMN_ARGUMENT2] = {IN(RULES), "argument 2|arg 2|аргумент 2"},
    [COLUMN_PARAMETER] = {IN(RULES), "parameter|parameter name|параметр|имя параметра"},
    [COLUMN_SHAPE] = {IN(DRAWING), "shape|figure|фигура"},
    [COLUMN_X] = {IN(DRAWING), "x|х|x1|х1"},
    [COLUMN_Y] = {IN(DRAWING), "y|у|y1|у1"},
    [COLUMN_Y2] = {IN(DRAWING), "y2|у2"},
    [COLUMN_Y3] = {IN(DRAWING), "y3|у3"},
    [COLUMN_Y4] = {IN(DRAWING), "y4|у4"},
    [COLUMN_SIZE] = {IN(DRAWING), "size|radius|width|размер|радиус|ширина"},
    [COLUMN_HEIGHT] = {IN(DRAWING), "height|высота"},
    [COLUMN_ANGLE] = {IN(DRAWING), "angle|угол"},
    [COLUMN_TEXT] = {IN(DRAWING), "text|текст|надпись"},
    [COLUMN_COLOUR] = {IN(DRAWING), "colour|color|цвет"},
    [COLUMN_RANGE] = {IN(CONTROLS), "range|values|диапазон|значения"},
};

RulesColumn rules_find_column(RulesSection section, Str word) {
  for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
    if (rules_section_has(section, (RulesColumn)i) && rules_in_list(columns[i].names, word)) {
      return (RulesColumn)i;
    }
  }
  return COLUMN_COUNT;
}

bool rules_section_has(RulesSection section, RulesColumn column) {
  return (columns[column].in & 1u << section) != 0;
}

const char* rules_column_name(RulesColumn column) {
  static const char* const shown[COLUMN_COUNT] = {
      [COLUMN_COMMENT] = "comment",
      [COLUMN_NAME] = "name",
      [COLUMN_VALUE] = "value",
      [COLUMN_UNIT] = "unit",
      [COLUMN_INITIAL] = "initial",
      [COLUMN_KIND] = "kind",
      [COLUMN_RELATION] = "relation",
      [COLUMN_X1] = "x1",
      [COLUMN_A] = "a",
      [COLUMN_X2] = "x2",
      [COLUMN_X3] = "x3",
      [COLUMN_B] = "b",
      [COLUMN_X4] = "x4",
      [COLUMN_STRICT] = "strict",
      [COLUMN_SITUATION] = "situation",
      [COLUMN_WHEN] = "when",
      [COLUMN_THEN] = "then",
      [COLUMN_NUMBER] = "#",
      [COLUMN_VARIABLE] = "variable",
      [COLUMN_PROCEDURE] = "procedure",
      [COLUMN_COEFFICIENT] = "coefficient",
      [COLUMN_ARGUMENT1] = "argument 1",
      [COLUMN_ARGUMENT2] = "argument 2",
      [COLUMN_PARAMETER] = "parameter",
      [COLUMN_SHAPE] = "shape",
      [COLUMN_X] = "x",
      [COLUMN_Y] = "y",
      [COLUMN_Y2] = "y2",
      [COLUMN_Y3] = "y3",
      [COLUMN_Y4] = "y4",
      [COLUMN_SIZE] = "size",
      [COLUMN_HEIGHT] = "height",
      [COLUMN_ANGLE] = "angle",
      [COLUMN_TEXT] = "text",
      [COLUMN_COLOUR] = "colour",
      [COLUMN_RANGE] = "range",
  };
  return shown[column];
}

// ---- procedures and their parameters
// --------------------------------------------------------------

static const RulesSignature signatures[RULES_PROCEDURE_COUNT] = {
#define X(id, class, least, most, required, optional, en, ru) \
  {RULES_CLASS_##class, least, most, required, optional, en, ru},
    RULES_PROCEDURE_LIST(X)
#undef X
};

static const struct {
  const char* names;
  const char* russian;
} params[RULES_PARAM_COUNT] = {
#define X(id, en, ru) {en, ru},
    RULES_PARAM_LIST(X)
#undef X
};

Str rules_param_name(RulesParam param) {
  return rules_first_name(params[param].names);
}

const RulesSignature* rules_signature(RulesProcedure procedure) {
  return &signatures[procedure];
}

/// Least distance of `word` to a name of the list, below `best`; else `best`.
static uint32_t list_distance(const char* list, Str word, uint32_t best) {
  Str name = {0};
  while (next_name(&list, &name)) {
    uint32_t distance = str_distance(name, word, best);
    if (distance < best) best = distance;
  }
  return best;
}

RulesProcedure rules_find_procedure(Str word, RulesProcedure* near) {
  uint32_t best = 1 + utf8_count(word) / 2;
  *near = RULES_PROCEDURE_COUNT;
  for (uint32_t i = 0; i < RULES_PROCEDURE_COUNT; i++) {
    const RulesSignature* s = &signatures[i];
    if (rules_in_list(s->names, word) || rules_in_list(s->russian, word)) return (RulesProcedure)i;
    uint32_t distance = list_distance(s->russian, word, list_distance(s->names, word, best));
    if (distance < best) {
      best = distance;
      *near = (RulesProcedure)i;
    }
  }
  return RULES_PROCEDURE_COUNT;
}

RulesParam rules_find_param(Str word, uint32_t allowed, RulesParam* near) {
  uint32_t best = 1 + utf8_count(word) / 2;
  *near = RULES_PARAM_COUNT;
  for (uint32_t i = 0; i < RULES_PARAM_COUNT; i++) {
    if (!(allowed & 1u << i)) continue;
    if (rules_in_list(params[i].names, word) || rules_in_list(params[i].russian, word)) {
      return (RulesParam)i;
    }
    uint32_t distance =
        list_distance(params[i].russian, word, list_distance(params[i].names, word, best));
    if (distance < best) {
      best = distance;
      *near = (RulesParam)i;
    }
  }
  return RULES_PARAM_COUNT;
}

Str rules_signature_text(Arena* arena, RulesProcedure procedure) {
  const RulesSignature* s = &signatures[procedure];
  TextBuffer out = {.arena = arena};
  text_append(&out, rules_first_name(s->names));
  text_append_c(&out, " takes a coefficient");
  for (uint32_t i = 0; i < s->most; i++) {
    text_append_format(&out, i < s->least ? ", argument %u" : " [, argument %u]", i + 1);
  }
  for (uint32_t i = 0; i < RULES_PARAM_COUNT; i++) {
    if (!((s->required | s->optional) & 1u << i)) continue;
    bool needed = (s->required & 1u << i) != 0;
    text_append_c(&out, needed ? ", '" : " [, '");
    text_append(&out, rules_param_name((RulesParam)i));
    text_append_c(&out, needed ? "'" : "']");
  }
  return text_str(&out);
}

bool rules_word_true(Str word) {
  return rules_in_list("true|yes|1|on|истина|да", word);
}

bool rules_word_false(Str word) {
  return rules_in_list("false|no|0|off|ложь|нет", word);
}
