// SPDX-License-Identifier: MIT
//
// Sliding by value: how the motion along the present surfaces is computed.
//
// Which quantity hangs on which surface decides. In the order of their cost:
//
// * `lean`: what hangs on a surface is shifted by a number, and no derivative hangs on it but that
//   of the state that is its g. Then that derivative is known, what does not slide is all that is
//   computed in a stage, and the other quantities follow from one run below all surfaces.
// * `shifted`: other derivatives hang on surfaces, too: one run and the shares.
// * `direct`: g of every surface is a state, and rates are components of the flows: two runs.
// * `mixed`: every quantity hangs on one surface at most: rates and flows on both sides, four runs.
// * otherwise the switches get values in between (equivalent control).
#include "engine/sliding/sides.h"

#include <string.h>

static uint32_t surface_of_entry(const EngSim* sim, uint32_t env) {
  uint32_t found = sim->sliding.value_of_env[env];
  return found == MODEL_NONE ? NO_SURFACE : found / 2;
}

/// The outputs of a program that hang on a surface. False: one hangs on several. `shifts`: all of
/// them are shifted by numbers.
static bool parts_of_sets(const EngDependency* hang, const EngDependencyProgram* program,
                          EngValuePart* parts, uint32_t* count, bool* shifts) {
  *count = 0;
  for (uint32_t i = 0; i < program->count; i++) {
    const EngDependencyOutput* hanging = &program->hanging[i];
    uint32_t label = hang->label[hanging->set];
    if (label == NO_SURFACE) continue;
    if (label == MANY_SURFACES) return false;
    *shifts &= hanging->shifts;
    parts[(*count)++] = (EngValuePart){hanging->output, label};
  }
  return true;
}

uint32_t value_label(const EngSim* sim, const EngDependency* hang, uint32_t set) {
  uint32_t label = NO_SURFACE;
  for (uint32_t k = hang->begin[set]; k < hang->begin[set + 1]; k++) {
    label = value_join(label, surface_of_entry(sim, hang->members[k]));
  }
  return label;
}

static void label_sets(const EngSim* sim, const EngDependency* hang) {
  hang->label[ENG_SET_EMPTY] = NO_SURFACE;
  hang->label[ENG_SET_WIDE] = MANY_SURFACES;
  for (uint32_t s = ENG_SET_FIRST; s < hang->set_count; s++) {
    hang->label[s] = value_label(sim, hang, s);
  }
}

/// The places that the switches of the surfaces write, and what they write below them.
static void label_entries(EngSim* sim) {
  memset(sim->sliding.value_of_env, 0xff,
         sim->model->env_count * sizeof *sim->sliding.value_of_env);
  for (uint32_t i = 0; i < sim->sliding.value_switch_count; i++) {
    const EngValueSwitch* s = &sim->sliding.value_switches[i];
    const ModelState* states = sim->model->automata[s->automaton].states;
    for (uint32_t k = 0; k < 2; k++) {
      if (states[k].test_env == MODEL_NONE) continue;
      bool below = s->rises == (k == 0);
      sim->sliding.value_of_env[states[k].test_env] = 2 * s->surface + (below ? 1u : 0u);
    }
  }
}

/// Whether every quantity hangs on one surface at most, and every rate on its own; which. `shifts`:
/// all of them are shifted by numbers.
static bool can_mix(EngSim* sim, bool* shifts) {
  const ModelMode* mode = sim->core.mode;
  const EngSlide* slide = &sim->core.slide;
  *shifts = false;
  if (sim->options.sliding == SLT_SLIDING_UTKIN) return false;
  if (eng_grow(sim, (void**)&sim->sliding.value_rhs, &sim->sliding.value_rhs_capacity,
               mode->rhs.output_count, sizeof *sim->sliding.value_rhs) < 0 ||
      eng_grow(sim, (void**)&sim->sliding.value_full, &sim->sliding.value_full_capacity,
               mode->full.output_count, sizeof *sim->sliding.value_full) < 0) {
    return false;
  }
  label_entries(sim);
  const EngDependency* hang = eng_dependency(sim);
  if (!hang) return false;
  label_sets(sim, hang);
  for (uint32_t i = 0; i < slide->count; i++) {
    uint32_t label = hang->label[hang->gdot.set[sim->sliding.value_surfaces[i].index]];
    if (label != i && label != NO_SURFACE) return false;
  }
  *shifts = true;
  return parts_of_sets(hang, &hang->rhs, sim->sliding.value_rhs, &sim->sliding.value_rhs_count,
                       shifts) &&
         parts_of_sets(hang, &hang->full, sim->sliding.value_full, &sim->sliding.value_full_count,
                       shifts);
}

/// Inputs of a program with the switches of the surfaces below and above.
static void bind_both(const EngSim* sim, const ModelProgram* program, double* below,
                      double* above) {
  uint32_t present = sim->model->env_count;
  for (uint32_t i = 0; i < program->input_count; i++) {
    const ModelInput* input = &program->inputs[i];
    double low = sim->env[input->env];
    double high = low;
    uint32_t entry = input->env < present ? sim->sliding.value_of_env[input->env] : MODEL_NONE;
    if (entry != MODEL_NONE) {
      low = (double)(entry & 1u);
      high = 1.0 - low;
    }
    below[input->reg] = low;
    above[input->reg] = high;
  }
}

/// Room and constants for the programs on both sides.
static SltStatus room_for_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (sim->sliding.value_bound == mode) return SLT_OK;
  sim->sliding.value_bound = NULL;
  uint32_t outputs = mode->rhs.output_count > mode->full.output_count ? mode->rhs.output_count
                                                                      : mode->full.output_count;
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_out, &sim->sliding.value_out_capacity, outputs,
                   sizeof(double)));
  for (uint32_t end = 0; end < 2; end++) {
    EngSideRegs* regs = &sim->sliding.regs[end];
    SLT_TRY(eng_grow(sim, (void**)&regs->rhs, &regs->rhs_capacity, mode->rhs.reg_count,
                     sizeof(double)));
    SLT_TRY(eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
                     sizeof(double)));
    SLT_TRY(eng_grow(sim, (void**)&regs->gdot, &regs->gdot_capacity, mode->gdot.reg_count,
                     sizeof(double)));
    SLT_TRY(eng_grow(sim, (void**)&regs->rhs_dual, &regs->rhs_dual_capacity, mode->rhs.reg_count,
                     sizeof *regs->rhs_dual));
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_bind_dual(&mode->rhs, sim->env, regs->rhs_dual);
    model_program_bind(&mode->full, sim->env, regs->full);
    model_program_bind(&mode->gdot, sim->env, regs->gdot);
  }
  sim->sliding.value_bound = mode;
  return SLT_OK;
}

/// Both sides with their switches in place, for the programs that are mixed.
static SltStatus bind_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(room_for_ends(sim));
  EngSideRegs* regs = sim->sliding.regs;
  bind_both(sim, &mode->rhs, regs[0].rhs, regs[1].rhs);
  for (uint32_t end = 0; end < 2 && sim->core.slide.direct; end++) {
    for (uint32_t i = 0; i < mode->rhs.input_count; i++) {
      uint32_t reg = mode->rhs.inputs[i].reg;
      regs[end].rhs_dual[reg] = model_dual_fixed(regs[end].rhs[reg]);
    }
  }
  bind_both(sim, &mode->full, regs[0].full, regs[1].full);
  if (!sim->core.slide.direct) bind_both(sim, &mode->gdot, regs[0].gdot, regs[1].gdot);
  return SLT_OK;
}

/// Whether g of every surface is a state or its negative, as in `sign(v)`; which.
static bool find_direct(EngSim* sim) {
  const uint32_t* direct = eng_dependency_direct(sim);
  if (!direct) return false;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngSurface* s = &sim->sliding.value_surfaces[i];
    uint32_t found = direct[s->index];
    if (found == MODEL_NONE) return false;
    s->state = found / 2;
    s->negative = found & 1u;
    sim->sliding.value_state[i] = s->state;
  }
  return true;
}

/// Whether no derivative hangs on a surface but that of the state that is its g.
static bool is_lean(const EngSim* sim) {
  for (uint32_t i = 0; i < sim->sliding.value_rhs_count; i++) {
    const EngValuePart* part = &sim->sliding.value_rhs[i];
    if (part->output != sim->sliding.value_surfaces[part->surface].state) return false;
  }
  return true;
}

/// Whether nothing hangs on the surfaces' relations but switches that follow one each.
static bool are_plain(EngSim* sim) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    const EngSurface* s = &sim->sliding.value_surfaces[i];
    for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value_next[a]) {
      if (!sim->sliding.value_plain[a]) return false;
    }
  }
  return true;
}

static void set_bit(uint64_t* bits, uint32_t i) {
  bits[i / 64] |= (uint64_t)1 << i % 64;
}

/// Instructions that an output needs, and the states that they read; how many.
static uint32_t need(const ModelProgram* program, uint32_t output, uint64_t* instrs,
                     uint64_t* states) {
  const ModelSlices* slices = program->slices;
  for (uint32_t i = slices->begin[output]; i < slices->begin[output + 1]; i++) {
    const ModelInstr* pc = &program->code[slices->instrs[i]];
    uint32_t operands = model_op_operands(pc->op);
    set_bit(instrs, slices->instrs[i]);
    if (operands > 0 && pc->a - 1 < program->state_count) set_bit(states, pc->a - 1);
    if (operands > 1 && pc->b - 1 < program->state_count) set_bit(states, pc->b - 1);
  }
  return slices->begin[output + 1] - slices->begin[output];
}

/// The bits of a word that are set: the first one goes.
static uint32_t next_bit(uint64_t* word) {
  uint32_t bit = 0;
  while (!(*word >> bit & 0xffu)) {
    bit += 8;
  }
  while (!(*word >> bit & 1u)) {
    bit++;
  }
  *word &= *word - 1;
  return bit;
}

static SltStatus room_for_part(EngSim* sim, uint32_t most) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  size_t words = (size_t)rhs->code_count / 64 + (size_t)rhs->state_count / 64 + 2;
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_needed, &sim->sliding.value_needed_capacity,
                   words, sizeof *sim->sliding.value_needed));
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_code, &sim->sliding.value_code_capacity,
                   (size_t)most + 1, sizeof *sim->sliding.value_code));
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_reads, &sim->sliding.value_reads_capacity,
                   rhs->state_count, sizeof *sim->sliding.value_reads));
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_outputs, &sim->sliding.value_outputs_capacity,
                   rhs->output_count, sizeof *sim->sliding.value_outputs));
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_plain_runs, &sim->sliding.value_plain_capacity,
                   rhs->output_count, sizeof *sim->sliding.value_plain_runs));
  SLT_TRY(eng_grow(sim, (void**)&sim->sliding.value_pulled, &sim->sliding.value_pulled_capacity,
                   rhs->output_count, sizeof *sim->sliding.value_pulled));
  memset(sim->sliding.value_needed, 0, words * sizeof *sim->sliding.value_needed);
  return SLT_OK;
}

/// States that slide, from output k on.
static uint32_t pulled_from(const EngSim* sim, uint32_t k) {
  uint32_t end = k;
  while (end < sim->core.mode->rhs.output_count && sim->sliding.value_of_state[end] != MODEL_NONE) {
    end++;
  }
  return end - k;
}

/// Outputs of what does not slide that are neighbouring states, from output k on.
static uint32_t plain_from(const EngSim* sim, uint32_t k) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  uint32_t end = k;
  uint32_t reg = rhs->outputs[k];
  while (end < rhs->output_count && sim->sliding.value_of_state[end] == MODEL_NONE &&
         rhs->outputs[end] == reg && reg - 1 < rhs->state_count) {
    end++;
    reg++;
  }
  return end - k;
}

/// Outputs by what they are: states that slide (value_pulled), others that are states
/// (value_plain_runs), and all others with what they need. False: that is too much.
static bool sort_outputs(EngSim* sim, uint32_t most, uint32_t* plain, uint32_t* count) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  uint64_t* states = sim->sliding.value_needed + rhs->code_count / 64 + 1;
  bool listed = rhs->slices != NULL;
  uint32_t needed = 0;
  for (uint32_t k = 0; k < rhs->output_count;) {
    uint32_t run = pulled_from(sim, k);
    if (run > 0) {
      sim->sliding.value_pulled[sim->sliding.value_pulled_count++] = (ModelPartOutput){k, k, run};
      k += run;
      continue;
    }
    run = plain_from(sim, k);
    if (run > 0) {
      sim->sliding.value_plain_runs[(*plain)++] = (ModelPartOutput){k, rhs->outputs[k] - 1, run};
      k += run;
      continue;
    }
    if (listed) {
      sim->sliding.value_outputs[(*count)++] = (ModelPartOutput){k, rhs->outputs[k], 1};
      listed = !rhs->slices->whole[k];
      if (listed) needed += need(rhs, k, sim->sliding.value_needed, states);
      listed = listed && needed <= most;
    }
    k++;
  }
  return listed;
}

SltStatus value_choose_part(EngSim* sim) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  uint32_t most = rhs->code_count / VALUE_PART_SHARE;
  uint32_t plain = 0;
  uint32_t outputs = 0;
  sim->sliding.value_part = (ModelPart){.code = NULL};
  sim->sliding.value_pulled_count = 0;
  SLT_TRY(room_for_part(sim, most));
  if (!sort_outputs(sim, most, &plain, &outputs)) return SLT_OK;
  uint32_t words = rhs->code_count / 64 + 1;
  uint32_t at = 0;
  for (uint32_t w = 0; w < words; w++) {
    for (uint64_t left = sim->sliding.value_needed[w]; left;) {
      sim->sliding.value_code[at++] = rhs->code[64 * w + next_bit(&left)];
    }
  }
  sim->sliding.value_code[at] = (ModelInstr){.op = MODEL_OP_END};
  uint32_t reads = 0;
  for (uint32_t w = 0; w <= rhs->state_count / 64; w++) {
    for (uint64_t left = sim->sliding.value_needed[words + w]; left;) {
      sim->sliding.value_reads[reads++] = 64 * w + next_bit(&left);
    }
  }
  sim->sliding.value_part = (ModelPart){.code = sim->sliding.value_code,
                                        .reads = sim->sliding.value_reads,
                                        .plain = sim->sliding.value_plain_runs,
                                        .outputs = sim->sliding.value_outputs,
                                        .read_count = reads,
                                        .plain_count = plain,
                                        .output_count = outputs};
  return SLT_OK;
}

/// Which states slide.
static void map_states(EngSim* sim) {
  memset(sim->sliding.value_of_state, 0xff,
         sim->core.mode->state_count * sizeof *sim->sliding.value_of_state);
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    sim->sliding.value_of_state[sim->sliding.value_state[i]] = i;
  }
}

SltStatus value_choose_way(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  bool shifts = false;
  slide->mixed = false;
  slide->direct = false;
  slide->shifted = false;
  slide->lean = false;
  slide->local = false;
  sim->sliding.value_last_t = (double)NAN;
  if (!can_mix(sim, &shifts)) return SLT_OK;
  slide->direct = find_direct(sim);
  SLT_TRY(bind_ends(sim));
  slide->mixed = true;
  slide->shifted = slide->direct && shifts && !sim->has_auxiliary;
  slide->lean = slide->shifted && is_lean(sim);
  slide->local = slide->lean && are_plain(sim);
  if (!slide->lean) return SLT_OK;
  map_states(sim);
  return value_choose_part(sim);
}

SltStatus eng_value_rebind(EngSim* sim) {
  // by how much things are shifted was measured when the motion began, and stands in the snapshot
  bool shifted = sim->core.slide.shifted;
  sim->sliding.value_bound = NULL;
  SLT_TRY(side_room_rows(sim, 3));
  SLT_TRY(value_choose_way(sim));
  sim->core.slide.shifted &= shifted;
  sim->core.slide.lean &= shifted;
  sim->core.slide.local &= shifted;
  return SLT_OK;
}

void value_measure_parts(EngSim* sim, uint32_t first_rhs, uint32_t first_full) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->core.t;
  for (uint32_t i = first_rhs; i < sim->sliding.value_rhs_count; i++) {
    uint32_t output = sim->sliding.value_rhs[i].output;
    sim->sliding.value_rhs_shift[output] = sim->sliding.value_out[output] - sim->side_f[output];
  }
  if (first_full == sim->sliding.value_full_count) return;
  model_program_run(&mode->full, context, sim->sliding.regs[0].full, t, sim->x, sim->full);
  model_program_run(&mode->full, context, sim->sliding.regs[1].full, t, sim->x,
                    sim->sliding.value_out);
  for (uint32_t i = first_full; i < sim->sliding.value_full_count; i++) {
    uint32_t output = sim->sliding.value_full[i].output;
    sim->sliding.value_full_shift[output] = sim->sliding.value_out[output] - sim->full[output];
  }
}

void value_measure_shifts(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  value_run_ends(sim, sim->core.t, sim->x, sim->side_f);
  value_rates_of_flows(sim, sim->side_f);
  for (uint32_t i = 0; i < slide->count; i++) {
    double fall = sim->sliding.value_low[i] - sim->sliding.value_high[i];
    if (!(fall > 0.0)) slide->shifted = false;
    sim->sliding.value_fall[i] = sim->sliding.value_surfaces[i].negative ? -fall : fall;
  }
  value_measure_parts(sim, 0, 0);
  slide->lean &= slide->shifted;
  slide->local &= slide->shifted;
}

void value_mix(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* high,
               double* out) {
  for (uint32_t i = 0; i < count; i++) {
    double a = sim->sliding.value_alpha[parts[i].surface];
    uint32_t k = parts[i].output;
    out[k] = (1.0 - a) * out[k] + a * high[k];
  }
}

void value_shift(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* shifts,
                 double* out) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t output = parts[i].output;
    out[output] += sim->sliding.value_alpha[parts[i].surface] * shifts[output];
  }
}
