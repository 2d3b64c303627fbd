// SPDX-License-Identifier: MIT
//
// A model of any size from three small ones.
//
// A front end that meets a loop over a million cells compiles the same text for some dozens of
// cells, three times, each time with one cell more. In all lists of the canonical model the
// differences are the same from cell to cell and from size to size (extend_run.c), and from these
// the model of a million cells is written down. The front end answers for it that the text treats
// all instances alike; what depends on the names and numbers around a loop is checked here.
#include "ir/extend.h"

static bool pools_equal(const IrPool* a, const IrPool* b) {
  if (a->nodes.count != b->nodes.count) return false;
  for (uint32_t i = 1; i < a->nodes.count; i++) {
    const IrNode* x = &a->nodes.data[i];
    const IrNode* y = &b->nodes.data[i];
    bool same = x->op == y->op && x->arg[0] == y->arg[0] && x->arg[1] == y->arg[1] &&
                x->arg[2] == y->arg[2] && ir_double_bits(x->value) == ir_double_bits(y->value);
    if (!same) return false;
  }
  return true;
}

static bool texts_equal(Str a, Str b) {
  return (a.data == NULL) == (b.data == NULL) && str_equal(a, b);
}

static bool experiments_equal(const IrExperiment* a, const IrExperiment* b) {
  const double x[] = {a->start, a->end,  a->every, a->step,     a->h0,   a->hmin,
                      a->hmax,  a->rtol, a->atol,  a->eventeps, a->gamma};
  const double y[] = {b->start, b->end,  b->every, b->step,     b->h0,   b->hmin,
                      b->hmax,  b->rtol, b->atol,  b->eventeps, b->gamma};
  for (uint32_t i = 0; i < SLT_COUNT(x); i++) {
    if (ir_double_bits(x[i]) != ir_double_bits(y[i])) return false;
  }
  if (!texts_equal(a->method, b->method) || !texts_equal(a->detection, b->detection)) return false;
  if (a->out.count != b->out.count) return false;
  for (uint32_t i = 0; i < a->out.count; i++) {
    if (!texts_equal(a->out.data[i], b->out.data[i])) return false;
  }
  if (a->plot.count != b->plot.count) return false;
  for (uint32_t i = 0; i < a->plot.count; i++) {
    if (!str_equal(a->plot.data[i].name, b->plot.data[i].name)) return false;
    if (!str_equal(a->plot.data[i].text, b->plot.data[i].text)) return false;
  }
  return true;
}

/// Everything beside the lists.
static bool frames_equal(const IrModel* a, const IrModel* b) {
  return pools_equal(&a->pool, &b->pool) && experiments_equal(&a->experiment, &b->experiment) &&
         a->energy.shape.index == b->energy.shape.index &&
         a->energy.leaf_count == b->energy.leaf_count &&
         a->energy_span.begin == b->energy_span.begin && a->energy_span.end == b->energy_span.end;
}

static bool tables_equal(const ExtendTable* a, const ExtendTable* b) {
  if (a->count != b->count) return false;
  size_t words = (size_t)a->count * a->width;
  return words == 0 || memcmp(a->words, b->words, words * sizeof *a->words) == 0;
}

bool ir_model_equal(const IrModel* a, const IrModel* b, Arena* scratch) {
  ExtendTexts texts;
  ExtendTable of_a[EXTEND_TABLES];
  ExtendTable of_b[EXTEND_TABLES];
  extend_texts_init(&texts, scratch);
  extend_read(&texts, a, of_a);
  extend_read(&texts, b, of_b);
  for (uint32_t t = 0; t < EXTEND_TABLES; t++) {
    if (!tables_equal(&of_a[t], &of_b[t])) return false;
  }
  if (a->numbers.count != b->numbers.count || a->data.count || b->data.count) return false;
  for (uint32_t i = 0; i < a->numbers.count; i++) {
    if (ir_double_bits(a->numbers.data[i]) != ir_double_bits(b->numbers.data[i])) return false;
  }
  return frames_equal(a, b) && a->energy.leaf_begin == b->energy.leaf_begin;
}

// ---------------------------------------------------------------------------------------------

static void copy_pool(IrPool* to, const IrPool* from, Arena* arena) {
  to->nodes.count = 0;
  to->hashes.count = 0;
  base_vec_reserve(arena, &to->nodes, from->nodes.count);
  base_vec_reserve(arena, &to->hashes, from->hashes.count);
  memcpy(to->nodes.data, from->nodes.data, from->nodes.count * sizeof *from->nodes.data);
  memcpy(to->hashes.data, from->hashes.data, from->hashes.count * sizeof *from->hashes.data);
  to->nodes.count = from->nodes.count;
  to->hashes.count = from->hashes.count;
  to->slot_count = from->slot_count;
  to->slots = ARENA_ARRAY(arena, uint32_t, from->slot_count);
  memcpy(to->slots, from->slots, from->slot_count * sizeof *from->slots);
}

static void copy_frame(IrModel* to, const IrModel* from) {
  copy_pool(&to->pool, &from->pool, to->arena);
  IrExperiment experiment = from->experiment;
  experiment.method = str_copy(to->arena, from->experiment.method);
  experiment.detection = str_copy(to->arena, from->experiment.detection);
  if (!from->experiment.method.data) experiment.method.data = NULL;
  if (!from->experiment.detection.data) experiment.detection.data = NULL;
  memset(&experiment.out, 0, sizeof experiment.out);
  for (uint32_t i = 0; i < from->experiment.out.count; i++) {
    base_vec_push(to->arena, &experiment.out, str_copy(to->arena, from->experiment.out.data[i]));
  }
  memset(&experiment.plot, 0, sizeof experiment.plot);
  for (uint32_t i = 0; i < from->experiment.plot.count; i++) {
    const IrMeasure* setting = &from->experiment.plot.data[i];
    IrMeasure copy = {str_copy(to->arena, setting->name), str_copy(to->arena, setting->text)};
    base_vec_push(to->arena, &experiment.plot, copy);
  }
  to->experiment = experiment;
  for (uint32_t i = 0; i < from->ports.count; i++) {
    IrPortQuantity port = from->ports.data[i];
    Str* texts[] = {&port.port, &port.name, &port.variable, &port.given};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      *texts[k] = str_copy(to->arena, *texts[k]);
    base_vec_push(to->arena, &to->ports, port);
  }
  to->energy = from->energy;
  to->energy_span = from->energy_span;
}

/// The samples with the slopes of all their lists.
typedef struct Extension {
  ExtendTexts texts;
  ExtendTable tables[EXTEND_SAMPLES][EXTEND_TABLES];
  ExtendRuns runs[EXTEND_TABLES];
  uint32_t energy_slope;
} Extension;

static bool find_slopes(Extension* e, IrModel* const* samples, uint32_t more, Arena* scratch) {
  extend_texts_init(&e->texts, scratch);
  for (uint32_t s = 0; s < EXTEND_SAMPLES; s++) {
    if (samples[s]->data.count || !frames_equal(samples[0], samples[s])) return false;
    extend_read(&e->texts, samples[s], e->tables[s]);
  }
  for (uint32_t t = 0; t < EXTEND_TABLES; t++) {
    ExtendTable tables[EXTEND_SAMPLES];
    ExtendRuns runs[EXTEND_SAMPLES];
    for (uint32_t s = 0; s < EXTEND_SAMPLES; s++) {
      tables[s] = e->tables[s][t];
    }
    if (!extend_join_runs(scratch, tables, runs)) return false;
    e->runs[t] = runs[0];
  }
  e->energy_slope = samples[1]->energy.leaf_begin - samples[0]->energy.leaf_begin;
  return samples[2]->energy.leaf_begin - samples[1]->energy.leaf_begin == e->energy_slope &&
         extend_numbers_keep_order(scratch, samples[0], &e->runs[EXTEND_leaves], more) &&
         extend_names_keep_apart(samples[0], &e->runs[EXTEND_names]);
}

bool ir_extend(IrModel* model, IrModel* const* samples, uint32_t more, uint32_t leaves_max,
               Arena* scratch) {
  Extension* e = ARENA_NEW(scratch, Extension);
  if (!find_slopes(e, samples, more, scratch)) return false;
  for (uint32_t t = 0; t < EXTEND_TABLES; t++) {
    if (!extend_apply_slopes(&e->runs[t], &e->tables[0][t], more)) return false;
  }
  if (extend_rows(&e->runs[EXTEND_leaves]) > leaves_max) return false;
  if (!extend_write_leaves(&e->texts, model, &e->runs[EXTEND_leaves])) return false;
  copy_frame(model, samples[0]);
  model->energy.leaf_begin += e->energy_slope * more;
  static const bool is_packed[EXTEND_TABLES] = {
#define X(list, type, reader) [EXTEND_##list] = true,
      IR_PACKED_LISTS(X)
#undef X
  };
  for (uint32_t t = 0; t < EXTEND_leaves; t++) {
    if (!is_packed[t]) extend_write_list(&e->texts, model, t, &e->runs[t]);
  }
  extend_pack(&e->texts, model, e->runs);
  extend_write_names(&e->texts, model, &e->runs[EXTEND_names]);
  return true;
}
