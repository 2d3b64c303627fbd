// SPDX-License-Identifier: MIT
//
// Variables, parameters, initial values, tables and the other parts of a model that have a value.
#include "model/build_internal.h"

// ---------------------------------------------------------------------------------------------
// order of evaluation

/// Who reads whom: item i reads reads[begin[i]] .. reads[begin[i + 1] - 1].
typedef struct Reads {
  uint32_t count;
  uint32_t* begin;
  uint32_t* reads;
} Reads;

typedef struct Ordering {
  uint32_t* order;  // every item after those it reads
  uint32_t done;
  uint32_t* path;  // items being looked at
  uint32_t depth;
  uint32_t* next;  // per item: next of its reads to look at
  uint8_t* seen;   // 0 not yet, 1 on the path, 2 done
} Ordering;

/// Depth first without recursion. On a circle returns false, and the end of the path, from where
/// `circle` tells, is the circle.
static bool order_from(const Reads* reads, Ordering* o, uint32_t root, uint32_t* circle) {
  if (o->seen[root]) return true;
  o->depth = 0;
  o->path[o->depth++] = root;
  o->seen[root] = 1;
  while (o->depth) {
    uint32_t item = o->path[o->depth - 1];
    if (o->next[item] == reads->begin[item + 1]) {
      o->seen[item] = 2;
      o->order[o->done++] = item;
      o->depth--;
      continue;
    }
    uint32_t read = reads->reads[o->next[item]++];
    if (o->seen[read] == 2) continue;
    if (o->seen[read] == 1) {
      for (*circle = 0; o->path[*circle] != read;) {
        (*circle)++;
      }
      return false;
    }
    o->seen[read] = 1;
    o->path[o->depth++] = read;
  }
  return true;
}

static Ordering ordering_begin(Arena* scratch, const Reads* reads) {
  Ordering o = {.order = ARENA_ARRAY(scratch, uint32_t, reads->count),
                .path = ARENA_ARRAY(scratch, uint32_t, reads->count),
                .next = ARENA_ARRAY(scratch, uint32_t, reads->count),
                .seen = ARENA_ARRAY(scratch, uint8_t, reads->count)};
  for (uint32_t i = 0; i < reads->count; i++) {
    o.next[i] = reads->begin[i];
  }
  return o;
}

/// Names the items of a circle for the message about it.
typedef void DescribeFn(const ModelBuild* build, uint32_t item, TextBuffer* out, Span* span);

static void report_circle(ModelBuild* build, const Ordering* o, uint32_t circle, const char* what,
                          DescribeFn* describe) {
  TextBuffer names = {.arena = &build->scratch};
  Span first = {0, 0};
  for (uint32_t i = circle; i < o->depth; i++) {
    Span span = {0, 0};
    if (i > circle) text_append_c(&names, i + 1 == o->depth ? " and " : ", ");
    describe(build, o->path[i], &names, &span);
    if (i == circle) first = span;
  }
  DiagList list;
  diag_init(&list, &build->arena, build->ir->source);
  Str text = text_str(&names);
  bool alone = o->depth == circle + 1;
  Diag* diag =
      diag_add(&list, DIAG_E0650, first, "%s%s of %.*s %s", what, alone ? "" : "s", STR_ARGS(text),
               alone ? "depends on itself" : "depend on each other in a circle");
  for (uint32_t i = circle; i < o->depth; i++) {
    TextBuffer name = {.arena = &build->scratch};
    Span span = {0, 0};
    describe(build, o->path[i], &name, &span);
    text = text_str(&name);
    diag_note(&list, diag, span, "%s of %.*s", what, STR_ARGS(text));
  }
  if (!build->failure) build->failure = diag;
}

static const uint32_t* order_all(ModelBuild* build, const Reads* reads, const char* what,
                                 DescribeFn* describe) {
  Ordering o = ordering_begin(&build->scratch, reads);
  for (uint32_t i = 0; i < reads->count; i++) {
    uint32_t circle = 0;
    if (order_from(reads, &o, i, &circle)) continue;
    // the model cannot run; any order will do for the rest of its tables
    report_circle(build, &o, circle, what, describe);
    for (uint32_t k = 0; k < reads->count; k++) {
      o.order[k] = k;
    }
    break;
  }
  return o.order;
}

// ---------------------------------------------------------------------------------------------
// parameters and initial values

static Reads reads_begin(ModelBuild* build, uint32_t count, uint64_t room) {
  if (room > UINT32_MAX) longjmp(*build->scratch.on_oom, 1);
  return (Reads){.count = count,
                 .begin = ARENA_ARRAY(&build->scratch, uint32_t, (size_t)count + 1),
                 .reads = ARENA_ARRAY(&build->scratch, uint32_t, (size_t)room)};
}

static void describe_param(const ModelBuild* build, uint32_t item, TextBuffer* out, Span* span) {
  const IrParam* param = &build->ir->params.data[item];
  text_append(out, names_get(&build->ir->names, param->name));
  *span = param->span;
}

static const uint32_t* order_params(ModelBuild* build) {
  const IrModel* ir = build->ir;
  uint64_t room = 0;
  for (uint32_t i = 0; i < ir->params.count; i++) {
    room += ir->params.data[i].value.leaf_count;
  }
  Reads reads = reads_begin(build, ir->params.count, room);
  uint32_t at = 0;
  for (uint32_t i = 0; i < ir->params.count; i++) {
    SymTerm term = sym_term(&build->sym, ir->params.data[i].value);
    for (uint32_t k = 0; k < term.count; k++) {
      if (term.row[k].kind == IR_LEAF_PARAM) reads.reads[at++] = term.row[k].id;
    }
    reads.begin[i + 1] = at;
  }
  return order_all(build, &reads, "the value", describe_param);
}

/// Parameters that a term reads.
static void mark_reads(const ModelBuild* build, IrTerm value, bool* reads) {
  if (!ir_term_present(value)) return;
  SymTerm term = sym_term(&build->sym, value);
  for (uint32_t k = 0; k < term.count; k++) {
    if (term.row[k].kind == IR_LEAF_PARAM) reads[term.row[k].id] = true;
  }
}

/// What is read when a run begins, and never again: times at which something is due.
static void mark_due(const ModelBuild* build, bool* due) {
  const IrModel* ir = build->ir;
  for (uint32_t i = 0; i < ir->schedules.count; i++) {
    mark_reads(build, ir->schedules.data[i].start, due);
    mark_reads(build, ir->schedules.data[i].period, due);
  }
  for (uint32_t i = 0; i < ir->data.count; i++)
    mark_reads(build, ir->data.data[i].delay, due);
}

/// What is read while a run goes on.
static void mark_acting(const ModelBuild* build, bool* acts) {
  const IrModel* ir = build->ir;
  for (uint32_t i = 0; i < ir->equations.count; i++)
    mark_reads(build, ir_equation(ir, i).term, acts);
  for (uint32_t i = 0; i < ir->atoms.count; i++) {
    IrAtom atom = ir_atom(ir, i);
    mark_reads(build, atom.g, acts);
    mark_reads(build, atom.eps, acts);
    mark_reads(build, atom.gamma, acts);
  }
  for (uint32_t i = 0; i < ir->automata.count; i++)
    mark_reads(build, ir_automaton(ir, i).condition, acts);
  for (uint32_t i = 0; i < ir->states.count; i++)
    mark_reads(build, ir_state(ir, i).invariant, acts);
  for (uint32_t i = 0; i < ir->transitions.count; i++)
    mark_reads(build, ir_transition(ir, i).guard, acts);
  for (uint32_t i = 0; i < ir->actions.count; i++)
    mark_reads(build, ir_action(ir, i).value, acts);
  for (uint32_t i = 0; i < ir->data.count; i++)
    mark_reads(build, ir->data.data[i].before, acts);
  for (uint32_t i = 0; i < ir->macros.count; i++)
    mark_reads(build, ir->macros.data[i].value, acts);
  mark_reads(build, ir->energy, acts);
}

/// Whether the value of a parameter follows from others that can be set.
static bool follows_others(const ModelBuild* build, const IrParam* param) {
  SymTerm term = sym_term(&build->sym, param->value);
  for (uint32_t k = 0; k < term.count; k++) {
    if (term.row[k].kind != IR_LEAF_PARAM) continue;
    const IrParam* read = &build->ir->params.data[term.row[k].id];
    if (!read->structural) return true;
  }
  return false;
}

/// Which parameters a run reads again after its start. Those before others in `order` may be read
/// by them.
static void find_acting(ModelBuild* build, const uint32_t* order, ModelParam* params) {
  const IrModel* ir = build->ir;
  bool* acts = ARENA_ARRAY(&build->scratch, bool, ir->params.count);
  bool* due = ARENA_ARRAY(&build->scratch, bool, ir->params.count);
  mark_acting(build, acts);
  mark_due(build, due);
  for (uint32_t i = ir->params.count; i-- > 0;) {
    uint32_t p = order[i];
    if (acts[p]) mark_reads(build, ir->params.data[p].value, acts);
    if (due[p]) mark_reads(build, ir->params.data[p].value, due);
    params[i].acts = acts[p];
    params[i].due = due[p];
  }
}

static void build_params(ModelBuild* build) {
  const IrModel* ir = build->ir;
  const uint32_t* order = order_params(build);
  ModelParam* params = ARENA_ARRAY(&build->arena, ModelParam, ir->params.count);
  for (uint32_t i = 0; i < ir->params.count; i++) {
    const IrParam* param = &ir->params.data[order[i]];
    params[i] = (ModelParam){.name = names_get(&ir->names, param->name),
                             .unit = names_get(&ir->names, param->unit),
                             .env = build->layout.param_begin + order[i],
                             .value = build_term(build, param->value),
                             .structural = param->structural,
                             .hidden = param->hidden,
                             .unbounded = param->unbounded,
                             .follows = follows_others(build, param),
                             .appearance = param->appearance,
                             .span = param->span};
  }
  find_acting(build, order, params);
  build->model.params = params;
  build->model.param_count = ir->params.count;
}

static void describe_start(const ModelBuild* build, uint32_t item, TextBuffer* out, Span* span) {
  const IrStart* start = (IrStart[]){ir_start(build->ir, item)};
  sym_unknown_text(out, build->ir, start->var, start->order);
  *span = start->span;
}

/// The initial value of a variable's derivative, IR_NONE when it has none.
static uint32_t find_start(const IrModel* ir, IrLeaf leaf) {
  const IrVar* var = (IrVar[]){ir_var(ir, leaf.id)};
  for (uint32_t i = 0; i < var->start_count; i++) {
    if (ir_start(ir, var->start_begin + i).order == leaf.order) return var->start_begin + i;
  }
  return IR_NONE;
}

static const uint32_t* order_starts(ModelBuild* build) {
  const IrModel* ir = build->ir;
  uint64_t room = 0;
  for (uint32_t i = 0; i < ir->starts.count; i++) {
    room += ir_start(ir, i).value.leaf_count;
  }
  Reads reads = reads_begin(build, ir->starts.count, room);
  uint32_t at = 0;
  for (uint32_t i = 0; i < ir->starts.count; i++) {
    SymTerm term = sym_term(&build->sym, ir_start(ir, i).value);
    for (uint32_t k = 0; k < term.count; k++) {
      if (term.row[k].kind != IR_LEAF_VAR) continue;
      uint32_t start = find_start(ir, term.row[k]);
      if (start != IR_NONE) reads.reads[at++] = start;
    }
    reads.begin[i + 1] = at;
  }
  return order_all(build, &reads, "the initial value", describe_start);
}

static bool reads_variable(const IrModel* ir, IrTerm term) {
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    if (ir_leaf(ir, term, k).kind == IR_LEAF_VAR) return true;
  }
  return false;
}

static void build_starts(ModelBuild* build) {
  const IrModel* ir = build->ir;
  const uint32_t* order = order_starts(build);
  ModelStart* starts = ARENA_ARRAY(&build->arena, ModelStart, ir->starts.count);
  for (uint32_t i = 0; i < ir->starts.count; i++) {
    const IrStart* start = (IrStart[]){ir_start(ir, order[i])};
    starts[i] = (ModelStart){.var = start->var,
                             .order = start->order,
                             .reads = reads_variable(ir, start->value),
                             .fixed = start->kind == IR_START_FIXED,
                             .value = build_term(build, start->value),
                             .span = start->span};
  }
  build->model.starts = starts;
  build->model.start_count = ir->starts.count;
}

// ---------------------------------------------------------------------------------------------
// variables and the rest

/// Visible variables by first appearance: a bottom-up merge sort, stable.
static void sort_by_appearance(ModelBuild* build, uint32_t* columns, uint32_t count) {
  uint32_t* appearance = ARENA_ARRAY(&build->scratch, uint32_t, build->ir->vars.count);
  bool sorted = true;
  for (uint32_t i = 0; i < count; i++) {
    appearance[columns[i]] = build->model.vars[columns[i]].appearance;
    sorted = sorted && (i == 0 || appearance[columns[i - 1]] <= appearance[columns[i]]);
  }
  if (sorted) return;
  uint32_t* from = columns;
  uint32_t* to = ARENA_ARRAY(&build->scratch, uint32_t, count);
  for (uint32_t width = 1; width < count; width *= 2) {
    for (uint32_t begin = 0; begin < count; begin += 2 * width) {
      uint32_t middle = count - begin < width ? count : begin + width;
      uint32_t end = count - middle < width ? count : middle + width;
      uint32_t left = begin;
      uint32_t right = middle;
      for (uint32_t at = begin; at < end; at++) {
        bool take_left =
            right >= end || (left < middle && appearance[from[left]] <= appearance[from[right]]);
        to[at] = take_left ? from[left++] : from[right++];
      }
    }
    uint32_t* swap = from;
    from = to;
    to = swap;
  }
  for (uint32_t i = 0; i < count && from != columns; i++) {
    columns[i] = from[i];
  }
}

static void build_columns(ModelBuild* build) {
  const IrModel* ir = build->ir;
  uint32_t* columns = ARENA_ARRAY(&build->arena, uint32_t, ir->vars.count);
  uint32_t count = 0;
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    if (!build->model.vars[v].hidden) columns[count++] = v;
  }
  sort_by_appearance(build, columns, count);
  build->model.columns = columns;
  build->model.column_count = count;
}

static void build_vars(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelVar* vars = ARENA_ARRAY(&build->arena, ModelVar, ir->vars.count);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    const IrVar* var = (IrVar[]){ir_var(ir, v)};
    bool discrete = var->kind == IR_VAR_DISCRETE;
    vars[v] = (ModelVar){.name = names_get(&ir->names, var->name),
                         .unit = names_get(&ir->names, var->unit),
                         .kind = discrete ? MODEL_VAR_DISCRETE : MODEL_VAR_UNKNOWN,
                         .max_order = build->layout.var_order[v],
                         .slots = build->layout.var_slots[v],
                         .hidden = var->hidden,
                         .memory = var->memory,
                         .delay = var->delay,
                         .yields = var->yields,
                         .inactive_zero = var->inactive_zero,
                         .unbounded = var->unbounded && var->kind == IR_VAR_DISCRETE,
                         .nominal = var->nominal > 0.0 ? var->nominal : 1.0,
                         .sized = var->nominal > 0.0,
                         .env = build->layout.var_env[v],
                         .appearance = var->appearance,
                         .span = var->span};
  }
  build_families(build, vars);
  build->model.vars = vars;
  build->model.var_count = ir->vars.count;
  uint32_t named = ir->vars.count ? 1 : 0;
  while (named < ir->vars.count &&
         str_compare_natural(vars[named - 1].name, vars[named].name) < 0) {
    named++;
  }
  build->model.named_count = named;
}

static void build_tables(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelTable* tables = ARENA_ARRAY(&build->arena, ModelTable, ir->data.count);
  for (uint32_t i = 0; i < ir->data.count; i++) {
    const IrData* data = &ir->data.data[i];
    double* slope = NULL;
    if (data->interpolation == IR_CUBIC && !data->history) {
      slope = ARENA_ARRAY(&build->arena, double, data->count);
      model_table_slopes(data->x, data->y, data->count, slope);
    }
    tables[i] = (ModelTable){.x = data->x, .y = data->y, .slope = slope, .count = data->count};
  }
  build->model.tables = tables;
  build->model.table_count = ir->data.count;
}

static void build_foreigns(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelForeignBlock* blocks = ARENA_ARRAY(&build->arena, ModelForeignBlock, ir->data.count);
  build->model.foreigns = blocks;
  for (uint32_t i = 0; i < ir->data.count; i++) {
    const IrData* data = &ir->data.data[i];
    if (!data->foreign) continue;
    blocks[build->model.foreign_count++] =
        (ModelForeignBlock){.table = i,
                            .name = names_get(&ir->names, data->name),
                            .file = names_get(&ir->names, data->foreign),
                            .span = data->span};
  }
}

static void build_delays(ModelBuild* build) {
  const IrModel* ir = build->ir;
  uint32_t count = 0;
  for (uint32_t i = 0; i < ir->data.count; i++) {
    count += ir->data.data[i].history;
  }
  ModelDelay* delays = ARENA_ARRAY(&build->arena, ModelDelay, count);
  build->model.delays = delays;
  for (uint32_t i = 0; i < ir->data.count; i++) {
    const IrData* data = &ir->data.data[i];
    if (!data->history) continue;
    ModelTerm* before = NULL;
    if (ir_term_present(data->before)) {
      before = ARENA_NEW(&build->arena, ModelTerm);
      *before = build_term(build, data->before);
    }
    delays[build->model.delay_count++] =
        (ModelDelay){.table = i,
                     .var = data->var,
                     .lag = data->lag == IR_NONE ? MODEL_NONE : data->lag,
                     .time = build_term(build, data->delay),
                     .before = before,
                     .linear = data->interpolation == IR_LINEAR,
                     .text = names_get(&ir->names, data->name),
                     .span = data->span};
  }
}

static void build_macros(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelMacro* macros = ARENA_ARRAY(&build->arena, ModelMacro, ir->macros.count);
  for (uint32_t i = 0; i < ir->macros.count; i++) {
    const IrMacro* macro = &ir->macros.data[i];
    macros[i] = (ModelMacro){.name = names_get(&ir->names, macro->name),
                             .unit = names_get(&ir->names, macro->unit),
                             .value = build_term(build, macro->value),
                             .span = macro->span};
  }
  build->model.macros = macros;
  build->model.macro_count = ir->macros.count;
}

static void build_ports(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelPortQuantity* ports = ARENA_ARRAY(&build->arena, ModelPortQuantity, ir->ports.count);
  for (uint32_t i = 0; i < ir->ports.count; i++) {
    const IrPortQuantity* port = &ir->ports.data[i];
    ports[i] = (ModelPortQuantity){.port = str_copy(&build->arena, port->port),
                                   .name = str_copy(&build->arena, port->name),
                                   .variable = str_copy(&build->arena, port->variable),
                                   .given = str_copy(&build->arena, port->given),
                                   .through = port->through};
  }
  build->model.ports = ports;
  build->model.port_count = ir->ports.count;
}

static const ModelMeasure* copy_measures(ModelBuild* build, const IrMeasure* from, uint32_t count) {
  ModelMeasure* measures = ARENA_ARRAY(&build->arena, ModelMeasure, count);
  for (uint32_t i = 0; i < count; i++) {
    measures[i] = (ModelMeasure){.name = str_copy(&build->arena, from[i].name),
                                 .text = str_copy(&build->arena, from[i].text)};
  }
  return measures;
}

static const ModelFigure* copy_figures(ModelBuild* build, const IrExperiment* e) {
  ModelFigure* figures = ARENA_ARRAY(&build->arena, ModelFigure, e->drawing.count);
  for (uint32_t i = 0; i < e->drawing.count; i++) {
    const IrFigure* shape = &e->drawing.data[i];
    const char** numbers = ARENA_ARRAY(&build->arena, const char*, shape->numbers.count);
    for (uint32_t k = 0; k < shape->numbers.count; k++)
      numbers[k] = str_copy(&build->arena, shape->numbers.data[k]).data;
    figures[i] = (ModelFigure){.kind = str_copy(&build->arena, shape->kind),
                               .text = str_copy(&build->arena, shape->text),
                               .colour = str_copy(&build->arena, shape->colour),
                               .numbers = numbers,
                               .number_count = shape->numbers.count};
  }
  return figures;
}

static const ModelControl* copy_controls(ModelBuild* build, const IrExperiment* e) {
  ModelControl* controls = ARENA_ARRAY(&build->arena, ModelControl, e->controls.count);
  for (uint32_t i = 0; i < e->controls.count; i++) {
    const IrControl* control = &e->controls.data[i];
    double* values = ARENA_ARRAY(&build->arena, double, control->values.count);
    for (uint32_t k = 0; k < control->values.count; k++)
      values[k] = control->values.data[k];
    controls[i] = (ModelControl){.name = str_copy(&build->arena, control->name),
                                 .low = control->low,
                                 .high = control->high,
                                 .values = values,
                                 .value_count = control->values.count};
  }
  return controls;
}

static ModelExperiment copy_experiment(ModelBuild* build, const IrExperiment* e) {
  return (ModelExperiment){.start = e->start,
                           .end = e->end,
                           .every = e->every,
                           .step = e->step,
                           .h0 = e->h0,
                           .hmin = e->hmin,
                           .hmax = e->hmax,
                           .rtol = e->rtol,
                           .atol = e->atol,
                           .eventeps = e->eventeps,
                           .gamma = e->gamma,
                           .method = e->method,
                           .detection = e->detection,
                           .out = e->out.data,
                           .out_count = e->out.count,
                           .measures = copy_measures(build, e->measures.data, e->measures.count),
                           .measure_count = e->measures.count,
                           .figures = copy_figures(build, e),
                           .figure_count = e->drawing.count,
                           .controls = copy_controls(build, e),
                           .control_count = e->controls.count,
                           .plot = copy_measures(build, e->plot.data, e->plot.count),
                           .plot_count = e->plot.count};
}

void build_variables(ModelBuild* build) {
  build_vars(build);
  build_columns(build);
  build_tables(build);
  build_delays(build);
  build_foreigns(build);
  build_params(build);
  build_starts(build);
  build_macros(build);
  build_ports(build);
  if (ir_term_present(build->ir->energy)) {
    ModelTerm* energy = ARENA_NEW(&build->arena, ModelTerm);
    *energy = build_term(build, build->ir->energy);
    build->model.energy = energy;
    build->model.energy_span = build->ir->energy_span;
  }
  build->model.experiment = copy_experiment(build, &build->ir->experiment);
}
