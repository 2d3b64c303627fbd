// SPDX-License-Identifier: MIT
#include "ir/internal.h"
#include "test.h"

static const ExprId none = {0};

TEST(operators_have_arity_and_type) {
  CHECK(ir_op_arity(IR_CONST) == 0, "const");
  CHECK(ir_op_arity(IR_SELECT) == 3, "select");
  CHECK(ir_op_arity(IR_TABLE) == 2, "table");
  CHECK(ir_op_arity((IrOp)IR_OP_COUNT) == 0, "beyond");
  CHECK(strcmp(ir_op_text(IR_LE), "<=") == 0, "text");
  CHECK(strcmp(ir_op_text((IrOp)IR_OP_COUNT), "?") == 0, "text beyond");
  for (int op = 0; op < IR_OP_COUNT; op++) {
    bool relation =
        op == IR_LT || op == IR_LE || op == IR_GT || op == IR_GE || op == IR_EQ || op == IR_NE;
    bool logical = op == IR_AND || op == IR_OR || op == IR_NOT || op == IR_TRUE || op == IR_FALSE;
    CHECK(ir_op_is_relation((IrOp)op) == relation, ir_op_text((IrOp)op));
    CHECK(ir_op_is_boolean((IrOp)op) == (relation || logical), ir_op_text((IrOp)op));
  }
}

TEST(equal_nodes_are_one) {
  TEST_ARENA(arena);
  IrPool pool;
  ir_pool_init(&pool, &arena);
  CHECK(pool.nodes.count == 1 && pool.nodes.data[0].op == IR_NIL, "nil comes first");
  ExprId x = ir_slot(&pool, 0);
  ExprId y = ir_slot(&pool, 1);
  ExprId sum = ir_node(&pool, IR_ADD, x, y, none);
  uint32_t count = pool.nodes.count;
  CHECK(ir_node(&pool, IR_ADD, ir_slot(&pool, 0), ir_slot(&pool, 1), none).index == sum.index,
        "same sum");
  CHECK(pool.nodes.count == count, "nothing new");
  CHECK(ir_node(&pool, IR_ADD, y, x, none).index != sum.index, "other order");
  CHECK(ir_node(&pool, IR_SUB, x, y, none).index != sum.index, "other operator");
  CHECK(ir_node(&pool, IR_SIN, x, y, x).index == ir_node(&pool, IR_SIN, x, none, none).index,
        "arguments beyond the arity do not count");
  CHECK(ir_table(&pool, 3, x).index != ir_table(&pool, 4, x).index, "tables");
  CHECK(ir_table(&pool, 3, x).index == ir_table(&pool, 3, x).index, "same table");
  arena_free(&arena);
}

TEST(constants_are_equal_by_their_bits) {
  TEST_ARENA(arena);
  IrPool pool;
  ir_pool_init(&pool, &arena);
  double nan_a = (double)NAN;
  double nan_b = 0;
  uint64_t bits = ir_double_bits(nan_a) ^ 1;
  memcpy(&nan_b, &bits, sizeof nan_b);
  CHECK(ir_const(&pool, 0.0).index != ir_const(&pool, -0.0).index, "zeros");
  CHECK(ir_const(&pool, nan_a).index == ir_const(&pool, nan_a).index, "nan");
  CHECK(ir_const(&pool, nan_a).index != ir_const(&pool, nan_b).index, "two nans");
  CHECK(ir_const(&pool, 1.5).index == ir_const(&pool, 1.5).index, "number");
  CHECK(signbit(pool.nodes.data[ir_const(&pool, -0.0).index].value), "sign of zero");
  arena_free(&arena);
}

TEST(structural_hash_is_independent_of_order) {
  TEST_ARENA(arena);
  IrPool a;
  IrPool b;
  ir_pool_init(&a, &arena);
  ir_pool_init(&b, &arena);
  for (uint32_t i = 0; i < 100; i++) {
    ir_const(&b, i);
  }
  ExprId left = ir_node(&a, IR_MUL, ir_const(&a, 2), ir_table(&a, 7, ir_slot(&a, 1)), none);
  ExprId slot = ir_slot(&b, 1);
  ExprId right = ir_node(&b, IR_MUL, ir_const(&b, 2), ir_table(&b, 7, slot), none);
  CHECK(left.index != right.index, "different places");
  CHECK(a.hashes.data[left.index] == b.hashes.data[right.index], "same hash");
  arena_free(&arena);
}

TEST(validity_of_ids) {
  TEST_ARENA(arena);
  IrPool pool;
  ir_pool_init(&pool, &arena);
  ExprId x = ir_slot(&pool, 12345);
  ExprId t = ir_table(&pool, 99999, x);
  CHECK(ir_expr_valid(&pool, x), "slot: its number is raw");
  CHECK(ir_expr_valid(&pool, t), "table: its number is raw");
  CHECK(!ir_expr_valid(&pool, none), "none");
  CHECK(!ir_expr_valid(&pool, (ExprId){pool.nodes.count}), "beyond");
  ExprId s = ir_node(&pool, IR_SIN, x, none, none);
  pool.nodes.data[s.index].arg[0] = s.index;
  CHECK(!ir_expr_valid(&pool, s), "points at itself");
  pool.nodes.data[s.index].arg[0] = 0;
  CHECK(!ir_expr_valid(&pool, s), "points at nil");
  pool.nodes.data[s.index].op = IR_OP_COUNT;
  CHECK(!ir_expr_valid(&pool, s), "no such operator");
  arena_free(&arena);
}

TEST(many_nodes_grow_the_table) {
  TEST_ARENA(arena);
  IrPool pool;
  ir_pool_init(&pool, &arena);
  enum { COUNT = 200000 };
  ExprId sum = ir_slot(&pool, 0);
  for (uint32_t i = 1; i < COUNT; i++) {
    sum = ir_node(&pool, IR_ADD, sum, ir_slot(&pool, i), none);
  }
  CHECK(pool.nodes.count == 2 * COUNT, "all different");
  ExprId again = ir_slot(&pool, 0);
  for (uint32_t i = 1; i < COUNT; i++) {
    again = ir_node(&pool, IR_ADD, again, ir_slot(&pool, i), none);
  }
  CHECK(again.index == sum.index && pool.nodes.count == 2 * COUNT, "found again");
  arena_free(&arena);
}
