// SPDX-License-Identifier: MIT
//
// Loops over a million instances, from a few dozen of them.
//
// The text is lowered for three small sizes of its largest loops, and the model for the size that
// was asked for follows from these (ir_extend). It does if the text treats instances alike: then
// the canonical models differ in counts and places alone, evenly from size to size. What makes
// instances differ in another way is a matter of syntax and is watched while the samples are
// lowered: an index may stand in names as i or i + 1, and in values, where it becomes a number
// beside the shape; never in a condition, in another index, in the definition of a constant. The
// constant that bounds the loops has its sampled size in bounds and indices, and its own value
// everywhere else. Anything else, and any message at all, leads back to lowering instance by
// instance.
#include "lisma/lower.h"

#include <math.h>

#define SAMPLE_FROM   2000u  // instances; fewer are lowered before one could look twice
#define SAMPLE_SIZE   48.0   // of the first sample
#define SAMPLE_MARGIN 32.0   // instances behind everything that stands at a fixed index
#define SAMPLE_MAX    2000.0
#define SAMPLE_CHECK  5.0   // the sample that is only compared is so much larger
#define TEXT_SHARE    4.0   // bytes of text per instance; more text is not worth reading four times
#define NUMBER_NEAR   16.0  // numbers so close to the size of a loop mean that size

void scale_fail(Lower* l) {
  if (!l->scale) return;
  l->scale->failed = true;
  l->walk.stopped = true;
}

void scale_note_index(Lower* l, const Binding* binding) {
  if (!l->scale || !binding->scaled) return;
  // what is decided or checked by its value would be for the values of the samples only
  bool plain = l->terms.scope.kind == SCOPE_EQUATION || l->terms.scope.kind == SCOPE_START ||
               l->terms.scope.kind == SCOPE_ACTION;
  if (!plain || l->scale->conditions) scale_fail(l);
}

/// Whether a number means the size of the loops.
static bool is_size(const Scale* scale, double number) {
  return scale->name.length == 0 && fabs(number - scale->size) <= NUMBER_NEAR;
}

void scale_note_number(Lower* l, double number) {
  if (l->scale && l->scale->placing && is_size(l->scale, number)) scale_fail(l);
}

void scale_note_declaration(Lower* l) {
  for (uint32_t i = l->names.binding_base; l->scale && i < l->names.bindings.count; i++) {
    if (l->names.bindings.data[i].scaled) scale_fail(l);
  }
}

/// Value of a name or number that counts.
static bool counting_value(Lower* l, const AstExpr* expr, double* value) {
  Scale* scale = l->scale;
  if (expr->kind == AST_NUMBER) {
    if (!is_size(scale, expr->as.number)) return false;
    if (expr->as.number != floor(expr->as.number)) return false;
    *value = scale->sample + (expr->as.number - scale->size);
    scale->offset = fmax(scale->offset, fabs(expr->as.number - scale->size));
    return true;
  }
  bool plain = expr->kind == AST_NAME && expr->order == 0 && ast_name_is_plain(&expr->as.name.name);
  if (!plain || lower_local(l, &expr->as.name.name)) return false;
  uint32_t name = resolve_plain(l, &expr->as.name.name);
  const Binding* binding = resolve_binding(l, name);
  if (binding) {
    *value = binding->value;
    return binding->scaled;
  }
  Symbol symbol = *resolve_symbol(l, name);
  bool size =
      symbol.kind == SYM_PARAM && scale->name.length && str_equal(lower_name(l, name), scale->name);
  if (!size) return false;
  l->m->params.data[symbol.index].structural = true;
  *value = scale->sample;
  return true;
}

bool scale_place(Lower* l, const AstExpr* expr, double* value) {
  const AstExpr* counting = expr;
  double offset = 0.0;
  if (expr->kind == AST_CHAIN && expr->as.chain.level == AST_LEVEL_ADD &&
      expr->as.chain.links.count == 2) {
    const AstLink* link = &expr->as.chain.links.data[1];
    counting = expr->as.chain.links.data[0].operand;
    if (link->operand->kind != AST_NUMBER || counting->kind != AST_NAME) return false;
    offset = link->op == AST_OP_SUB ? -link->operand->as.number : link->operand->as.number;
  }
  if (offset != floor(offset) || !counting_value(l, counting, value)) return false;
  *value += offset;
  l->scale->offset = fmax(l->scale->offset, fabs(offset));
  return true;
}

// ---------------------------------------------------------------------------------------------
// which loops

/// The constant of this name, if it is a plain number; NULL otherwise.
static const AstExpr* find_constant(const Lower* l, Str name) {
  for (uint32_t i = 0; i < l->ast->body.statements.count; i++) {
    const AstStatement* s = &l->ast->body.statements.data[i];
    if (s->kind != AST_CONST) continue;
    for (uint32_t d = 0; d < s->as.definitions.count; d++) {
      const AstDefinition* definition = &s->as.definitions.data[d];
      for (uint32_t n = 0; n < definition->names.count; n++) {
        const AstName* written = &definition->names.data[n];
        if (!ast_name_is_plain(written) || !str_equal(written->head, name)) continue;
        return definition->value->kind == AST_NUMBER ? definition->value : NULL;
      }
    }
  }
  return NULL;
}

static bool constant_value(const Lower* l, Str name, double* value) {
  for (uint32_t i = 0; i < l->options->override_count; i++) {
    if (!str_equal(l->options->overrides[i].name, name)) continue;
    *value = l->options->overrides[i].value;
    return true;
  }
  const AstExpr* constant = find_constant(l, name);
  if (constant) *value = constant->as.number;
  return constant != NULL;
}

/// The bound of a loop as something that can be scaled, if it is larger than what is known.
static void look_at_bound(const Lower* l, const AstExpr* bound, Scale* scale) {
  double value = 0.0;
  Str name = {NULL, 0};
  if (bound->kind == AST_CHAIN && bound->as.chain.level == AST_LEVEL_ADD) {
    bound = bound->as.chain.links.data[0].operand;
  }
  if (bound->kind == AST_NUMBER) {
    value = bound->as.number;
  } else if (bound->kind == AST_NAME && ast_name_is_plain(&bound->as.name.name)) {
    name = bound->as.name.name.head;
    if (!constant_value(l, name, &value)) return;
  }
  if (!(value > scale->size) || value != floor(value) || value > LOWER_INDEX_MAX) return;
  scale->size = value;
  scale->name = name;
}

/// The largest bound of the outermost loops.
static bool find_size(const Lower* l, Scale* scale) {
  for (uint32_t i = 0; i < l->ast->body.statements.count; i++) {
    const AstStatement* s = &l->ast->body.statements.data[i];
    if (s->kind == AST_DATA) return false;  // files are read once
    if (s->kind != AST_FOR) continue;
    for (uint32_t r = 0; r < s->as.loop.ranges.count; r++) {
      const AstRange* range = &s->as.loop.ranges.data[r];
      if (range->last) look_at_bound(l, range->last, scale);
    }
  }
  uint32_t least = l->options->sample_from ? l->options->sample_from : SAMPLE_FROM;
  bool worth = l->options->sample_from || l->source->text.length <= TEXT_SHARE * scale->size;
  return scale->size >= least && worth;
}

// ---------------------------------------------------------------------------------------------
// samples

/// Lower the model with loops up to `size` in memory that dies with the scratch arena; NULL when
/// that shows that instances are not alike.
static IrModel* lower_sample(const Lower* whole, Scale* scale, double size) {
  Arena* scratch = whole->scratch;
  IrModel* model = ARENA_NEW(scratch, IrModel);
  DiagList* diags = ARENA_NEW(scratch, DiagList);
  Lower* l = ARENA_NEW(scratch, Lower);
  ir_model_init(model, scratch, whole->source);
  diag_init(diags, scratch, whole->source);
  scale->sample = size;
  *l = (Lower){.m = model,
               .arena = scratch,
               .scratch = scratch,
               .source = whole->source,
               .options = whole->options,
               .names.units = whole->names.units,
               .diags = diags,
               .ast = whole->ast,
               .automata.main = IR_NONE,
               .scale = scale,
               .walk.max_instances = whole->walk.max_instances,
               .walk.max_leaves = whole->walk.max_leaves};
  Str why = {0};
  bool valid = lower_whole(l, &why);
  scale->instances = (double)l->walk.instances;
  bool fine = valid && !l->walk.stopped && !scale->failed && diags->items.count == 0;
  return fine ? model : NULL;
}

bool lower_by_samples(Lower* l) {
  Scale scale = {0};
  if (!find_size(l, &scale)) return false;
  // twice if need be: how large the samples have to be is known behind the first one
  double size = SAMPLE_SIZE;
  if (scale.size > l->walk.max_instances || scale.size < 4.0 * size) return false;
  if (!lower_sample(l, &scale, size)) return false;
  double least = scale.fixed + 4.0 * scale.offset + SAMPLE_MARGIN;
  if (size < least) size = least;
  if (size > SAMPLE_MAX || scale.size < 4.0 * size) return false;

  IrModel* samples[4];
  double instances[4];
  for (uint32_t i = 0; i < 4; i++) {
    samples[i] = lower_sample(l, &scale, i < 3 ? size + i : size + SAMPLE_CHECK);
    if (!samples[i]) return false;
    instances[i] = scale.instances;
  }
  // few combinations that grow may be many in the whole, whose equations would be merged then
  double few = ir_combinations(samples[0]);
  if (few <= IR_COMBINATIONS_FEW && ir_combinations(samples[1]) != few) return false;
  double more = scale.size - size;
  if (instances[0] + more * (instances[1] - instances[0]) > l->walk.max_instances) return false;
  double vars = samples[0]->vars.count;
  vars += more * ((double)samples[1]->vars.count - (double)samples[0]->vars.count);
  if (scale.size > LOWER_STRAY_VARS_MAX && vars <= LOWER_STRAY_VARS_MAX) return false;
  IrModel check;
  ir_model_init(&check, l->scratch, l->source);
  uint32_t leaves_max = l->walk.max_leaves;
  if (!ir_extend(&check, samples, (uint32_t)SAMPLE_CHECK, leaves_max, l->scratch)) return false;
  if (!ir_model_equal(&check, samples[3], l->scratch)) return false;
  if (ir_extend(l->m, samples, (uint32_t)more, leaves_max, l->scratch)) return true;
  ir_model_init(l->m, l->arena, l->source);
  return false;
}
