// SPDX-License-Identifier: MIT
//
// Transactions: elements that come and go. Each keeps lists of what belongs to it, so that its end
// costs what it owns and not what the world holds.
#include "blocks/blocks.h"

uint32_t blk_owner_find(const SltWorld* world, SltTransaction handle) {
  if (!handle.index || handle.index >= world->transaction_count) return 0;
  const BlkTransaction* transaction = &world->transactions[handle.index];
  bool lives = transaction->alive && transaction->generation == handle.generation;
  return lives ? handle.index : 0;
}

void blk_owner_link(SltWorld* world, uint32_t owner, uint32_t node) {
  BlkTransaction* transaction = &world->transactions[owner];
  world->nodes[node].owner = owner;
  world->nodes[node].prev = 0;
  world->nodes[node].next = transaction->nodes;
  if (transaction->nodes) world->nodes[transaction->nodes].prev = node;
  transaction->nodes = node;
}

void blk_owner_unlink(SltWorld* world, uint32_t index) {
  BlkNode* node = &world->nodes[index];
  if (node->prev) {
    world->nodes[node->prev].next = node->next;
  } else {
    world->transactions[node->owner].nodes = node->next;
  }
  if (node->next) world->nodes[node->next].prev = node->prev;
  node->owner = 0;
}

SltStatus slt_transaction_create(SltWorld* world, void* data, SltDestroyFn* destroy,
                                 SltTransaction* out) {
  if (!world || !out) return SLT_ERR_ARGUMENT;
  *out = (SltTransaction){0};
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  uint32_t index = world->transaction_free;
  if (index) {
    world->transaction_free = world->transactions[index].next_free;
  } else {
    SLT_TRY(blk_grow(world, &world->transactions, &world->transaction_capacity,
                     world->transaction_count + 1, sizeof *world->transactions));
    index = world->transaction_count++;
    world->transactions[index].generation = 1;
  }
  BlkTransaction* transaction = &world->transactions[index];
  *transaction = (BlkTransaction){
      .data = data, .destroy = destroy, .generation = transaction->generation, .alive = true};
  world->transaction_alive++;
  *out = (SltTransaction){index, transaction->generation};
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_NEW_TRANSACTION, .index = index};
    return blk_journal_add(world, &op);
  }
  return SLT_OK;
}

void blk_transaction_end(SltWorld* world, uint32_t index) {
  if (!world->transactions[index].alive || world->transactions[index].ending) return;
  world->transactions[index].ending = true;
  for (uint32_t node = world->transactions[index].nodes; node;) {
    uint32_t next = world->nodes[node].next;
    blk_node_cancel(world, node);
    node = next;
  }
  // an event of it that is running right now is freed by whoever called it
  for (uint32_t node = world->transactions[index].nodes; node;) {
    uint32_t next = world->nodes[node].next;
    world->nodes[node].owner = 0;
    world->nodes[node].next = 0;
    world->nodes[node].prev = 0;
    node = next;
  }
  while (world->transactions[index].integrators) {
    blk_integrator_remove(world, world->transactions[index].integrators);
  }
  while (world->transactions[index].requests) {
    blk_request_withdraw(world, world->transactions[index].requests);
  }
  BlkTransaction* transaction = &world->transactions[index];
  SltDestroyFn* destroy = transaction->destroy;
  void* data = transaction->data;
  transaction->alive = false;
  transaction->generation++;
  if (transaction->generation == 0) transaction->generation = 1;
  transaction->next_free = world->transaction_free;
  world->transaction_free = index;
  world->transaction_alive--;
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
  return index ? world->transactions[index].data : NULL;
}

bool slt_transaction_is_alive(const SltWorld* world, SltTransaction transaction) {
  return world && blk_owner_find(world, transaction) != 0;
}

uint32_t slt_transaction_count(const SltWorld* world) {
  return world ? world->transaction_alive : 0;
}

SltTransaction slt_transaction_current(const SltWorld* world) {
  uint32_t index = world && world->current ? world->nodes[world->current].owner : 0;
  if (!index) return (SltTransaction){0};
  return (SltTransaction){index, world->transactions[index].generation};
}
