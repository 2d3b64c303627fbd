// SPDX-License-Identifier: MIT
//
// Random networks of resistors, sources, capacitors and up to twelve ideal diodes, in any spelling
// and in any units, against a complementarity problem: the currents of the diodes are not negative,
// the voltages across them not positive, and one of the two is zero. Projected Gauss-Seidel solves
// it at every stage of a Runge-Kutta step, without a notion of modes. Voltages are unique (they
// minimise a convex function); currents of diodes in a loop need not be, and are not compared.
// SALTUS_SPELLING and SALTUS_UNITS fix a spelling, and the volt, ampere and second.
#include "references.h"

#define CASES 42

#define NODES   12  // without capacitors
#define CELLS   3   // capacitors to ground
#define DIODES  12
#define LINKS   12  // resistors between nodes
#define SAMPLES 10
#define T_END   2.0
#define STEPS   4000  // of the reference; a multiple of SAMPLES
#define AGREES  1e-4

/// Node 0 is ground, then those without capacitors, then those with.
typedef struct Network {
  int nodes, cells, diodes, links;
  double load[NODES + 1];                                           // conductance to a source
  double level[NODES + 1], frequency[NODES + 1], phase[NODES + 1];  // of that source
  double capacity[CELLS], charge[CELLS];
  int from[LINKS], to[LINKS];
  double conductance[LINKS];
  int anode[DIODES], cathode[DIODES];
} Network;

/// Diodes without loops, and in a third of the networks up to two more that close loops, as in a
/// bridge.
static void draw_diodes(Dice* d, Network* n) {
  int tree[NODES + 1], wanted = dice_whole(d, 1, n->nodes);
  int loops = dice_chance(d, 0.33) ? dice_whole(d, 1, 2) : 0;
  for (int i = 0; i <= n->nodes; i++) {
    tree[i] = i;
  }
  for (int tries = 0; tries < 400 && n->diodes < DIODES && (wanted > 0 || loops > 0); tries++) {
    int a = dice_whole(d, 0, n->nodes), b = dice_whole(d, 0, n->nodes);
    bool parallel = a == b;
    for (int k = 0; k < n->diodes; k++) {
      parallel = parallel || (n->anode[k] == a && n->cathode[k] == b) ||
                 (n->anode[k] == b && n->cathode[k] == a);
    }
    if (parallel || (tree[a] == tree[b] ? loops == 0 : wanted == 0)) continue;
    if (tree[a] == tree[b]) loops--;
    if (tree[a] != tree[b]) wanted--;
    n->anode[n->diodes] = a;
    n->cathode[n->diodes++] = b;
    for (int i = 0, old = tree[b], joined = tree[a]; i <= n->nodes; i++) {
      if (tree[i] == old) tree[i] = joined;
    }
  }
}

static Network draw_network(Dice* d) {
  Network n = {.nodes = dice_whole(d, 1, NODES), .cells = dice_whole(d, 1, CELLS)};
  for (int i = 1; i <= n.nodes; i++) {
    n.load[i] = dice_number(d, 0.3, 3.0);
    n.level[i] = dice_chance(d, 0.7) ? dice_number(d, 1.0, 10.0) : 0.0;
    n.frequency[i] = dice_number(d, 1.0, 12.0);
    n.phase[i] = dice_number(d, 0.0, 6.0);
  }
  n.links = dice_whole(d, n.cells, LINKS);
  for (int k = 0; k < n.links; k++) {
    // every capacitor is charged by a resistor
    n.from[k] = k < n.cells ? n.nodes + 1 + k : dice_whole(d, 0, n.nodes + n.cells);
    n.to[k] = dice_whole(d, 1, n.nodes);
    n.conductance[k] = dice_number(d, 0.2, 3.0);
    if (n.from[k] == n.to[k]) n.from[k] = 0;
  }
  for (int c = 0; c < n.cells; c++) {
    n.capacity[c] = dice_number(d, 0.2, 2.0);
    n.charge[c] = dice_number(d, -3.0, 3.0);
  }
  draw_diodes(d, &n);
  return n;
}

// -- the model -----------------------------------------------------------------------------------

/// How a diode is written.
typedef enum Spelling {
  AUTOMATON,
  TWO_STATES,
  IF_BLOCK,
  IF_FUNCTION,
  PARAMETER,
  MINIMUM,
  FLAG,
  SPELLINGS
} Spelling;

/// What a volt, an ampere and a second are in the units of the text.
typedef struct Form {
  Spelling spelling;
  double volt, ampere, second;
} Form;

static Form draw_form(uint64_t seed) {
  Dice d = {seed * 7000003u};
  Form f = {.spelling = (Spelling)test_setting("SALTUS_SPELLING", seed % SPELLINGS),
            .volt = 1.0,
            .ampere = 1.0,
            .second = 1.0};
  if (dice_chance(&d, 0.5)) {
    f.volt = pow(10.0, dice_whole(&d, -9, 9));
    f.ampere = pow(10.0, dice_whole(&d, -9, 9));
    f.second = pow(10.0, dice_whole(&d, -9, 9));
  }
  const char* units = getenv("SALTUS_UNITS");
  if (units) CHECK(sscanf(units, "%lf,%lf,%lf", &f.volt, &f.ampere, &f.second) == 3, "three units");
  return f;
}

static const char* node_name(int i, char name[REF_NAME]) {
  if (i == 0) snprintf(name, REF_NAME, "0");
  if (i > 0) snprintf(name, REF_NAME, "v%d", i);
  return name;
}

/// Sum of the currents that leave a node through resistors and diodes.
static void say_currents(ModelText* text, const Network* n, const Form* f, int i) {
  char a[REF_NAME], b[REF_NAME];
  for (int k = 0; k < n->links; k++) {
    if (n->from[k] != i && n->to[k] != i) continue;
    int other = n->from[k] == i ? n->to[k] : n->from[k];
    double conductance = n->conductance[k] * f->ampere / f->volt;
    say(text, " + %.17g*(%s - %s)", conductance, node_name(i, a), node_name(other, b));
  }
  for (int k = 0; k < n->diodes; k++) {
    if (n->anode[k] == i) say(text, " + i%d", k + 1);
    if (n->cathode[k] == i) say(text, " - i%d", k + 1);
  }
}

/// Diode d with the voltage v across it, in the direction in which it conducts.
static void say_diode(ModelText* text, const Form* f, int d, const char* v) {
  double ohm = f->volt / f->ampere;
  switch (f->spelling) {
  case AUTOMATON:
    say(text,
        "d%d: i%d = 0;\nautomaton D%d {\n  state on [%s > 0] { d%d: %s = 0; } from init, off;\n", d,
        d, d, v, d, v);
    say(text, "  state off [i%d < 0] {} from on;\n}\n", d);
    break;
  case TWO_STATES:
    say(text, "d%d: %s = 0;\nautomaton D%d {\n  state off [i%d < 0] { d%d: i%d = 0; } from init;\n",
        d, v, d, d, d, d);
    say(text, "  state init [%s > 0] {} from off;\n}\n", v);
    break;
  case IF_BLOCK:
    say(text, "if (%s + %.17g*i%d > 0) { %s = 0; } else { i%d = 0; }\n", v, ohm, d, v, d);
    break;
  case IF_FUNCTION:
    say(text, "0 = if(%s + %.17g*i%d > 0, %s, %.17g*i%d);\n", v, ohm, d, v, ohm, d);
    break;
  case PARAMETER:
    say(text, "%s = if(s%d > 0, 0, s%d);\ni%d = if(s%d > 0, s%d, 0)/%.17g;\n", v, d, d, d, d, d,
        ohm);
    break;
  case MINIMUM: say(text, "min(%.17g*i%d, -(%s)) = 0;\n", ohm, d, v); break;
  case FLAG:
  case SPELLINGS:
    say(text, "f%d*(%s) + (1 - f%d)*%.17g*i%d = 0;\nf%d(t0) = 0;\nautomaton D%d {\n", d, v, d, ohm,
        d, d, d);
    say(text,
        "  state on [%s > 0] { set f%d = 1; } from init, off;\n  state off [i%d < 0] { set f%d = "
        "0; } from on;\n}\n",
        v, d, d, d);
  }
}

static ModelText network_text(const Network* n, const Form* f) {
  ModelText text = {.length = 0};
  char a[REF_NAME], b[REF_NAME], across[3 * REF_NAME];
  for (int i = 1; i <= n->nodes; i++) {
    say(&text, "%.17g*(v%d - %.17g*cos(%.17g*time + %.17g))", n->load[i] * f->ampere / f->volt, i,
        n->level[i] * f->volt, n->frequency[i] / f->second, n->phase[i]);
    say_currents(&text, n, f, i);
    say(&text, " = 0;\n");
  }
  for (int c = 0; c < n->cells; c++) {
    int i = n->nodes + 1 + c;
    say(&text, "%.17g*v%d' = -(0", n->capacity[c] * f->ampere * f->second / f->volt, i);
    say_currents(&text, n, f, i);
    say(&text, ");  v%d(t0) = %.17g;\n", i, n->charge[c] * f->volt);
  }
  for (int k = 0; k < n->diodes; k++) {
    snprintf(across, sizeof across, "%s - %s", node_name(n->anode[k], a),
             node_name(n->cathode[k], b));
    if (n->cathode[k] == 0) snprintf(across, sizeof across, "%s", a);
    say_diode(&text, f, k + 1, across);
  }
  return text;
}

// -- the reference -------------------------------------------------------------------------------

/// What does not change: inverse of the conductances of the nodes, and the matrix of the problem.
typedef struct Problem {
  const Network* n;
  double inverse[NODES + 1][NODES + 1];
  double response[NODES + 1][DIODES];  // of the nodes to the current of a diode
  double matrix[DIODES][DIODES];
  double current[DIODES];  // last solution
} Problem;

static void set_inverse(Problem* p) {
  const Network* n = p->n;
  int m = n->nodes;
  double w[NODES + 1][2 * NODES + 2] = {{0}};
  for (int i = 1; i <= m; i++) {
    w[i][i] += n->load[i];
    w[i][m + i] = 1.0;
  }
  for (int k = 0; k < n->links; k++) {
    int a = n->from[k], b = n->to[k];
    w[b][b] += n->conductance[k];
    if (a < 1 || a > m) continue;
    w[a][a] += n->conductance[k];
    w[a][b] -= n->conductance[k];
    w[b][a] -= n->conductance[k];
  }
  for (int q = 1; q <= m; q++) {
    for (int j = 2 * m; j >= q; j--) {
      w[q][j] /= w[q][q];
    }
    for (int i = 1; i <= m; i++) {
      for (int j = 2 * m; i != q && j >= q; j--) {
        w[i][j] -= w[i][q] * w[q][j];
      }
    }
  }
  for (int i = 1; i <= m; i++) {
    for (int j = 1; j <= m; j++) {
      p->inverse[i][j] = w[i][m + j];
    }
  }
}

static void set_problem(Problem* p, const Network* n) {
  *p = (Problem){.n = n};
  set_inverse(p);
  for (int k = 0; k < n->diodes; k++) {
    for (int i = 1; i <= n->nodes; i++) {
      if (n->anode[k]) p->response[i][k] -= p->inverse[i][n->anode[k]];
      if (n->cathode[k]) p->response[i][k] += p->inverse[i][n->cathode[k]];
    }
  }
  for (int j = 0; j < n->diodes; j++) {
    for (int k = 0; k < n->diodes; k++) {
      p->matrix[j][k] = p->response[n->cathode[j]][k] - p->response[n->anode[j]][k];
    }
  }
}

/// Voltages of the nodes without capacitors.
static void solve_nodes(Problem* p, double t, const double* cell, double* v) {
  const Network* n = p->n;
  double free[NODES + 1] = {0}, into[NODES + 1] = {0};
  for (int i = 1; i <= n->nodes; i++) {
    into[i] = n->load[i] * n->level[i] * cos(n->frequency[i] * t + n->phase[i]);
  }
  for (int k = 0; k < n->links; k++) {
    if (n->from[k] > n->nodes)
      into[n->to[k]] += n->conductance[k] * cell[n->from[k] - n->nodes - 1];
  }
  for (int i = 1; i <= n->nodes; i++) {
    for (int j = 1; j <= n->nodes; j++) {
      free[i] += p->inverse[i][j] * into[j];
    }
  }
  double change = 1.0;
  for (int sweep = 0; sweep < 3000 && change > 1e-11; sweep++) {
    change = 0.0;
    for (int k = 0; k < n->diodes; k++) {
      double across = free[n->cathode[k]] - free[n->anode[k]];  // not negative in the end
      for (int j = 0; j < n->diodes; j++) {
        across += p->matrix[k][j] * p->current[j];
      }
      double next = fmax(0.0, p->current[k] - across / p->matrix[k][k]);
      change = fmax(change, fabs(next - p->current[k]));
      p->current[k] = next;
    }
  }
  v[0] = 0.0;
  for (int i = 1; i <= n->nodes; i++) {
    v[i] = free[i];
    for (int k = 0; k < n->diodes; k++) {
      v[i] += p->response[i][k] * p->current[k];
    }
  }
}

static void rates(Problem* p, double t, const double* cell, double* rate) {
  const Network* n = p->n;
  double v[NODES + 1];
  solve_nodes(p, t, cell, v);
  for (int c = 0; c < n->cells; c++) {
    rate[c] = 0.0;
  }
  for (int k = 0; k < n->links; k++) {
    int c = n->from[k] - n->nodes - 1;
    if (c >= 0) rate[c] += n->conductance[k] * (v[n->to[k]] - cell[c]) / n->capacity[c];
  }
}

static void heun(const Network* n, double (*values)[REF_VALUE]) {
  Problem p;
  set_problem(&p, n);
  double cell[CELLS], h = T_END / STEPS;
  memcpy(cell, n->charge, sizeof cell);
  for (int s = 0; s < STEPS; s++) {
    double r1[CELLS], r2[CELLS], guess[CELLS];
    rates(&p, s * h, cell, r1);
    for (int c = 0; c < n->cells; c++) {
      guess[c] = cell[c] + h * r1[c];
    }
    rates(&p, (s + 1) * h, guess, r2);
    for (int c = 0; c < n->cells; c++) {
      cell[c] += 0.5 * h * (r1[c] + r2[c]);
    }
    if ((s + 1) % (STEPS / SAMPLES) != 0) continue;
    double* row = values[s / (STEPS / SAMPLES)];
    double v[NODES + 1];
    solve_nodes(&p, (s + 1) * h, cell, v);
    memcpy(row, v + 1, (size_t)n->nodes * sizeof *row);
    memcpy(row + n->nodes, cell, (size_t)n->cells * sizeof *row);
  }
}

// -- comparison ----------------------------------------------------------------------------------

static bool compare_network(const Network* n, const Form* f, uint64_t seed) {
  double reference[SAMPLES][REF_VALUE], run[SAMPLES][REF_VALUE], times[SAMPLES];
  char names[NODES + CELLS][REF_NAME], message[256] = "";
  int count = n->nodes + n->cells;
  for (int s = 0; s < SAMPLES; s++) {
    times[s] = f->second * T_END * (s + 1) / SAMPLES;
  }
  for (int i = 0; i < count; i++) {
    node_name(i + 1, names[i]);
  }
  ModelText text = network_text(n, f);
  if (getenv("SALTUS_SHOW")) printf("%s", text.data);
  if (!run_in_unit(&text, f->volt, names, count, times, SAMPLES, run, message)) {
    print_error("seed %llu (%d diodes, spelling %d, units %g, %g, %g): %s\n",
                (unsigned long long)seed, n->diodes, (int)f->spelling, f->volt, f->ampere,
                f->second, message);
    return false;
  }
  heun(n, reference);
  for (int s = 0; s < SAMPLES; s++) {
    for (int i = 0; i < count; i++) {
      double is = run[s][i] / f->volt;
      if (fabs(is - reference[s][i]) <= AGREES * (1.0 + fabs(reference[s][i]))) continue;
      print_error("seed %llu (%d diodes, spelling %d, units %g, %g, %g): v%d at %g is %.9g, the "
                  "reference has %.9g\n",
                  (unsigned long long)seed, n->diodes, (int)f->spelling, f->volt, f->ampere,
                  f->second, i + 1, times[s], is, reference[s][i]);
      return false;
    }
  }
  return true;
}

TEST(diodes_conduct_as_complementarity_says) {
  static Cases cases;
  cases_begin(&cases, "diode_networks", CASES);
  for (uint64_t seed = cases.first; seed < cases.first + cases.count; seed++) {
    Dice dice = {seed * 1000003u};
    Network network = draw_network(&dice);
    Form form = draw_form(seed);
    cases_result(&cases, seed, compare_network(&network, &form, seed));
  }
  cases_end(&cases);
}
