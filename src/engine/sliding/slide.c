// SPDX-License-Identifier: MIT
//
// Sliding, as the rest of the engine sees it: whether the motion goes on along the surfaces that it
// stands on after an instant, and how it leaves them.
//
// Many surfaces that are states, where the sides differ in values alone (a chain of blocks with dry
// friction), are looked at all at once (value.c); so is everything where the user asks for
// equivalent control (`utkin`). All others are looked at side by side (sides.c, groups.c,
// decide.c).
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

static size_t states_size(const EngSim* sim) {
  return sim->model->automaton_count * sizeof *sim->state;
}

/// Whether any relation stands at a boundary along which the motion might go on.
static bool stands_at_surface(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++)
    if (sim->atoms[mode->atoms[sim->active.indicators[place]]].surface) return true;
  return false;
}

/// The states that the surfaces' sides lead to, into probe.states. Whether they are others.
static SltStatus find_target(EngSim* sim, bool* moves) {
  const ModelMode* mode = NULL;
  side_publish_settled(sim);
  SltStatus status = side_mode(sim, &mode);
  side_note_target(sim);
  side_publish_settled(sim);
  eng_restore_truths(sim);
  *moves = mode && memcmp(sim->probe.states, sim->state, states_size(sim)) != 0;
  return status;
}

/// Surfaces that the flow takes to no side are not watched until they have left what the tolerances
/// explain. Where the motion stands on neither side their relations stay as they are.
static bool let_go_tangents(EngSim* sim) {
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    EngSurface* s = &sim->sliding.value.surfaces[k];
    s->wanted = !s->tangent || side_present(sim, s) != 0;
    for (uint32_t a = s->first; s->tangent && a != MODEL_NONE; a = sim->sliding.value.next[a])
      sim->atoms[a].marks.tangential = true;
  }
  return slide_keep(sim, ENG_KEEP_WANTED);
}

/// Relations at zero that a motion along limit points keeps there are not watched.
static SltStatus find_kept(EngSim* sim) {
  const EngSlide* slide = &sim->core.slide;
  const ModelMode* mode = sim->core.mode;
  bool limit = false;
  for (uint32_t k = 0; k < slide->count; k++)
    limit |= sim->sliding.value.surfaces[k].order == 2;
  if (!limit) return SLT_OK;
  SLT_TRY(eng_slide_rhs(sim, sim->core.t, sim->x, sim->probe.flow));
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double largest = 0.0;
    for (uint32_t row = 0; row < slide->rows; row++)
      largest = fmax(largest, fabs(side_flow(sim, row)[i]));
    double pad = 0x1p-30 * largest;
    double f = sim->probe.flow[i];
    sim->sliding.sides.x[i] = (ModelDual){{sim->x[i], sim->x[i]}, {f - pad, f + pad}};
  }
  model_program_enclose(&mode->g_flow, eng_context(sim), sim->programs.dual,
                        model_time(sim->core.t, sim->core.t), sim->sliding.sides.x,
                        sim->proof.g_dual);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    uint32_t atom = mode->atoms[i];
    ModelDual g = sim->proof.g_dual[i];
    bool free = sim->sliding.value.of_atom[atom] == MODEL_NONE ||
                sim->sliding.value.of_atom[atom] == SLIDE_KINK;
    if (!free || !value_may_bound(sim, atom)) continue;
    if (!(fabs(g.v.lo) <= fmax(sim->atoms[atom].zone, eng_sigma(sim, i)))) continue;
    if (g.d.lo <= 0.0 && g.d.hi >= 0.0) sim->sliding.value.of_atom[atom] = SLIDE_KEPT;
  }
  return SLT_OK;
}

/// The motion along the surfaces that slide, as they are now; `fewer` than were looked at.
static SltStatus install(EngSim* sim, bool fewer, EngSlideVerdict* verdict) {
  EngSlide* slide = &sim->core.slide;
  bool able = true;
  if (slide_keep(sim, ENG_KEEP_SLIDING) || fewer) {
    SLT_TRY(side_survey(sim, &able));
    side_publish_settled(sim);
    eng_restore_truths(sim);
  }
  if (!able || !slide->count) {
    slide->count = 0;
    return SLT_OK;
  }
  slide->stiffness = 0.0;
  SLT_TRY(find_kept(sim));
  for (uint32_t i = 0; i < sim->model->atom_count; i++)
    if (sim->sliding.value.of_atom[i] == SLIDE_KINK) sim->sliding.value.of_atom[i] = MODEL_NONE;
  *verdict = ENG_SLIDE_ALONG;
  return SLT_OK;
}

static bool any_slides(const EngSim* sim) {
  bool slides = false;
  for (uint32_t k = 0; k < sim->core.slide.count; k++)
    slides |= sim->sliding.value.surfaces[k].slides;
  return slides;
}

/// What the flows around the surfaces say, by sides. Surfaces that are near within their tolerance
/// count only if the motion goes on along them. `able` false: too many depend on each other.
static SltStatus decide(EngSim* sim, bool* able) {
  EngSlide* slide = &sim->core.slide;
  bool again = true;
  bool open = false;
  while (again && slide->count) {
    SltStatus status = side_survey(sim, able);
    side_publish_settled(sim);
    eng_restore_truths(sim);
    if (status < 0 || !*able || !slide->count) return status;
    for (uint32_t k = 0; k < slide->count; k++) {
      EngSurface* s = &sim->sliding.value.surfaces[k];
      int side = side_present(sim, s);
      s->stands_above = side ? side > 0 : sim->atoms[s->atom].truth;
    }
    bool solved = slide->linked && side_complementarity(sim);
    bool decided = solved || side_decide(sim);
    sim->instant.slide_decided = decided && !open;
    open |= !decided;
    bool slides = any_slides(sim);
    for (uint32_t k = 0; k < slide->count; k++) {
      EngSurface* s = &sim->sliding.value.surfaces[k];
      // where others slide, what the flows do not tell is left to the guards
      s->wanted = slides && s->open ? false : s->met || s->slides;
    }
    again = slide_keep(sim, ENG_KEEP_WANTED);
  }
  return SLT_OK;
}

static SltStatus continue_by_sides(EngSim* sim, bool settled, EngSlideVerdict* verdict,
                                   bool* able) {
  EngSlide* slide = &sim->core.slide;
  *slide = (EngSlide){.count = 0};
  *able = true;
  sim->sliding.kinks = false;
  SLT_TRY(slide_find_surfaces(sim, false));
  if (!slide->count) return SLT_OK;
  SLT_TRY(side_room_rows(sim, 2));
  side_note_settled(sim);
  SLT_TRY(decide(sim, able));
  if (!*able || !slide->count) {
    if (*able && sim->sliding.kinks) sim->sliding.kink_t = sim->core.t;
    slide->count = 0;
    return SLT_OK;
  }
  bool slides = any_slides(sim);
  // a plain crossing is left to the guards unless they have had their say
  if (!slides && (!settled || !sim->instant.slide_decided)) {
    slide->count = 0;
    return SLT_OK;
  }
  bool fewer = let_go_tangents(sim);
  for (uint32_t k = 0; k < slide->count; k++)
    value_latch(sim, k, sim->sliding.value.surfaces[k].above);
  bool moves = false;
  SLT_TRY(find_target(sim, &moves));
  if (moves || !slides) {
    // the flow leaves the mode at once: go on in the one it leads into
    if (moves) *verdict = ENG_SLIDE_MOVES;
    slide->count = 0;
    return SLT_OK;
  }
  return install(sim, fewer, verdict);
}

/// Whether other relations than states that the motion stands at are zero within their tolerance:
/// it may have come to a limit point then. (Those in time alone hold no motion.)
static bool comes_near_others(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const uint32_t* direct = eng_dependency_direct(sim);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    const EngAtom* atom = &sim->atoms[mode->atoms[i]];
    if (!atom->kind.separates || !value_may_bound(sim, mode->atoms[i])) continue;
    if (sim->model->atoms[mode->atoms[i]].time_only) continue;
    bool state = direct && direct[i] != MODEL_NONE;
    if (state ? !atom->surface && value_is_at_zero(sim, direct[i] / 2)
              : atom->surface || slide_is_at_zero(sim, i, sim->detect.g[i])) {
      return true;
    }
  }
  return false;
}

static SltStatus continue_from_surface(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  bool able = false;
  bool all = sim->options.sliding == SLT_SLIDING_UTKIN ||
             (!sim->core.contact.count && eng_value_many(sim) && !comes_near_others(sim));
  if (all && eng_value_continue(sim, settled, verdict)) return SLT_OK;
  SLT_TRY(continue_by_sides(sim, settled, verdict, &able));
  if (!able && !all) eng_value_continue(sim, settled, verdict);
  return SLT_OK;
}

SltStatus eng_slide_continue_slow(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  if (sim->active.reduced && eng_reduced_continue(sim, verdict)) return SLT_OK;
  if (sim->core.mode->state_count == 0 || !stands_at_surface(sim)) return SLT_OK;
  if (sim->options.sliding == SLT_SLIDING_OFF) return SLT_OK;
  uint32_t least = sim->dae.least;
  SltStatus status = continue_from_surface(sim, settled, verdict);
  sim->dae.least = least;  // what blocks of other modes leave open does not matter here
  return status;
}

SltStatus eng_slide_rebind(EngSim* sim) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) return eng_value_rebind(sim);
  SltStatus status = side_room(sim, slide->count);
  if (status >= 0) status = side_room_rows(sim, slide->rows);
  if (status < 0) return status;
  side_note_settled(sim);
  for (uint32_t row = 0; row < slide->rows && status >= 0; row++)
    status = side_rebind(sim, row);
  side_publish_settled(sim);
  eng_restore_truths(sim);
  return status;
}

SltStatus eng_slide_follow(EngSim* sim, const uint8_t* env, const uint8_t* atoms,
                           const uint8_t* automata) {
  const EngFlags* flags = &sim->sliding.flags;
  uint32_t rows = sim->core.slide.by_value ? 0 : sim->core.slide.rows;
  for (uint32_t row = 0; row < rows; row++) {
    for (uint32_t a = 0; a < sim->model->automaton_count; a++)
      if (!automata[a]) side_states(sim, row)[a] = sim->state[a];
    for (uint32_t i = 0; i < sim->model->atom_count; i++)
      if (!atoms[i]) side_truths(sim, row)[i] = sim->atoms[i].truth;
    for (uint32_t i = 0; i < flags->count; i++)
      if (!env[flags->env[i]]) side_flags(sim, row)[i] = sim->env[flags->env[i]];
  }
  return eng_slide_rebind(sim);
}

// ---- snapshots ----------------------------------------------------------------------------------

/// Rows that a snapshot keeps: what the sides of surfaces are was decided when the motion began.
static size_t kept_rows(const EngSlide* slide) {
  return slide->count && !slide->by_value ? slide->rows : 0;
}

size_t eng_slide_snapshot_size(const EngSim* sim, const EngSlide* slide) {
  size_t flags = sim->sliding.flags.count * sizeof(double);
  return kept_rows(slide) * (states_size(sim) + sim->model->atom_count + flags);
}

void eng_slide_save(const EngSim* sim, char* out) {
  const EngFlags* flags = &sim->sliding.flags;
  size_t rows = kept_rows(&sim->core.slide);
  if (!rows) return;
  size_t states = rows * states_size(sim);
  if (states) memcpy(out, sim->sliding.sides.states, states);
  out += states;
  memcpy(out, sim->sliding.sides.truths, rows * sim->model->atom_count);
  out += rows * sim->model->atom_count;
  if (flags->count) {
    memcpy(out, flags->values + (size_t)FLAG_ROWS * flags->count,
           rows * flags->count * sizeof *flags->values);
  }
}

SltStatus eng_slide_restore(EngSim* sim, const EngSlide* slide, const char* in) {
  size_t rows = kept_rows(slide);
  if (!rows) return SLT_OK;
  size_t automata = sim->model->automaton_count;
  size_t states = rows * states_size(sim);
  SLT_TRY(side_room_rows(sim, slide->rows));
  if (states) memcpy(sim->sliding.sides.states, in, states);
  in += states;
  memcpy(sim->sliding.sides.truths, in, rows * sim->model->atom_count);
  in += rows * sim->model->atom_count;
  size_t flags = rows * sim->sliding.flags.count * sizeof(double);
  if (flags) memcpy(side_flags(sim, 0), in, flags);
  for (size_t i = 0; i < rows * automata; i++) {
    if (sim->sliding.sides.states[i] >= sim->model->automata[i % automata].state_count) {
      return SLT_ERR_ARGUMENT;
    }
  }
  return SLT_OK;
}

void eng_slide_leave(EngSim* sim, uint32_t surface, bool above) {
  EngSlide* slide = &sim->core.slide;
  if (slide->by_value) {
    eng_value_leave(sim, surface, above);
    return;
  }
  EngSurface* left = &sim->sliding.value.surfaces[surface];
  for (uint32_t k = 0; k < slide->count; k++) {
    EngSurface* s = &sim->sliding.value.surfaces[k];
    // of the remaining surfaces any side will do: what follows finds their continuation
    s->above = s == left ? above : s->stands_above;
  }
  bool moves = false;
  side_note_settled(sim);
  find_target(sim, &moves);
  // the flow between the sides that remaining surfaces happen to have says nothing about this one
  value_latch(sim, surface, above);
  for (uint32_t a = left->first; a != MODEL_NONE; a = sim->sliding.value.next[a])
    sim->atoms[a].marks.left_now = true;
  slide->count = 0;
}
