// SPDX-License-Identifier: MIT
//
// Transactions: elements that come and go. Each keeps lists of what belongs to it, so that its end
// costs what it owns and not what the world holds.
#include "blocks/blocks.h"

uint32_t blk_owner_find(const SltWorld* world, SltTransaction handle) {
  if (!handle.index || handle.index >= world->transactions.count) return 0;
  const BlkTransaction* transaction = &world->transactions.all[handle.index];
  bool lives = transaction->alive && transaction->generation == handle.generation;
  return lives ? handle.index : 0;
}

void blk_owner_link(SltWorld* world, uint32_t owner, uint32_t node) {
  BlkTransaction* transaction = &world->transactions.all[owner];
  world->nodes.all[node].owner = owner;
  world->nodes.all[node].prev = 0;
  world->nodes.all[node].next = transaction->nodes;
  if (transaction->nodes) world->nodes.all[transaction->nodes].prev = node;
  transaction->nodes = node;
}

void blk_owner_unlink(SltWorld* world, uint32_t index) {
  BlkNode* node = &world->nodes.all[index];
  if (node->prev) {
    world->nodes.all[node->prev].next = node->next;
  } else {
    world->transactions.all[node->owner].nodes = node->next;
  }
  if (node->next) world->nodes.all[node->next].prev = node->prev;
  node->owner = 0;
}

SltStatus slt_transaction_create(SltWorld* world, void* data, SltDestroyFn* destroy,
                                 SltTransaction* out) {
  if (!world || !out) return SLT_ERR_ARGUMENT;
  *out = (SltTransaction){0};
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  uint32_t index = world->transactions.free;
  if (index) {
    world->transactions.free = world->transactions.all[index].next_free;
  } else {
    SLT_TRY(blk_grow(world, &world->transactions.all, &world->transactions.capacity,
                     world->transactions.count + 1, sizeof *world->transactions.all));
    index = world->transactions.count++;
    world->transactions.all[index].generation = 1;
  }
  BlkTransaction* transaction = &world->transactions.all[index];
  *transaction = (BlkTransaction){
      .data = data, .destroy = destroy, .generation = transaction->generation, .alive = true};
  world->transactions.alive++;
  *out = (SltTransaction){index, transaction->generation};
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_NEW_TRANSACTION, .index = index};
    return blk_journal_add(world, &op);
  }
  return SLT_OK;
}

void blk_transaction_end(SltWorld* world, uint32_t index) {
  if (!world->transactions.all[index].alive || world->transactions.all[index].ending) return;
  world->transactions.all[index].ending = true;
  for (uint32_t node = world->transactions.all[index].nodes; node;) {
    uint32_t next = world->nodes.all[node].next;
    blk_node_cancel(world, node);
    node = next;
  }
  // an event of it that is running right now is freed by whoever called it
  for (uint32_t node = world->transactions.all[index].nodes; node;) {
    uint32_t next = world->nodes.all[node].next;
    world->nodes.all[node].owner = 0;
    world->nodes.all[node].next = 0;
    world->nodes.all[node].prev = 0;
    node = next;
  }
  while (world->transactions.all[index].integrators) {
    blk_integrator_remove(world, world->transactions.all[index].integrators);
  }
  while (world->transactions.all[index].requests) {
    blk_request_withdraw(world, world->transactions.all[index].requests);
  }
  BlkTransaction* transaction = &world->transactions.all[index];
  SltDestroyFn* destroy = transaction->destroy;
  void* data = transaction->data;
  transaction->alive = false;
  transaction->generation++;
  if (transaction->generation == 0) transaction->generation = 1;
  transaction->next_free = world->transactions.free;
  world->transactions.free = index;
  world->transactions.alive--;
  if (destroy) destroy(data);
}

SltStatus slt_transaction_end(SltWorld* world, SltTransaction transaction) {
  if (!world) return SLT_ERR_ARGUMENT;
  if (!blk_owner_find(world, transaction)) {
    blk_message(world, SLT_WARNING, DIAG_W0904,
                "a transaction is ended that does not exist any more");
    return SLT_ERR_NOT_FOUND;
  }
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  BlkOp op = {.kind = BLK_OP_END_TRANSACTION,
              .index = transaction.index,
              .generation = transaction.generation};
  SLT_TRY(blk_journal_add(world, &op));
  if (world->phase == BLK_IDLE) blk_journal_apply(world);
  return SLT_OK;
}

void* slt_transaction_data(const SltWorld* world, SltTransaction transaction) {
  uint32_t index = world ? blk_owner_find(world, transaction) : 0;
  return index ? world->transactions.all[index].data : NULL;
}

bool slt_transaction_is_alive(const SltWorld* world, SltTransaction transaction) {
  return world && blk_owner_find(world, transaction) != 0;
}

uint32_t slt_transaction_count(const SltWorld* world) {
  return world ? world->transactions.alive : 0;
}

SltTransaction slt_transaction_current(const SltWorld* world) {
  uint32_t index = world && world->nodes.current ? world->nodes.all[world->nodes.current].owner : 0;
  if (!index) return (SltTransaction){0};
  return (SltTransaction){index, world->transactions.all[index].generation};
}
