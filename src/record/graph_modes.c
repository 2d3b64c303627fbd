// SPDX-License-Identifier: MIT
//
// The modes a run passes through, by which of its conditions hold: an automaton that nobody wrote.
#include "record/graph.h"

static uint64_t bit_of(uint32_t index) {
  return UINT64_C(1) << index;
}

void graph_modes_turn(GraphModes* modes, uint32_t index, bool to, int class) {
  if (index >= GRAPH_MODES_SWITCHES) {
    modes->too_many = true;
    return;
  }
  uint64_t bit = bit_of(index);
  if (!(modes->known & bit)) {
    modes->known |= bit;
    if (!to) modes->at_start |= bit;
  }
  modes->now &= ~bit;
  if (to != ((modes->at_start & bit) != 0)) modes->now |= bit;
  modes->class = class;
}

void graph_modes_settle(GraphModes* modes) {
  if (modes->count == 0) {
    modes->entered[0] = 1;
    modes->count = 1;
  }
  if (modes->too_many || modes->now == modes->turned[modes->place]) return;
  uint32_t to = 0;
  while (to < modes->count && modes->turned[to] != modes->now)
    to++;
  if (to == GRAPH_MODES_MAX) {
    modes->too_many = true;
    return;
  }
  if (to == modes->count) modes->turned[modes->count++] = modes->now;
  modes->entered[to]++;
  modes->taken[modes->place][to][modes->class]++;
  modes->place = to;
}

/// "h < R ∧ braking"; `drawn`: a condition without a name is told by its relation, and once.
static Str mode_name(uint64_t hold, const GraphSwitch* switches, uint32_t count, bool drawn,
                     Arena* arena) {
  TextBuffer text = {.arena = arena};
  for (uint32_t i = 0; i < count && i < GRAPH_MODES_SWITCHES; i++) {
    if (!(hold & bit_of(i))) continue;
    Str name = drawn ? graph_switch_name(&switches[i], arena) : switches[i].name;
    bool said = false;
    for (uint32_t k = 0; drawn && k < i; k++) {
      said |= (hold & bit_of(k)) && str_equal(graph_switch_name(&switches[k], arena), name);
    }
    if (said) continue;
    if (text_str(&text).length) text_append_c(&text, GRAPH_AND);
    text_append(&text, name);
  }
  if (drawn && text_str(&text).length == 0) return STR_LIT("none");
  return text_str(&text);
}

bool graph_modes_automaton(const GraphModes* seen, const GraphSwitch* switches,
                           uint32_t switch_count, Arena* arena, GraphAutomaton* out) {
  GraphModes modes = *seen;
  graph_modes_settle(&modes);  // the last instant is over when somebody looks
  if (modes.too_many || modes.count < 2) return false;
  *out = (GraphAutomaton){.name = STR_LIT(GRAPH_MODES_NAME), .state_count = modes.count};
  out->states = ARENA_ARRAY(arena, GraphState, modes.count);
  out->arrow_capacity = modes.count * modes.count;
  out->arrows = ARENA_ARRAY(arena, GraphArrow, out->arrow_capacity);
  for (uint32_t i = 0; i < modes.count; i++) {
    uint64_t hold = modes.at_start ^ modes.turned[i];
    out->states[i] = (GraphState){.name = mode_name(hold, switches, switch_count, true, arena),
                                  .key = mode_name(hold, switches, switch_count, false, arena),
                                  .real = modes.entered[i]};
    for (uint32_t k = 0; k < modes.count; k++) {
      GraphArrow arrow = {.from = i, .to = k};
      uint64_t all = 0;
      for (int c = 0; c < GRAPH_CLASSES; c++) {
        arrow.count[c] = modes.taken[i][k][c];
        all += arrow.count[c];
      }
      if (all) out->arrows[out->arrow_count++] = arrow;
    }
  }
  return true;
}
