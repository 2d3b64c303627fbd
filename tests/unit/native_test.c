// SPDX-License-Identifier: MIT
//
// Programs as machine code against the tape, operation by operation and bit by bit, on every kind
// of number; hashes; what the text may hold.
#define _POSIX_C_SOURCE 200809L
#include "native/native.h"
#include "test.h"

#include <saltus/saltus.h>

#include <pthread.h>
#include <unistd.h>

// ---- hashes -------------------------------------------------------------------------------------

static void check_hash(const char* text, size_t repeat, const char* want) {
  Sha256 hash;
  sha256_init(&hash);
  for (size_t i = 0; i < repeat; i++) {
    sha256_add(&hash, text, strlen(text));
  }
  Digest key = sha256_digest(&hash);
  char got[2 * DIGEST_BYTES + 1];
  for (size_t i = 0; i < DIGEST_BYTES; i++) {
    snprintf(got + 2 * i, 3, "%02x", key.bytes[i]);
  }
  CHECK(strcmp(got, want) == 0, want);
}

TEST(hashes_are_those_of_the_standard) {
  // examples of FIPS 180-4, and one that crosses blocks in uneven pieces
  check_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  check_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  check_hash("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// ---- a mode made by hand ------------------------------------------------------------------------

enum { OPERATION_MAX = 64, CONST_COUNT = 10 };

static const double consts[CONST_COUNT] = {0.0, -0.0,  1.0,      -2.5,      5e-324,
                                           0.1, 1e308, HUGE_VAL, -HUGE_VAL, (double)NAN};

/// Every operation on state 0 and on an operand that changes kind: state, input, each constant.
typedef struct Bench {
  ModelInstr code[2 * OPERATION_MAX + 1];
  uint32_t outputs[2 * OPERATION_MAX + 16];
  ModelInput inputs[1];
  ModelProgram tape;    // no code of its own
  ModelProgram native;  // the same with a place for code
  ModelCode cell;
} Bench;

static bool is_tested(uint32_t op) {
  bool random = op >= MODEL_OP_RANDOM && op <= MODEL_OP_EXPONENTIAL;
  // arguments of foreign functions stay on the tape
  return op < MODEL_OP_SOLVE && !random && op != MODEL_OP_PACK;
}

static void bench_init(Bench* b, uint32_t second) {
  // registers: time, 2 states, input, constants, then results
  uint32_t const_begin = 4;
  uint32_t next = const_begin + CONST_COUNT;
  uint32_t count = 0;
  uint32_t outputs = 0;
  b->inputs[0] = (ModelInput){.reg = 3, .env = 0};
  for (uint32_t op = 0; op < MODEL_OP_COUNT; op++) {
    if (!is_tested(op)) continue;
    bool table = op >= MODEL_OP_TABLE && op <= MODEL_OP_TABLE_CURVE;
    if (op == MODEL_OP_SELECT) {
      b->code[count++] = (ModelInstr){.op = MODEL_OP_MOVE, .dst = next, .a = 2};
    }
    b->code[count++] =
        (ModelInstr){.op = op, .dst = next, .a = 1, .b = table ? second % 2 : second};
    b->outputs[outputs++] = next++;
  }
  for (uint32_t reg = 0; reg < const_begin + CONST_COUNT; reg++) {
    b->outputs[outputs++] = reg;
  }
  b->code[count] = (ModelInstr){.op = MODEL_OP_END};
  b->tape = (ModelProgram){.code = b->code,
                           .code_count = count,
                           .state_count = 2,
                           .reg_count = next,
                           .inputs = b->inputs,
                           .input_count = 1,
                           .consts = consts,
                           .const_begin = const_begin,
                           .const_count = CONST_COUNT,
                           .outputs = b->outputs,
                           .output_count = outputs};
  b->native = b->tape;
  b->native.native = &b->cell;
}

static const char* find_compiler(void) {
  static const char* const paths[] = {"/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"};
  for (size_t i = 0; i < SLT_COUNT(paths); i++) {
    if (access(paths[i], X_OK) == 0) return paths[i];
  }
  return NULL;
}

static bool same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare(const Bench* b, const ModelContext* context, double t, const double* x,
                    double input) {
  double regs[256] = {0};
  double want[160];
  double got[160];
  double env[1] = {input};
  char name[100];
  model_program_bind(&b->tape, env, regs);
  model_program_run(&b->tape, context, regs, t, x, want);
  model_program_bind(&b->native, env, regs);
  model_program_run(&b->native, context, regs, t, x, got);
  for (uint32_t i = 0; i < b->tape.output_count; i++) {
    snprintf(name, sizeof name, "output %u of x = %a, %a, input %a: %a, not %a", i, x[0], x[1],
             input, got[i], want[i]);
    CHECK(same_bits(got[i], want[i]), name);
  }
}

static void compare_block(const Bench* b, const ModelContext* context, const double* values,
                          size_t count) {
  static double regs[256 * MODEL_LANES];
  double t[MODEL_LANES];
  double x[2 * MODEL_LANES];
  static double want[160 * MODEL_LANES];
  static double got[160 * MODEL_LANES];
  double env[1] = {0.75};
  for (size_t k = 0; k < MODEL_LANES; k++) {
    t[k] = (double)k;
    x[k] = values[(3 * k) % count];
    x[MODEL_LANES + k] = values[(5 * k + 1) % count];
  }
  model_program_bind_block(&b->tape, env, regs);
  model_program_run_block(&b->tape, context, regs, t, x, MODEL_LANES, want);
  model_program_run_block(&b->native, context, regs, t, x, MODEL_LANES, got);
  for (uint32_t i = 0; i < b->tape.output_count * MODEL_LANES; i++) {
    char name[64];
    snprintf(name, sizeof name, "lane output %u", i);
    CHECK(same_bits(got[i], want[i]), name);
  }
}

TEST(every_operation_has_the_bits_of_the_tape) {
  const char* compiler = find_compiler();
  if (!compiler) skip();
  char folder[] = "/tmp/saltus-native-test-XXXXXX";
  CHECK(mkdtemp(folder) != NULL, "folder");
  static const double table_x[] = {-1.0, 0.0, 2.0};
  static const double table_y[] = {1.0, 3.0, -1.0};
  static const double slopes[] = {0.5, 0.0, -1.0};
  const ModelTable tables[] = {{table_x, table_y, NULL, 3, NULL, NULL},
                               {table_x, table_y, slopes, 3, NULL, NULL}};
  ModelContext context = {.tables = tables};
  static const double values[] = {
      0.0,    -0.0, 1.0, -1.0,  0.3,      -7.25,     5e-324,      1e308, -1e308,
      1e-300, 2.0,  3.0, 100.5, HUGE_VAL, -HUGE_VAL, (double)NAN, 1e-17, 0.9999999999999999};
  static Bench benches[3];
  ModelMode mode = {.state_count = 2};
  const uint32_t seconds[] = {2, 3, 7};  // a state, the input, a constant
  for (size_t i = 0; i < SLT_COUNT(benches); i++) {
    bench_init(&benches[i], seconds[i]);
  }
  mode.g_flow = benches[0].native;
  mode.rhs = benches[1].native;
  mode.full = benches[2].native;
  NativeTier* tier = NULL;
  NativeOptions options = {.at_once = true, .compiler = compiler, .cache = folder, .limit = 0};
  CHECK(native_tier_create(NULL, &options, &tier) == SLT_OK, "tier");
  CHECK(native_tier_tune(tier, &mode, NULL, 0) == UINT64_MAX, "done at once");
  NativeReport report = native_tier_report(tier);
  CHECK(report.programs == 3 && report.compiled == 1 && !report.note,
        report.note ? report.note : "");
  for (size_t i = 0; i < SLT_COUNT(benches); i++) {
    CHECK(benches[i].cell.run != NULL, "code");
    for (size_t j = 0; j < SLT_COUNT(values); j++) {
      for (size_t k = 0; k < SLT_COUNT(values); k++) {
        const double x[] = {values[j], values[k]};
        compare(&benches[i], &context, values[k], x, values[k]);
      }
    }
  }
  CHECK(benches[0].cell.block != NULL, "code for blocks");
  compare_block(&benches[0], &context, values, SLT_COUNT(values));
  native_tier_free(tier);
  CHECK(rmdir(folder) == 0, "a limit of 0 leaves nothing in the cache");
}

// ---- blocks of linear equations -----------------------------------------------------------------

enum { BLOCK_MAX = 7, BLOCK_REGS = 400 };

/// A u = b of size n, the entries of A and b being states; unknowns and their sum are outputs.
typedef struct Block {
  ModelInstr code[2 * BLOCK_MAX * BLOCK_MAX + 4 * BLOCK_MAX];
  uint32_t unknowns[BLOCK_MAX], residuals[BLOCK_MAX], outputs[BLOCK_MAX + 1];
  ModelEntry entries[BLOCK_MAX * BLOCK_MAX];
  ModelSolve solve;
  ModelProgram tape, native;
  ModelCode cell;
} Block;

static void block_init(Block* b, uint32_t n) {
  uint32_t states = n * n + n;
  uint32_t next = 1 + states;
  uint32_t count = 1;
  for (uint32_t i = 0; i < n; i++) {
    b->unknowns[i] = next++;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t sum = next++;
    uint32_t part = next++;
    b->code[count++] = (ModelInstr){.op = MODEL_OP_NEG, .dst = sum, .a = 1 + n * n + i};
    for (uint32_t j = 0; j < n; j++) {
      uint32_t entry = 1 + i * n + j;
      b->code[count++] =
          (ModelInstr){.op = MODEL_OP_MUL, .dst = part, .a = entry, .b = b->unknowns[j]};
      b->code[count++] = (ModelInstr){.op = MODEL_OP_ADD, .dst = sum, .a = sum, .b = part};
      b->entries[i * n + j] = (ModelEntry){.row = i, .column = j, .reg = entry};
    }
    b->residuals[i] = sum;
  }
  b->code[count] = (ModelInstr){.op = MODEL_OP_END};
  b->code[0] = (ModelInstr){.op = MODEL_OP_SOLVE, .dst = 0, .a = count++};
  uint32_t total = next++;
  b->code[count++] = (ModelInstr){.op = MODEL_OP_MOVE, .dst = total, .a = b->unknowns[0]};
  for (uint32_t i = 1; i < n; i++) {
    b->code[count++] =
        (ModelInstr){.op = MODEL_OP_ADD, .dst = total, .a = total, .b = b->unknowns[i]};
  }
  for (uint32_t i = 0; i < n; i++) {
    b->outputs[i] = b->unknowns[i];
  }
  b->outputs[n] = total;
  b->code[count] = (ModelInstr){.op = MODEL_OP_END};
  b->solve = (ModelSolve){.count = n,
                          .linear = true,
                          .id = 17 + n,
                          .unknowns = b->unknowns,
                          .residuals = b->residuals,
                          .entries = b->entries,
                          .entry_count = n * n,
                          .work = next};
  b->tape = (ModelProgram){.code = b->code,
                           .code_count = count,
                           .state_count = states,
                           .reg_count = next + n * n + 4 * n,
                           .const_begin = 1 + states,
                           .outputs = b->outputs,
                           .output_count = n + 1,
                           .solves = &b->solve,
                           .solve_count = 1};
  b->native = b->tape;
  b->native.native = &b->cell;
}

/// Numbers of a matrix: ordinary ones, and now and then those that make it singular or worse.
static double matrix_number(ModelRandom* random) {
  static const double odd[] = {0.0, 0.0, 0.0, 0.0, 1.0, HUGE_VAL, (double)NAN, 1e300, 1e-300, -0.0};
  double kind = model_random_uniform(random);
  if (kind < 0.2) return odd[(size_t)(model_random_uniform(random) * 8.0)];
  if (kind < 0.22) return odd[5 + (size_t)(model_random_uniform(random) * 5.0)];
  return model_random_normal(random);
}

TEST(linear_blocks_are_solved_to_the_same_bits) {
  const char* compiler = find_compiler();
  if (!compiler) skip();
  char folder[] = "/tmp/saltus-native-test-XXXXXX";
  CHECK(mkdtemp(folder) != NULL, "folder");
  static Block blocks[BLOCK_MAX];
  NativeTier* tier = NULL;
  NativeOptions options = {.at_once = true, .compiler = compiler, .cache = folder, .limit = 0};
  CHECK(native_tier_create(NULL, &options, &tier) == SLT_OK, "tier");
  ModelRandom random;
  model_random_seed(&random, 1, 1);
  uint32_t solved = 0;
  uint32_t failed = 0;
  for (uint32_t n = 1; n <= BLOCK_MAX; n++) {
    Block* b = &blocks[n - 1];
    block_init(b, n);
    ModelMode mode = {.state_count = b->tape.state_count, .g_flow = b->native};
    native_tier_tune(tier, &mode, NULL, 0);
    CHECK(b->cell.run != NULL, "code");
    for (int round = 0; round < 2000; round++) {
      static double regs[BLOCK_REGS];
      static double native_regs[BLOCK_REGS];
      double x[BLOCK_MAX * BLOCK_MAX + BLOCK_MAX];
      double want[BLOCK_MAX + 1];
      double got[BLOCK_MAX + 1];
      uint32_t failures[2] = {0, 0};
      for (uint32_t i = 0; i < b->tape.state_count; i++) {
        x[i] = round % 2 ? matrix_number(&random) : model_random_normal(&random);
      }
      // rows that are nearly equal
      if (round % 5 == 4 && n > 1) memcpy(x + n, x, n * sizeof *x);
      ModelContext tape_context = {.failed = &failures[0]};
      ModelContext native_context = {.failed = &failures[1]};
      model_program_run(&b->tape, &tape_context, regs, 0.0, x, want);
      model_program_run(&b->native, &native_context, native_regs, 0.0, x, got);
      CHECK(failures[0] == failures[1], "which block failed");
      solved += failures[0] == 0;
      failed += failures[0] != 0;
      for (uint32_t i = 0; i <= n; i++) {
        char name[100];
        snprintf(name, sizeof name, "size %u, round %d, output %u: %a, not %a", n, round, i, got[i],
                 want[i]);
        CHECK(same_bits(got[i], want[i]), name);
      }
      for (uint32_t i = 0; i < n; i++) {
        CHECK(same_bits(native_regs[b->unknowns[i]], want[i]), "unknowns are left in registers");
      }
    }
  }
  CHECK(solved > 3000 && failed > 1000, "both kinds occur");
  native_tier_free(tier);
  CHECK(rmdir(folder) == 0, "nothing is left");
}

// ---- text ---------------------------------------------------------------------------------------

TEST(what_cannot_be_written_is_refused) {
  Arena arena;
  arena_init(&arena, NULL, &test_oom);
  static ModelInstr code[NATIVE_CODE_MAX + 2];
  uint32_t output = 2;
  ModelProgram program = {.code = code,
                          .code_count = 1,
                          .state_count = 1,
                          .reg_count = 3,
                          .const_begin = 2,
                          .outputs = &output,
                          .output_count = 1};
  NativeUnit unit = {.programs = {&program}, .count = 1};
  TextBuffer text = {.arena = &arena};
  code[0] = (ModelInstr){.op = MODEL_OP_SQUARE, .dst = 2, .a = 1};
  CHECK(native_write(&text, &unit), "plain");
  code[0].op = MODEL_OP_RANDOM;
  CHECK(!native_write(&text, &unit), "random numbers");
  code[0].op = MODEL_OP_COUNT + 7;
  CHECK(!native_write(&text, &unit), "an operation of the future");
  // no operation follows from the one before: nothing that could be a loop
  ModelRandom random;
  model_random_seed(&random, 1, 2);
  for (uint32_t i = 0; i <= NATIVE_CODE_MAX; i++) {
    uint32_t op = MODEL_OP_SIN + (uint32_t)(10.0 * model_random_uniform(&random));
    code[i] = (ModelInstr){.op = op, .dst = 2, .a = i ? 2 : 1};
  }
  program.code_count = NATIVE_CODE_MAX + 1;
  CHECK(!native_write(&text, &unit), "too long");
  arena_free(&arena);
}

TEST(text_depends_on_the_program_alone) {
  Arena arena;
  arena_init(&arena, NULL, &test_oom);
  static Bench a;
  static Bench b;
  bench_init(&a, 2);
  bench_init(&b, 2);
  NativeUnit first = {.programs = {&a.native}, .block = {true}, .count = 1};
  NativeUnit second = {.programs = {&b.native}, .block = {true}, .count = 1};
  TextBuffer left = {.arena = &arena};
  TextBuffer right = {.arena = &arena};
  CHECK(native_write(&left, &first) && native_write(&right, &second), "written");
  CHECK(str_equal(text_str(&left), text_str(&right)), "equal");
  arena_free(&arena);
}

// ---- runs in several threads --------------------------------------------------------------------

static const char shared_text[] = "x' = v; x(t0) = 1; v' = -x + u; v(t0) = 0; u(t0) = 0;\n"
                                  "state up [x <= -0.5] { set u = 0.1; } from init, down;\n"
                                  "state down [x >= 0.5] { set u = -0.1; } from init, up;\n";

typedef struct Runner {
  const SltModel* model;
  pthread_t thread;
  double end[2];
} Runner;

static void* run_to_the_end(void* user) {
  Runner* runner = user;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  SltQuantity x;
  SltQuantity v;
  if (slt_sim_create(runner->model, &options, &sim) < 0 || slt_sim_start(sim) < 0) return NULL;
  if (slt_sim_find(sim, "x", &x) < 0 || slt_sim_find(sim, "v", &v) < 0) return NULL;
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, 40.0, NULL);
  }
  runner->end[0] = slt_sim_get(sim, x);
  runner->end[1] = slt_sim_get(sim, v);
  slt_sim_free(sim);
  return NULL;
}

TEST(threads_share_the_code_of_a_model) {
  const char* compiler = find_compiler();
  if (!compiler) skip();
  char folder[] = "/tmp/saltus-native-test-XXXXXX";
  CHECK(mkdtemp(folder) != NULL, "folder");
  SltModel* model = NULL;
  CHECK(slt_model_compile("shared", shared_text, strlen(shared_text), NULL, &model) == SLT_OK, "");
  Runner tape = {.model = model};
  run_to_the_end(&tape);
  SltNativeOptions options = slt_native_options();
  options.when = SLT_NATIVE_ON;
  options.compiler = compiler;
  options.cache = folder;
  options.cache_limit = 0;
  CHECK(slt_model_set_native(model, &options) == SLT_OK, "set");
  CHECK(slt_model_set_native(model, &options) == SLT_ERR_ARGUMENT, "once only");
  Runner runners[3];
  for (size_t i = 0; i < SLT_COUNT(runners); i++) {
    runners[i] = (Runner){.model = model};
    CHECK(pthread_create(&runners[i].thread, NULL, run_to_the_end, &runners[i]) == 0, "thread");
  }
  for (size_t i = 0; i < SLT_COUNT(runners); i++) {
    pthread_join(runners[i].thread, NULL);
    CHECK(same_bits(runners[i].end[0], tape.end[0]), "x at the end");
    CHECK(same_bits(runners[i].end[1], tape.end[1]), "v at the end");
  }
  SltNativeReport report = slt_model_native_report(model);
  CHECK(report.programs > 0 && !report.note, report.note ? report.note : "");
  slt_model_free(model);
  CHECK(rmdir(folder) == 0, "nothing is left");
}

TEST(wrong_calls_are_refused) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("shared", shared_text, strlen(shared_text), NULL, &model) == SLT_OK, "");
  SltNativeOptions options = slt_native_options();
  SltNativeCache cache;
  CHECK(slt_model_set_native(NULL, &options) == SLT_ERR_ARGUMENT, "no model");
  CHECK(slt_model_set_native(model, NULL) == SLT_ERR_ARGUMENT, "no options");
  options.cookie = 0;
  CHECK(slt_model_set_native(model, &options) == SLT_ERR_ARGUMENT, "options by hand");
  options = slt_native_options();
  options.when = (SltNativeWhen)3;
  CHECK(slt_model_set_native(model, &options) == SLT_ERR_ARGUMENT, "no such time");
  CHECK(slt_model_native_report(NULL).programs == 0, "report of nothing");
  CHECK(slt_native_cache_info(NULL, &cache, NULL) == SLT_ERR_ARGUMENT, "no folder");
  CHECK(slt_native_cache_info("/tmp", NULL, NULL) == SLT_ERR_ARGUMENT, "no place");
  CHECK(slt_native_cache_info("/nowhere/at/all", &cache, NULL) == SLT_OK, "a missing one is empty");
  CHECK(cache.entries == 0, "empty");
  CHECK(slt_native_cache_trim(NULL, 0, NULL, NULL) == SLT_ERR_ARGUMENT, "no folder");
  // without compiler and folder: the interpreter, and a note
  options = slt_native_options();
  options.when = SLT_NATIVE_ON;
  CHECK(slt_model_set_native(model, &options) == SLT_OK, "nothing to use");
  Runner runner = {.model = model};
  run_to_the_end(&runner);
  CHECK(slt_model_native_report(model).note != NULL, "why");
  slt_model_free(model);
}
