// SPDX-License-Identifier: MIT
//
// Rule tables through the public header: reading, conversion, cyclic execution.
#include "api/compiled.h"

#include <saltus/saltus_rules.h>

#include <math.h>
#include <string.h>

struct SltRules {
  SltAllocator allocator;
  Arena arena;
  Source source;
  RulesModel model;
};

struct SltCyclic {
  const SltRules* rules;
  RulesCyclic* scan;
  SltAllocator allocator;
};

// ---- reading ------------------------------------------------------------------------------------

typedef struct ReadJob {
  SltRules* rules;
  const SltCompileOptions* options;
  Arena scratch;
  const char* name;
  Str text;
  bool folder;
} ReadJob;

static bool constant_name(const void* names, uint32_t index, Str* out, bool* variable) {
  const RulesModel* model = names;
  *variable = false;
  if (index >= model->constants.count) return false;
  *out = model->constants.data[index].name;
  return true;
}

static SltStatus read_inside(ReadJob* job) {
  SltRules* rules = job->rules;
  const SltCompileOptions* given = job->options;
  DiagList diags;
  diag_init(&diags, &job->scratch, &rules->source);
  LismaOverride* overrides = ARENA_ARRAY(&job->scratch, LismaOverride, given->override_count + 1);
  for (uint32_t i = 0; i < given->override_count; i++) {
    overrides[i] = (LismaOverride){str_from_c(given->overrides[i].name), given->overrides[i].value};
  }
  CompileLoader loader = {.options = given, .allocator = &rules->allocator};
  RulesOptions options = {.overrides = overrides,
                          .override_count = given->override_count,
                          .applied = ARENA_ARRAY(&job->scratch, bool, given->override_count + 1),
                          .load_file = compile_load,
                          .user = &loader};
  Str text = str_copy(&rules->arena, job->text);
  bool good = rules_read(&rules->model, &rules->arena, &rules->source, str_from_c(job->name), text,
                         job->folder, &options, &diags);
  SltStatus status = good ? SLT_OK : SLT_ERR_SEMANTIC;
  if (good) rules_write_conditions(&rules->model, &rules->arena);
  if (good) {
    status = compile_report_unknown(&diags, overrides, options.override_count, options.applied,
                                    constant_name, &rules->model);
  }
  compile_send(given, &diags, &job->scratch);
  return status;
}

static SltStatus read_rules(const char* name, const char* text, size_t length, bool folder,
                            const SltCompileOptions* options, void* out) {
  SltAllocator allocator = base_allocator(&options->allocator);
  SltRules* rules = base_alloc(&allocator, sizeof *rules);
  if (!rules) return SLT_ERR_NOMEM;
  rules->allocator = allocator;
  ReadJob job = {.rules = rules,
                 .options = options,
                 .name = name,
                 .text = {text ? text : "", (uint32_t)length},
                 .folder = folder};
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&rules->arena, &allocator, &oom);
  arena_init(&job.scratch, &allocator, &oom);
  if (setjmp(oom) == 0) status = read_inside(&job);
  arena_free(&job.scratch);
  if (status < 0) {
    slt_rules_free(rules);
    return status;
  }
  *(SltRules**)out = rules;
  return SLT_OK;
}

SltStatus slt_rules_compile(const char* name, const char* text, size_t length,
                            const SltCompileOptions* options, SltRules** out) {
  SltCompileOptions defaults = slt_compile_options();
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!options) options = &defaults;
  if (!name || (!text && length > 0) || options->cookie != COMPILE_OPTIONS_COOKIE ||
      length > UINT32_MAX / 4) {
    return SLT_ERR_ARGUMENT;
  }
  return read_rules(name, text, length, false, options, out);
}

SltStatus slt_rules_compile_file(const char* path, const SltCompileOptions* options,
                                 SltRules** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  return compile_from_file(path, options, read_rules, out);
}

void slt_rules_free(SltRules* rules) {
  if (!rules) return;
  SltAllocator allocator = rules->allocator;
  arena_free(&rules->arena);
  base_free(&allocator, rules, sizeof *rules);
}

// ---- conversion ---------------------------------------------------------------------------------

static Str convert(const RulesModel* model, SltRulesFormat format, Arena* arena) {
  switch (format) {
  case SLT_RULES_MARKDOWN: return rules_write_markdown(model, arena);
  case SLT_RULES_LISMA: return rules_write_lisma(model, arena, NULL);
  case SLT_RULES_EXPLANATION: return rules_write_explanation(model, arena);
  case SLT_RULES_SETTINGS: return rules_write_csv(model, RULES_SECTION_SETTINGS, arena);
  case SLT_RULES_CONSTANTS: return rules_write_csv(model, RULES_SECTION_CONSTANTS, arena);
  case SLT_RULES_STATES: return rules_write_csv(model, RULES_SECTION_STATES, arena);
  case SLT_RULES_PREDICATES: return rules_write_csv(model, RULES_SECTION_PREDICATES, arena);
  case SLT_RULES_SITUATIONS: return rules_write_csv(model, RULES_SECTION_SITUATIONS, arena);
  case SLT_RULES_RULES: return rules_write_csv(model, RULES_SECTION_RULES, arena);
  case SLT_RULES_DRAWING: return rules_write_csv(model, RULES_SECTION_DRAWING, arena);
  case SLT_RULES_CONTROLS: return rules_write_csv(model, RULES_SECTION_CONTROLS, arena);
  }
  return (Str){0};
}

SltStatus slt_rules_write(const SltRules* rules, SltRulesFormat format, SltWriter writer) {
  if (!rules || !writer.write || format > SLT_RULES_CONTROLS) return SLT_ERR_ARGUMENT;
  Arena arena;
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&arena, &rules->allocator, &oom);
  if (setjmp(oom) == 0) {
    Str text = convert(&rules->model, format, &arena);
    status = writer.write(writer.user, text.data, text.length);
  }
  arena_free(&arena);
  return status;
}

SltRulesSettings slt_rules_settings(const SltRules* rules) {
  if (!rules) {
    double unset = (double)NAN;
    return (SltRulesSettings){.cycle = unset, .start = unset, .end = unset, .every = unset};
  }
  const RulesModel* m = &rules->model;
  return (SltRulesSettings){.cyclic = m->cyclic,
                            .cycle = m->cycle,
                            .start = m->start,
                            .end = m->end,
                            .every = m->every,
                            .rule_count = m->rules.count};
}

// ---- cyclic execution ---------------------------------------------------------------------------

SltStatus slt_cyclic_create(const SltRules* rules, double dt, const SltAllocator* given,
                            SltCyclic** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!rules || !(dt > 0.0) || !(dt < HUGE_VAL)) return SLT_ERR_ARGUMENT;
  SltAllocator allocator = base_allocator(given);
  SltCyclic* cyclic = base_alloc(&allocator, sizeof *cyclic);
  if (!cyclic) return SLT_ERR_NOMEM;
  *cyclic = (SltCyclic){.rules = rules, .allocator = allocator};
  cyclic->scan = rules_cyclic_create(&rules->model, dt, &allocator);
  if (!cyclic->scan) {
    slt_cyclic_free(cyclic);
    return SLT_ERR_NOMEM;
  }
  *out = cyclic;
  return SLT_OK;
}

void slt_cyclic_free(SltCyclic* cyclic) {
  if (!cyclic) return;
  SltAllocator allocator = cyclic->allocator;
  rules_cyclic_free(cyclic->scan);
  base_free(&allocator, cyclic, sizeof *cyclic);
}

SltStatus slt_cyclic_seed(SltCyclic* cyclic, uint64_t seed) {
  if (!cyclic) return SLT_ERR_ARGUMENT;
  rules_cyclic_seed(cyclic->scan, seed);
  return SLT_OK;
}

void slt_cyclic_reset(SltCyclic* cyclic) {
  if (cyclic) rules_cyclic_reset(cyclic->scan);
}

SltStatus slt_cyclic_cycle(SltCyclic* cyclic) {
  if (!cyclic) return SLT_ERR_ARGUMENT;
  return rules_cyclic_cycle(cyclic->scan) ? SLT_OK : SLT_ERR_NOT_FINITE;
}

double slt_cyclic_time(const SltCyclic* cyclic) {
  return cyclic ? rules_cyclic_time(cyclic->scan) : (double)NAN;
}

SltStatus slt_cyclic_find(const SltCyclic* cyclic, const char* name, uint32_t* place) {
  if (!cyclic || !name || !place) return SLT_ERR_ARGUMENT;
  *place = rules_cyclic_find(cyclic->scan, str_from_c(name));
  return *place == UINT32_MAX ? SLT_ERR_NOT_FOUND : SLT_OK;
}

double slt_cyclic_get(const SltCyclic* cyclic, uint32_t place) {
  return cyclic ? rules_cyclic_get(cyclic->scan, place) : (double)NAN;
}

SltStatus slt_cyclic_set(SltCyclic* cyclic, uint32_t place, double value) {
  if (!cyclic) return SLT_ERR_ARGUMENT;
  return rules_cyclic_set(cyclic->scan, place, value) ? SLT_OK : SLT_ERR_ARGUMENT;
}

uint32_t slt_cyclic_column_count(const SltCyclic* cyclic) {
  return cyclic ? cyclic->rules->model.states.count : 0;
}

const char* slt_cyclic_column_name(const SltCyclic* cyclic, uint32_t column) {
  if (column >= slt_cyclic_column_count(cyclic)) return NULL;
  return cyclic->rules->model.states.data[column].name.data;
}

uint32_t slt_cyclic_column_place(const SltCyclic* cyclic, uint32_t column) {
  if (column >= slt_cyclic_column_count(cyclic)) return UINT32_MAX;
  return cyclic->rules->model.constants.count + column;
}

static bool is_logical(const RulesModel* m, uint32_t state) {
  return m->states.data[state].logical;
}

uint32_t slt_cyclic_condition_count(const SltCyclic* cyclic) {
  if (!cyclic) return 0;
  const RulesModel* m = &cyclic->rules->model;
  uint32_t count = m->predicates.count + m->situations.count;
  for (uint32_t i = 0; i < m->states.count; i++)
    count += is_logical(m, i);
  return count;
}

/// The n-th logical state; the number of states beyond the last one.
static uint32_t logical_state(const RulesModel* m, uint32_t n) {
  uint32_t state = 0;
  while (state < m->states.count && (!is_logical(m, state) || n-- > 0))
    state++;
  return state;
}

SltCondition slt_cyclic_condition(const SltCyclic* cyclic, uint32_t condition) {
  SltCondition out = {0};
  if (condition >= slt_cyclic_condition_count(cyclic)) return out;
  const RulesModel* m = &cyclic->rules->model;
  uint32_t first_situation = m->predicates.count;
  uint32_t first_state = first_situation + m->situations.count;
  uint32_t states = m->constants.count;
  Span span;
  if (condition < first_situation) {
    const RulesPredicate* p = &m->predicates.data[condition];
    out = (SltCondition){SLT_CONDITION_PREDICATE, p->name.data, p->text.data, 0, NULL, 0};
    out.place = states + m->states.count + condition;
    span = p->span;
  } else if (condition < first_state) {
    const RulesSituation* s = &m->situations.data[condition - first_situation];
    out = (SltCondition){SLT_CONDITION_SITUATION, s->name.data, s->text.data, 0, NULL, 0};
    out.place = states + m->states.count + condition;
    span = s->span;
  } else {
    uint32_t state = logical_state(m, condition - first_state);
    const RulesState* s = &m->states.data[state];
    out = (SltCondition){SLT_CONDITION_STATE, s->name.data, "", 0, NULL, 0};
    out.place = states + state;
    span = s->span;
  }
  uint32_t column = 0;
  source_place(m->source, span.begin, &out.line, &column);
  out.file = source_name(m->source, span.begin).data;
  return out;
}

SltCyclicProblem slt_cyclic_problem(const SltCyclic* cyclic) {
  SltCyclicProblem out = {0};
  if (!cyclic) return out;
  out.divisions = rules_cyclic_divisions(cyclic->scan);
  uint32_t failed = rules_cyclic_failed(cyclic->scan);
  const RulesModel* m = &cyclic->rules->model;
  if (failed >= m->rules.count) return out;
  const RulesRule* rule = &m->rules.data[failed];
  uint32_t column = 0;
  source_place(m->source, rule->span.begin, &out.line, &column);
  out.rule = rule->label.data;
  out.variable = m->states.data[rule->target].name.data;
  out.file = source_name(m->source, rule->span.begin).data;
  return out;
}
