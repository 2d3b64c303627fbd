// SPDX-License-Identifier: MIT
//
// The journal: changes that wait. Cancelling waits until the running block returns; while check
// blocks are probed everything waits until it is known whether the step stands.
#include "blocks/blocks.h"

SltStatus blk_journal_add(SltWorld* world, const BlkOp* op) {
  SLT_TRY(blk_grow(world, &world->journal.ops, &world->journal.capacity, world->journal.count + 1,
                   sizeof *world->journal.ops));
  world->journal.ops[world->journal.count++] = *op;
  return SLT_OK;
}

static bool same_node(const SltWorld* world, const BlkOp* op) {
  return world->nodes.all[op->index].generation == op->generation;
}

static void apply(SltWorld* world, const BlkOp* op) {
  switch (op->kind) {
  case BLK_OP_CANCEL_NODE:
    if (same_node(world, op)) blk_node_cancel(world, op->index);
    break;
  case BLK_OP_CANCEL_INTEGRATOR:
    if (world->motion.integrators[op->index].generation == op->generation) {
      blk_integrator_remove(world, op->index);
    }
    break;
  case BLK_OP_END_TRANSACTION:
    if (world->transactions.all[op->index].generation == op->generation) {
      blk_transaction_end(world, op->index);
    }
    break;
  case BLK_OP_INSERT_NODE: (void)blk_node_insert(world, op->index, op->t); break;
  case BLK_OP_ADD_INTEGRATOR: (void)blk_integrator_activate(world, op->index); break;
  case BLK_OP_NEW_TRANSACTION: break;
  case BLK_OP_REQUEST: blk_request_apply(world, op->index, op->priority); break;
  case BLK_OP_CANCEL_REQUEST:
    if (world->transactions.requests[op->index].generation == op->generation) {
      blk_request_withdraw(world, op->index);
    }
    break;
  case BLK_OP_RELEASE: blk_resource_release(op->object, op->units, op->owner); break;
  case BLK_OP_SET_UNITS:
    ((SltResource*)op->object)->units = op->units;
    blk_resource_serve(op->object);
    break;
  case BLK_OP_PUT: (void)blk_store_put(op->object, op->user); break;
  case BLK_OP_GET:
    (void)blk_store_get(op->object, &(BlkFetch){.fn = op->fetch, .user = op->user});
    break;
  case BLK_OP_START_PROCESS: (void)blk_node_insert(world, op->index, op->t); break;
  case BLK_OP_CANCEL_PROCESS:
    if (((BlkProcess*)op->object)->generation == op->generation) {
      blk_process_cancel(world, op->object);
    }
    break;
  case BLK_OP_INTERRUPT_PROCESS:
    if (((BlkProcess*)op->object)->generation == op->generation) {
      (void)blk_process_interrupt(world, op->object);
    }
    break;
  }
}

/// Work it off in order. What the work itself adds (a destructor that cancels) is done too.
void blk_journal_apply(SltWorld* world) {
  if (world->journal.busy) return;
  world->journal.busy = true;
  for (uint32_t i = 0; i < world->journal.count; i++) {
    BlkOp op = world->journal.ops[i];  // the array may move
    apply(world, &op);
    world->dirty = true;
  }
  world->journal.count = 0;
  world->journal.busy = false;
}

/// Forget it; what was made for it is freed.
void blk_journal_undo(SltWorld* world) {
  for (uint32_t i = world->journal.count; i-- > 0;) {
    const BlkOp* op = &world->journal.ops[i];
    switch (op->kind) {
    case BLK_OP_INSERT_NODE: blk_node_free(world, op->index); break;
    case BLK_OP_ADD_INTEGRATOR: blk_integrator_remove(world, op->index); break;
    case BLK_OP_NEW_TRANSACTION: blk_transaction_end(world, op->index); break;
    case BLK_OP_REQUEST: blk_request_free(world, op->index); break;
    case BLK_OP_START_PROCESS:
      blk_node_free(world, op->index);
      blk_process_release(world, op->object);
      break;
    case BLK_OP_CANCEL_NODE:
    case BLK_OP_CANCEL_INTEGRATOR:
    case BLK_OP_END_TRANSACTION:
    case BLK_OP_CANCEL_REQUEST:
    case BLK_OP_RELEASE:
    case BLK_OP_SET_UNITS:
    case BLK_OP_PUT:
    case BLK_OP_GET:
    case BLK_OP_CANCEL_PROCESS:
    case BLK_OP_INTERRUPT_PROCESS: break;
    }
  }
  world->journal.count = 0;
}
