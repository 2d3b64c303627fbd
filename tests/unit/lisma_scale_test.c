// SPDX-License-Identifier: MIT
//
// Loops that are lowered for a few instances give the same model as loops that are lowered for all.
#include "lisma/lisma.h"
#include "test.h"

typedef struct Compiled {
  Source source;
  DiagList diags;
  IrModel m;
  bool fine;
} Compiled;

static void compile(Compiled* c, Arena* arena, const char* text, LismaOptions options) {
  source_init(&c->source, arena, STR_LIT("test"), str_from_c(text));
  diag_init(&c->diags, arena, &c->source);
  c->fine = lisma_compile(&c->m, arena, &c->source, &options, &c->diags);
}

/// An extended model has no index of its names.
static bool is_sampled(const IrModel* m) {
  return m->names.slot_count == 0;
}

static void check_same(const char* text, bool sampled, LismaOptions options) {
  TEST_ARENA(arena);
  Compiled all;
  Compiled few;
  options.sample_from = UINT32_MAX;
  compile(&all, &arena, text, options);
  options.sample_from = 1;
  compile(&few, &arena, text, options);
  CHECK(all.fine == few.fine, text);
  CHECK(all.fine || !sampled, text);
  CHECK(!is_sampled(&all.m), text);
  CHECK(is_sampled(&few.m) == sampled, text);
  CHECK(all.diags.items.count == few.diags.items.count, text);
  for (uint32_t i = 0; i < all.diags.items.count; i++) {
    Str a = diag_render(&arena, &all.source, &all.diags.items.data[i], false);
    Str b = diag_render(&arena, &few.source, &few.diags.items.data[i], false);
    CHECK(str_equal(a, b), text);
  }
  if (!all.fine) {
    arena_free(&arena);
    return;
  }
  CHECK(ir_model_equal(&all.m, &few.m, &arena), text);
  TextBuffer printed[2] = {{.arena = &arena}, {.arena = &arena}};
  ir_print_model(&printed[0], &all.m);
  ir_print_model(&printed[1], &few.m);
  CHECK(str_equal(text_str(&printed[0]), text_str(&printed[1])), text);
  ir_unpack(&few.m);
  CHECK(ir_model_equal(&all.m, &few.m, &arena), text);
  Str why = {0};
  CHECK(ir_verify(&few.m, &arena, &why), why.length ? why.data : text);
  arena_free(&arena);
}

#define CELLS \
  "for i = 1:N { T_[i]' = k * (5 - T_[i]); T_[i](t0) = i / N;" \
  " automaton cell_[i] { state full [T_[i] >= 2] { T_[i](t0) = 0; } from init, full; } }"

TEST(loops_that_are_alike_are_sampled) {
  static const char* const texts[] = {
      "const N = 300, k = 0.1;" CELLS,
      // a number as the bound, and indices close to it
      "for i = 2:299 { x_[i]' = x_[i-1] - 2*x_[i] + x_[i+1]; } x_1' = -x_1; x_[300]' = -x_[300];",
      "const N = 300; for i = 2:N-1 { x_[i]' = x_[i-1] - 2*x_[i] + x_[i+1]; }"
      "x_1 = 0; x_[N] = 1; for i = 1:N { x_[i](t0) = i; }",
      // several families, interleaved names, labels, names with tails
      "const N = 250; for i = 1:N { a_[i]' = b_[i]; a_[i]x' = -a_[i]; e_[i]: b_[i] = sin(a_[i]x); "
      "}",
      // two loops, the second one inside of states
      "const N = 250; for i = 1:N { x_[i]' = -x_[i]; }"
      "state on [x_1 < 0.5] { for i = 1:N { x_[i]' = 1; } } from init; x_1(t0) = 1;",
      // states that replace equations, which become one equation that selects
      "const N = 300; for i = 1:N { x_[i]' = 1 - x_[i]; automaton a_[i] {"
      " state up [x_[i] > 1] { x_[i]' = -1; } from init;"
      " state down [x_[i] < 0.5] { x_[i]' = 2; } from up; } }",
      // fixed instances beside the counted ones
      "const N = 400; for i = 1:N { x_[i]' = -x_[i]; } x_7 { nominal = 10; } y = x_3 + x_12;",
      "const N = 400, M = 10; for i = 1:N { for j = 1:M { x_[i]_[j]' = -j*x_[i]_[j] + i; } }",
      "const N = 400; for i = 1:N { for j = 1:3 { T[i,j]' = -T[i,j]; T[i,j](t0) = 10*j; } }",
      // switches and piecewise functions
      "const N = 300; for i = 1:N { x_[i]' = abs(x_[i] - 1) + max(x_[i], 2.5);"
      " if (x_[i] > 10) { y_[i] = 1; } else { y_[i] = x_[i]; } w_[i] = 2*y_[i]; }",
      // numbers among those that are counted
      "const N = 300; for i = 1:N { x_[i]' = i*x_[i] + 17 + 250.5 + 3000; } z' = 77*z;",
      "const N = 300; macro s = x_1 + x_2; for i = 1:N { x_[i]' = -x_[i]; macro p_[i] = 2*x_[i]; }",
      "const N = 300; for i = 1:N { x_[i]' = 0; at 10*N each 2 repeat 3 { x_[i](t0) = 5; } }",
      "const N = 300; energy = x_1*x_1 + 8*x_5; for i = 1:N { x_[i]' = -x_[i]; }"
      "experiment { end = N; out = x_1, x_2; }",
      "const N = 300; for i = 1:N { x_[i]' = y_[i]; automaton a_[i] {"
      " state up [x_[i] > 1] { y_[i] = -1; } from init, down; state down [x_[i] < 0] like up {"
      " stop \"low\"; } from up; } y_[i] = 1; }",
  };
  for (uint32_t i = 0; i < SLT_COUNT(texts); i++) {
    check_same(texts[i], true, (LismaOptions){0});
  }
}

TEST(loops_that_are_not_alike_are_written_out) {
  static const char* const texts[] = {
      "const N = 300; for i = 1:N { x_[i]' = -x_[i]; } s = sum(i = 1:N, x_[i]);",
      "const N = 300; for i = 1:N { if (i < 200) { x_[i]' = -x_[i]; } else { x_[i]' = 1; } }",
      "const N = 300; for i = 1:N { x_[2*i]' = -x_[2*i]; }",
      "const N = 300; for i = 1:N { x_[N-i+1]' = -x_[N-i+1]; }",
      "const N = 300; for i = 1:N { const k_[i] = 1/(i + 1); x_[i]' = -k_[i]*x_[i]; }",
      ("const N = 300; for i = 1:N { x_[i]' = 1; automaton a_[i] {"
       " state s [x_[i] > i] { x_[i](t0) = 0; } from init; } }"),
      "const N = 300; for i = 1:N { for j = 1:i { x_[i]_[j]' = 1; } }",
      "const N = 300, M = N - 1; for i = 1:M { x_[i]' = 1; }  for i = 1:N { y_[i]' = 1; }",
      // names and numbers that would come among the counted ones
      "const N = 300; for i = 1:N { x_[i]' = -x_[i]; } x_200b' = 1;",
      "const N = 300; for i = 1:N { x_[i]' = -x_[i]; } x_200(t0) = 1;",
      "const N = 300; for i = 1:N { i*x_[i] + 0*x_[i]' = 1; } 200*z + 0*z' = 1;",
      "const N = 300; for i = 1:N { x1[i]' = 1; } x' = 1;",
      "const N = 300; for i = 1:N { x_[i] { nominal = i; } x_[i]' = 1; }",
      "const N = 300; for i = 1:N { x_[i]' = table(x_[i], 1); }",
      // messages are those of the whole text
      "const N = 300; for i = 1:N { x_[i]' = -y_[i+1]; }",
      "const N = 300; for i = 1:N { x_[i]' = 1; } x_300' = 2; x_250(t0) = ;",
      "const N = 300; for i = 1:N { x_[i](t0) = 1/(i-250); x_[i]' = -x_[i]; } x_[N+3](t0) = 1;",
  };
  for (uint32_t i = 0; i < SLT_COUNT(texts); i++) {
    check_same(texts[i], false, (LismaOptions){0});
  }
}

TEST(sizes_can_be_set_and_are_limited) {
  const LismaOverride larger = {STR_LIT("N"), 777};
  const char* text = "const N = 3, k = 0.1;" CELLS;
  check_same(text, false, (LismaOptions){0});
  check_same(text, true, (LismaOptions){.overrides = &larger, .override_count = 1});
  const char* two = "const N = 300; for i = 1:N { x_[i]' = 1; } for i = 1:N { y_[i]' = 1; }";
  check_same(two, true, (LismaOptions){.max_instances = 600});
  check_same(two, false, (LismaOptions){.max_instances = 599});
  check_same(two, false, (LismaOptions){.max_leaves = 400});
  // names that nothing reads are told about in small models only
  check_same("for i = 1:5100 { x_[i]' = 1; y_[i](t0) = 1; }", true, (LismaOptions){0});
  check_same("for i = 1:2400 { x_[i]' = 1; y_[i](t0) = 1; }", false, (LismaOptions){0});
}

static uint32_t next_random(uint64_t* seed, uint32_t below) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % below;
}

/// Statements for the inside of a loop and for the places around it, each with names of its own.
static const char* const inside[] = {
    "a_[i]' = x_[i+1] - a_[i]; ",
    "b_[i] = 3*x_[i] + i; ",
    "c_[i]' = if(x_[i] > 5.5, x_[i-1], 70); ",
    "d_[i]' = 2; d_[i](t0) = i/N + 13; ",
    "e_[i]a' = 33*i*e_[i]a + k; ",
    "l_[i]: f_[i] = sin(x_[i]) + y_[i-1]; ",
    "u_[i](t0) = 1; u_[i] { unit = \"m\"; } ",
    "macro q_[i] = x_[i]*y_[i+2]; ",
    "automaton a_[i] { state s [x_[i] >= k] { x_[i](t0) = 0; } from init; } ",
    "automaton b_[i] { state s [x_[i] > 1 && y_[i] < 17] { h_[i] = 1; } from init;"
    " state t [b_[i].s && x_[i+1] > 8] { n_[i](t0) = n_[i] + i; } from s; }"
    " n_[i](t0) = i; h_[i] = 4; g_[i]' = h_[i] + n_[i]; ",
    "if (y_[i] > x_[i]) { o_[i]' = 2; } else { o_[i]' = -9*o_[i]; } ",
    "for j = 1:3 { p_[i]_[j]' = j*p_[i]_[j] - 41; } ",
    "m[i,2]' = m[i,2] + floor(x_[i]); ",
    "0 = x_[i] - 230*i*u_[i]; ",
    "r_[i]' = abs(x_[i] - 30) + max(y_[i], y_[i-1]); ",
    "at 3 each 40 repeat 6 { y_[i](t0) = 1; } ",
    "s_[i]' = i^2*s_[i]; s_[i](t0) = 5; ",
    "v_[i]' = mod(x_[i], 3) + time; ",
};
static const char* const around[] = {
    "A' = -x_[N+1]; ",
    "B' = 250*x_3 + B; ",
    "C_[N]' = 7 - x_[N]; ",
    "x' = 55; ",
    "x_12b' = 1; ",
    "D_[N]b' = x_[N-1]; D_7b' = 2; ",
    "energy = x_1; ",
    "E' = 4*F_2; F_2' = 18*F_2; ",
    "state s [x_[N] > 99] { y_2(t0) = 1; } from init; ",
    "for i = 1:5 { G_[i]' = x_[i]; } ",
    "at 3 each 40 repeat 6 { x_[2](t0) = 1; } ",
    "H' = 300*H; ",
};

static void append_some(TextBuffer* text, uint64_t* seed, const char* const* from, uint32_t count,
                        uint32_t wanted, uint32_t* used) {
  for (uint32_t i = 0; i < wanted; i++) {
    uint32_t chosen = next_random(seed, count);
    if (*used >> chosen & 1) continue;
    *used |= 1u << chosen;
    text_append_c(text, from[chosen]);
  }
}

static void random_text(TextBuffer* text, uint64_t* seed) {
  static const char* const ranges[] = {"1:N", "2:N-1", "2:N", "1:N+2", "3:N"};
  uint32_t inside_used = 0;
  uint32_t around_used = 0;
  text_append_format(text, "const N = %u, k = 2;\n", 200 + next_random(seed, 60));
  text_append_c(text, "for i = 0:N+4 { x_[i]' = y_[i]; y_[i]' = -x_[i]; }\n");
  uint32_t loops = 1 + next_random(seed, 3);
  for (uint32_t l = 0; l < loops; l++) {
    uint32_t extra = next_random(seed, 3);
    append_some(text, seed, around, SLT_COUNT(around), extra, &around_used);
    text_append_format(text, "\nfor i = %s { ", ranges[next_random(seed, SLT_COUNT(ranges))]);
    uint32_t statements = 1 + next_random(seed, 4);
    append_some(text, seed, inside, SLT_COUNT(inside), statements, &inside_used);
    text_append_c(text, "}\n");
  }
}

/// Whatever way it goes, the model or the messages are those of the whole text.
TEST(mixtures_of_statements_give_the_same_model) {
  uint64_t seed = 5;
  uint32_t sampled = 0;
  for (uint32_t i = 0; i < 25; i++) {
    TEST_ARENA(arena);
    TextBuffer text = {.arena = &arena};
    random_text(&text, &seed);
    const char* written = text_str(&text).data;
    Compiled few;
    compile(&few, &arena, written, (LismaOptions){.sample_from = 1});
    bool by_samples = is_sampled(&few.m);
    if (by_samples) sampled++;
    check_same(written, by_samples, (LismaOptions){0});
    arena_free(&arena);
  }
  CHECK(sampled >= 12, "many of them are sampled");
}
