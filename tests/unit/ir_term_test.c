// SPDX-License-Identifier: MIT
#include "ir_build.h"
#include "test.h"

static const ExprId none = {0};

TEST(equal_leaves_share_a_slot) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  IrTerm t = read_term(&m, "x + y*x + x' + pre(x) + 7.5 + 7.5");
  CHECK(t.leaf_count == 5, "x, y, x', pre(x), 7.5");
  CHECK(m.numbers.count == 1, "one number");
  arena_free(&arena);
}

TEST(long_rows_are_deduplicated_too) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  enum { COUNT = 5000 };
  IrTermBuilder b;
  for (int round = 0; round < 3; round++) {
    ir_term_begin(&b, &m);
    ExprId sum = ir_term_var(&b, 0, 0, IR_NOW);
    for (uint32_t i = 1; i < COUNT; i++) {
      sum = ir_node(&m.pool, IR_ADD, sum, ir_term_var(&b, i, 0, IR_NOW), none);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
      CHECK(ir_term_var(&b, i, 0, IR_NOW).index == ir_slot(&m.pool, i).index, "found");
    }
    CHECK(b.row.count == COUNT, "no doubles");
    IrTerm t = ir_term_end(&b, sum);
    CHECK(t.leaf_count == COUNT && ir_leaf(&m, t, COUNT - 1).id == COUNT - 1, "row");
  }
  arena_free(&arena);
}

/// sum over j = 0 .. count - 1 of x_j * (x_j - x_i)
static IrTerm pair_sum(IrModel* m, uint32_t count, uint32_t i) {
  IrTermBuilder b;
  ir_term_begin(&b, m);
  ExprId sum = ir_term_var(&b, i, 0, IR_NOW);
  for (uint32_t j = 0; j < count; j++) {
    b.addend = b.row.count;
    ExprId other = ir_term_addend_leaf(&b, (IrLeaf){.id = j, .kind = IR_LEAF_VAR});
    ExprId own = ir_term_var(&b, i, 0, IR_NOW);
    ExprId again = ir_term_addend_leaf(&b, (IrLeaf){.id = j, .kind = IR_LEAF_VAR});
    CHECK(other.index == again.index && other.index != own.index, "one slot per addend");
    ExprId difference = ir_node(&m->pool, IR_SUB, other, own, none);
    ExprId addend = ir_node(&m->pool, IR_MUL, again, difference, none);
    sum = ir_node(&m->pool, IR_ADD, sum, addend, none);
  }
  return ir_term_end(&b, sum);
}

TEST(sums_over_all_have_one_shape) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  for (uint32_t count = 3; count <= 300; count *= 10) {
    IrTerm first = pair_sum(&m, count, 0);
    for (uint32_t i = 1; i < count; i++) {
      IrTerm t = pair_sum(&m, count, i);
      CHECK(t.shape.index == first.shape.index && t.leaf_count == count + 1, "shape");
      CHECK(ir_leaf(&m, t, 0).id == i && ir_leaf(&m, t, count).id == count - 1, "row");
      CHECK(ir_leaf(&m, t, count).pad == 0, "no mark is left");
    }
  }
  arena_free(&arena);
}

TEST(builders_may_be_nested) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  IrTermBuilder outer;
  ir_term_begin(&outer, &m);
  ExprId a = ir_term_var(&outer, 1, 0, IR_NOW);
  IrTermBuilder inner;
  ir_term_begin(&inner, &m);
  ExprId b = ir_term_var(&inner, 2, 0, IR_NOW);
  IrTerm second = ir_term_end(&inner, b);
  IrTerm first =
      ir_term_end(&outer, ir_node(&m.pool, IR_ADD, a, ir_term_var(&outer, 3, 0, IR_NOW), none));
  CHECK(second.leaf_count == 1 && ir_leaf(&m, second, 0).id == 2, "inner");
  CHECK(first.leaf_count == 2 && ir_leaf(&m, first, 0).id == 1 && ir_leaf(&m, first, 1).id == 3,
        "outer");
  arena_free(&arena);
}

TEST(unused_slots_are_dropped_and_the_rest_renumbered) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  IrTermBuilder b;
  ir_term_begin(&b, &m);
  ExprId s[5];
  for (uint32_t i = 0; i < 5; i++) {
    s[i] = ir_term_var(&b, 10 + i, 0, IR_NOW);
  }
  // (v13 - table(v11)) * v13: slots 3, 1 become 0, 1
  ExprId difference = ir_node(&m.pool, IR_SUB, s[3], ir_table(&m.pool, 0, s[1]), none);
  IrTerm t = ir_term_end(&b, ir_node(&m.pool, IR_MUL, difference, s[3], none));
  CHECK(t.leaf_count == 2, "two are used");
  CHECK(ir_leaf(&m, t, 0).id == 13 && ir_leaf(&m, t, 1).id == 11, "in order of first use");
  CHECK(m.leaves.count == 2, "no other leaves");

  // the same expression built in another order is the same shape
  ir_term_begin(&b, &m);
  ExprId y = ir_term_var(&b, 21, 0, IR_NOW);
  ExprId x = ir_term_var(&b, 23, 0, IR_NOW);
  difference = ir_node(&m.pool, IR_SUB, x, ir_table(&m.pool, 0, y), none);
  IrTerm u = ir_term_end(&b, ir_node(&m.pool, IR_MUL, difference, x, none));
  CHECK(u.shape.index == t.shape.index, "same shape");
  CHECK(ir_leaf(&m, u, 0).id == 23 && ir_leaf(&m, u, 1).id == 21, "its own row");

  // a root that uses nothing, and no root
  ir_term_begin(&b, &m);
  ir_term_var(&b, 1, 0, IR_NOW);
  IrTerm constant = ir_term_end(&b, ir_const(&m.pool, 3));
  CHECK(ir_term_present(constant) && constant.leaf_count == 0, "constant");
  ir_term_begin(&b, &m);
  ir_term_var(&b, 1, 0, IR_NOW);
  CHECK(!ir_term_present(ir_term_end(&b, none)), "absent");
  arena_free(&arena);
}

TEST(numbers_structural_and_not) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  static const double structural[] = {0, 1, 2, 0.5, -1, 3};
  IrTermBuilder b;
  ir_term_begin(&b, &m);
  for (size_t i = 0; i < SLT_COUNT(structural); i++) {
    ExprId e = ir_term_number(&b, structural[i]);
    CHECK(m.pool.nodes.data[e.index].op == IR_CONST, "in the shape");
  }
  ExprId e = ir_term_number(&b, 9.81);
  CHECK(m.pool.nodes.data[e.index].op == IR_SLOT, "in the row");
  CHECK(ir_term_number_leaf(&b, 2).index != ir_const(&m.pool, 2).index, "a loop index is a leaf");
  uint32_t slot = b.row.count;
  ir_term_number_leaf(&b, 0.0);
  ir_term_number_leaf(&b, -0.0);
  ir_term_number_leaf(&b, (double)NAN);
  ir_term_number_leaf(&b, (double)NAN);
  CHECK(b.row.count == slot + 3, "numbers are equal by their bits");
  arena_free(&arena);
}

TEST(equality_and_hash) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  IrTerm a = read_term(&m, "x' + 3.5*y");
  IrTerm b = read_term(&m, "x' + 3.5*y");
  IrTerm c = read_term(&m, "x' + 3.6*y");
  IrTerm d = read_term(&m, "x + 3.5*y");
  CHECK(a.leaf_begin != b.leaf_begin && ir_term_equal(&m, a, b), "equal");
  CHECK(ir_term_hash(&m, a) == ir_term_hash(&m, b), "equal hash");
  CHECK(!ir_term_equal(&m, a, c) && ir_term_hash(&m, a) != ir_term_hash(&m, c), "number");
  CHECK(!ir_term_equal(&m, a, d) && ir_term_hash(&m, a) != ir_term_hash(&m, d), "order");

  // numbers are hashed by value: another model, where they were met in another order
  IrModel other;
  ir_model_init(&other, &arena, NULL);
  read_term(&other, "x - 8.25 + 9.5 + y");
  CHECK(ir_term_hash(&other, read_term(&other, "x' + 3.5*y")) == ir_term_hash(&m, a), "models");
  IrTerm absent = {none, 0, 0};
  CHECK(ir_term_equal(&m, absent, absent), "absent terms are equal");
  CHECK(!ir_term_equal(&m, a, absent), "absent");
  arena_free(&arena);
}

TEST(a_family_is_one_shape) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  enum { COUNT = 100000 };
  uint32_t shape = 0;
  for (uint32_t i = 0; i < COUNT; i++) {
    // u_i' = k*(u_(i-1) - 2*u_i + u_(i+1)) + 0.1*i
    IrTermBuilder b;
    ir_term_begin(&b, &m);
    ExprId left = ir_term_var(&b, i + 1, 1, IR_NOW);
    ExprId k = ir_term_param(&b, 0);
    ExprId two_u =
        ir_node(&m.pool, IR_MUL, ir_term_number(&b, 2), ir_term_var(&b, i + 1, 0, IR_NOW), none);
    ExprId sum = ir_node(&m.pool, IR_SUB, ir_term_var(&b, i, 0, IR_NOW), two_u, none);
    sum = ir_node(&m.pool, IR_ADD, sum, ir_term_var(&b, i + 2, 0, IR_NOW), none);
    ExprId source =
        ir_node(&m.pool, IR_MUL, ir_term_number(&b, 0.1), ir_term_number_leaf(&b, i), none);
    ExprId right = ir_node(&m.pool, IR_ADD, ir_node(&m.pool, IR_MUL, k, sum, none), source, none);
    IrTerm t = ir_term_end(&b, ir_node(&m.pool, IR_EQUALS, left, right, none));
    if (i == 1) shape = t.shape.index;
    if (i > 1) CHECK(t.shape.index == shape, "one shape");
    CHECK(t.leaf_count == 7, "one row each");
  }
  CHECK(m.pool.nodes.count < 100, "the pool stays small");
  CHECK(m.leaves.count == 7 * COUNT, "rows");
  arena_free(&arena);
}

TEST(deep_chains_need_no_stack) {
  TEST_ARENA(arena);
  IrModel m;
  ir_model_init(&m, &arena, NULL);
  enum { COUNT = 300000 };
  IrTermBuilder b;
  ir_term_begin(&b, &m);
  ir_term_var(&b, 7, 0, IR_NOW);  // unused: everything is renumbered
  ExprId sum = ir_term_var(&b, 0, 0, IR_NOW);
  for (uint32_t i = 1; i < COUNT; i++) {
    sum = ir_node(&m.pool, IR_ADD, sum, ir_term_var(&b, i % 3, 0, IR_NOW), none);
  }
  IrTerm t = ir_term_end(&b, sum);
  CHECK(t.leaf_count == 3 && ir_leaf(&m, t, 0).id == 0, "row");
  CHECK(ir_term_hash(&m, t) != 0, "hash");
  arena_free(&arena);
}

/// Build something that uses every allocation of the builder.
static void build_all(IrModel* m) {
  for (uint32_t i = 0; i < 60; i++) {
    read_term(m, "a+b+c+d+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u = 2.5*x + 0.1*(y - x')");
    IrTermBuilder b;
    ir_term_begin(&b, m);
    ir_term_end(&b, ir_term_number_leaf(&b, i));
  }
}

TEST(running_out_of_memory_leaves_no_leak) {
  check_every_failure(build_all);
}
