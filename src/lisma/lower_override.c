// SPDX-License-Identifier: MIT
//
// Values from outside: of constants, by their names, and of variables at the start, by `x(t0)`. An
// index may be written as in the model: k[2] is the constant k2.
#include "lisma/lower.h"

/// A name with single indices pasted, as loops do: k[2] becomes k2; T[3,4] and row[3].A stay.
static Str pasted(Arena* arena, Str name) {
  TextBuffer out = {.arena = arena};
  for (uint32_t i = 0; i < name.length; i++) {
    uint32_t end = i + 1;
    while (name.data[i] == '[' && end < name.length && name.data[end] >= '0' &&
           name.data[end] <= '9') {
      end++;
    }
    bool index = name.data[i] == '[' && end > i + 1 && end < name.length && name.data[end] == ']';
    bool member = index && end + 1 < name.length && name.data[end + 1] == '.';
    if (!index || member) {
      text_append_char(&out, name.data[i]);
      continue;
    }
    text_append(&out, (Str){name.data + i + 1, end - i - 1});
    i = end;
  }
  return text_str(&out);
}

const LismaOverride* lower_find_override(Lower* l, Str name) {
  const LismaOverride* found = NULL;
  for (uint32_t i = 0; i < l->options->override_count; i++) {
    const LismaOverride* given = &l->options->overrides[i];
    if (!str_equal(given->name, name) && !str_equal(pasted(l->scratch, given->name), name))
      continue;
    if (l->options->applied) l->options->applied[i] = true;
    found = given;
  }
  return found;
}

/// `x'(t0)`: the name in front and the number of marks; false when it is no initial value.
static bool split_start(Str* name, uint32_t* order) {
  static const char* const endings[] = {"(t0)", "(0)"};
  *order = 0;
  for (uint32_t i = 0; i < SLT_COUNT(endings); i++) {
    Str ending = str_from_c(endings[i]);
    if (name->length <= ending.length) continue;
    Str tail = {name->data + name->length - ending.length, ending.length};
    if (!str_equal(tail, ending)) continue;
    name->length -= ending.length;
    while (name->length > 1 && name->data[name->length - 1] == '\'') {
      name->length--;
      ++*order;
    }
    return true;
  }
  return false;
}

void lower_override_starts(Lower* l) {
  for (uint32_t i = 0; i < l->options->override_count; i++) {
    Str name = l->options->overrides[i].name;
    uint32_t order = 0;
    // an initial value of an FMU is a constant with that name: `b.x(t0)`
    bool constant = l->options->applied && l->options->applied[i];
    if (constant || !split_start(&name, &order)) continue;
    scale_fail(l);  // one instance is no longer like the others
    uint32_t id = names_find(&l->m->names, name);
    if (id == 0) id = names_find(&l->m->names, pasted(l->scratch, name));
    Symbol symbol = id ? *resolve_symbol(l, id) : (Symbol){0};
    if (symbol.kind != SYM_VAR || order > LOWER_ORDER_MAX) continue;
    TermFrame frame = lower_begin(l);
    ExprId number = ir_term_number(&l->terms.builder, l->options->overrides[i].value);
    IrStart start = {.var = symbol.index,
                     .order = (uint8_t)order,
                     .kind = IR_START_FIXED,
                     .value = lower_end(l, frame, number),
                     .span = l->m->vars.data[symbol.index].span};
    l->names.vars.data[symbol.index].flags |= VAR_FIXED;
    uint32_t known = lower_find_start(l, symbol.index, order);
    if (known) {
      l->m->starts.data[known - 1] = start;
    } else {
      base_vec_push(l->arena, &l->m->starts, start);
    }
    if (l->options->applied) l->options->applied[i] = true;
  }
}
