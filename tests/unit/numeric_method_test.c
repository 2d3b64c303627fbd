// SPDX-License-Identifier: MIT
//
// The coefficients themselves: order conditions over all rooted trees up to order 8 for the
// solutions, the error estimates and the dense outputs; real stability intervals; the table.
#include "numeric/numeric.h"
#include "numeric/ros_tableau.h"
#include "numeric/tableau.h"
#include "test.h"

#define STAGES_MAX 17
#define ORDER_MAX  8
#define TREES_MAX  200  // 1 + 1 + 2 + 4 + 9 + 20 + 48 + 115

typedef struct Tree {
  uint32_t order;
  uint32_t children;
  uint32_t child[ORDER_MAX];  // indices of smaller trees, not increasing
  double density;
} Tree;

typedef struct Forest {
  Tree tree[TREES_MAX];
  uint32_t count;
} Forest;

/// Add every tree of `order` whose children so far are `draft`, the rest of order `left` being
/// taken from trees up to index `largest`.
static void grow(Forest* f, Tree* draft, uint32_t left, uint32_t largest) {
  if (left == 0) {
    Tree* t = &f->tree[f->count++];
    *t = *draft;
    t->density = t->order;
    for (uint32_t i = 0; i < t->children; i++) {
      t->density *= f->tree[t->child[i]].density;
    }
    return;
  }
  for (uint32_t i = 0; i <= largest; i++) {
    if (f->tree[i].order <= left) {
      draft->child[draft->children++] = i;
      grow(f, draft, left - f->tree[i].order, i);
      draft->children--;
    }
  }
}

static void forest_init(Forest* f) {
  f->count = 1;
  f->tree[0] = (Tree){.order = 1, .density = 1.0};
  for (uint32_t order = 2; order <= ORDER_MAX; order++) {
    Tree draft = {.order = order};
    grow(f, &draft, order - 1, f->count - 1);
  }
}

typedef struct Tableau {
  uint32_t stages;  // the last one is f at the end of the step
  double c[STAGES_MAX + 1], a[STAGES_MAX + 1][STAGES_MAX + 1];
  double b[STAGES_MAX + 1], e[STAGES_MAX + 1], e3[STAGES_MAX + 1];
  double d[8][STAGES_MAX + 1];  // dense coefficients from the fifth on
  uint32_t end;                 // stage that is f at the end
} Tableau;

#define PUT(j, value) row[j] = (value);
#define FILL(target, LIST) \
  do { \
    double* row = (target); \
    LIST(PUT, PUT) \
  } while (0)
#define STAGE(j, c_j, LIST) \
  t.c[j] = (c_j); \
  t.stages = (j); \
  FILL(t.a[j], LIST);

/// Methods without FSAL get the end of the step as a further stage.
static void add_end(Tableau* t) {
  t->stages++;
  t->end = t->stages;
  t->c[t->end] = 1.0;
  memcpy(t->a[t->end], t->b, sizeof t->b);
}

static Tableau tableau_of(const char* name) {
  Tableau t = {.stages = 1};
  if (!strcmp(name, "euler")) {
    t.b[1] = 1.0;
    add_end(&t);
  } else if (!strcmp(name, "rk4")) {
    RK4_STAGES(STAGE)
    FILL(t.b, RK4_B);
    add_end(&t);
  } else if (!strcmp(name, "merson")) {
    MERSON_STAGES(STAGE)
    FILL(t.b, MERSON_B);
    FILL(t.e, MERSON_E);
    add_end(&t);
  } else if (!strcmp(name, "bs32")) {
    BS32_STAGES(STAGE)
    FILL(t.b, BS32_B);
    FILL(t.e, BS32_E);
    t.end = 4;
  } else if (!strcmp(name, "dp54")) {
    DP54_STAGES(STAGE)
    FILL(t.b, DP54_B);
    FILL(t.e, DP54_E);
    FILL(t.d[4], DP54_D);
    t.end = 7;
  } else {
    DOP853_STAGES(STAGE)
    DOP853_DENSE_STAGES(STAGE)
    FILL(t.b, DOP853_B);
    FILL(t.e, DOP853_E5);
    FILL(t.e3, DOP853_E3);
    FILL(t.d[4], DOP853_D4);
    FILL(t.d[5], DOP853_D5);
    FILL(t.d[6], DOP853_D6);
    FILL(t.d[7], DOP853_D7);
    t.end = 13;
  }
  return t;
}

typedef struct Weights {
  double phi[TREES_MAX][STAGES_MAX + 1];
} Weights;

/// phi_i(tree) = product over the children of sum_j a_ij phi_j(child).
static void weights_init(Weights* w, const Tableau* t, const Forest* f) {
  for (uint32_t n = 0; n < f->count; n++) {
    for (uint32_t i = 1; i <= t->stages; i++) {
      double product = 1.0;
      for (uint32_t m = 0; m < f->tree[n].children; m++) {
        double sum = 0.0;
        for (uint32_t j = 1; j < i; j++) {
          sum += t->a[i][j] * w->phi[f->tree[n].child[m]][j];
        }
        product *= sum;
      }
      w->phi[n][i] = product;
    }
  }
}

static double dot(const Tableau* t, const double* b, const double* phi) {
  double sum = 0.0;
  for (uint32_t i = 1; i <= t->stages; i++) {
    sum += b[i] * phi[i];
  }
  return sum;
}

/// Largest defect of sum b phi = scale^order / density over the trees up to `order`; with `exact`
/// false the right-hand side is 0, as for an error estimate.
static double defect(const Tableau* t, const Forest* f, const Weights* w, const double* b,
                     uint32_t from, uint32_t to, double theta, bool exact) {
  double largest = 0.0;
  for (uint32_t n = 0; n < f->count; n++) {
    const Tree* tree = &f->tree[n];
    if (tree->order < from || tree->order > to) {
      continue;
    }
    double want = exact ? pow(theta, tree->order) / tree->density : 0.0;
    largest = fmax(largest, fabs(dot(t, b, w->phi[n]) - want));
  }
  return largest;
}

/// Weights of the dense output at theta: the nested form of dense.c with h = 1.
static void dense_weights(const Tableau* t, uint32_t degree, double theta, double* b) {
  double r[8][STAGES_MAX + 1] = {{0}};
  for (uint32_t i = 1; i <= t->stages; i++) {
    r[1][i] = t->b[i];
    r[2][i] = (i == 1 ? 1.0 : 0.0) - r[1][i];
    r[3][i] = r[1][i] - (i == t->end ? 1.0 : 0.0) - r[2][i];
    for (uint32_t j = 4; j <= degree; j++) {
      r[j][i] = t->d[j][i];
    }
    b[i] = 0.0;
    for (uint32_t j = degree; j > 0; j--) {
      b[i] = (j % 2 ? theta : 1.0 - theta) * (r[j][i] + b[i]);
    }
  }
}

TEST(trees_are_all_there) {
  static Forest f;
  static const uint32_t want[] = {0, 1, 1, 2, 4, 9, 20, 48, 115};
  uint32_t count[ORDER_MAX + 1] = {0};
  forest_init(&f);
  for (uint32_t n = 0; n < f.count; n++) {
    count[f.tree[n].order]++;
  }
  for (uint32_t order = 1; order <= ORDER_MAX; order++) {
    CHECK(count[order] == want[order], "number of rooted trees");
  }
}

TEST(order_conditions_hold) {
  static Forest f;
  static Weights w;
  forest_init(&f);
  for (uint32_t m = 0; m < num_method_count(); m++) {
    const NumMethod* method = num_method_get(m);
    if (method->stiff || method->multistep) {
      continue;
    }
    Tableau t = tableau_of(method->name);
    weights_init(&w, &t, &f);

    // the row sums are the abscissae, and the order is what is claimed, not more
    for (uint32_t i = 2; i <= t.stages; i++) {
      double sum = 0.0;
      for (uint32_t j = 1; j < i; j++) {
        sum += t.a[i][j];
      }
      CHECK_NEAR(sum, t.c[i], 2e-14, 0);
    }
    CHECK(defect(&t, &f, &w, t.b, 1, method->order, 1.0, true) < 2e-14, method->name);
    if (method->order < ORDER_MAX) {
      uint32_t next = method->order + 1;
      CHECK(defect(&t, &f, &w, t.b, next, next, 1.0, true) > 1e-5, method->name);
    }
  }
}

TEST(error_estimates_have_their_order) {
  static Forest f;
  static Weights w;
  static const struct {
    const char* name;
    uint32_t order;  // conditions up to here vanish
    bool third;      // the second estimate of dop853
  } cases[] = {
      {"merson", 3, false}, {"bs32", 2, false},  {"dp54", 4, false},
      {"dop853", 5, false}, {"dop853", 3, true},
  };
  forest_init(&f);
  FOR_CASES(c, cases) {
    Tableau t = tableau_of(c->name);
    const double* e = c->third ? t.e3 : t.e;
    weights_init(&w, &t, &f);
    CHECK(defect(&t, &f, &w, e, 1, c->order, 1.0, false) < 2e-14, c->name);
    CHECK(defect(&t, &f, &w, e, c->order + 1, c->order + 1, 1.0, false) > 1e-5, c->name);
  }
}

TEST(dense_output_conditions_hold) {
  static Forest f;
  static Weights w;
  forest_init(&f);
  for (uint32_t m = 0; m < num_method_count(); m++) {
    const NumMethod* method = num_method_get(m);
    if (method->dense_degree == 1 || method->stiff) {
      continue;
    }
    Tableau t = tableau_of(method->name);
    weights_init(&w, &t, &f);
    for (int i = 0; i <= 10; i++) {
      double b[STAGES_MAX + 1];
      double theta = 0.1 * i;
      dense_weights(&t, method->dense_degree, theta, b);
      CHECK(defect(&t, &f, &w, b, 1, method->dense_order, theta, true) < 5e-13, method->name);
    }
  }
}

/// R(z) = 1 + sum z^k b^T A^(k-1) 1 on the negative real axis.
static double stability_function(const Tableau* t, double z) {
  double g[STAGES_MAX + 1];
  double end = 1.0;
  for (uint32_t i = 1; i <= t->stages; i++) {
    g[i] = 1.0;
    for (uint32_t j = 1; j < i; j++) {
      g[i] += z * t->a[i][j] * g[j];
    }
    end += z * t->b[i] * g[i];
  }
  return end;
}

TEST(stability_intervals) {
  for (uint32_t m = 0; m < num_method_count(); m++) {
    const NumMethod* method = num_method_get(m);
    if (method->stiff || method->multistep) {
      continue;
    }
    Tableau t = tableau_of(method->name);
    double z = 0.0;
    while (fabs(stability_function(&t, -z)) <= 1.0 + 1e-12) {
      z += 1e-4;
    }
    if (fabs(method->stability - z) > 2e-3) {
      print_error("%s: real stability interval is %.4f\n", method->name, z);
    }
    CHECK(fabs(method->stability - z) <= 2e-3, method->name);
  }
}

// ---- Rosenbrock methods
// --------------------------------------------------------------------------

typedef struct Rosenbrock {
  uint32_t stages;
  double gamma;
  double a[9][9], c[9][9], b[9], h[5][9];  // as printed
  double time[9], shift[9];                // c and d as printed
  double alpha[9][9], beta[9][9];          // of the increments without transformation
  double weight[9], inverse[9][9];         // b there; matrix that leads there
} Rosenbrock;

#define ROS_ROW(j, c_j, d_j, A, C) \
  r.stages = (j); \
  r.time[j] = (c_j); \
  r.shift[j] = (d_j); \
  FILL(r.a[j], A); \
  FILL(r.c[j], C);

static Rosenbrock rosenbrock_of(const char* name) {
  Rosenbrock r = {0};
  if (!strcmp(name, "rodas3")) {
    r.gamma = RODAS3_GAMMA;
    r.shift[1] = RODAS3_D1;
    RODAS3_STAGES(ROS_ROW)
    FILL(r.b, RODAS3_B);
    FILL(r.h[2], RODAS3_H2);
  } else if (!strcmp(name, "rodas")) {
    r.gamma = RODAS_GAMMA;
    r.shift[1] = RODAS_D1;
    RODAS_STAGES(ROS_ROW)
    FILL(r.b, RODAS_B);
    FILL(r.h[2], RODAS_H2);
    FILL(r.h[3], RODAS_H3);
  } else {
    r.gamma = RODAS5_GAMMA;
    r.shift[1] = RODAS5_D1;
    RODAS5_STAGES(ROS_ROW)
    FILL(r.b, RODAS5_B);
    FILL(r.h[2], RODAS5_H2);
    FILL(r.h[3], RODAS5_H3);
    FILL(r.h[4], RODAS5_H4);
  }
  // Gamma^-1 = 1/gamma - C; its inverse by forward substitution
  double gamma[9][9] = {{0}};
  for (uint32_t j = 1; j <= r.stages; j++) {
    for (uint32_t i = j; i <= r.stages; i++) {
      double sum = i == j ? 1.0 : 0.0;
      for (uint32_t k = j; k < i; k++) {
        sum += r.c[i][k] * gamma[k][j];
      }
      gamma[i][j] = r.gamma * sum;
    }
  }
  for (uint32_t i = 1; i <= r.stages; i++) {
    for (uint32_t j = 1; j <= r.stages; j++) {
      for (uint32_t k = 1; k <= r.stages; k++) {
        r.alpha[i][j] += r.a[i][k] * gamma[k][j];
      }
      r.beta[i][j] = r.alpha[i][j] + gamma[i][j];
      r.weight[j] += r.b[i] * gamma[i][j];
      r.inverse[i][j] = gamma[i][j];
    }
  }
  return r;
}

/// Like weights_init: a node with one child sees beta, one with more sees alpha (HW II, IV.7).
static void rosenbrock_weights(Weights* w, const Rosenbrock* r, const Forest* f) {
  for (uint32_t n = 0; n < f->count; n++) {
    for (uint32_t i = 1; i <= r->stages; i++) {
      double product = 1.0;
      for (uint32_t m = 0; m < f->tree[n].children; m++) {
        double sum = 0.0;
        for (uint32_t j = 1; j <= r->stages; j++) {
          double factor = f->tree[n].children == 1 ? r->beta[i][j] : r->alpha[i][j];
          sum += factor * w->phi[f->tree[n].child[m]][j];
        }
        product *= sum;
      }
      w->phi[n][i] = product;
    }
  }
}

static const char* const stiff_names[] = {"rodas3", "rodas", "rodas5"};

TEST(rosenbrock_order_conditions_hold) {
  static Forest f;
  static Weights w;
  forest_init(&f);
  for (size_t m = 0; m < SLT_COUNT(stiff_names); m++) {
    const NumMethod* method = num_method_find(str_from_c(stiff_names[m]));
    Rosenbrock r = rosenbrock_of(method->name);
    Tableau t = {.stages = r.stages};
    rosenbrock_weights(&w, &r, &f);
    for (uint32_t i = 1; i <= r.stages; i++) {
      double time = 0.0;
      double shift = 0.0;
      for (uint32_t j = 1; j <= r.stages; j++) {
        time += r.alpha[i][j];
        shift += r.beta[i][j] - r.alpha[i][j];
      }
      CHECK_NEAR(time, r.time[i], 1e-12, 0);
      CHECK_NEAR(shift, r.shift[i], 1e-12, 0);
    }
    CHECK(defect(&t, &f, &w, r.weight, 1, method->order, 1.0, true) < 1e-12, method->name);
    uint32_t next = method->order + 1;
    CHECK(defect(&t, &f, &w, r.weight, next, next, 1.0, true) > 1e-5, method->name);

    // the last increment is the difference to a solution of one order less
    double error[9] = {0};
    for (uint32_t j = 1; j <= r.stages; j++) {
      error[j] = r.inverse[r.stages][j];
    }
    CHECK(defect(&t, &f, &w, error, 1, method->error_order, 1.0, false) < 1e-12, method->name);
    CHECK(defect(&t, &f, &w, error, method->error_order + 1, method->error_order + 1, 1.0, false) >
              1e-5,
          method->name);
  }
}

TEST(rosenbrock_dense_output_conditions_hold) {
  static Forest f;
  static Weights w;
  forest_init(&f);
  for (size_t m = 0; m < SLT_COUNT(stiff_names); m++) {
    const NumMethod* method = num_method_find(str_from_c(stiff_names[m]));
    Rosenbrock r = rosenbrock_of(method->name);
    Tableau t = {.stages = r.stages};
    rosenbrock_weights(&w, &r, &f);
    memcpy(r.h[1], r.b, sizeof r.b);
    for (int k = 0; k <= 10; k++) {
      double theta = 0.1 * k;
      double weight[9] = {0};
      for (uint32_t i = 1; i <= r.stages; i++) {
        double value = 0.0;
        for (uint32_t j = method->dense_degree; j > 0; j--) {
          value = (j % 2 ? theta : 1.0 - theta) * (r.h[j][i] + value);
        }
        for (uint32_t j = 1; j <= r.stages; j++) {
          weight[j] += value * r.inverse[i][j];
        }
      }
      CHECK(defect(&t, &f, &w, weight, 1, method->dense_order, theta, true) < 1e-11, method->name);
    }
  }
}

/// R(z) of x' = lambda x, by the stages themselves.
static double rosenbrock_stability(const Rosenbrock* r, double z) {
  double u[9] = {0};
  double end = 1.0;
  for (uint32_t i = 1; i <= r->stages; i++) {
    double argument = 1.0;
    double sum = 0.0;
    for (uint32_t j = 1; j < i; j++) {
      argument += r->a[i][j] * u[j];
      sum += r->c[i][j] * u[j];
    }
    u[i] = (z * argument + sum) / (1.0 / r->gamma - z);
    end += r->b[i] * u[i];
  }
  return end;
}

TEST(rosenbrock_methods_are_l_stable_on_the_axis) {
  for (size_t m = 0; m < SLT_COUNT(stiff_names); m++) {
    Rosenbrock r = rosenbrock_of(stiff_names[m]);
    for (double z = 1e-3; z < 1e9; z *= 1.1) {
      CHECK(fabs(rosenbrock_stability(&r, -z)) <= 1.0 + 1e-12, stiff_names[m]);
    }
    CHECK(fabs(rosenbrock_stability(&r, -1e9)) < 1e-7, stiff_names[m]);
    CHECK_NEAR(rosenbrock_stability(&r, -0.01), exp(-0.01), 1e-6, 0);
  }
}

TEST(methods_are_found_by_name) {
  static const char* const names[] = {"euler",  "rk4",   "merson", "bs32", "dp54",  "dop853",
                                      "rodas3", "rodas", "rodas5", "bdf",  "adams", "ida"};
  // the last three are those of SUNDIALS
  bool all = num_method_find(STR_LIT("bdf")) != NULL;
  CHECK(num_method_count() == SLT_COUNT(names) - (all ? 0 : 3), "count");
  for (uint32_t i = 0; i < num_method_count(); i++) {
    const NumMethod* method = num_method_find(str_from_c(names[i]));
    CHECK(method != NULL && method == num_method_get(i), names[i]);
    CHECK(strlen(method->description) > 10, names[i]);
    CHECK(method->adaptive == (method->error_order > 0), names[i]);
    CHECK(method->dense_degree <= NUM_DENSE_DEGREE_MAX, names[i]);
  }
  CHECK(num_method_find(STR_LIT("rk")) == NULL, "prefix");
  CHECK(num_method_find(STR_LIT("")) == NULL, "empty");
  CHECK(num_method_get(num_method_count()) == NULL, "beyond");
}
