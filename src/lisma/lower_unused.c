// SPDX-License-Identifier: MIT
//
// Mistakes in what a model declares and does not use: functions that nothing calls, parts that
// nothing is made of.
#include "lisma/expand.h"
#include "lisma/lower.h"
#include "lisma/units.h"

// ---------------------------------------------------------------------------------------------
// functions

static bool is_local_of(const AstFunction* f, Str name) {
  for (uint32_t i = 0; i < f->parameters.count; i++) {
    if (str_equal(f->parameters.data[i].head, name)) return true;
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    if (str_equal(f->locals.data[i].names.data[0].head, name)) return true;
  }
  return false;
}

static void check_function(Lower* l, uint32_t index);

static void check_name(Lower* l, const AstFunction* f, const AstExpr* e) {
  const AstName* written = &e->as.name.name;
  // what the names of a part are is known from its instances
  if (f->of_part || !ast_name_is_plain(written) || written->member) return;
  if (is_local_of(f, written->head)) return;
  uint32_t name = names_intern(&l->m->names, written->head);
  Symbol symbol = *resolve_symbol(l, name);
  bool known = symbol.kind != SYM_NONE || symbol.is_variable || symbol.is_index;
  if (!known) resolve_unknown(l, name, e->span, false);
}

static void check_called(Lower* l, const AstExpr* call) {
  const AstName* callee = call->as.call.callee;
  if (lower_find_function(l, callee)) return;
  uint32_t index = lower_find_user_function(l, callee);
  if (index == IR_NONE) {
    lower_check_callee(l, call);
    return;
  }
  const UserFunction* f = &l->functions.user.data[index];
  if (f->check == CHECK_BUSY) {
    lower_report_recursion(l, f, call);
  }
  check_function(l, index);
}

/// Names and functions that are not there; what arguments are is known from calls only.
static void check_expr(Lower* l, const AstFunction* f, const AstExpr* e) {
  if (e->kind == AST_REDUCTION || l->walk.stopped) return;  // it has names of its own
  if (e->kind == AST_NAME) check_name(l, f, e);
  if (e->kind == AST_CALL) check_called(l, e);
  const AstExpr* child = NULL;
  for (uint32_t i = 0; (child = ast_child(e, i)); i++) {
    if (!ast_is_choice(e, i)) check_expr(l, f, child);
  }
}

static void check_function(Lower* l, uint32_t index) {
  UserFunction* f = &l->functions.user.data[index];
  if (f->check != CHECK_NEW || f->prelude) return;
  if (l->functions.depth == FUNCTION_DEPTH_MAX) return;
  l->functions.depth++;
  f->check = CHECK_BUSY;
  const AstFunction* ast = f->ast;
  for (uint32_t i = 0; i < ast->locals.count; i++) {
    check_expr(l, ast, ast->locals.data[i].value);
  }
  check_expr(l, ast, ast->result);
  l->functions.user.data[index].check = CHECK_DONE;
  l->functions.depth--;
}

void lower_check_functions(Lower* l) {
  for (uint32_t i = 0; i < l->functions.user.count; i++) {
    check_function(l, i);
  }
}

// ---------------------------------------------------------------------------------------------
// parts

/// The model with nothing in it but the parts to be tried, and what parts can see of a model.
static AstModel* trial_of(const Lower* l, const AstModel* written) {
  Arena* scratch = l->scratch;
  BASE_VEC(AstStatement) kept = {0};
  for (uint32_t i = 0; i < written->body.statements.count; i++) {
    const AstStatement* s = &written->body.statements.data[i];
    bool seen = s->kind == AST_PART || s->kind == AST_CONST || s->kind == AST_MACRO ||
                s->kind == AST_DATA || s->kind == AST_FUNCTION;
    if (seen) base_vec_push(scratch, &kept, *s);
  }
  AstStatement tried = {.kind = AST_INSTANCE, .as.instances = l->ast->unused};
  base_vec_push(scratch, &kept, tried);
  AstModel* trial = ARENA_NEW(scratch, AstModel);
  *trial = *written;
  trial->body.statements.data = kept.data;
  trial->body.statements.count = kept.count;
  return trial;
}

/// Whether a place lies in a part that is tried.
static bool is_tried(const Lower* l, const AstModel* written, Span span) {
  for (uint32_t i = 0; i < written->body.statements.count; i++) {
    const AstStatement* s = &written->body.statements.data[i];
    if (s->kind != AST_PART || span.begin < s->span.begin || span.end > s->span.end) continue;
    for (uint32_t k = 0; k < l->ast->unused.count; k++) {
      if (str_equal(l->ast->unused.data[k].type.head, s->as.part->name.head)) return true;
    }
  }
  return false;
}

/// Take over the errors in these parts, each once. What else there is to say, models with such
/// parts are told.
static void keep_errors(Lower* l, const AstModel* written, const DiagList* found) {
  Map kept = {.arena = l->scratch};
  for (uint32_t i = 0; i < found->items.count; i++) {
    const Diag* diag = &found->items.data[i];
    uint64_t place = (uint64_t)diag->span.begin << 32 | diag->span.end;
    if (diag_code_severity(diag->code) != SLT_ERROR) continue;
    if (!is_tried(l, written, diag->span) || map_get(&kept, (uint64_t)diag->code, place)) continue;
    map_set(&kept, (uint64_t)diag->code, place, 1);
    diag_copy(l->diags, diag);
  }
}

void lower_check_unused_parts(Lower* l, const AstModel* written) {
  if (l->ast->unused.count == 0) return;
  Arena* scratch = l->scratch;
  IrModel* model = ARENA_NEW(scratch, IrModel);
  DiagList* diags = ARENA_NEW(scratch, DiagList);
  Lower* trial = ARENA_NEW(scratch, Lower);
  ir_model_init(model, scratch, l->source);
  diag_init(diags, scratch, l->source);
  *trial = (Lower){.m = model,
                   .arena = scratch,
                   .scratch = scratch,
                   .source = l->source,
                   .options = l->options,
                   .names.open = true,
                   .diags = diags,
                   .automata.main = IR_NONE,
                   .walk.max_instances = l->walk.max_instances,
                   .walk.max_leaves = l->walk.max_leaves};
  trial->ast = lisma_expand(scratch, trial_of(l, written), diags);
  Str why = {0};
  if (diags->error_count == 0) trial->names.units = lisma_check_units(scratch, trial->ast, diags);
  if (diags->error_count == 0 && !lower_by_samples(trial)) lower_whole(trial, &why);
  keep_errors(l, written, diags);
}
