// SPDX-License-Identifier: MIT
//
// Integrators: vectors of the user's memory that belong to the state. The layout of the state
// follows the order of creation and is made anew, between steps, when integrators come or go.
#include "blocks/blocks.h"

#include <math.h>
#include <string.h>

SltStatus slt_integrator_create(SltWorld* world, uint32_t count, const double* in, double* out,
                                const char* name, SltTransaction transaction,
                                SltIntegrator* handle) {
  if (handle) *handle = (SltIntegrator){0};
  if (!world || count == 0 || !in || !out || count > UINT32_MAX / 64) return SLT_ERR_ARGUMENT;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  uint32_t owner = blk_owner_find(world, transaction);
  if (transaction.index && !owner) return SLT_ERR_NOT_FOUND;
  uint32_t index = world->motion.integrator_free;
  if (index) {
    world->motion.integrator_free = world->motion.integrators[index].next;
  } else {
    SLT_TRY(blk_grow(world, &world->motion.integrators, &world->motion.integrator_capacity,
                     world->motion.integrator_count + 1, sizeof *world->motion.integrators));
    index = world->motion.integrator_count++;
    world->motion.integrators[index].generation = 1;
  }
  BlkIntegrator* integrator = &world->motion.integrators[index];
  *integrator = (BlkIntegrator){.in = in,
                                .out = out,
                                .count = count,
                                .generation = integrator->generation,
                                .name = blk_name(world, name),
                                .owner = owner,
                                .state = BLK_RESERVED};
  if (owner) {
    integrator->next = world->transactions.all[owner].integrators;
    if (integrator->next) world->motion.integrators[integrator->next].prev = index;
    world->transactions.all[owner].integrators = index;
  }
  if (handle) *handle = (SltIntegrator){index, integrator->generation};
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_ADD_INTEGRATOR, .index = index};
    return blk_journal_add(world, &op);
  }
  return blk_integrator_activate(world, index);
}

SltStatus blk_integrator_activate(SltWorld* world, uint32_t index) {
  SLT_TRY(blk_grow(world, &world->motion.order, &world->motion.order_capacity,
                   world->motion.order_count + 1, sizeof *world->motion.order));
  world->motion.order[world->motion.order_count++] = index;
  world->motion.integrators[index].state = BLK_ACTIVE;
  world->motion.layout_changed = true;
  world->plain_known = false;
  world->dirty = true;
  return SLT_OK;
}

void blk_integrator_remove(SltWorld* world, uint32_t index) {
  BlkIntegrator* integrator = &world->motion.integrators[index];
  if (integrator->state == BLK_ACTIVE) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->motion.order_count; i++) {
      if (world->motion.order[i] != index) world->motion.order[kept++] = world->motion.order[i];
    }
    world->motion.order_count = kept;
    world->motion.layout_changed = true;
    world->plain_known = false;
    world->dirty = true;
  }
  if (integrator->owner) {
    BlkTransaction* owner = &world->transactions.all[integrator->owner];
    if (integrator->prev) {
      world->motion.integrators[integrator->prev].next = integrator->next;
    } else {
      owner->integrators = integrator->next;
    }
    if (integrator->next) world->motion.integrators[integrator->next].prev = integrator->prev;
  }
  integrator->generation++;
  if (integrator->generation == 0) integrator->generation = 1;
  integrator->state = BLK_FREE;
  integrator->next = world->motion.integrator_free;
  world->motion.integrator_free = index;
}

static bool integrator_lives(const SltWorld* world, SltIntegrator handle) {
  return handle.index && handle.index < world->motion.integrator_count &&
         world->motion.integrators[handle.index].generation == handle.generation &&
         world->motion.integrators[handle.index].state != BLK_FREE;
}

bool slt_integrator_is_alive(const SltWorld* world, SltIntegrator integrator) {
  return world && integrator_lives(world, integrator);
}

SltStatus slt_integrator_cancel(SltWorld* world, SltIntegrator integrator) {
  if (!world) return SLT_ERR_ARGUMENT;
  if (!integrator_lives(world, integrator)) {
    blk_message(world, SLT_WARNING, DIAG_W0904,
                "an integrator is cancelled that does not exist any more");
    return SLT_ERR_NOT_FOUND;
  }
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  BlkOp op = {.kind = BLK_OP_CANCEL_INTEGRATOR,
              .index = integrator.index,
              .generation = integrator.generation};
  SLT_TRY(blk_journal_add(world, &op));
  if (world->phase == BLK_IDLE) blk_journal_apply(world);
  return SLT_OK;
}

// ---- the state as a whole -----------------------------------------------------------------------

SltStatus blk_layout(SltWorld* world) {
  if (!world->motion.layout_changed) return SLT_OK;
  uint64_t n = 0;
  for (uint32_t i = 0; i < world->motion.order_count; i++) {
    BlkIntegrator* integrator = &world->motion.integrators[world->motion.order[i]];
    integrator->offset = (uint32_t)n;
    n += integrator->count;
    if (n > UINT32_MAX / 64) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "too many states");
  }
  world->motion.state_count = (uint32_t)n;
  // six rows, one behind the other
  SLT_TRY(blk_grow(world, &world->motion.vectors, &world->motion.vector_capacity,
                   world->motion.state_count, 6 * sizeof *world->motion.vectors));
  world->motion.layout_changed = false;
  world->motion.derivative_known = false;
  return SLT_OK;
}

double* blk_row(const SltWorld* world, uint32_t row) {
  return world->motion.vectors ? world->motion.vectors + (size_t)row * world->motion.vector_capacity
                               : NULL;
}

void blk_gather(const SltWorld* world, double* y) {
  for (uint32_t i = 0; i < world->motion.order_count; i++) {
    const BlkIntegrator* integrator = &world->motion.integrators[world->motion.order[i]];
    memcpy(y + integrator->offset, integrator->out, integrator->count * sizeof *y);
  }
}

void blk_scatter(SltWorld* world, const double* y) {
  for (uint32_t i = 0; i < world->motion.order_count; i++) {
    const BlkIntegrator* integrator = &world->motion.integrators[world->motion.order[i]];
    memcpy(integrator->out, y + integrator->offset, integrator->count * sizeof *y);
  }
}

static SltStatus report_not_finite(SltWorld* world, const BlkIntegrator* integrator, uint32_t k) {
  return blk_fail(world, SLT_ERR_NOT_FINITE, DIAG_E0901,
                  "the input of integrator '%s' is not a finite number (component %u)",
                  blk_name_text(world, integrator->name), k);
}

SltStatus blk_pass(SltWorld* world, double t, double* dy) {
  BlkPhase outer = world->phase;
  world->t = t;
  world->phase = BLK_CONTINUOUS;
  world->nodes.pass_depth++;
  for (uint32_t i = 0; i < world->nodes.active_count[0]; i++) {
    uint32_t node = world->nodes.active[0][i];
    if (node) blk_call_node(world, node);
  }
  world->nodes.pass_depth--;
  world->phase = outer;
  world->statistics.passes++;
  if (!dy) return SLT_OK;
  for (uint32_t i = 0; i < world->motion.order_count; i++) {
    const BlkIntegrator* integrator = &world->motion.integrators[world->motion.order[i]];
    double* d = dy + integrator->offset;
    double sum = 0.0;
    for (uint32_t k = 0; k < integrator->count; k++) {
      d[k] = integrator->in[k];
      sum += 0.0 * d[k];  // stays 0 only for finite numbers
    }
    if (sum == 0.0) continue;
    for (uint32_t k = 0; k < integrator->count; k++) {
      if (isfinite(d[k])) continue;
      // an adaptive step is tried again with a smaller one before this is an error
      return world->method ? SLT_ERR_NOT_FINITE : report_not_finite(world, integrator, k);
    }
  }
  return SLT_OK;
}
