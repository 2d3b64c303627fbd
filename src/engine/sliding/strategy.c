// SPDX-License-Identifier: MIT
//
// Sliding by value: how the motion along the present surfaces is computed.
//
// Which quantity depends on which surface decides. In the order of their cost:
//
// * `lean`: what depends on a surface is shifted by a number, and no derivative depends on it but
// that
//   of the state that is its g. Then that derivative is known, what does not slide is all that is
//   computed in a stage, and the other quantities follow from one run below all surfaces.
// * `mixed`: g of every surface is a state, and every quantity depends on one surface at most:
// rates
//   are components of the flows on both sides, two runs.
// * otherwise the switches get values in between (equivalent control).
#include "engine/sliding/sides.h"

#include <string.h>

static uint32_t surface_of_entry(const EngSim* sim, uint32_t env) {
  uint32_t found = sim->sliding.value.of_env[env];
  return found == MODEL_NONE ? NO_SURFACE : found / 2;
}

/// The outputs of a program that depend on a surface. False: one depends on several. `shifts`:
/// all of them are shifted by numbers.
static bool parts_of_sets(const EngDependency* dependency, const EngDependencyProgram* program,
                          EngValuePart* parts, uint32_t* count, bool* shifts) {
  *count = 0;
  for (uint32_t i = 0; i < program->count; i++) {
    const EngDependencyOutput* dependent = &program->dependent[i];
    uint32_t label = dependency->label[dependent->set];
    if (label == NO_SURFACE) continue;
    if (label == MANY_SURFACES) return false;
    *shifts &= dependent->shifts;
    parts[(*count)++] = (EngValuePart){dependent->output, label};
  }
  return true;
}

uint32_t value_label(const EngSim* sim, const EngDependency* dependency, uint32_t set) {
  uint32_t label = NO_SURFACE;
  for (uint32_t k = dependency->begin[set]; k < dependency->begin[set + 1]; k++) {
    label = value_join(label, surface_of_entry(sim, dependency->members[k]));
  }
  return label;
}

static void label_sets(const EngSim* sim, const EngDependency* dependency) {
  dependency->label[ENG_SET_EMPTY] = NO_SURFACE;
  dependency->label[ENG_SET_WIDE] = MANY_SURFACES;
  for (uint32_t s = ENG_SET_FIRST; s < dependency->set_count; s++) {
    dependency->label[s] = value_label(sim, dependency, s);
  }
}

/// The places that the switches of the surfaces write, and what they write below them.
static void label_entries(EngSim* sim) {
  memset(sim->sliding.value.of_env, 0xff,
         sim->model->env_count * sizeof *sim->sliding.value.of_env);
  for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
    const EngValueSwitch* s = &sim->sliding.value.switches[i];
    const ModelState* states = sim->model->automata[s->automaton].states;
    for (uint32_t k = 0; k < 2; k++) {
      if (states[k].test_env == MODEL_NONE) continue;
      bool below = s->rises == (k == 0);
      sim->sliding.value.of_env[states[k].test_env] = 2 * s->surface + (below ? 1u : 0u);
    }
  }
}

/// Whether every quantity depends on one surface at most, and every rate on its own; which.
/// `shifts`: all of them are shifted by numbers.
static bool can_mix(EngSim* sim, bool* shifts) {
  const ModelMode* mode = sim->core.mode;
  const EngSlide* slide = &sim->core.slide;
  *shifts = false;
  if (sim->options.sliding == SLT_SLIDING_UTKIN) return false;
  if (ENG_GROW(sim, sim->sliding.motion.rhs, mode->rhs.output_count) < 0 ||
      ENG_GROW(sim, sim->sliding.motion.full, mode->full.output_count) < 0) {
    return false;
  }
  label_entries(sim);
  const EngDependency* dependency = eng_dependency(sim);
  if (!dependency) return false;
  label_sets(sim, dependency);
  for (uint32_t i = 0; i < slide->count; i++) {
    uint32_t label = dependency->label[dependency->gdot.set[sim->sliding.value.surfaces[i].index]];
    if (label != i && label != NO_SURFACE) return false;
  }
  *shifts = true;
  return parts_of_sets(dependency, &dependency->rhs, sim->sliding.motion.rhs,
                       &sim->sliding.motion.rhs_count, shifts) &&
         parts_of_sets(dependency, &dependency->full, sim->sliding.motion.full,
                       &sim->sliding.motion.full_count, shifts);
}

/// Inputs of a program with the switches of the surfaces below and above.
static void bind_both(const EngSim* sim, const ModelProgram* program, double* below,
                      double* above) {
  uint32_t present = sim->model->env_count;
  for (uint32_t i = 0; i < program->input_count; i++) {
    const ModelInput* input = &program->inputs[i];
    double low = sim->env[input->env];
    double high = low;
    uint32_t entry = input->env < present ? sim->sliding.value.of_env[input->env] : MODEL_NONE;
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
  if (sim->sliding.motion.bound == mode) return SLT_OK;
  sim->sliding.motion.bound = NULL;
  uint32_t outputs = mode->rhs.output_count > mode->full.output_count ? mode->rhs.output_count
                                                                      : mode->full.output_count;
  SLT_TRY(ENG_GROW(sim, sim->sliding.motion.out, outputs));
  for (uint32_t end = 0; end < 2; end++) {
    EngSideRegs* regs = &sim->sliding.sides.regs[end];
    SLT_TRY(ENG_GROW(sim, regs->rhs, mode->rhs.reg_count));
    SLT_TRY(ENG_GROW(sim, regs->full, mode->full.reg_count));
    SLT_TRY(ENG_GROW(sim, regs->rhs_dual, mode->rhs.reg_count));
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_bind_dual(&mode->rhs, sim->env, regs->rhs_dual);
    model_program_bind(&mode->full, sim->env, regs->full);
  }
  sim->sliding.motion.bound = mode;
  return SLT_OK;
}

/// Both sides with their switches in place, for the programs that are mixed.
static SltStatus bind_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(room_for_ends(sim));
  EngSideRegs* regs = sim->sliding.sides.regs;
  bind_both(sim, &mode->rhs, regs[0].rhs, regs[1].rhs);
  for (uint32_t end = 0; end < 2; end++) {
    for (uint32_t i = 0; i < mode->rhs.input_count; i++) {
      uint32_t reg = mode->rhs.inputs[i].reg;
      regs[end].rhs_dual[reg] = model_dual_fixed(regs[end].rhs[reg]);
    }
  }
  bind_both(sim, &mode->full, regs[0].full, regs[1].full);
  return SLT_OK;
}

/// Whether g of every surface is a state or its negative, as in `sign(v)`; which.
static bool find_direct(EngSim* sim) {
  const uint32_t* direct = eng_dependency_direct(sim);
  if (!direct) return false;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngSurface* s = &sim->sliding.value.surfaces[i];
    uint32_t found = direct[s->index];
    if (found == MODEL_NONE) return false;
    s->state = found / 2;
    s->negative = found & 1u;
    sim->sliding.motion.state[i] = s->state;
  }
  return true;
}

/// Whether no derivative depends on a surface but that of the state that is its g.
static bool is_lean(const EngSim* sim) {
  for (uint32_t i = 0; i < sim->sliding.motion.rhs_count; i++) {
    const EngValuePart* part = &sim->sliding.motion.rhs[i];
    if (part->output != sim->sliding.value.surfaces[part->surface].state) return false;
  }
  return true;
}

/// Whether nothing depends on the surfaces' relations but switches that follow one each.
static bool are_plain(EngSim* sim) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    const EngSurface* s = &sim->sliding.value.surfaces[i];
    for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value.next[a]) {
      if (!sim->sliding.value.plain[a]) return false;
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
  SLT_TRY(ENG_GROW(sim, sim->sliding.program.needed, words));
  SLT_TRY(ENG_GROW(sim, sim->sliding.program.code, (size_t)most + 1));
  SLT_TRY(ENG_GROW(sim, sim->sliding.program.reads, rhs->state_count));
  SLT_TRY(ENG_GROW(sim, sim->sliding.program.outputs, rhs->output_count));
  SLT_TRY(ENG_GROW(sim, sim->sliding.program.plain_runs, rhs->output_count));
  SLT_TRY(ENG_GROW(sim, sim->sliding.program.pulled, rhs->output_count));
  memset(sim->sliding.program.needed, 0, words * sizeof *sim->sliding.program.needed);
  return SLT_OK;
}

/// States that slide, from output k on.
static uint32_t pulled_from(const EngSim* sim, uint32_t k) {
  uint32_t end = k;
  while (end < sim->core.mode->rhs.output_count && sim->sliding.value.of_state[end] != MODEL_NONE) {
    end++;
  }
  return end - k;
}

/// Outputs of what does not slide that are neighbouring states, from output k on.
static uint32_t plain_from(const EngSim* sim, uint32_t k) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  uint32_t end = k;
  uint32_t reg = rhs->outputs[k];
  while (end < rhs->output_count && sim->sliding.value.of_state[end] == MODEL_NONE &&
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
  uint64_t* states = sim->sliding.program.needed + rhs->code_count / 64 + 1;
  bool listed = rhs->slices != NULL;
  uint32_t needed = 0;
  for (uint32_t k = 0; k < rhs->output_count;) {
    uint32_t run = pulled_from(sim, k);
    if (run > 0) {
      sim->sliding.program.pulled[sim->sliding.program.pulled_count++] =
          (ModelPartOutput){k, k, run};
      k += run;
      continue;
    }
    run = plain_from(sim, k);
    if (run > 0) {
      sim->sliding.program.plain_runs[(*plain)++] = (ModelPartOutput){k, rhs->outputs[k] - 1, run};
      k += run;
      continue;
    }
    if (listed) {
      sim->sliding.program.outputs[(*count)++] = (ModelPartOutput){k, rhs->outputs[k], 1};
      listed = !rhs->slices->whole[k];
      if (listed) needed += need(rhs, k, sim->sliding.program.needed, states);
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
  sim->sliding.program.part = (ModelPart){.code = NULL};
  sim->sliding.program.pulled_count = 0;
  SLT_TRY(room_for_part(sim, most));
  if (!sort_outputs(sim, most, &plain, &outputs)) return SLT_OK;
  uint32_t words = rhs->code_count / 64 + 1;
  uint32_t at = 0;
  for (uint32_t w = 0; w < words; w++) {
    for (uint64_t left = sim->sliding.program.needed[w]; left;) {
      sim->sliding.program.code[at++] = rhs->code[64 * w + next_bit(&left)];
    }
  }
  sim->sliding.program.code[at] = (ModelInstr){.op = MODEL_OP_END};
  uint32_t reads = 0;
  for (uint32_t w = 0; w <= rhs->state_count / 64; w++) {
    for (uint64_t left = sim->sliding.program.needed[words + w]; left;) {
      sim->sliding.program.reads[reads++] = 64 * w + next_bit(&left);
    }
  }
  sim->sliding.program.part = (ModelPart){.code = sim->sliding.program.code,
                                          .reads = sim->sliding.program.reads,
                                          .plain = sim->sliding.program.plain_runs,
                                          .outputs = sim->sliding.program.outputs,
                                          .read_count = reads,
                                          .plain_count = plain,
                                          .output_count = outputs};
  return SLT_OK;
}

/// Which states slide.
static void map_states(EngSim* sim) {
  memset(sim->sliding.value.of_state, 0xff,
         sim->core.mode->state_count * sizeof *sim->sliding.value.of_state);
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    sim->sliding.value.of_state[sim->sliding.motion.state[i]] = i;
  }
}

SltStatus value_choose_strategy(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  bool shifts = false;
  slide->mixed = false;
  slide->lean = false;
  slide->local = false;
  sim->sliding.motion.last_t = (double)NAN;
  if (!can_mix(sim, &shifts) || !find_direct(sim)) return SLT_OK;
  SLT_TRY(bind_ends(sim));
  slide->mixed = true;
  slide->lean = shifts && !sim->detect.has_auxiliary && is_lean(sim);
  slide->local = slide->lean && are_plain(sim);
  if (!slide->lean) return SLT_OK;
  map_states(sim);
  return value_choose_part(sim);
}

SltStatus eng_value_rebind(EngSim* sim) {
  // by how much things are shifted was measured when the motion began, and stands in the snapshot
  bool lean = sim->core.slide.lean;
  sim->sliding.motion.bound = NULL;
  SLT_TRY(side_room_rows(sim, 3));
  SLT_TRY(value_choose_strategy(sim));
  sim->core.slide.lean &= lean;
  sim->core.slide.local &= lean;
  return SLT_OK;
}

void value_measure_parts(EngSim* sim, uint32_t first_rhs, uint32_t first_full) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->core.t;
  for (uint32_t i = first_rhs; i < sim->sliding.motion.rhs_count; i++) {
    uint32_t output = sim->sliding.motion.rhs[i].output;
    sim->sliding.motion.rhs_shift[output] =
        sim->sliding.motion.out[output] - sim->probe.flow[output];
  }
  if (first_full == sim->sliding.motion.full_count) return;
  model_program_run(&mode->full, context, sim->sliding.sides.regs[0].full, t, sim->x,
                    sim->values.full);
  model_program_run(&mode->full, context, sim->sliding.sides.regs[1].full, t, sim->x,
                    sim->sliding.motion.out);
  for (uint32_t i = first_full; i < sim->sliding.motion.full_count; i++) {
    uint32_t output = sim->sliding.motion.full[i].output;
    sim->sliding.motion.full_shift[output] =
        sim->sliding.motion.out[output] - sim->values.full[output];
  }
}

void value_measure_shifts(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  value_run_ends(sim, sim->core.t, sim->x, sim->probe.flow);
  value_rates_of_flows(sim, sim->probe.flow);
  for (uint32_t i = 0; i < slide->count; i++) {
    double fall = sim->sliding.motion.low[i] - sim->sliding.motion.high[i];
    if (!(fall > 0.0)) slide->lean = false;
    sim->sliding.motion.fall[i] = sim->sliding.value.surfaces[i].negative ? -fall : fall;
  }
  value_measure_parts(sim, 0, 0);
  slide->local &= slide->lean;
}

void value_mix(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* high,
               double* out) {
  for (uint32_t i = 0; i < count; i++) {
    double a = sim->sliding.motion.alpha[parts[i].surface];
    uint32_t k = parts[i].output;
    out[k] = (1.0 - a) * out[k] + a * high[k];
  }
}

void value_shift(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* shifts,
                 double* out) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t output = parts[i].output;
    out[output] += sim->sliding.motion.alpha[parts[i].surface] * shifts[output];
  }
}
