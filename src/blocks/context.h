// SPDX-License-Identifier: MIT
//
// Stackful contexts for processes. On x86-64 and AArch64 (ELF) a switch saves the callee-saved
// registers and exchanges the stack pointer: a few nanoseconds, no system call. Elsewhere ucontext,
// which saves the signal mask by a system call at every switch.
#ifndef SALTUS_BLOCKS_CONTEXT_H
#define SALTUS_BLOCKS_CONTEXT_H

#include "base/base.h"

#define BLK_CONTEXT_WORDS 4

typedef void BlkContextFn(void* user);

typedef struct BlkContext {
  void* stack_pointer;   // where it was left
  unsigned char* stack;  // lowest address, guard page included
  size_t size;           // of the whole mapping
  size_t guard;          // bytes below the usable part
  bool guarded;          // they cannot be touched
  void* machine;         // of the ucontext fallback
  BlkContextFn* fn;
  void* user;
  void* fake_stack;  // sanitizers keep track of stacks
  void* fiber;
  const void* back_stack;
  size_t back_size;
  void* back_pointer;  // the stack pointer of whoever resumed it
  void* back_fiber;
} BlkContext;

/// Take a stack of at least `size` bytes; with a guard page below it when `guarded`.
SltStatus blk_context_create(BlkContext* context, size_t size, bool guarded);
void blk_context_free(BlkContext* context);
/// Let the next blk_context_enter() begin at fn(user). The stack is free to be used.
void blk_context_prepare(BlkContext* context, BlkContextFn* fn, void* user);
/// Go on in the context until it leaves.
void blk_context_enter(BlkContext* context);
/// Leave the running context; returns when it is entered again. `last`: never.
void blk_context_leave(BlkContext* context, bool last);
/// Whether the stack has been written over its end; a guarded one faults instead.
bool blk_context_overrun(const BlkContext* context);

#endif
