// SPDX-License-Identifier: MIT
//
// What the runtime offers to compiled code.
#include "model/model.h"

#include <math.h>

static double host_table(const ModelContext* context, uint32_t table, double x, int order) {
  return model_table_value(&context->tables[table], x, order);
}

static void host_solve(const ModelProgram* program, const ModelContext* context, uint32_t index,
                       double* regs, ModelBody* body, void* user) {
  const ModelSolve* solve = &program->solves[index];
  model_solve_note(model_solve(solve, regs, body, user), solve, context);
}

const ModelHost model_host = {
#define X(name) .name = (name),
    MODEL_HOST_UNARY(X) MODEL_HOST_BINARY(X)
#undef X
        .table = host_table,
    .solve = host_solve,
};
