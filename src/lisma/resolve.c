// SPDX-License-Identifier: MIT
//
// Names: from what is written to name ids, and from name ids to what they mean.
#include "lisma/lower.h"

#include <math.h>

#define DENSE_MAX 4194304u  // values of an index kept in plain arrays

// ---------------------------------------------------------------------------------------------
// indices

void resolve_bind(Lower* l, uint32_t name, double value) {
  base_vec_push(l->scratch, &l->names.bindings, (Binding){.name = name, .value = value});
}

void resolve_bind_in(Lower* l, uint32_t name, double value, const RangeValues* range) {
  Binding binding = {.name = name, .scaled = range->scaled, .value = value};
  base_vec_push(l->scratch, &l->names.bindings, binding);
}

void resolve_unbind(Lower* l) {
  l->names.bindings.count--;
}

const Binding* resolve_binding(Lower* l, uint32_t name) {
  for (uint32_t i = l->names.bindings.count; i > l->names.binding_base; i--) {
    const Binding* binding = &l->names.bindings.data[i - 1];
    if (binding->name != name) continue;
    if (binding->sum && binding->sum == l->walk.sums) l->walk.selected = true;
    return binding;
  }
  return NULL;
}

Bindings resolve_keep_bindings(Lower* l) {
  Bindings kept = {.count = l->names.bindings.count - l->names.binding_base};
  if (kept.count == 0) return kept;
  kept.data = ARENA_ARRAY(l->scratch, Binding, kept.count);
  for (uint32_t i = 0; i < kept.count; i++) {
    kept.data[i] = l->names.bindings.data[l->names.binding_base + i];
  }
  return kept;
}

BindingMark resolve_enter_bindings(Lower* l, Bindings bindings) {
  BindingMark mark = {
      .base = l->names.binding_base, .count = l->names.bindings.count, .frame = l->functions.frame};
  l->names.binding_base = l->names.bindings.count;
  l->functions.frame = NULL;
  for (uint32_t i = 0; i < bindings.count; i++) {
    base_vec_push(l->scratch, &l->names.bindings, bindings.data[i]);
  }
  return mark;
}

void resolve_leave_bindings(Lower* l, BindingMark mark) {
  l->names.bindings.count = mark.count;
  l->names.binding_base = mark.base;
  l->functions.frame = mark.frame;
}

// ---------------------------------------------------------------------------------------------
// written names

/// The name with a hole for every index: all names of one template share a tree of indices.
static uint32_t template_root(Lower* l, const AstName* name) {
  TextBuffer* text = &l->names.text;
  text->length = 0;
  text_append(text, name->head);
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstIndex* index = &name->indices.data[i];
    text_append_format(text, index->element ? "\2%u\2" : "\1%u\1", index->subscripts.count);
    text_append(text, index->tail);
  }
  uint32_t id = names_intern(&l->names.template_names, text_str(text));
  uint32_t root = map_get(&l->names.templates, id, 0);
  if (root) return root - 1;
  base_vec_push(l->scratch, &l->names.index_nodes, (IndexNode){0});
  map_set(&l->names.templates, id, 0, l->names.index_nodes.count);
  return l->names.index_nodes.count - 1;
}

/// A plain name alone.
static bool is_plain_name(const AstExpr* expr) {
  return expr->kind == AST_NAME && expr->order == 0 && ast_name_is_plain(&expr->as.name.name);
}

/// Note an index of the form i, i + 1, i - 1, which is nearly all of them.
static void find_offset(Lower* l, const AstName* name, NameRef* ref) {
  if (name->indices.count != 1 || name->indices.data[0].subscripts.count != 1) return;
  const AstExpr* subscript = name->indices.data[0].subscripts.data[0];
  const AstExpr* index = subscript;
  double offset = 0.0;
  if (subscript->kind == AST_CHAIN && subscript->as.chain.level == AST_LEVEL_ADD &&
      subscript->as.chain.links.count == 2) {
    const AstLink* link = &subscript->as.chain.links.data[1];
    if (link->operand->kind != AST_NUMBER) return;
    index = subscript->as.chain.links.data[0].operand;
    offset = link->op == AST_OP_SUB ? -link->operand->as.number : link->operand->as.number;
  }
  if (!is_plain_name(index) || !(fabs(offset) < 1e6) || offset != floor(offset)) return;
  ref->index = names_intern(&l->m->names, index->as.name.name.head);
  ref->offset = (int32_t)offset;
}

static NameRef make_ref(Lower* l, const AstName* name) {
  NameRef ref = {.written = name->head.data, .root = IR_NONE};
  if (ast_name_is_plain(name)) {
    ref.head = names_intern(&l->m->names, name->head);
  } else {
    ref.root = template_root(l, name);
    find_offset(l, name, &ref);
  }
  return ref;
}

static NameRef ref_of_made(Lower* l, const AstName* name) {
  uint64_t address = (uint64_t)(uintptr_t)name;
  uint32_t known = map_get(&l->names.refs, address, 0);
  if (known) return l->names.ref_list.data[known - 1];
  NameRef ref = make_ref(l, name);
  base_vec_push(l->scratch, &l->names.ref_list, ref);
  map_set(&l->names.refs, address, 0, l->names.ref_list.count);
  return ref;
}

static NameRef ref_of(Lower* l, const AstName* name) {
  uint32_t number = name->number;
  if (number < l->names.refs_written.count &&
      l->names.refs_written.data[number].written == name->head.data) {
    return l->names.refs_written.data[number];
  }
  if (number == 0) return ref_of_made(l, name);
  if (number >= l->names.refs_written.count) {
    base_vec_reserve(l->scratch, &l->names.refs_written, number + 1 - l->names.refs_written.count);
    l->names.refs_written.count = number + 1;
  }
  NameRef ref = make_ref(l, name);
  l->names.refs_written.data[number] = ref;
  return ref;
}

static uint32_t index_child(const Lower* l, uint32_t node, uint32_t value) {
  const IndexNode* n = &l->names.index_nodes.data[node];
  if (value < n->dense.count) return n->dense.data[value];
  return l->names.sparse.count ? map_get(&l->names.sparse, node, value) : 0;
}

static void index_set_child(Lower* l, uint32_t node, uint32_t value, uint32_t child) {
  IndexNode* n = &l->names.index_nodes.data[node];
  uint32_t room = n->dense.count < DENSE_MAX / 4 ? 1024 + 4 * n->dense.count : DENSE_MAX;
  if (value >= room) {
    map_set(&l->names.sparse, node, value, child);
    return;
  }
  if (value >= n->dense.count) {
    base_vec_reserve(l->scratch, &n->dense, value + 1 - n->dense.count);
    n->dense.count = value + 1;
  }
  n->dense.data[value] = child;
}

static bool subscript_value(Lower* l, const AstExpr* expr, uint32_t* value) {
  double number = 0.0;
  const char* what = "an index";
  if (lower_is_condition(expr)) {
    Diag* diag =
        lower_report(l, DIAG_E0301, expr->span,
                     "'[' directly behind a name begins an index, and this is a condition");
    diag_hint(l->diags, diag,
              "a condition stands behind a space, or behind 'unilateral', 'bilateral', 'ordinary', "
              "'shortliving' or 'noEvent'");
    return false;
  }
  if (!resolve_eval_place(l, expr, what, DIAG_E0208, &number, NULL)) return false;
  if (number < 0.0) {
    Str text = lower_number_text(l, number);
    Str instance = lower_instance_text(l);
    lower_report(l, DIAG_E0208, expr->span, "an index cannot be negative; here it is %.*s%.*s",
                 STR_ARGS(text), STR_ARGS(instance));
    return false;
  }
  *value = (uint32_t)number;
  return true;
}

static void append_index(TextBuffer* text, uint32_t value) {
  char digits[10];
  uint32_t at = sizeof digits;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  text_append(text, (Str){digits + at, (uint32_t)sizeof digits - at});
}

/// Digits around an index run together with it: x1[i] and x[i] meet in x11.
static bool is_glued(const TextBuffer* pasted, const AstIndex* index) {
  char before = pasted->length ? pasted->data[pasted->length - 1] : '_';
  char behind = index->tail.length ? index->tail.data[0] : '_';
  return (before >= '0' && before <= '9') || (behind >= '0' && behind <= '9');
}

/// The name that a text with indices stands for has the unit of that text, and of all other texts
/// that give this name.
static void note_unit(Lower* l, const AstName* name, uint32_t id) {
  const LismaUnits* units = l->names.units;
  uint32_t family = lisma_unit_family(units, l->scratch, name);
  if (!family) return;
  uint32_t member = map_get(&l->names.pasted_units, id, 0);
  if (!member) member = names_find(&units->names, names_get(&l->m->names, id));
  map_set(&l->names.pasted_units, id, 0, family);
  if (!member || member == family || map_get(&l->names.met, family, member)) return;
  map_set(&l->names.met, family, member, 1);
  base_vec_push(l->scratch, &l->names.meetings, ((LismaMeeting){family, member}));
}

/// The text of a name with its indices replaced: x_3, x3a, T[3,4].
static uint32_t paste_name(Lower* l, const AstName* name) {
  // indices may be constants with indices: their names are pasted meanwhile
  TextBuffer pasted = l->names.text;
  l->names.text = (TextBuffer){.arena = pasted.arena};
  pasted.length = 0;
  text_append(&pasted, name->head);
  uint32_t element = 0;  // length of the element of an array that this belongs to
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstIndex* index = &name->indices.data[i];
    bool several = index->subscripts.count > 1 || index->element;
    if (!several && is_glued(&pasted, index)) scale_fail(l);
    for (uint32_t k = 0; k < index->subscripts.count; k++) {
      uint32_t value = 0;
      if (!subscript_value(l, index->subscripts.data[k], &value)) return 0;
      if (several) text_append_char(&pasted, k ? ',' : '[');
      append_index(&pasted, value);
    }
    if (several) text_append_char(&pasted, ']');
    if (index->element) element = (uint32_t)pasted.length;
    text_append(&pasted, index->tail);
  }
  l->names.text = pasted;
  uint32_t id = names_intern(&l->m->names, text_str(&pasted));
  if (element && element < pasted.length)
    base_vec_push(l->scratch, &l->names.members, ((ElementMember){id, element, name->span}));
  if (l->names.units) note_unit(l, name, id);
  return id;
}

uint32_t resolve_plain(Lower* l, const AstName* name) {
  return ast_name_is_plain(name) ? ref_of(l, name).head : 0;
}

/// A name of the form x_[i + 1] that is there already; 0 otherwise.
static uint32_t find_by_offset(Lower* l, const NameRef* ref) {
  if (l->scale) return 0;  // every index is looked at
  const Binding* binding = ref->index ? resolve_binding(l, ref->index) : NULL;
  if (!binding) return 0;
  double value = binding->value + ref->offset;
  const IndexNode* root = &l->names.index_nodes.data[ref->root];
  bool known = value >= 0.0 && value < root->dense.count;
  return known ? root->dense.data[(uint32_t)value] : 0;
}

uint32_t resolve_name(Lower* l, const AstName* name) {
  NameRef ref = ref_of(l, name);
  if (ref.root == IR_NONE) return ref.head;
  uint32_t found = find_by_offset(l, &ref);
  if (found) return found;

  // walk down the tree of indices; what is missing is made on the way
  uint32_t node = ref.root;
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstExprList* subscripts = &name->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      bool last = i + 1 == name->indices.count && k + 1 == subscripts->count;
      uint32_t value = 0;
      if (!subscript_value(l, subscripts->data[k], &value)) return 0;
      uint32_t child = index_child(l, node, value);
      if (child == 0) {
        if (last) {
          child = paste_name(l, name);
        } else {
          base_vec_push(l->scratch, &l->names.index_nodes, (IndexNode){0});
          child = l->names.index_nodes.count - 1;
        }
        if (child == 0) return 0;
        index_set_child(l, node, value, child);
      }
      node = child;
    }
  }
  return node;
}

// ---------------------------------------------------------------------------------------------
// meanings

Symbol* resolve_symbol(Lower* l, uint32_t name) {
  if (name >= l->names.symbols.count) {
    base_vec_reserve(l->scratch, &l->names.symbols, name + 1 - l->names.symbols.count);
    l->names.symbols.count = name + 1;
  }
  return &l->names.symbols.data[name];
}

void resolve_define(Lower* l, uint32_t name, SymbolKind kind, uint32_t index) {
  Symbol* symbol = resolve_symbol(l, name);
  symbol->kind = (uint8_t)kind;
  symbol->index = index;
}

static uint32_t add_var(Lower* l, uint32_t name, Span span) {
  IrVar var = {.name = name, .kind = IR_VAR_UNKNOWN, .span = span};
  base_vec_push(l->arena, &l->m->vars, var);
  base_vec_push(l->scratch, &l->names.vars, (VarInfo){.first = span.begin});
  return l->m->vars.count - 1;
}

uint32_t resolve_var(Lower* l, uint32_t name, Span span) {
  Symbol* symbol = resolve_symbol(l, name);
  if (symbol->kind == SYM_NONE) {
    uint32_t var = add_var(l, name, span);
    resolve_define(l, name, SYM_VAR, var);
    return var;
  }
  VarInfo* info = &l->names.vars.data[symbol->index];
  if (span.begin < info->first) {
    info->first = span.begin;
    l->m->vars.data[symbol->index].span = span;
  }
  return symbol->index;
}

uint32_t resolve_new_var(Lower* l, uint32_t name, Span span) {
  uint32_t var = add_var(l, name, span);
  l->names.vars.data[var].flags = VAR_IN_EQUATION | VAR_STRONG;
  return var;
}

void resolve_note_derivative(Lower* l, uint32_t var, Span span) {
  if (l->names.vars.data[var].flags & VAR_STRONG) return;
  base_vec_push(l->scratch, &l->settings.derivatives, (NameUse){l->m->vars.data[var].name, span});
}

uint32_t resolve_hidden_var(Lower* l, uint32_t name, Span span) {
  uint32_t var = add_var(l, name, span);
  l->m->vars.data[var].hidden = true;
  l->m->vars.data[var].kind = IR_VAR_DISCRETE;
  l->names.vars.data[var].flags = VAR_HIDDEN;
  return var;
}

const char* resolve_kind_text(uint32_t kind) {
  switch ((SymbolKind)kind) {
  case SYM_PARAM: return "a constant";
  case SYM_MACRO: return "a macro";
  case SYM_DATA: return "a table";
  case SYM_VAR: return "a variable";
  case SYM_FUNCTION: return "a function";
  case SYM_BUILTIN: return "a built-in name";
  case SYM_NONE: break;
  }
  return "unknown";
}

Span resolve_symbol_span(const Lower* l, Symbol symbol) {
  switch ((SymbolKind)symbol.kind) {
  case SYM_PARAM: return l->names.constants.data[symbol.index].span;
  case SYM_MACRO: return l->names.macros.data[symbol.index].span;
  case SYM_DATA: return l->m->data.data[symbol.index].span;
  case SYM_VAR: return l->m->vars.data[symbol.index].span;
  case SYM_FUNCTION: return l->functions.user.data[symbol.index].span;
  case SYM_BUILTIN:
  case SYM_NONE: break;
  }
  return (Span){0, 0};
}
