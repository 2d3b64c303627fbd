// SPDX-License-Identifier: MIT
//
// The cache of compiled modes: several threads, no memory, large families.
#include "ir_text.h"
#include "model/build.h"

#include <pthread.h>
#include <time.h>

static const char* const rich_model =
    "param m = 2\nparam k = 3*m\ndata T cubic 0 0 1 2 2 1\nx'' = a\nm*a = f - c\nf = -k*x\n"
    "ec: c = x' + table(T, x)\nq' = x + t\ndiscrete n\nstart x = 2*y + k\nstart y = 1\ny' = n\n"
    "atom low = x - 1\natom high = x'' + q\natom inv = 10 - pre(x)\nmacro p = m*x\nenergy = x*x\n"
    "switch w = low and not high\nin w true\ny' = 2*n\nglobal\n"
    "automaton main\nstate fly\ndelete ec\nc = 2\nset n = n + random()\ninvariant inv\n"
    "from init when low or main.fly\nstate bad\nx = y\nfrom fly when high\nat m each 2 { n = n*2 }";

// ---------------------------------------------------------------------------------------------
// threads

enum { THREADS = 4, ROUNDS = 50 };

typedef struct Worker {
  ModelProvider provider;
  uint32_t automata;
  uint32_t offset;
  const ModelMode* seen[8];
  uint32_t failures;
} Worker;

static void* work(void* argument) {
  Worker* w = argument;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < 8; i++) {
      uint32_t which = (i + w->offset) % 8;
      uint32_t mode[3] = {which & 1, which >> 1 & 1, which >> 2 & 1};
      const ModelMode* out = NULL;
      const Diag* failure = NULL;
      SltStatus status = w->provider.get(w->provider.user, mode, &out, &failure);
      bool repeats = round == 0 || w->seen[which] == out;
      if (status != SLT_OK || !repeats) w->failures++;
      w->seen[which] = out;
      // read what another thread may have compiled
      if (out && out->rhs.output_count != out->state_count) w->failures++;
    }
  }
  return NULL;
}

TEST(threads_share_the_cache) {
  TEST_ARENA(arena);
  IrText text;
  const IrModel* ir = ir_text(&text, &arena,
                              "x' = a\ny' = -x\na = x*y\natom p = x - 1\n"
                              "automaton a1\nstate s\nx' = a + 1\nfrom init when p\n"
                              "automaton a2\nstate s\ny' = 2\nfrom init when p\n"
                              "automaton a3\nstate s\nz' = 2\nfrom init when p");
  for (int round = 0; round < 10; round++) {
    ModelBuild* build = NULL;
    CHECK(model_build_create(NULL, ir, &build) == SLT_OK, "created");
    Worker workers[THREADS] = {{{0}, 0, 0, {0}, 0}};
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
      workers[i].provider = model_build_provider(build);
      workers[i].offset = 2 * i;  // some ask for the same mode first, some for others
      CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "thread");
    }
    for (uint32_t i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
      CHECK(workers[i].failures == 0, "every answer is right");
      CHECK(memcmp(workers[i].seen, workers[0].seen, sizeof workers[0].seen) == 0, "and the same");
    }
    model_build_free(build);
  }
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// memory

/// Everything a build can do, with an allocator that fails somewhere. What fails may be tried again
/// and then succeeds. Returns whether nothing failed.
static bool use_build(const IrModel* ir, TestAllocator* memory) {
  SltAllocator allocator = test_allocator(memory);
  ModelBuild* build = NULL;
  SltStatus status = model_build_create(&allocator, ir, &build);
  if (status != SLT_OK) {
    CHECK(status == SLT_ERR_NOMEM && !build, "creation");
    return false;
  }
  bool whole = true;
  ModelProvider provider = model_build_provider(build);
  for (uint32_t state = 0; state < 3; state++) {
    for (int attempt = 0; attempt < 2; attempt++) {
      uint32_t mode[2] = {0, 0};
      mode[0] = ir->automata.data[0].kind == IR_AUTOMATON_USER ? state : 0;
      mode[1] = ir->automata.data[1].kind == IR_AUTOMATON_USER ? state : 0;
      const ModelMode* out = NULL;
      const Diag* failure = NULL;
      status = provider.get(provider.user, mode, &out, &failure);
      if (status == SLT_ERR_NOMEM) {
        CHECK(!out && !failure && attempt == 0, "compilation");
        whole = false;
        continue;
      }
      CHECK(status == (state == 2 ? SLT_ERR_STRUCTURE : SLT_OK), "status");
      CHECK(status == SLT_OK ? out && !failure : !out && failure, "answer");
    }
  }
  jmp_buf failed;
  Arena arena;
  arena_init(&arena, &allocator, &failed);
  if (setjmp(failed) == 0) {
    DiagList diags;
    diag_init(&diags, &arena, ir->source);
    model_build_check(build, 10, &diags);
    TextBuffer text = {.arena = &arena};
    uint32_t mode[2] = {0, 0};
    model_build_explain(build, mode, &text);
  } else {
    whole = false;
  }
  arena_free(&arena);
  model_build_free(build);
  return whole;
}

static void fail_in_turn(const IrModel* ir) {
  TestAllocator memory = {0};
  CHECK(use_build(ir, &memory), "with enough memory");
  size_t total = memory.requests;
  CHECK(memory.live_blocks == 0, "all returned");
  for (size_t i = 1; i <= total; i++) {
    memory = (TestAllocator){.fail_at = i};
    CHECK(!use_build(ir, &memory), "something failed");
    CHECK(memory.live_blocks == 0 && memory.live_bytes == 0, "all returned");
  }
  print_message("%zu allocations failed in turn\n", total);
}

TEST(every_allocation_may_fail) {
  TEST_ARENA(arena);
  IrText text;
  fail_in_turn(ir_text(&text, &arena, rich_model));
  // arenas take large chunks: a larger model has more places to fail in
  TextBuffer large = {.arena = &arena};
  text_append_format(&large, "%s\nglobal\n", rich_model);
  for (int i = 0; i < 300; i++) {
    text_append_format(&large, "z_%d' = %d*z_%d + x*sin(z_%d)\n", i, i, (i + 1) % 300, i);
  }
  fail_in_turn(ir_text(&text, &arena, text_str(&large).data));
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// size

/// x_i' = k (x_{i-1} - 2 x_i + x_{i+1}), the ends closed into a ring; an algebraic y_i for half of
/// them, and with `guards` one automaton with one atom per cell.
static void ring(IrModel* ir, Arena* arena, uint32_t count, bool guards) {
  ir_model_init(ir, arena, NULL);
  IrTermBuilder b;
  ir_term_begin(&b, ir);
  IrParam k = {.name = names_intern(&ir->names, STR_LIT("k")),
               .value = ir_term_end(&b, ir_term_number(&b, 7.5))};
  base_vec_push(arena, &ir->params, k);
  for (uint32_t i = 0; i < count; i++) {
    IrVar var = {.name = names_intern(&ir->names, str_format(arena, "x_%u", i)), .appearance = i};
    base_vec_push(arena, &ir->vars, var);
  }
  IrPool* pool = &ir->pool;
  for (uint32_t i = 0; i < count; i++) {
    ir_term_begin(&b, ir);
    ExprId left = ir_term_var(&b, i, 1, IR_NOW);
    ExprId sum = ir_term_var(&b, (i + count - 1) % count, 0, IR_NOW);
    ExprId twice =
        ir_node(pool, IR_MUL, ir_const(pool, 2.0), ir_term_var(&b, i, 0, IR_NOW), (ExprId){0});
    sum = ir_node(pool, IR_SUB, sum, twice, (ExprId){0});
    sum = ir_node(pool, IR_ADD, sum, ir_term_var(&b, (i + 1) % count, 0, IR_NOW), (ExprId){0});
    ExprId right = ir_node(pool, IR_MUL, ir_term_param(&b, 0), sum, (ExprId){0});
    IrEquation equation = {.lhs_var = i, .lhs_order = 1};
    equation.term = ir_term_end(&b, ir_node(pool, IR_EQUALS, left, right, (ExprId){0}));
    base_vec_push(arena, &ir->equations, equation);
  }
  uint32_t init = names_intern(&ir->names, STR_LIT("init"));
  uint32_t hot = names_intern(&ir->names, STR_LIT("hot"));
  for (uint32_t i = 0; i < count && guards; i++) {
    ir_term_begin(&b, ir);
    ExprId g =
        ir_node(pool, IR_SUB, ir_term_var(&b, i, 0, IR_NOW), ir_const(pool, 1.0), (ExprId){0});
    IrAtom atom = {.g = ir_term_end(&b, g), .continuous = true};
    base_vec_push(arena, &ir->atoms, atom);
    IrAutomaton automaton = {.name = names_intern(&ir->names, str_format(arena, "a_%u", i)),
                             .parent_body = IR_NONE};
    base_vec_push(arena, &ir->automata, automaton);
    base_vec_push(arena, &ir->states, (IrState){.name = init, .automaton = i, .body = IR_NONE});
    base_vec_push(arena, &ir->states, (IrState){.name = hot, .automaton = i, .body = IR_NONE});
    ir_term_begin(&b, ir);
    ExprId truth = ir_term_leaf(&b, (IrLeaf){.id = i, .kind = IR_LEAF_ATOM});
    IrTransition t = {.automaton = i, .from_begin = i, .from_count = 1, .to = 1};
    t.guard = ir_term_end(&b, truth);
    base_vec_push(arena, &ir->from_states, 0);
    base_vec_push(arena, &ir->transitions, t);
  }
  ir_canonicalise(ir);
}

// processor time: other programs may be running
static double seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static void measure_ring(uint32_t count, bool guards, double* time, size_t* bytes) {
  TEST_ARENA(arena);
  IrModel ir;
  ring(&ir, &arena, count, guards);
  size_t ir_bytes = arena.total;
  TestAllocator memory = {0};
  SltAllocator allocator = test_allocator(&memory);
  double begin = seconds();
  ModelBuild* build = NULL;
  CHECK(model_build_create(&allocator, &ir, &build) == SLT_OK, "created");
  double created = seconds();
  uint32_t* mode = ARENA_ARRAY(&arena, uint32_t, ir.automata.count);
  const ModelMode* out = NULL;
  const Diag* failure = NULL;
  ModelProvider provider = model_build_provider(build);
  CHECK(provider.get(provider.user, mode, &out, &failure) == SLT_OK, "compiled");
  double compiled = seconds();
  CHECK(out->state_count == count && out->atom_count == (guards ? count : 0), "all of it");
  CHECK(out->rhs.code_count <= 5 * count && out->rhs.code == out->full.code, "once per cell");
  // temporaries are reused: registers for time, states, outputs, and a few
  CHECK(out->rhs.reg_count < 2 * count + 16, "registers");

  double* x = ARENA_ARRAY(&arena, double, count);
  double* dx = ARENA_ARRAY(&arena, double, count);
  double* env = ARENA_ARRAY(&arena, double, model_build_model(build)->env_count);
  double* regs = ARENA_ARRAY(&arena, double, out->rhs.reg_count);
  for (uint32_t i = 0; i < count; i++) {
    x[i] = (double)(i % 17);
  }
  env[model_build_model(build)->params[0].env] = 7.5;
  ModelContext context = {0};
  model_program_bind(&out->rhs, env, regs);
  double start = seconds();
  model_program_run(&out->rhs, &context, regs, 0.0, x, dx);
  model_program_run(&out->rhs, &context, regs, 0.0, x, dx);
  double per_instruction = (seconds() - start) / 2.0 / out->rhs.code_count;
  CHECK(dx[5] == 7.5 * (x[4] - 2.0 * x[5] + x[6]), "values");
  *time = compiled - begin;
  *bytes = memory.live_bytes;
  print_message("%u cells%s: IR %zu MB, create %.3f s, mode %.3f s, %.0f bytes per cell, "
                "%.2f ns per instruction\n",
                count, guards ? " with guards" : "", ir_bytes >> 20, created - begin,
                compiled - created, (double)memory.live_bytes / count, 1e9 * per_instruction);
  model_build_free(build);
  CHECK(memory.live_blocks == 0, "all returned");
  arena_free(&arena);
}

TEST(large_families) {
  double time[2];
  size_t bytes[2];
  for (int guards = 0; guards < 2; guards++) {
    measure_ring(10000, guards, &time[0], &bytes[0]);
    measure_ring(100000, guards, &time[1], &bytes[1]);
    CHECK(bytes[1] < 15 * bytes[0], "memory grows linearly");
    CHECK(bytes[1] / 100000 < (guards ? 2500 : 500), "bytes per cell");
    CHECK(time[1] < 60.0 * time[0] + 0.5, "time grows linearly");
  }
  if (getenv("SALTUS_TEST_LARGE")) {
    measure_ring(1000000, false, &time[0], &bytes[0]);
    measure_ring(1000000, true, &time[0], &bytes[0]);
  }
}

TEST(long_dependencies) {
  // a chain of 1e5 algebraic variables: analysis and programs without recursion
  TEST_ARENA(arena);
  const uint32_t count = 100000;
  IrModel ir;
  ir_model_init(&ir, &arena, NULL);
  for (uint32_t i = 0; i <= count; i++) {
    IrVar var = {.name = names_intern(&ir.names, str_format(&arena, "y_%u", i))};
    base_vec_push(&arena, &ir.vars, var);
    IrTermBuilder b;
    ir_term_begin(&b, &ir);
    ExprId one = ir_const(&ir.pool, 1.0);
    // y_count' = y_0; y_i = y_{i+1} + 1
    ExprId left = ir_term_var(&b, i, i == count, IR_NOW);
    ExprId right =
        i == count ? ir_term_var(&b, 0, 0, IR_NOW)
                   : ir_node(&ir.pool, IR_ADD, ir_term_var(&b, i + 1, 0, IR_NOW), one, (ExprId){0});
    IrEquation equation = {.lhs_var = i, .lhs_order = i == count};
    equation.term = ir_term_end(&b, ir_node(&ir.pool, IR_EQUALS, left, right, (ExprId){0}));
    base_vec_push(&arena, &ir.equations, equation);
  }
  ir_canonicalise(&ir);
  ModelBuild* build = NULL;
  CHECK(model_build_create(NULL, &ir, &build) == SLT_OK, "created");
  ModelProvider provider = model_build_provider(build);
  const ModelMode* out = NULL;
  CHECK(provider.get(provider.user, NULL, &out, NULL) == SLT_OK, "compiled");
  double* regs = ARENA_ARRAY(&arena, double, out->rhs.reg_count);
  double x = 5.0;
  double dx = 0.0;
  ModelContext context = {0};
  double env = 0.0;
  model_program_bind(&out->rhs, &env, regs);
  model_program_run(&out->rhs, &context, regs, 0.0, &x, &dx);
  CHECK(dx == 5.0 + count, "value");
  model_build_free(build);
  arena_free(&arena);
}
