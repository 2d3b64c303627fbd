// SPDX-License-Identifier: MIT
//
// What the runtime offers to compiled code.
#include "model/model.h"

#include <math.h>

static double host_table(const ModelContext* context, uint32_t table, double x, int order) {
  return model_table_value(&context->tables[table], x, order);
}

static void host_fail(const ModelProgram* program, const ModelContext* context, uint32_t index) {
  if (context->failed) *context->failed = program->solves[index].id;
}

static void host_solve(const ModelProgram* program, const ModelContext* context, uint32_t index,
                       double* regs, ModelBody* body, void* user) {
  bool done = model_solve(&program->solves[index], regs, body, user);
  if (!done) host_fail(program, context, index);
}

const ModelHost model_host = {
#define X(name) .name = (name),
    MODEL_HOST_UNARY(X) MODEL_HOST_BINARY(X)
#undef X
        .table = host_table,
    .solve = host_solve,
    .fail = host_fail,
};
