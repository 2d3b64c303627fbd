// SPDX-License-Identifier: MIT
//
// The room of local events: crossings that wait, and values from the trial.
#include "engine/local/parts.h"
#include "test.h"

enum { ATOMS = LOCAL_ATOMS + 8, VALUES = 6 };

typedef struct Bench {
  EngSim sim;
  Model model;
  struct EngLocal local;
  BaseDue heap[2 * ATOMS + LOCAL_ATOMS];
  EngCrossing crossings[ATOMS];
  uint8_t waits[ATOMS];
  uint8_t live[ATOMS];
  uint8_t held[ATOMS];
  EngAtom atoms[ATOMS];
  double env[VALUES];
  uint32_t state_of_env[VALUES];
} Bench;

static Bench* bench_open(void) {
  Bench* b = calloc(1, sizeof *b);
  CHECK(b != NULL, "memory");
  b->model = (Model){.atom_count = ATOMS, .env_count = VALUES};
  b->sim.model = &b->model;
  b->sim.local = &b->local;
  b->sim.waiting.heap = b->heap;
  b->sim.waiting.capacity = SLT_COUNT(b->heap);
  b->sim.waiting.crossing = b->crossings;
  b->sim.waiting.waits = b->waits;
  b->sim.active.live = b->live;
  b->sim.atoms = b->atoms;
  b->sim.env = b->env;
  memset(b->state_of_env, 0xff, sizeof b->state_of_env);
  b->local.index.state_of_env = b->state_of_env;
  b->local.held.atoms = b->held;
  return b;
}

static double time_of(uint32_t atom, uint32_t turn) {
  return (double)((atom * 17 + turn * 29) % 41);
}

// What waits comes in the order of time; what was found again, or does not wait any more, is gone.
TEST(crossings_come_in_order) {
  Bench* b = bench_open();
  for (uint32_t turn = 0; turn < 6; turn++) {
    for (uint32_t i = 0; i < ATOMS; i++) {
      EngCrossing crossing = {.index = i, .t = time_of(i, turn), .certified = true};
      local_wait_for(&b->sim, &crossing);
    }
  }
  b->waits[3] = 0;
  double last = -1.0;
  uint32_t count = 0;
  for (const BaseDue* first = local_first(&b->sim); first; first = local_first(&b->sim)) {
    CHECK(first->t >= last && first->t == time_of(first->id, 5), "in order, as found last");
    CHECK(first->id != 3, "waits no more");
    last = first->t;
    b->waits[first->id] = 0;
    count++;
  }
  CHECK(count == ATOMS - 1, "all of them");
  free(b);
}

// A value that is set has one entry whatever happens to it, and its readers see each change once.
TEST(changes_are_seen_once) {
  Bench* b = bench_open();
  EngSim* sim = &b->sim;
  b->env[2] = 5.0;
  CHECK(local_note_change(sim, 2) && b->local.now.change_count == 0, "not apart: nothing to keep");
  CHECK(local_sees_change(sim, 2), "not apart: always");
  b->local.now.apart = true;
  CHECK(local_note_change(sim, 2) && local_note_change(sim, 2), "noted");
  CHECK(local_note_change(sim, MODEL_NONE) && b->local.now.change_count == 1, "once");
  CHECK(!local_sees_change(sim, 2), "nothing has changed");
  b->env[2] = 6.0;
  CHECK(local_sees_change(sim, 2) && !local_sees_change(sim, 2), "once");
  CHECK(b->local.now.changes[0].before == 5.0, "what it was");
  for (uint32_t i = 0; i < LOCAL_WRITES - 1; i++) {
    b->local.now.changes[b->local.now.change_count++] = (LocalChange){.env = 100 + i};
  }
  CHECK(!local_note_change(sim, 3) && local_note_change(sim, 2), "no more room");
  free(b);
}

// What takes part is kept as it was, so that the instant can be taken back.
TEST(atoms_are_kept_as_they_were) {
  Bench* b = bench_open();
  EngSim* sim = &b->sim;
  b->local.now.apart = true;
  b->live[7] = 1;
  b->atoms[7].truth = true;
  b->atoms[7].located = true;
  CHECK(local_keep_atom(sim, 7) && local_keep_atom(sim, 7), "kept");
  CHECK(b->local.now.kept_count == 1, "once");
  CHECK(b->local.now.kept[0].live && b->local.now.kept[0].atom.located, "as it was");
  CHECK(b->atoms[7].truth && !b->atoms[7].located && b->atoms[7].relevant_start, "begun");
  for (uint32_t i = 8; i < 7 + LOCAL_ATOMS; i++) {
    CHECK(local_keep_atom(sim, i), "there is room");
  }
  CHECK(!local_keep_atom(sim, 0) && local_keep_atom(sim, 8), "no more room");
  b->local.now.kept_count = 0;
  b->held[9] = 1;
  CHECK(local_keep_atom(sim, 8) && !local_keep_atom(sim, 9), "what is held is left alone");
  free(b);
}
