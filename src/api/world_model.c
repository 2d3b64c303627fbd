// SPDX-License-Identifier: MIT
//
// A compiled model as a member of a world. The model runs ahead of the world to its next meeting:
// an event of its own, or the end of the interval, whichever comes first; inputs are held until
// then. When the world's clock arrives there, outputs are published and new inputs taken over. So
// the world sees the model's events at their exact times, and the model never has to go back.
#include "blocks/blocks.h"

#include <saltus/saltus.h>

#include <math.h>

typedef struct Port {
  struct Port* next;
  SltQuantity quantity;
  const double* from;
  double* to;
} Port;

struct SltMember {
  SltMember* next;
  SltWorld* world;
  SltSim* sim;
  double every;
  double base;  // meetings by the clock are at base + n * every
  uint64_t count;
  bool event;  // the model stands behind an event of its own
  Port* inputs;
  Port* outputs;
  SltBlockFn* on_event;
  void* user;
};

static void free_ports(SltWorld* world, Port* port) {
  while (port) {
    Port* next = port->next;
    base_free(&world->allocator, port, sizeof *port);
    port = next;
  }
}

static void free_members(SltWorld* world) {
  for (SltMember* member = world->members; member;) {
    SltMember* next = member->next;
    free_ports(world, member->inputs);
    free_ports(world, member->outputs);
    base_free(&world->allocator, member, sizeof *member);
    member = next;
  }
  world->members = NULL;
}

static void meet(SltWorld* world, void* user);

/// Let the model run ahead to where it meets the world next.
static void run_ahead(SltMember* member) {
  SltWorld* world = member->world;
  double stop = member->base + (double)(member->count + 1) * member->every;
  double reached = 0.0;
  SltStatus status = slt_sim_advance(member->sim, stop, &reached);
  if (status < 0) {
    SltRunError error = slt_sim_error(member->sim);
    (void)blk_fail(world, status, DIAG_E0908, "a model of the world has failed: %s",
                   error.message ? error.message : slt_status_text(status));
    return;
  }
  member->event = status == SLT_EVENT;
  if (status == SLT_OK) member->count++;
  if (status == SLT_END) return;  // keeps its last values
  (void)slt_world_call(world, reached, meet, member, NULL);
}

static void meet(SltWorld* world, void* user) {
  SltMember* member = user;
  for (Port* port = member->outputs; port; port = port->next) {
    *port->to = slt_sim_get(member->sim, port->quantity);
  }
  if (member->event && member->on_event) member->on_event(world, member->user);
  for (Port* port = member->inputs; port; port = port->next) {
    SltStatus status = slt_sim_set(member->sim, port->quantity, *port->from);
    if (status < 0) {
      (void)blk_fail(world, status, DIAG_E0908, "an input of a model cannot be written: %s",
                     slt_status_text(status));
      return;
    }
  }
  run_ahead(member);
}

SltStatus slt_world_add_model(SltWorld* world, SltSim* sim, double every, SltMember** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!world || !sim || !(every > 0.0) || isinf(every) || slt_sim_time(sim) != world->t) {
    return SLT_ERR_ARGUMENT;
  }
  SltMember* member = base_alloc(&world->allocator, sizeof *member);
  if (!member) return SLT_ERR_NOMEM;
  *member = (SltMember){
      .next = world->members, .world = world, .sim = sim, .every = every, .base = world->t};
  world->members = member;
  world->free_members = free_members;
  *out = member;
  return slt_world_call(world, world->t, meet, member, NULL);
}

static SltStatus add_port(SltMember* member, const char* name, const double* from, double* to) {
  SltQuantity quantity;
  SLT_TRY(slt_sim_find(member->sim, name, &quantity));
  Port* port = base_alloc(&member->world->allocator, sizeof *port);
  if (!port) return SLT_ERR_NOMEM;
  Port** list = from ? &member->inputs : &member->outputs;
  *port = (Port){.next = *list, .quantity = quantity, .from = from, .to = to};
  *list = port;
  return SLT_OK;
}

SltStatus slt_member_input(SltMember* member, const char* name, const double* from) {
  if (!member || !name || !from) return SLT_ERR_ARGUMENT;
  return add_port(member, name, from, NULL);
}

SltStatus slt_member_output(SltMember* member, const char* name, double* to) {
  if (!member || !name || !to) return SLT_ERR_ARGUMENT;
  return add_port(member, name, NULL, to);
}

void slt_member_on_event(SltMember* member, SltBlockFn* fn, void* user) {
  if (!member) return;
  member->on_event = fn;
  member->user = user;
}
