// SPDX-License-Identifier: MIT
//
// Each procedure as equations. The formulas are those of docs/rules.md; cyclic_procs.c has the same
// ones as a step of the literal interpreter.
#include "rules/write.h"

#include <math.h>

void write_arg(Writer* w, const RulesRule* rule, uint32_t i) {
  write_expr(w, rule->arg[i].expr);
}

static void write_k(Writer* w, const RulesRule* rule) {
  write_expr(w, rule->coefficient);
}

static bool k_is_one(const RulesRule* rule) {
  return rule->coefficient->op == RULES_OP_NUMBER && rule->coefficient->value == 1.0;
}

/// "K*" unless K is 1.
static void write_k_factor(Writer* w, const RulesRule* rule) {
  if (k_is_one(rule)) return;
  write_k(w, rule);
  W("*");
}

void write_k_times_arg(Writer* w, const RulesRule* rule) {
  write_k_factor(w, rule);
  write_arg(w, rule, 0);
}

void write_param(Writer* w, const RulesRule* rule, RulesParam param) {
  if (rule->params[param]) {
    write_expr(w, rule->params[param]);
  } else {
    W("0");
  }
}

/// K2*a + phase, as far as they are given.
static void write_inner(Writer* w, const RulesRule* rule) {
  if (rule->params[RULES_PARAM_K2]) {
    write_param(w, rule, RULES_PARAM_K2);
    W("*");
  }
  write_arg(w, rule, 0);
  if (rule->params[RULES_PARAM_PHASE]) {
    W(" + ");
    write_param(w, rule, RULES_PARAM_PHASE);
  }
}

static void write_function(Writer* w, const RulesRule* rule, const char* function) {
  write_k_factor(w, rule);
  text_append_format(&w->out, "%s(", function);
  write_inner(w, rule);
  W(")");
}

static void write_function2(Writer* w, const RulesRule* rule, const char* function) {
  write_k_factor(w, rule);
  text_append_format(&w->out, "%s(", function);
  write_arg(w, rule, 0);
  W(", ");
  if (rule->arg[1].expr) {
    write_arg(w, rule, 1);
  } else if (rule->params[RULES_PARAM_EXPONENT]) {
    write_param(w, rule, RULES_PARAM_EXPONENT);
  } else {
    W("2");
  }
  W(")");
}

/// Upper level of a relay: K*limit; lower: K*lower, else minus the upper one.
static void write_level(Writer* w, const RulesRule* rule, bool up) {
  bool lower = !up && rule->params[RULES_PARAM_LO];
  if (!up && !lower) W("-");
  write_k(w, rule);
  RulesParam param = lower ? RULES_PARAM_LO : RULES_PARAM_UP;
  if (rule->params[param]) {
    W("*");
    write_param(w, rule, param);
  }
}

static void write_relay(Writer* w, const RulesRule* rule) {
  W("if([");
  write_arg(w, rule, 0);
  W(rule->keep ? " >= 0], " : " > 0], ");
  write_level(w, rule, true);
  W(", ");
  if (!rule->keep) {
    W("if([");
    write_arg(w, rule, 0);
    W(" < 0], ");
  }
  write_level(w, rule, false);
  W(rule->keep ? ")" : ", 0))");
}

static void write_dead_zone(Writer* w, const RulesRule* rule) {
  for (uint32_t side = 0; side < 2; side++) {
    W("if([");
    write_arg(w, rule, 0);
    W(side ? " < -" : " > ");
    write_param(w, rule, RULES_PARAM_ZONE);
    W("], ");
    write_k_factor(w, rule);
    W("(");
    write_arg(w, rule, 0);
    W(side ? " + " : " - ");
    write_param(w, rule, RULES_PARAM_ZONE);
    W("), ");
  }
  W("0))");
}

/// value, not above UP and not below LO; `value` writes it.
static void write_limited(Writer* w, const RulesRule* rule,
                          void (*value)(Writer* w, const RulesRule* rule)) {
  uint32_t open = 0;
  for (uint32_t side = 0; side < 2; side++) {
    RulesParam param = side ? RULES_PARAM_LO : RULES_PARAM_UP;
    if (!rule->params[param]) continue;
    W("if([");
    value(w, rule);
    W(side ? " < " : " > ");
    write_param(w, rule, param);
    W("], ");
    write_param(w, rule, param);
    W(", ");
    open++;
  }
  value(w, rule);
  for (uint32_t i = 0; i < open; i++)
    W(")");
}

// ---- tables
// ---------------------------------------------------------------------------------------

static double slope(const RulesRule* rule, uint32_t cell) {
  const double* p = rule->points + 2 * (size_t)cell;
  return (p[3] - p[1]) / (p[2] - p[0]);
}

/// Slope of the cubic at knot i: of the parabola through it and its neighbours.
static double knot_slope(const RulesRule* rule, uint32_t i) {
  if (i == 0) return slope(rule, 0);
  if (i + 1 == rule->point_count) return slope(rule, i - 1);
  const double* p = rule->points + 2 * (size_t)i;
  double left = p[0] - p[-2];
  double right = p[2] - p[0];
  return (slope(rule, i - 1) * right + slope(rule, i) * left) / (left + right);
}

/// "(y + s*(a - x))", or the cubic of Hermite in the same cell.
static void write_cell(Writer* w, const RulesRule* rule, uint32_t cell) {
  const double* p = rule->points + 2 * (size_t)cell;
  double h = p[2] - p[0];
  double s = slope(rule, cell);
  double m0 = rule->cubic ? knot_slope(rule, cell) : s;
  double m1 = rule->cubic ? knot_slope(rule, cell + 1) : s;
  double coefficients[3] = {m0, (3.0 * s - 2.0 * m0 - m1) / h, (m0 + m1 - 2.0 * s) / (h * h)};
  uint32_t degree = rule->cubic ? 3 : 1;
  W("(");
  write_number(w, p[1]);
  for (uint32_t k = 0; k < degree; k++) {
    W(" + (");
    write_arg(w, rule, 0);
    W(" - ");
    write_number(w, p[0]);
    W(")*(");
    write_number(w, coefficients[k]);
  }
  for (uint32_t k = 0; k < degree; k++)
    W(")");
  W(")");
}

static void write_table(Writer* w, const RulesRule* rule) {
  uint32_t cells = rule->point_count - 1;
  const double* p = rule->points;
  uint32_t open = 0;
  write_k_factor(w, rule);
  for (uint32_t knot = 0; knot <= cells; knot++) {
    bool edge = knot == 0 || knot == cells;
    if (edge && rule->extrapolate) continue;
    W("if([");
    write_arg(w, rule, 0);
    W(" < ");
    write_number(w, p[2 * (size_t)knot]);
    W("], ");
    open++;
    if (knot == 0) {
      write_number(w, p[1]);
    } else {
      write_cell(w, rule, knot - 1);
    }
    W(", ");
  }
  if (rule->extrapolate) {
    write_cell(w, rule, cells - 1);
  } else {
    write_number(w, p[2 * (size_t)cells + 1]);
  }
  for (uint32_t i = 0; i < open; i++)
    W(")");
}

// ---- flows
// ----------------------------------------------------------------------------------------

static void write_integral(Writer* w, const RulesRule* rule) {
  uint32_t open = 0;
  for (uint32_t side = 0; side < 2; side++) {
    RulesParam param = side ? RULES_PARAM_LO : RULES_PARAM_UP;
    if (!rule->params[param]) continue;
    // at its limit the integral waits until it would leave it
    W("if([");
    write_state(w, rule->target);
    W(side ? " <= " : " >= ");
    write_param(w, rule, param);
    W("] && [");
    write_k_times_arg(w, rule);
    W(side ? " < 0], 0, " : " > 0], 0, ");
    open++;
  }
  write_k_times_arg(w, rule);
  for (uint32_t i = 0; i < open; i++)
    W(")");
}

static void write_smoothing(Writer* w, const RulesRule* rule) {
  W("(");
  write_k_times_arg(w, rule);
  W(" - ");
  write_state(w, rule->target);
  W(")/");
  write_param(w, rule, RULES_PARAM_T);
}

// ---- procedures with a memory
// ---------------------------------------------------------------------

static void write_derivative(Writer* w, const RulesRule* rule) {
  if (rule->params[RULES_PARAM_FILTER]) {
    write_k_factor(w, rule);
    W("(");
    write_arg(w, rule, 0);
    W(" - ");
    write_helper(w, rule, "z");
    W(")/");
    write_param(w, rule, RULES_PARAM_FILTER);
    return;
  }
  write_k_factor(w, rule);
  switch ((int)rule->arg[0].expr->op) {
  case RULES_OP_STATE:
    write_arg(w, rule, 0);
    W("'");
    break;
  case RULES_OP_TIME: W("1"); break;
  default: W("0"); break;
  }
}

/// Until T has passed the variable keeps its initial value.
static void write_delay(Writer* w, const RulesRule* rule) {
  W("delay(");
  write_k_times_arg(w, rule);
  W(", ");
  write_param(w, rule, RULES_PARAM_T);
  W(", ");
  write_number(w, w->m->states.data[rule->target].number);
  if (rule->params[RULES_PARAM_INTERPOLATION] && !rule->cubic) W(", linear");
  W(")");
}

static void write_pid_raw(Writer* w, const RulesRule* rule) {
  write_helper(w, rule, "v");
}

static void write_error(Writer* w, const RulesRule* rule) {
  write_helper(w, rule, "e");
}

/// An equation of a helper state that follows its argument also while its rule is not active.
static void write_past(Writer* w, const RulesRule* rule, const char* part) {
  write_hide(w, rule, part);
  write_helper(w, rule, part);
  W("(t0) = 0;  ");
  write_helper(w, rule, part);
  W("' = ");
}

/// An equation of a helper state that stands still while its rule is not active.
static void write_helper_flow(Writer* w, const RulesRule* rule, const char* part) {
  write_hide(w, rule, part);
  write_helper(w, rule, part);
  W("(t0) = 0;  ");
  write_helper(w, rule, part);
  W("' = ");
  if (!write_is_always(&rule->when)) {
    W("if(");
    write_when(w, &rule->when);
    W(", ");
  }
}

static void write_helper_flow_end(Writer* w, const RulesRule* rule) {
  W(write_is_always(&rule->when) ? ";\n" : ", 0);\n");
}

static void write_filter_time(Writer* w, const RulesRule* rule) {
  if (rule->params[RULES_PARAM_FILTER]) {
    write_param(w, rule, RULES_PARAM_FILTER);
  } else {
    W("(0.1*");
    write_param(w, rule, RULES_PARAM_TD);
    W(")");
  }
}

static void write_pid_integral(Writer* w, const RulesRule* rule) {
  write_helper_flow(w, rule, "i");
  uint32_t open = 0;
  for (uint32_t side = 0; side < 2; side++) {
    RulesParam param = side ? RULES_PARAM_LO : RULES_PARAM_UP;
    if (!rule->params[param]) continue;
    W("if([");
    write_pid_raw(w, rule);
    W(side ? " < " : " > ");
    write_param(w, rule, param);
    W("] && [");
    write_k_factor(w, rule);
    write_error(w, rule);
    W(side ? " < 0], 0, " : " > 0], 0, ");
    open++;
  }
  write_error(w, rule);
  W("/");
  write_param(w, rule, RULES_PARAM_TI);
  for (uint32_t i = 0; i < open; i++)
    W(")");
  write_helper_flow_end(w, rule);
}

static void write_pid_support(Writer* w, const RulesRule* rule) {
  bool derivative = rule->params[RULES_PARAM_TD] != NULL;
  write_hide(w, rule, "e");
  write_hide(w, rule, "v");
  write_error(w, rule);
  W(" = ");
  write_arg(w, rule, 0);
  if (rule->arg[1].expr) {
    W(" - ");
    write_arg(w, rule, 1);
  }
  W(";\n");
  if (rule->params[RULES_PARAM_TI]) write_pid_integral(w, rule);
  if (derivative) {
    write_past(w, rule, "z");
    W("(");
    write_error(w, rule);
    W(" - ");
    write_helper(w, rule, "z");
    W(")/");
    write_filter_time(w, rule);
    W(";\n");
    W("at t0 { set ");
    write_helper(w, rule, "z");
    W(" = ");
    write_error(w, rule);
    W("; }\n");
  }
  write_pid_raw(w, rule);
  W(" = ");
  write_k_factor(w, rule);
  W("(");
  write_error(w, rule);
  if (rule->params[RULES_PARAM_TI]) {
    W(" + ");
    write_helper(w, rule, "i");
  }
  if (derivative) {
    W(" + ");
    write_param(w, rule, RULES_PARAM_TD);
    W("*(");
    write_error(w, rule);
    W(" - ");
    write_helper(w, rule, "z");
    W(")/");
    write_filter_time(w, rule);
  }
  W(");\n");
}

static void write_filter_support(Writer* w, const RulesRule* rule) {
  write_past(w, rule, "z");
  W("(");
  write_arg(w, rule, 0);
  W(" - ");
  write_helper(w, rule, "z");
  W(")/");
  write_param(w, rule, RULES_PARAM_FILTER);
  W(";\n");
  W("at t0 { set ");
  write_helper(w, rule, "z");
  W(" = ");
  write_arg(w, rule, 0);
  W("; }\n");
}

/// T^2 y'' + 2 z T y' + y = K a, with y' as a helper.
static void write_oscillator_support(Writer* w, const RulesRule* rule) {
  write_helper_flow(w, rule, "v");
  W("(");
  write_k_times_arg(w, rule);
  W(" - ");
  write_state(w, rule->target);
  W(" - 2*");
  write_param(w, rule, RULES_PARAM_DAMPING);
  W("*");
  write_param(w, rule, RULES_PARAM_T);
  W("*");
  write_helper(w, rule, "v");
  W(")/(");
  write_param(w, rule, RULES_PARAM_T);
  W("*");
  write_param(w, rule, RULES_PARAM_T);
  W(")");
  write_helper_flow_end(w, rule);
}

// ---- procedures that act at instants
// --------------------------------------------------------------

static void write_set(Writer* w, const RulesRule* rule) {
  W("set ");
  write_state(w, rule->target);
  W(" = ");
}

static void write_automaton(Writer* w, const RulesRule* rule) {
  write_automaton_as(w, (RulesShown){.name = write_helper_name(w, rule, "")});
}

/// "condition && " unless the rule always holds.
static void write_and(Writer* w, const RulesRule* rule) {
  if (write_is_always(&rule->when)) return;
  write_when(w, &rule->when);
  W(" && ");
}

/// With `zero` the variable ends with its situation, so what acts at instants begins anew with it.
static bool forgets(const Writer* w, const RulesRule* rule) {
  return w->m->unguarded == RULES_ZERO && !write_is_always(&rule->when);
}

static void write_forgetting(Writer* w, const RulesRule* rule, const char* states) {
  if (!forgets(w, rule)) return;
  W("  state off !(");
  write_when(w, &rule->when);
  text_append_format(&w->out, ") {} from %s;\n", states);
}

static void write_hysteresis(Writer* w, const RulesRule* rule) {
  write_automaton(w, rule);
  for (uint32_t side = 0; side < 2; side++) {
    text_append_format(&w->out, "  state %s ", side ? "down" : "up");
    write_and(w, rule);
    W("[");
    write_arg(w, rule, 0);
    W(side ? " <= -" : " >= ");
    write_param(w, rule, RULES_PARAM_ZONE);
    W("] { ");
    write_set(w, rule);
    write_level(w, rule, side == 0);
    text_append_format(&w->out, "; } from init, %s%s;\n", side ? "up" : "down",
                       forgets(w, rule) ? ", off" : "");
  }
  write_forgetting(w, rule, "up, down");
  W("}\n");
}

static void write_latch(Writer* w, const RulesRule* rule) {
  write_automaton(w, rule);
  W("  state clear ");
  write_and(w, rule);
  W("[");
  write_arg(w, rule, 1);
  W(" > 0] { ");
  write_set(w, rule);
  W("0; } from init, `set`");
  W(forgets(w, rule) ? ", off;\n  state `set` " : ";\n  state `set` ");
  write_and(w, rule);
  W("[");
  write_arg(w, rule, 0);
  W(" > 0] && ![");
  write_arg(w, rule, 1);
  W(" > 0] { ");
  write_set(w, rule);
  write_k(w, rule);
  W("; } from init, clear");
  W(forgets(w, rule) ? ", off;\n" : ";\n");
  write_forgetting(w, rule, "clear, `set`");
  W("}\n");
}

/// What happens when the situation begins.
static void write_rising(Writer* w, const RulesRule* rule,
                         void (*value)(Writer* w, const RulesRule* rule)) {
  bool always = write_is_always(&rule->when);
  write_automaton(w, rule);
  W("  state on ");
  if (!always) write_when(w, &rule->when);
  W(" { ");
  write_set(w, rule);
  value(w, rule);
  W(always ? "; } from init;\n}\n" : "; } from init, off;\n  state off !(");
  if (always) return;
  write_when(w, &rule->when);
  // with a reset, though an empty one: there is no motion along this boundary
  W(") { ");
  write_set(w, rule);
  write_state(w, rule->target);
  W("; } from on;\n}\n");
}

static void write_counted(Writer* w, const RulesRule* rule) {
  write_state(w, rule->target);
  W(" + ");
  write_k(w, rule);
}

static void write_zero(Writer* w, const RulesRule* rule) {
  (void)rule;
  W("0");
}

static void write_assigned(Writer* w, const RulesRule* rule) {
  if (rule->arg[0].expr) {
    write_k_times_arg(w, rule);
  } else {
    write_k(w, rule);
  }
}

/// Number `count` of the row's stream; the count goes on whether the situation holds or not.
static void write_noise(Writer* w, const RulesRule* rule) {
  write_k_factor(w, rule);
  W("noise(");
  if (rule->params[RULES_PARAM_SEED]) {
    write_param(w, rule, RULES_PARAM_SEED);
  } else {
    W("1");
  }
  W(", ");
  write_helper(w, rule, "n");
  W(")");
}

/// At t0, t0 + period, ...: a new value if the situation holds.
static void write_periodic(Writer* w, const RulesRule* rule,
                           void (*value)(Writer* w, const RulesRule* rule)) {
  W("at t0 each ");
  write_param(w, rule, RULES_PARAM_PERIOD);
  W(" repeat * { ");
  write_set(w, rule);
  if (!write_is_always(&rule->when)) {
    W("if(");
    write_when(w, &rule->when);
    W(", ");
  }
  value(w, rule);
  if (!write_is_always(&rule->when)) {
    W(", ");
    write_state(w, rule->target);
    W(")");
  }
  W("; ");
  if (rule->procedure == RULES_NOISE) {
    W("set ");
    write_helper(w, rule, "n");
    W(" = ");
    write_helper(w, rule, "n");
    W(" + 1; ");
  }
  W("}\n");
}

static void write_noise_support(Writer* w, const RulesRule* rule) {
  write_hide(w, rule, "n");
  write_helper(w, rule, "n");
  W("(t0) = 0;\n");
  write_periodic(w, rule, write_noise);
}

static void write_pulse_support(Writer* w, const RulesRule* rule) {
  write_hide(w, rule, "p");
  write_helper(w, rule, "p");
  W("(t0) = 0;\n");
  for (uint32_t edge = 0; edge < 2; edge++) {
    W("at ");
    write_param(w, rule, RULES_PARAM_START);
    if (edge) {
      W(" + ");
      write_param(w, rule, RULES_PARAM_WIDTH);
    }
    W(" each ");
    write_param(w, rule, RULES_PARAM_PERIOD);
    W(" repeat * { set ");
    write_helper(w, rule, "p");
    W(edge ? " = 0; }\n" : " = 1; }\n");
  }
}

static void write_edge(Writer* w, const RulesRule* rule, uint32_t side) {
  write_k_times_arg(w, rule);
  W(side ? " + " : " - ");
  write_param(w, rule, RULES_PARAM_ZONE);
}

/// While the play is taken up the variable follows, in between it rests. It is a state throughout:
/// its rate is that of the argument or 0. Beyond an edge it is brought there; if the argument is
/// already on its way back it rests there (`high`, `low`), which can only be so in the beginning.
static void write_backlash(Writer* w, const RulesRule* rule) {
  static const char* const names[2][2] = {{"up", "high"}, {"down", "low"}};
  static const char* const from[2] = {"init, free, high, low, down", "init, free, high, low, up"};
  Str label =
      str_format(w->arena, "%.*s (equation)", STR_ARGS(w->m->states.data[rule->target].name));
  write_name(w, label);
  W(": ");
  write_state(w, rule->target);
  W("' = 0;\n");
  write_automaton(w, rule);
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t side = k / 2;
    bool back = k % 2 != 0;
    text_append_format(&w->out, "  state %s ", names[side][back]);
    write_and(w, rule);
    W("[");
    write_edge(w, rule, side);
    W(side ? " < " : " > ");
    write_state(w, rule->target);
    W(back ? "] && [" : "] && ![");
    write_k_times_arg(w, rule);
    W(side ? "' > 0] { set " : "' < 0] { set ");
    write_state(w, rule->target);
    W(" = ");
    write_edge(w, rule, side);
    W("; ");
    if (!back) {
      write_name(w, label);
      W(": ");
      write_state(w, rule->target);
      W("' = ");
      write_k_times_arg(w, rule);
      W("'; ");
    }
    text_append_format(&w->out, "} from %s;\n", from[side]);
  }
  for (uint32_t side = 0; side < 2; side++) {
    W("  state free [");
    write_k_times_arg(w, rule);
    text_append_format(&w->out, "' %s 0] %sfrom %s;\n", side ? ">" : "<", side ? "" : "{} ",
                       side ? "down" : "up");
  }
  if (!write_is_always(&rule->when)) {
    W("  state free !(");
    write_when(w, &rule->when);
    W(") from up, down;\n");
  }
  W("}\n");
}

// ---- all of them
// ----------------------------------------------------------------------------------

static void write_source(Writer* w, const RulesRule* rule) {
  switch ((int)rule->procedure) {
  case RULES_STEP:
    W("if([time >= ");
    write_param(w, rule, RULES_PARAM_START);
    W("], ");
    write_k(w, rule);
    W(", 0)");
    break;
  case RULES_RAMP:
    W("if([time >= ");
    write_param(w, rule, RULES_PARAM_START);
    W("], ");
    write_k_factor(w, rule);
    if (rule->params[RULES_PARAM_SLOPE]) {
      write_param(w, rule, RULES_PARAM_SLOPE);
      W("*");
    }
    W("(time - ");
    write_param(w, rule, RULES_PARAM_START);
    W("), 0)");
    break;
  case RULES_PULSE:
    write_k_factor(w, rule);
    write_helper(w, rule, "p");
    break;
  default:
    write_k_factor(w, rule);
    W("sin(6.283185307179586*");
    write_param(w, rule, RULES_PARAM_FREQUENCY);
    W("*time");
    if (rule->params[RULES_PARAM_PHASE]) {
      W(" + ");
      write_param(w, rule, RULES_PARAM_PHASE);
    }
    W(")");
    break;
  }
}

static void write_sum(Writer* w, const RulesRule* rule) {
  write_k_times_arg(w, rule);
  if (!rule->arg[1].expr) return;
  W(" + ");
  if (rule->params[RULES_PARAM_K2]) {
    write_param(w, rule, RULES_PARAM_K2);
    W("*");
  }
  write_arg(w, rule, 1);
}

static void write_select(Writer* w, const RulesRule* rule) {
  W("if([");
  write_arg(w, rule, 1);
  W(" > 0], ");
  write_k_times_arg(w, rule);
  W(", ");
  write_k_factor(w, rule);
  write_param(w, rule, RULES_PARAM_OTHERWISE);
  W(")");
}

/// A divisor that may become zero.
static bool may_divide_by_zero(const RulesRule* rule) {
  if (rule->procedure != RULES_DIVISION) return false;
  return rule->arg[1].expr->op == RULES_OP_STATE || rule->arg[1].expr->op == RULES_OP_TIME;
}

/// The quotient has no equation while its divisor is zero, and so keeps its last value.
static void write_quotient_support(Writer* w, const RulesRule* rule) {
  const RulesState* target = &w->m->states.data[rule->target];
  write_hide(w, rule, "q");
  write_helper(w, rule, "q");
  W("(t0) ~ ");
  if (target->initial) {
    write_expr(w, target->initial);
  } else {
    write_number(w, target->number);
  }
  W(";\nif ([");
  write_arg(w, rule, 1);
  W(" > 0] || [");
  write_arg(w, rule, 1);
  W(" < 0]) { ");
  write_helper(w, rule, "q");
  W(" = ");
  write_k_times_arg(w, rule);
  W("/");
  write_arg(w, rule, 1);
  W("; }\n");
}

static void write_arithmetic(Writer* w, const RulesRule* rule) {
  if (may_divide_by_zero(rule) && !w->plain) {
    write_helper(w, rule, "q");
    return;
  }
  write_k_times_arg(w, rule);
  switch ((int)rule->procedure) {
  case RULES_MULTIPLICATION:
    W("*");
    write_arg(w, rule, 1);
    break;
  case RULES_DIVISION:
    W("/");
    write_arg(w, rule, 1);
    break;
  default:
    if (!rule->params[RULES_PARAM_K2]) break;
    W(" + ");
    write_param(w, rule, RULES_PARAM_K2);
    break;
  }
}

void write_value(Writer* w, const RulesRule* rule) {
  switch ((int)rule->procedure) {
  case RULES_MULTIPLICATION:
  case RULES_PROPORTIONAL:
  case RULES_DIVISION: write_arithmetic(w, rule); break;
  case RULES_ADDING: write_sum(w, rule); break;
  case RULES_INTEGRAL: write_integral(w, rule); break;
  case RULES_DIFFERENTIATION: write_derivative(w, rule); break;
  case RULES_SMOOTHING: write_smoothing(w, rule); break;
  case RULES_ABSOLUTE: write_function(w, rule, "abs"); break;
  case RULES_RELAY: write_relay(w, rule); break;
  case RULES_DEAD_ZONE: write_dead_zone(w, rule); break;
  case RULES_SATURATION: write_limited(w, rule, write_k_times_arg); break;
  case RULES_DELAY: write_delay(w, rule); break;
  case RULES_QUANTISE:
    write_param(w, rule, RULES_PARAM_QUANTUM);
    W("*floor(");
    write_k_times_arg(w, rule);
    W("/");
    write_param(w, rule, RULES_PARAM_QUANTUM);
    W(" + 0.5)");
    break;
  case RULES_TABLE: write_table(w, rule); break;
  case RULES_SINE: write_function(w, rule, "sin"); break;
  case RULES_COSINE: write_function(w, rule, "cos"); break;
  case RULES_EXPONENTIAL: write_function(w, rule, "exp"); break;
  case RULES_LOGARITHM: write_function(w, rule, "ln"); break;
  case RULES_SQUARE_ROOT: write_function(w, rule, "sqrt"); break;
  case RULES_POWER: write_function2(w, rule, "pow"); break;
  case RULES_MINIMUM: write_function2(w, rule, "min"); break;
  case RULES_MAXIMUM: write_function2(w, rule, "max"); break;
  case RULES_SELECT: write_select(w, rule); break;
  case RULES_SIGN: write_function(w, rule, "sign"); break;
  case RULES_OSCILLATOR: write_helper(w, rule, "v"); break;
  case RULES_PID: write_limited(w, rule, write_pid_raw); break;
  case RULES_TIMER: write_k(w, rule); break;
  case RULES_ASSIGN: write_assigned(w, rule); break;
  default: write_source(w, rule); break;
  }
}

/// Whether the variable of an assignment is an equation's: then the value is part of that.
static bool is_function_target(const RulesModel* m, uint32_t target) {
  for (uint32_t i = 0; i < m->rules.count; i++) {
    uint32_t class = rules_signature((RulesProcedure)m->rules.data[i].procedure)->class;
    bool function = class == RULES_CLASS_ALGEBRAIC || class == RULES_CLASS_MEMORY;
    if (m->rules.data[i].target == target && function) return true;
  }
  return false;
}

void write_support(Writer* w, const RulesRule* rule) {
  switch ((int)rule->procedure) {
  case RULES_DIFFERENTIATION:
    if (rule->params[RULES_PARAM_FILTER]) write_filter_support(w, rule);
    break;
  case RULES_HYSTERESIS: write_hysteresis(w, rule); break;
  case RULES_DIVISION:
    if (may_divide_by_zero(rule)) write_quotient_support(w, rule);
    break;
  case RULES_BACKLASH: write_backlash(w, rule); break;
  case RULES_SAMPLE_HOLD: write_periodic(w, rule, write_k_times_arg); break;
  case RULES_PULSE: write_pulse_support(w, rule); break;
  case RULES_NOISE: write_noise_support(w, rule); break;
  case RULES_OSCILLATOR: write_oscillator_support(w, rule); break;
  case RULES_PID: write_pid_support(w, rule); break;
  case RULES_COUNTER: write_rising(w, rule, write_counted); break;
  case RULES_TIMER:
    if (!rule->no_restart) write_rising(w, rule, write_zero);
    break;
  case RULES_LATCH: write_latch(w, rule); break;
  case RULES_ASSIGN:
    if (!is_function_target(w->m, rule->target)) write_rising(w, rule, write_assigned);
    break;
  default: break;
  }
}
