// SPDX-License-Identifier: MIT
//
// Which variables are unknowns, which are discrete, and which names nothing determines.
//
// A name under ' or alone on a left side is an unknown; a name that stands in no equation is
// discrete if something gives it a value. What is left has to be asked from the equations: it is an
// unknown if in some mode an equation is left over for it once the sure unknowns have theirs. That
// is a bipartite matching per mode, in which names are tried in the order of how likely they are
// unknowns. Modes: the initial one, and one for every body, entered alone.
#include "lisma/lower.h"

#include <stdlib.h>
#include <string.h>

#define MATCH_WORK_MAX 300000000u  // steps in all modes together

typedef struct Matcher {
  Lower* l;
  const IrModel* m;
  VarInfo* info;  // by variable of the canonical model
  uint32_t* candidates;
  uint32_t candidate_count;
  bool* candidate;   // by variable
  bool* determined;  // by variable
  uint64_t work;

  // of the mode at hand
  uint32_t* mode;
  uint32_t* equations;
  uint32_t equation_count;
  uint32_t* column_start;    // variable -> range in column
  uint32_t* column;          // places in `equations`
  uint32_t* match_var;       // variable -> place + 1
  uint32_t* match_equation;  // place -> variable + 1
  uint32_t* seen;            // place -> search in which it was visited
  uint32_t* came_from;       // place -> variable from which it was reached
  uint32_t* queue;
  uint32_t search;
} Matcher;

// ---------------------------------------------------------------------------------------------
// one mode

static bool takes_part(const Matcher* w, uint32_t var) {
  const VarInfo* info = &w->info[var];
  if (info->flags & VAR_STRONG) return true;
  return w->candidate[var];
}

/// Equations by variable. A variable is listed once per leaf: repetitions do no harm.
static void build_columns(Matcher* w) {
  const IrModel* m = w->m;
  memset(w->column_start, 0, (m->vars.count + 1) * sizeof *w->column_start);
  for (uint32_t pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < w->equation_count; i++) {
      IrTerm term = m->equations.data[w->equations[i]].term;
      for (uint32_t k = 0; k < term.leaf_count; k++) {
        IrLeaf leaf = ir_leaf(m, term, k);
        if (leaf.kind != IR_LEAF_VAR || !takes_part(w, leaf.id)) continue;
        if (pass == 0) {
          w->column_start[leaf.id + 1]++;
        } else {
          w->column[w->column_start[leaf.id]++] = i;
        }
      }
      w->work += term.leaf_count;
    }
    if (pass == 0) {
      for (uint32_t v = 0; v < m->vars.count; v++) {
        w->column_start[v + 1] += w->column_start[v];
      }
    }
  }
  // the second pass moved every start to its end: move them back
  for (uint32_t v = m->vars.count; v > 0; v--) {
    w->column_start[v] = w->column_start[v - 1];
  }
  w->column_start[0] = 0;
  w->work += m->vars.count;
}

/// Find an equation for `var`, moving others to other equations if need be.
static bool augment(Matcher* w, uint32_t var) {
  uint32_t head = 0;
  uint32_t tail = 0;
  w->search++;
  w->queue[tail++] = var;
  while (head < tail) {
    uint32_t v = w->queue[head++];
    for (uint32_t k = w->column_start[v]; k < w->column_start[v + 1]; k++) {
      uint32_t place = w->column[k];
      w->work++;
      if (w->seen[place] == w->search) continue;
      w->seen[place] = w->search;
      w->came_from[place] = v;
      uint32_t owner = w->match_equation[place];
      if (owner) {
        w->queue[tail++] = owner - 1;
        continue;
      }
      // a free equation: shift the matching along the path
      for (;;) {
        uint32_t from = w->came_from[place];
        uint32_t before = w->match_var[from];
        w->match_equation[place] = from + 1;
        w->match_var[from] = place + 1;
        if (from == var) return true;
        place = before - 1;
      }
    }
  }
  return false;
}

static void match_mode(Matcher* w) {
  const IrModel* m = w->m;
  memset(w->match_var, 0, m->vars.count * sizeof *w->match_var);
  memset(w->match_equation, 0, w->equation_count * sizeof *w->match_equation);
  build_columns(w);

  // explicit equations determine their left side, unless that has to give way later
  for (uint32_t i = 0; i < w->equation_count; i++) {
    uint32_t var = m->equations.data[w->equations[i]].lhs_var;
    if (var == IR_NONE || w->match_var[var]) continue;
    w->match_var[var] = i + 1;
    w->match_equation[i] = var + 1;
  }
  for (uint32_t v = 0; v < m->vars.count && w->work < MATCH_WORK_MAX; v++) {
    bool strong = (w->info[v].flags & VAR_STRONG) != 0;
    bool present = w->column_start[v + 1] > w->column_start[v];
    if (strong && present && !w->match_var[v]) augment(w, v);
  }
  for (uint32_t i = 0; i < w->candidate_count && w->work < MATCH_WORK_MAX; i++) {
    uint32_t v = w->candidates[i];
    if (augment(w, v)) w->determined[v] = true;
  }
}

/// Enter the states that make `body` active, and leave them again.
static void enter_body(Matcher* w, uint32_t body, bool enter) {
  for (uint32_t steps = 0; body != 0 && body != IR_NONE && steps < w->m->bodies.count; steps++) {
    const IrBody* b = &w->m->bodies.data[body];
    w->mode[b->automaton] = enter ? b->state : 0;
    body = w->m->automata.data[b->automaton].parent_body;
  }
}

static void match_modes(Matcher* w) {
  const IrModel* m = w->m;
  IrConflict conflict;
  for (uint32_t body = 0; body < m->bodies.count && w->work < MATCH_WORK_MAX; body++) {
    bool edits = m->bodies.data[body].equation_count || m->bodies.data[body].delete_count ||
                 m->bodies.data[body].parent != IR_NONE;
    if (body && !edits) continue;
    enter_body(w, body, true);
    w->equation_count = ir_mode_equations(m, w->l->scratch, w->mode, w->equations, &conflict);
    enter_body(w, body, false);
    w->work += m->equations.count + m->automata.count;
    if (w->equation_count != IR_NONE) match_mode(w);
  }
}

// ---------------------------------------------------------------------------------------------
// candidates

/// Less is more likely an unknown: no value is given, only a guess, a fixed value.
static uint32_t likelihood(const VarInfo* info) {
  if (info->flags & VAR_FIXED) return 2;
  return info->flags & VAR_GUESS ? 1 : 0;
}

static int compare_u64(const void* a, const void* b) {
  const uint64_t* x = a;
  const uint64_t* y = b;
  return (*x > *y) - (*x < *y);
}

static void order_candidates(Matcher* w) {
  Arena* arena = w->l->scratch;
  uint64_t* keys = ARENA_ARRAY(arena, uint64_t, w->m->vars.count);
  uint32_t count = 0;
  for (uint32_t v = 0; v < w->m->vars.count; v++) {
    if (!w->candidate[v]) continue;
    // often used before rarely used: a slip of the pen is rare
    const VarInfo* info = &w->info[v];
    uint64_t rare = 0xffff - (info->uses < 0xffff ? info->uses : 0xffff);
    uint64_t key = (uint64_t)likelihood(info) << 60 | rare << 44;
    keys[count++] = key | w->m->vars.data[v].appearance;
  }
  qsort(keys, count, sizeof *keys, compare_u64);
  uint32_t* by_appearance = ARENA_ARRAY(arena, uint32_t, w->m->vars.count);
  for (uint32_t v = 0; v < w->m->vars.count; v++) {
    by_appearance[w->m->vars.data[v].appearance] = v;
  }
  w->candidates = ARENA_ARRAY(arena, uint32_t, count);
  w->candidate_count = count;
  for (uint32_t i = 0; i < count; i++) {
    w->candidates[i] = by_appearance[(uint32_t)keys[i]];
  }
}

static void allocate(Matcher* w) {
  Arena* arena = w->l->scratch;
  uint32_t vars = w->m->vars.count;
  uint32_t equations = w->m->equations.count;
  w->mode = ARENA_ARRAY(arena, uint32_t, w->m->automata.count);
  w->equations = ARENA_ARRAY(arena, uint32_t, equations);
  w->column_start = ARENA_ARRAY(arena, uint32_t, (size_t)vars + 1);
  size_t leaves = 0;
  for (uint32_t i = 0; i < equations; i++) {
    leaves += w->m->equations.data[i].term.leaf_count;
  }
  w->column = ARENA_ARRAY(arena, uint32_t, leaves);
  w->match_var = ARENA_ARRAY(arena, uint32_t, vars);
  w->match_equation = ARENA_ARRAY(arena, uint32_t, equations);
  w->seen = ARENA_ARRAY(arena, uint32_t, equations);
  w->came_from = ARENA_ARRAY(arena, uint32_t, equations);
  w->queue = ARENA_ARRAY(arena, uint32_t, (size_t)equations + 1);
  w->determined = ARENA_ARRAY(arena, bool, vars);
}

/// The infos were collected before the variables got their final numbers.
static void fetch_infos(Matcher* w) {
  Arena* arena = w->l->scratch;
  w->info = ARENA_ARRAY(arena, VarInfo, w->m->vars.count);
  w->candidate = ARENA_ARRAY(arena, bool, w->m->vars.count);
  for (uint32_t v = 0; v < w->m->vars.count; v++) {
    const IrVar* var = &w->m->vars.data[v];
    if (var->hidden) {
      w->info[v].flags = VAR_HIDDEN;
      continue;
    }
    Symbol symbol = *resolve_symbol(w->l, var->name);
    if (symbol.kind == SYM_VAR) w->info[v] = w->l->names.vars.data[symbol.index];
  }
}

/// For the messages: such names are known ones.
static void note_determined(Matcher* w) {
  for (uint32_t i = 0; i < w->candidate_count; i++) {
    uint32_t v = w->candidates[i];
    if (!w->determined[v]) continue;
    Symbol symbol = *resolve_symbol(w->l, w->m->vars.data[v].name);
    w->l->names.vars.data[symbol.index].flags |= VAR_DETERMINED;
  }
}

/// A derivative outside of equations needs an equation that says what it is.
static void check_derivatives(Lower* l) {
  for (uint32_t i = 0; i < l->settings.derivatives.count && !l->walk.uncertain; i++) {
    NameUse use = l->settings.derivatives.data[i];
    Symbol* symbol = resolve_symbol(l, use.name);
    const VarInfo* info = &l->names.vars.data[symbol->index];
    if (info->flags & (VAR_STRONG | VAR_DETERMINED)) continue;
    if (symbol->told) continue;
    symbol->told = true;
    Str text = lower_name(l, use.name);
    Diag* diag =
        lower_report(l, DIAG_E0308, use.span, "'%.*s' has no derivative: no equation determines it",
                     STR_ARGS(text));
    diag_hint(l->diags, diag, "a variable without an equation keeps its value until a reset");
  }
}

void resolve_kinds(Lower* l) {
  Matcher w = {.l = l, .m = l->m};
  uint32_t candidates = 0;
  fetch_infos(&w);
  for (uint32_t v = 0; v < l->m->vars.count; v++) {
    unsigned flags = w.info[v].flags;
    // what an action assigns and no equation names as its result keeps its value
    bool open = (flags & VAR_IN_EQUATION) && !(flags & (VAR_STRONG | VAR_SET | VAR_HIDDEN));
    w.candidate[v] = open;
    candidates += open;
  }
  if (candidates) {
    allocate(&w);
    order_candidates(&w);
    match_modes(&w);
  }
  bool exhausted = w.work >= MATCH_WORK_MAX;
  note_determined(&w);
  for (uint32_t v = 0; v < l->m->vars.count; v++) {
    IrVar* var = &l->m->vars.data[v];
    unsigned flags = w.info[v].flags;
    if (flags & (VAR_STRONG | VAR_HIDDEN)) continue;
    bool valued = (flags & (VAR_FIXED | VAR_GUESS | VAR_SET)) != 0;
    bool determined = w.determined && w.determined[v];
    if (w.candidate[v] && (determined || (exhausted && !(flags & VAR_FIXED)))) continue;
    if (valued) {
      var->kind = IR_VAR_DISCRETE;
    } else if (!l->walk.uncertain) {
      resolve_unknown(l, var->name, var->span, false);
    }
  }
  check_derivatives(l);
}
