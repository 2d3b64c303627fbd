// SPDX-License-Identifier: MIT
//
// Names, variables, states and places as text.
#include "ir/print.h"

static bool is_digit_code(uint32_t code) {
  return code >= '0' && code <= '9';
}

/// A letter for certain. A letter missing here only costs a pair of backquotes.
static bool is_letter_code(uint32_t code) {
  static const uint32_t ranges[][2] = {
      {'A', 'Z'},       {'_', '_'},       {'a', 'z'},       {0xc0, 0xd6},     {0xd8, 0xf6},
      {0xf8, 0x24f},    {0x388, 0x3f5},   {0x3f7, 0x481},   {0x48a, 0x52f},   {0x531, 0x556},
      {0x561, 0x587},   {0x5d0, 0x5ea},   {0x620, 0x64a},   {0x904, 0x939},   {0x10d0, 0x10fa},
      {0x1e00, 0x1f15}, {0x3041, 0x3096}, {0x30a1, 0x30fa}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff},
      {0xac00, 0xd7a3},
  };
  for (size_t i = 0; i < SLT_COUNT(ranges); i++) {
    if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
  }
  return false;
}

/// Behind the indices `[3,4]` at `at`, or `at` itself when there are none. A single index is pasted
/// into a name and has no brackets, unless it is that of an element whose member follows.
static uint32_t skip_indices(Str name, uint32_t at) {
  if (at >= name.length || name.data[at] != '[') return at;
  uint32_t i = at + 1;
  bool several = false;
  for (;;) {
    if (i < name.length && name.data[i] == '-') i++;
    uint32_t digits = i;
    while (i < name.length && is_digit_code((unsigned char)name.data[i])) {
      i++;
    }
    if (i == digits || i >= name.length) return at;
    bool element = i + 1 < name.length && name.data[i + 1] == '.';
    if (name.data[i] == ']') return several || element ? i + 1 : at;
    if (name.data[i] != ',') return at;
    several = true;
    i++;
  }
}

bool ir_name_is_plain(Str name) {
  static const Str reserved[] = {
      {"const", 5}, {"macro", 5}, {"state", 5}, {"from", 4},      {"for", 3}, {"if", 2},
      {"else", 4},  {"at", 2},    {"and", 3},   {"automaton", 9}, {"or", 2},  {"not", 3},
  };
  for (size_t i = 0; i < SLT_COUNT(reserved); i++) {
    if (str_equal(name, reserved[i])) return false;
  }
  uint32_t at = 0;
  uint32_t word = 0;  // where the present one of `part.member` begins
  while (at < name.length) {
    uint32_t code = 0;
    uint32_t step = utf8_decode(name.data + at, name.length - at, &code);
    bool letter = step && is_letter_code(code);
    if (letter || (step && at > word && is_digit_code(code))) {
      at += step;
      continue;
    }
    if (code == '.' && at > word && at + 1 < name.length) {
      word = ++at;
      continue;
    }
    uint32_t behind = at > word ? skip_indices(name, at) : at;
    if (behind == at) return false;
    at = behind;
  }
  return name.length > 0;
}

void ir_print_name(TextBuffer* out, Str name) {
  bool plain = ir_name_is_plain(name);
  if (!plain) text_append_char(out, '`');
  text_append(out, name);
  if (!plain) text_append_char(out, '`');
}

Str ir_var_name(const IrModel* model, uint32_t var) {
  Str name = names_get(&model->names, ir_var(model, var).name);
  if (ir_name_is_plain(name)) return name;
  TextBuffer text = {.arena = model->arena};
  ir_print_name(&text, name);
  return text_str(&text);
}

void ir_print_var(TextBuffer* out, const IrModel* model, uint32_t var, uint32_t order) {
  Str name = names_get(&model->names, ir_var(model, var).name);
  if (order > 3) text_append_c(out, "der(");
  ir_print_name(out, name);
  if (order > 3) {
    text_append_format(out, ", %u)", order);
    return;
  }
  for (uint32_t k = 0; k < order; k++) {
    text_append_char(out, '\'');
  }
}

void ir_print_state(TextBuffer* out, const IrModel* model, uint32_t automaton, uint32_t state) {
  const IrAutomaton* a = (IrAutomaton[]){ir_automaton(model, automaton)};
  Str name = names_get(&model->names, a->name);
  // the names of switches are made by the front end and are no words of the language
  if (a->kind == IR_AUTOMATON_SWITCH) {
    text_append(out, name);
  } else {
    ir_print_name(out, name);
  }
  text_append_char(out, '.');
  ir_print_name(out, names_get(&model->names, ir_state(model, a->state_begin + state).name));
}

bool ir_print_source(TextBuffer* out, const IrModel* model, Span span) {
  if (!model->source || span.begin >= span.end || span.end > model->source->text.length) {
    return false;
  }
  bool gap = false;
  bool begun = false;
  for (uint32_t i = span.begin; i < span.end; i++) {
    char c = model->source->text.data[i];
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank && c != '\0') {
      if (gap && begun) text_append_char(out, ' ');
      text_append_char(out, c);
      begun = true;
    }
    gap = blank;
  }
  return begun;
}

const char* ir_atom_type_text(uint32_t type) {
  switch (type) {
  case IR_ATOM_CRITICAL: return "critical";
  case IR_ATOM_UNILATERAL: return "unilateral";
  case IR_ATOM_BILATERAL: return "bilateral";
  case IR_ATOM_SHORTLIVING: return "shortliving";
  case IR_ATOM_NOEVENT: return "noEvent";
  case IR_ATOM_PULSE: return "pulse";
  case IR_ATOM_STRUCK: return "struck";
  default: return "?";
  }
}

const char* ir_atom_relation_text(uint32_t relation) {
  switch (relation) {
  case IR_REL_GT: return " > 0";
  case IR_REL_GE: return " >= 0";
  case IR_REL_EQ: return " == 0";
  default: return "?";
  }
}
