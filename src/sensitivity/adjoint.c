// SPDX-License-Identifier: MIT
//
// Backwards through a run. While it runs, everything that rows would be made of is written down:
// which row is made of which others, with the values that its derivatives depend on. Afterwards the
// weights of what was marked are carried back to the parameters, through each record transposed:
// one pass gives the derivatives of one number by all parameters, however many there are.
#include "numeric/numeric.h"
#include "sensitivity/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODES       SENSITIVITY_NODES
#define SWEEPS      80
#define SWEEP_SMALL 1e-15

typedef enum TrailOp {
  TRAIL_SEED,         // register a is parameter `index`
  TRAIL_ZERO,         // a := 0
  TRAIL_UNKNOWN,      // a has no row that is known
  TRAIL_COPY,         // space a := space b
  TRAIL_MOVE,         // a := b
  TRAIL_ADD,          // a += number * b
  TRAIL_FLOW,         // states of space a += number * flow * time
  TRAIL_PROGRAM,      // computed values of space a, from the rest of it
  TRAIL_TERM,         // a := term over space b
  TRAIL_CROSSING,     // time := from g over the space of now
  TRAIL_STRETCH,      // begin and nodes, from the space of now; its states := the last node
  TRAIL_INTERPOLATE,  // states of the space that looks, from begin and nodes
  TRAIL_MARK          // `index` is the row of a
} TrailOp;

typedef struct TrailRecord {
  TrailOp op;
  bool timed;  // the row of the time counts
  uint32_t a, b, index;
  double number;
  const ModelMode* mode;
  const ModelTerm* term;
  size_t values;  // where its numbers begin
} TrailRecord;

struct Trail {
  TrailRecord* records;
  size_t count, capacity;
  double* values;
  size_t value_count, value_capacity;
  uint32_t mark_count;
  uint32_t states_max;
  size_t read_max;    // numbers that a program reads and gives
  TrailRecord spare;  // where nothing could be written
};

// ---- registers ----------------------------------------------------------------------------------

static uint32_t space_register(const Sensitivity* s, uint32_t space, uint32_t place) {
  return space * s->model->env_count + place;
}

uint32_t trail_place(const Sensitivity* s, const SensitivityPoint* point, uint32_t place) {
  return space_register(s, trail_space(s, point), place);
}

uint32_t trail_space(const Sensitivity* s, const SensitivityPoint* point) {
  if (point->d == s->now.d) return TRAIL_NOW;
  if (point->d == s->look.d) return TRAIL_LOOK;
  return point->d == s->before.d ? TRAIL_BEFORE : TRAIL_AFTER;
}

uint32_t trail_time(const Sensitivity* s) {
  return TRAIL_SPACES * s->model->env_count;
}

uint32_t trail_scratch(const Sensitivity* s) {
  return trail_time(s) + 1;
}

uint32_t trail_assigned(const Sensitivity* s, uint32_t i) {
  return trail_time(s) + 2 + i;
}

static size_t register_count(const Sensitivity* s) {
  return (size_t)trail_assigned(s, 0) + s->assigned.capacity;
}

// ---- writing ------------------------------------------------------------------------------------

static TrailRecord* add(Sensitivity* s, TrailOp op) {
  Trail* trail = s->trail;
  if (trail->count == trail->capacity) {
    size_t capacity = trail->capacity ? 2 * trail->capacity : 256;
    TrailRecord* records = realloc(trail->records, capacity * sizeof *records);
    if (!records) {
      sensitivity_lose(s, "more than there is memory for");
      return &trail->spare;
    }
    trail->records = records;
    trail->capacity = capacity;
  }
  TrailRecord* record = &trail->records[trail->count++];
  *record = (TrailRecord){.op = op, .values = trail->value_count};
  return record;
}

/// Room for numbers of the last record.
static double* add_values(Sensitivity* s, size_t count) {
  Trail* trail = s->trail;
  if (trail->value_count + count > trail->value_capacity) {
    size_t capacity = 2 * (trail->value_count + count) + 1024;
    double* values = realloc(trail->values, capacity * sizeof *values);
    if (!values) {
      sensitivity_lose(s, "more than there is memory for");
      return NULL;
    }
    trail->values = values;
    trail->value_capacity = capacity;
  }
  double* at = trail->values + trail->value_count;
  trail->value_count += count;
  return at;
}

void trail_seed(Sensitivity* s, uint32_t reg, uint32_t parameter) {
  TrailRecord* record = add(s, TRAIL_SEED);
  record->a = reg;
  record->index = parameter;
}

void trail_zero(Sensitivity* s, uint32_t reg) {
  add(s, TRAIL_ZERO)->a = reg;
}

void trail_unknown(Sensitivity* s, uint32_t reg) {
  add(s, TRAIL_UNKNOWN)->a = reg;
}

void trail_copy(Sensitivity* s, const SensitivityPoint* to, const SensitivityPoint* from) {
  TrailRecord* record = add(s, TRAIL_COPY);
  record->a = trail_space(s, to);
  record->b = trail_space(s, from);
}

void trail_move(Sensitivity* s, uint32_t to, uint32_t from) {
  TrailRecord* record = add(s, TRAIL_MOVE);
  record->a = to;
  record->b = from;
}

void trail_add(Sensitivity* s, uint32_t to, double factor, uint32_t from) {
  TrailRecord* record = add(s, TRAIL_ADD);
  record->a = to;
  record->b = from;
  record->number = factor;
}

void trail_flow(Sensitivity* s, const SensitivityPoint* point, double sign, const ModelMode* mode,
                const double* f) {
  TrailRecord* record = add(s, TRAIL_FLOW);
  record->a = trail_space(s, point);
  record->number = sign;
  record->mode = mode;
  double* values = add_values(s, mode->state_count);
  if (values && mode->state_count) memcpy(values, f, mode->state_count * sizeof *f);
}

static size_t read_size(const ModelProgram* program) {
  return 1 + (size_t)program->state_count + program->input_count + program->output_count;
}

static void note_program(const Sensitivity* s, const ModelProgram* program) {
  if (read_size(program) > s->trail->read_max) s->trail->read_max = read_size(program);
}

/// What a program reads: time, states, inputs.
static void add_read(Sensitivity* s, const ModelProgram* program, double t, const double* x,
                     const double* env) {
  double* read = add_values(s, 1 + (size_t)program->state_count + program->input_count);
  note_program(s, program);
  if (!read) return;
  *read++ = t;
  for (uint32_t i = 0; i < program->state_count; i++)
    *read++ = x[i];
  for (uint32_t i = 0; i < program->input_count; i++)
    *read++ = env[program->inputs[i].env];
}

void trail_program(Sensitivity* s, const SensitivityPoint* point, bool timed, const double* x,
                   const double* env) {
  TrailRecord* record = add(s, TRAIL_PROGRAM);
  record->a = trail_space(s, point);
  record->timed = timed;
  record->mode = point->mode;
  add_read(s, &point->mode->full, point->t, x, env);
}

void trail_term(Sensitivity* s, uint32_t reg, const SensitivityPoint* point, const ModelTerm* term,
                bool timed, const double* env) {
  const ModelProgram* program = &term->shape->program;
  TrailRecord* record = add(s, TRAIL_TERM);
  record->a = reg;
  record->b = trail_space(s, point);
  record->timed = timed;
  record->term = term;
  double* read = add_values(s, 1 + (size_t)program->input_count);
  note_program(s, program);
  if (!read) return;
  *read++ = point->t;
  for (uint32_t i = 0; i < program->input_count; i++)
    *read++ = model_arg(term->args[program->inputs[i].env], s->model->numbers, env);
}

void trail_crossing(Sensitivity* s, uint32_t index, double slope, const double* x) {
  TrailRecord* record = add(s, TRAIL_CROSSING);
  record->index = index;
  record->number = slope;
  record->mode = s->before.mode;
  add_read(s, &s->before.mode->g_flow, s->before.t, x, s->before.env);
}

void trail_stretch(Sensitivity* s, const double* x) {
  const ModelMode* mode = eng_mode(s->sim);
  const double* env = eng_env_states(s->sim);
  uint32_t n = mode->state_count;
  TrailRecord* record = add(s, TRAIL_STRETCH);
  record->mode = mode;
  double* values = add_values(s, 2 + (size_t)NODES * n + mode->rhs.input_count);
  note_program(s, &mode->rhs);
  if (n > s->trail->states_max) s->trail->states_max = n;
  if (!values) return;
  *values++ = s->stretch.a;
  *values++ = s->stretch.h;
  if (n) memcpy(values, x, (size_t)NODES * n * sizeof *x);
  values += (size_t)NODES * n;
  for (uint32_t i = 0; i < mode->rhs.input_count; i++)
    values[i] = env[mode->rhs.inputs[i].env];
}

void trail_interpolate(Sensitivity* s, const ModelMode* mode, const double* weights) {
  TrailRecord* record = add(s, TRAIL_INTERPOLATE);
  record->mode = mode;
  double* values = add_values(s, NODES + 1);
  if (values) memcpy(values, weights, (NODES + 1) * sizeof *values);
}

uint32_t trail_mark(Sensitivity* s, uint32_t reg) {
  TrailRecord* record = add(s, TRAIL_MARK);
  record->a = reg;
  record->index = s->trail->mark_count;
  return s->trail->mark_count++;
}

// ---- going back ---------------------------------------------------------------------------------

typedef struct Back {
  Sensitivity* s;
  const double* weights;  // of the marks
  double* bars;           // of the registers...
  double* begin;          // ...of the begin of the last stretch, of its nodes
  double* nodes;
  double* gradient;
  double* read;  // weights of what a program reads and of its outputs
} Back;

/// Weights of what a program reads, all zero, and behind them those of its outputs.
static double* read_bars(const Back* back, const ModelProgram* program) {
  memset(back->read, 0, read_size(program) * sizeof *back->read);
  return back->read;
}

/// Weights of the inputs of a program to the places of a space.
static void give_inputs(const Back* back, const ModelProgram* program, uint32_t space,
                        const double* bars) {
  uint32_t places = back->s->model->env_count;
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t place = program->inputs[i].env % places;
    back->bars[space_register(back->s, space, place)] += bars[i];
  }
}

/// Back through a program of a mode whose outputs have weights in `out`.
static bool back_through(const Back* back, const TrailRecord* record, const ModelProgram* program,
                         uint32_t space, const double* out) {
  const Sensitivity* s = back->s;
  const double* values = s->trail->values + record->values;
  if (!model_program_adjoint(program, eng_flow_context(s->sim), values, out, back->read)) {
    return false;
  }
  if (record->timed) back->bars[trail_time(s)] += back->read[0];
  for (uint32_t i = 0; i < program->state_count; i++) {
    back->bars[space_register(s, space, record->mode->state_env[i])] += back->read[1 + i];
  }
  give_inputs(back, program, space, back->read + 1 + program->state_count);
  return true;
}

static bool back_program(const Back* back, const TrailRecord* record) {
  const ModelProgram* full = &record->mode->full;
  double* read = read_bars(back, full);
  double* out = read + 1 + full->state_count + full->input_count;
  bool any = false;
  for (uint32_t i = 0; i < full->output_count; i++) {
    double* bar = &back->bars[space_register(back->s, record->a, record->mode->full_env[i])];
    out[i] = *bar;
    any |= *bar != 0.0;
    *bar = 0.0;
  }
  return !any || back_through(back, record, full, record->a, out);
}

static bool back_term(const Back* back, const TrailRecord* record) {
  const Sensitivity* s = back->s;
  const ModelProgram* program = &record->term->shape->program;
  double weight = back->bars[record->a];
  double* read = read_bars(back, program);
  if (program->state_count) return false;
  back->bars[record->a] = 0.0;
  if (weight == 0.0) return true;
  if (!model_program_adjoint(program, eng_flow_context(s->sim), s->trail->values + record->values,
                             &weight, read)) {
    return false;
  }
  if (record->timed) back->bars[trail_time(s)] += read[0];
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t arg = record->term->args[program->inputs[i].env];
    if (arg & MODEL_ARG_NUMBER) continue;
    back->bars[space_register(s, record->b, arg % s->model->env_count)] += read[1 + i];
  }
  return true;
}

/// time = -(g moved) / slope.
static bool back_crossing(const Back* back, const TrailRecord* record) {
  const ModelProgram* g = &record->mode->g_flow;
  double* bar = &back->bars[trail_time(back->s)];
  double weight = -*bar / record->number;
  double* read = read_bars(back, g);
  *bar = 0.0;
  if (weight == 0.0) return true;
  double* out = read + 1 + g->state_count + g->input_count;
  out[record->index] = weight;
  return back_through(back, record, g, TRAIL_NOW, out);
}

static void back_flow(const Back* back, const TrailRecord* record) {
  const double* f = back->s->trail->values + record->values;
  double sum = 0.0;
  for (uint32_t i = 0; i < record->mode->state_count; i++) {
    double bar = back->bars[space_register(back->s, record->a, record->mode->state_env[i])];
    if (bar != 0.0) sum += f[i] * bar;
  }
  back->bars[trail_time(back->s)] += record->number * sum;
}

static void back_interpolate(const Back* back, const TrailRecord* record) {
  const double* weight = back->s->trail->values + record->values;
  uint32_t n = record->mode->state_count;
  for (uint32_t i = 0; i < n; i++) {
    double* bar = &back->bars[space_register(back->s, TRAIL_LOOK, record->mode->state_env[i])];
    back->begin[i] += weight[0] * *bar;
    for (uint32_t j = 0; j < NODES; j++)
      back->nodes[(size_t)j * n + i] += weight[j + 1] * *bar;
    *bar = 0.0;
  }
}

// ---- stretches ----------------------------------------------------------------------------------

/// Where the numbers of a stretch are.
typedef struct StretchRecord {
  const ModelMode* mode;
  uint32_t n;
  double a, h;
  const double* x;
  const double* inputs;
} StretchRecord;

static StretchRecord stretch_of(const Trail* trail, const TrailRecord* record) {
  const double* values = trail->values + record->values;
  uint32_t n = record->mode->state_count;
  return (StretchRecord){record->mode, n,          values[0],
                         values[1],    values + 2, values + 2 + (size_t)NODES * n};
}

static double node_time(const Back* back, const StretchRecord* stretch, uint32_t q) {
  return stretch->a + back->s->collocation.c[q] * stretch->h;
}

/// Weights y of the flow at a node to weights of what it reads: back->read.
static bool flow_back(const Back* back, const StretchRecord* stretch, uint32_t q, const double* y) {
  const ModelProgram* rhs = &stretch->mode->rhs;
  size_t size = 1 + (size_t)stretch->n + rhs->input_count;
  double* read = read_bars(back, rhs);
  double* values = malloc(size * sizeof *values);
  bool good = values != NULL;
  if (good) {
    values[0] = node_time(back, stretch, q);
    memcpy(values + 1, stretch->x + (size_t)q * stretch->n, stretch->n * sizeof *values);
    if (rhs->input_count) {
      memcpy(values + 1 + stretch->n, stretch->inputs, rhs->input_count * sizeof *values);
    }
    good = model_program_adjoint(rhs, eng_flow_context(back->s->sim), values, y, read);
  }
  free(values);
  return good;
}

/// y_q: the sum of a_pq m_p.
static void weigh_node(const Back* back, uint32_t n, uint32_t q, const double* m, double* y) {
  for (uint32_t i = 0; i < n; i++) {
    y[i] = 0.0;
    for (uint32_t p = 0; p < NODES; p++)
      y[i] += back->s->collocation.a[p][q] * m[(size_t)p * n + i];
  }
}

static bool node_matrix(const Back* back, const StretchRecord* stretch, uint32_t q, double* room,
                        double* rows) {
  const Sensitivity* s = back->s;
  const ModelProgram* rhs = &stretch->mode->rhs;
  uint32_t n = stretch->n;
  size_t places = s->model->env_count;
  double* unit = room;
  double* env = unit + (size_t)n * n;
  double* f = env + 2 * places;
  double* regs = f + n;
  memset(room, 0, ((size_t)n * n + 2 * places) * sizeof *room);
  for (uint32_t i = 0; i < n; i++)
    unit[(size_t)i * n + i] = 1.0;
  for (uint32_t i = 0; i < rhs->input_count; i++)
    env[rhs->inputs[i].env] = stretch->inputs[i];
  ModelSeeds seeds = {.count = n, .states = unit, .env_count = s->model->env_count};
  return model_program_tangent(rhs, eng_flow_context(s->sim), env, node_time(back, stretch, q),
                               stretch->x + (size_t)q * n, &seeds, regs, f, rows);
}

/// m := (1 - h a_pq J_q)^-T m, all nodes at once.
static bool transposed_direct(const Back* back, const StretchRecord* stretch, double* m) {
  uint32_t n = stretch->n;
  uint32_t size = NODES * n;
  const Sensitivity* s = back->s;
  size_t jacobians = (size_t)NODES * n * n;
  size_t places = s->model->env_count;
  size_t scratch = (size_t)n * n + 2 * places + n + model_tangent_room(&stretch->mode->rhs, n);
  double* rows =
      malloc((jacobians + scratch + (size_t)size * size + 3 * (size_t)size + 1) * sizeof *rows);
  if (!rows) return false;
  double* room = rows + jacobians;
  double* matrix = room + scratch;
  double* scale = matrix + (size_t)size * size;
  double* work = scale + size;
  uint32_t* pivot = (uint32_t*)(work + size);
  bool good = true;
  for (uint32_t q = 0; good && q < NODES; q++)
    good = node_matrix(back, stretch, q, room, rows + (size_t)q * n * n);
  for (uint32_t p = 0; p < size; p++) {
    for (uint32_t q = 0; q < size; q++) {
      double a = s->collocation.a[p / n][q / n];
      double entry = rows[(size_t)(q / n) * n * n + (size_t)(p % n) * n + q % n];
      matrix[(size_t)q * size + p] = (p == q ? 1.0 : 0.0) - stretch->h * a * entry;
    }
  }
  uint32_t bad = 0;
  good = good && num_lu_factor(size, matrix, 0.0, scale, pivot, &bad) >= 0;
  if (good) num_lu_solve(size, matrix, pivot, work, m);
  free(rows);
  return good;
}

/// The same by iteration, as the stretch itself is.
static bool transposed_iterated(const Back* back, const StretchRecord* stretch, double* m) {
  size_t n = stretch->n;
  double* w = malloc((2 * (size_t)NODES * n + n) * sizeof *w);
  if (!w) return false;
  double* next = w + NODES * n;
  double* y = next + NODES * n;
  memcpy(w, m, NODES * n * sizeof *w);
  bool good = true;
  bool settled = false;
  double last = HUGE_VAL;
  for (int k = 0; good && !settled && k < SWEEPS; k++) {
    double change = 0.0;
    double largest = DBL_MIN;
    for (uint32_t q = 0; good && q < NODES; q++) {
      weigh_node(back, stretch->n, q, m, y);
      good = flow_back(back, stretch, q, y);
      for (size_t i = 0; good && i < n; i++) {
        next[q * n + i] = w[q * n + i] + stretch->h * back->read[1 + i];
        change = fmax(change, fabs(next[q * n + i] - m[q * n + i]));
        largest = fmax(largest, fabs(next[q * n + i]));
      }
    }
    memcpy(m, next, NODES * n * sizeof *m);
    change /= largest;
    settled = change <= SWEEP_SMALL || (change < 1e-9 && change >= 0.5 * last);
    last = change;
  }
  free(w);
  return good && settled;
}

static bool back_stretch(const Back* back, const TrailRecord* record) {
  const Sensitivity* s = back->s;
  StretchRecord stretch = stretch_of(s->trail, record);
  uint32_t n = stretch.n;
  double* m = back->nodes;
  bool any = false;
  for (uint32_t i = 0; i < n; i++) {
    double* bar = &back->bars[space_register(s, TRAIL_NOW, stretch.mode->state_env[i])];
    m[(size_t)(NODES - 1) * n + i] += *bar;
    *bar = 0.0;
  }
  for (size_t i = 0; i < (size_t)NODES * n; i++)
    any |= m[i] != 0.0;
  bool direct = n <= SENSITIVITY_DIRECT;
  bool good = !any || (direct ? transposed_direct(back, &stretch, m)
                              : transposed_iterated(back, &stretch, m));
  double* y = malloc(((size_t)n + 1) * sizeof *y);
  good = good && y;
  for (uint32_t q = 0; good && any && q < NODES; q++) {
    weigh_node(back, n, q, m, y);
    for (uint32_t i = 0; i < n; i++)
      y[i] *= stretch.h;
    good = flow_back(back, &stretch, q, y);
    if (good) give_inputs(back, &stretch.mode->rhs, TRAIL_NOW, back->read + 1 + n);
  }
  free(y);
  for (uint32_t i = 0; good && i < n; i++) {
    double sum = back->begin[i];
    for (uint32_t q = 0; q < NODES; q++)
      sum += m[(size_t)q * n + i];
    back->bars[space_register(s, TRAIL_NOW, stretch.mode->state_env[i])] += sum;
  }
  memset(back->begin, 0, n * sizeof *back->begin);
  memset(back->nodes, 0, (size_t)NODES * n * sizeof *back->nodes);
  return good;
}

// ---- the whole ----------------------------------------------------------------------------------

static void back_copy(const Back* back, uint32_t to, uint32_t from) {
  for (uint32_t i = 0; i < back->s->model->env_count; i++) {
    double* bar = &back->bars[space_register(back->s, to, i)];
    back->bars[space_register(back->s, from, i)] += *bar;
    *bar = 0.0;
  }
}

static bool back_record(const Back* back, const TrailRecord* record) {
  double* bar = &back->bars[record->a];
  double weight = *bar;
  switch (record->op) {
  case TRAIL_COPY: back_copy(back, record->a, record->b); return true;
  case TRAIL_FLOW: back_flow(back, record); return true;
  case TRAIL_INTERPOLATE: back_interpolate(back, record); return true;
  case TRAIL_PROGRAM: return back_program(back, record);
  case TRAIL_TERM: return back_term(back, record);
  case TRAIL_CROSSING: return back_crossing(back, record);
  case TRAIL_STRETCH: return back_stretch(back, record);
  case TRAIL_MARK: *bar += back->weights[record->index]; return true;
  case TRAIL_ADD: back->bars[record->b] += record->number * weight; return true;
  case TRAIL_MOVE:
    *bar = 0.0;
    back->bars[record->b] += weight;
    return true;
  case TRAIL_SEED: back->gradient[record->index] += weight; break;
  case TRAIL_UNKNOWN:
    if (weight != 0.0) return false;
    break;
  case TRAIL_ZERO:
  default: break;
  }
  *bar = 0.0;
  return true;
}

bool sensitivity_gradient(Sensitivity* s, const double* weights, double* gradient) {
  Trail* trail = s->trail;
  if (!trail || s->gap) return false;
  size_t states = (size_t)trail->states_max + 1;
  Back back = {.s = s, .weights = weights, .gradient = gradient};
  back.bars = calloc(register_count(s), sizeof *back.bars);
  back.begin = calloc((1 + NODES) * states, sizeof *back.begin);
  back.read = calloc(trail->read_max + 1, sizeof *back.read);
  bool good = back.bars && back.begin && back.read;
  back.nodes = good ? back.begin + states : NULL;
  memset(gradient, 0, s->parameter_count * sizeof *gradient);
  for (size_t i = trail->count; good && i-- > 0;)
    good = back_record(&back, &trail->records[i]);
  for (uint32_t k = 0; k < s->parameter_count; k++)
    good &= isfinite(gradient[k]);
  free(back.bars);
  free(back.begin);
  free(back.read);
  return good;
}

uint32_t sensitivity_mark_count(const Sensitivity* s) {
  return s->trail ? s->trail->mark_count : 0;
}

bool trail_create(Sensitivity* s) {
  s->trail = calloc(1, sizeof *s->trail);
  return s->trail != NULL;
}

void trail_free(Sensitivity* s) {
  if (!s->trail) return;
  free(s->trail->records);
  free(s->trail->values);
  free(s->trail);
  s->trail = NULL;
}
