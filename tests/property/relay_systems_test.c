// SPDX-License-Identifier: MIT
//
// Random linear systems with up to three relays, x' = A x + B u + c cos(w t), u = -sign(C x - d),
// against the implicit Euler method (with three step sizes, which tell how far it can be trusted):
// each of its steps solves for relay values between -1 and 1, so it slides without chattering and
// without locating anything. Sliding begins and ends inside steps of the run under test. C B is
// positive definite, so that motions are unique. Relays are written as sign(), as if(), as an `if`
// block, as an automaton or as a flag that one sets.
#include "references.h"

#define CASES 200

#define STATES  4
#define RELAYS  3
#define SAMPLES 10
#define T_END   4.0
#define STEPS   32000  // of the coarser reference; a multiple of SAMPLES
#define TRUSTED 0.003  // references that differ by more say nothing about what follows
#define SPARE   3e-4   // a switch is late by up to a step
#define SHARE   0.9    // of all samples that must be comparable

typedef struct Relays {
  int states, relays;
  double a[STATES][STATES], b[STATES][RELAYS], c[RELAYS][STATES], d[RELAYS];
  double push[STATES], frequency[STATES], start[STATES];
  int form[RELAYS];
} Relays;

/// Whether C B is positive and each relay acts on its own surface more than the others do.
static bool decided(const Relays* r) {
  for (int i = 0; i < r->relays; i++) {
    double own = 0.0, others = 0.0;
    for (int j = 0; j < r->relays; j++) {
      double product = 0.0;
      for (int k = 0; k < r->states; k++) {
        product += r->c[i][k] * r->b[k][j];
      }
      if (i == j) own = product;
      if (i != j) others += fabs(product);
    }
    if (own < 0.3 || others > 0.7 * own) return false;
  }
  return true;
}

static Relays draw_relays(Dice* d) {
  Relays r = {.states = dice_whole(d, 1, STATES)};
  r.relays = dice_whole(d, 1, r.states < RELAYS ? r.states : RELAYS);
  do {
    for (int i = 0; i < r.states; i++) {
      for (int j = 0; j < r.states; j++) {
        r.a[i][j] = dice_number(d, -1.0, 1.0) - (i == j ? 0.6 : 0.0);
      }
      for (int j = 0; j < r.relays; j++) {
        r.b[i][j] = dice_number(d, -1.0, 1.0);
        r.c[j][i] = dice_number(d, -1.0, 1.0);
      }
      r.push[i] = dice_number(d, 0.0, 2.5);
      r.frequency[i] = dice_number(d, 0.5, 4.0);
      r.start[i] = dice_number(d, -1.0, 1.0);
    }
  } while (!decided(&r));
  for (int j = 0; j < r.relays; j++) {
    r.d[j] = dice_number(d, -0.4, 0.4);
    r.form[j] = dice_whole(d, 0, 4);
  }
  return r;
}

// -- the model -----------------------------------------------------------------------------------

static void say_relay(ModelText* text, const Relays* r, int j) {
  int k = j + 1;
  say(text, "y%d = ", k);
  for (int i = 0; i < r->states; i++) {
    say(text, "%+.17g*x%d ", r->c[j][i], i + 1);
  }
  say(text, "- %.17g;\n", r->d[j]);
  switch (r->form[j]) {
  case 0: say(text, "u%d = -sign(y%d);\n", k, k); break;
  case 1: say(text, "u%d = if(y%d > 0, -1, 1);\n", k, k); break;
  case 2: say(text, "if (y%d > 0) { u%d = -1; } else { u%d = 1; }\n", k, k, k); break;
  case 3:
    say(text,
        "u%d(t0) = 1;\nautomaton r%d {\n  state high [y%d > 0] { set u%d = -1; } from init, low;\n",
        k, k, k, k);
    say(text, "  state low [y%d <= 0] { set u%d = 1; } from high;\n}\n", k, k);
    break;
  default:
    say(text, "u%d = 1;\nautomaton r%d {\n  state high [y%d > 0] { u%d = -1; } from init, low;\n",
        k, k, k, k);
    say(text, "  state low [y%d <= 0] {} from high;\n}\n", k);
  }
}

static ModelText relay_text(const Relays* r) {
  ModelText text = {.length = 0};
  for (int i = 0; i < r->states; i++) {
    say(&text, "x%d' = %.17g*cos(%.17g*time)", i + 1, r->push[i], r->frequency[i]);
    for (int j = 0; j < r->states; j++) {
      say(&text, " %+.17g*x%d", r->a[i][j], j + 1);
    }
    for (int j = 0; j < r->relays; j++) {
      say(&text, " %+.17g*u%d", r->b[i][j], j + 1);
    }
    say(&text, ";  x%d(t0) = %.17g;\n", i + 1, r->start[i]);
  }
  for (int j = 0; j < r->relays; j++) {
    say_relay(&text, r, j);
  }
  return text;
}

// -- the reference -------------------------------------------------------------------------------

/// Inverse of 1 - h A, by elimination.
static void inverse(const Relays* r, double h, double m[STATES][STATES]) {
  int n = r->states;
  double w[STATES][2 * STATES] = {{0}};
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      w[i][j] = (i == j ? 1.0 : 0.0) - h * r->a[i][j];
    }
    w[i][n + i] = 1.0;
  }
  for (int p = 0; p < n; p++) {
    for (int j = 2 * n - 1; j >= p; j--) {
      w[p][j] /= w[p][p];
    }
    for (int i = 0; i < n; i++) {
      for (int j = 2 * n - 1; i != p && j >= p; j--) {
        w[i][j] -= w[i][p] * w[p][j];
      }
    }
  }
  for (int i = 0; i < n; i++) {
    memcpy(m[i], w[i] + n, (size_t)n * sizeof m[i][0]);
  }
}

/// Values of the relays such that each is -1 above its surface, 1 below, and between them on it.
static void solve_relays(const Relays* r, double g[RELAYS][RELAYS], const double* q, double* u) {
  double change = 1.0;
  for (int sweep = 0; sweep < 200 && change > 1e-13; sweep++) {
    change = 0.0;
    for (int i = 0; i < r->relays; i++) {
      double rest = q[i];
      for (int j = 0; j < r->relays; j++) {
        if (j != i) rest += g[i][j] * u[j];
      }
      double next = fmin(1.0, fmax(-1.0, -rest / g[i][i]));
      change = fmax(change, fabs(next - u[i]));
      u[i] = next;
    }
  }
}

static void implicit_euler(const Relays* r, int steps, double (*values)[REF_VALUE]) {
  double h = T_END / steps, m[STATES][STATES], mb[STATES][RELAYS] = {{0}},
         g[RELAYS][RELAYS] = {{0}};
  double x[STATES], u[RELAYS] = {0};
  inverse(r, h, m);
  for (int i = 0; i < r->states; i++) {
    for (int j = 0; j < r->relays; j++) {
      for (int k = 0; k < r->states; k++) {
        mb[i][j] += h * m[i][k] * r->b[k][j];
      }
    }
  }
  for (int i = 0; i < r->relays; i++) {
    for (int j = 0; j < r->relays; j++) {
      for (int k = 0; k < r->states; k++) {
        g[i][j] += r->c[i][k] * mb[k][j];
      }
    }
  }
  memcpy(x, r->start, sizeof x);
  for (int s = 0; s < steps; s++) {
    double free[STATES] = {0}, q[RELAYS];
    for (int i = 0; i < r->states; i++) {
      for (int k = 0; k < r->states; k++) {
        free[i] += m[i][k] * (x[k] + h * r->push[k] * cos(r->frequency[k] * (s + 1) * h));
      }
    }
    for (int j = 0; j < r->relays; j++) {
      q[j] = -r->d[j];
      for (int k = 0; k < r->states; k++) {
        q[j] += r->c[j][k] * free[k];
      }
    }
    solve_relays(r, g, q, u);
    for (int i = 0; i < r->states; i++) {
      x[i] = free[i];
      for (int j = 0; j < r->relays; j++) {
        x[i] += mb[i][j] * u[j];
      }
    }
    if ((s + 1) % (steps / SAMPLES) == 0) memcpy(values[s / (steps / SAMPLES)], x, sizeof x);
  }
}

// -- comparison ----------------------------------------------------------------------------------

/// Number of samples that could be compared; below 0 where they differ.
static int compare_relays(const Relays* r, uint64_t seed) {
  double coarse[SAMPLES][REF_VALUE], between[SAMPLES][REF_VALUE], fine[SAMPLES][REF_VALUE],
      run[SAMPLES][REF_VALUE], times[SAMPLES];
  char names[STATES][REF_NAME], message[256] = "";
  for (int s = 0; s < SAMPLES; s++) {
    times[s] = T_END * (s + 1) / SAMPLES;
  }
  for (int i = 0; i < r->states; i++) {
    snprintf(names[i], REF_NAME, "x%d", i + 1);
  }
  ModelText text = relay_text(r);
  if (getenv("SALTUS_SHOW")) printf("%s", text.data);
  if (!run_at(&text, names, r->states, times, SAMPLES, run, message)) {
    print_error("seed %llu: %s\n", (unsigned long long)seed, message);
    return -1;
  }
  implicit_euler(r, STEPS, coarse);
  implicit_euler(r, STEPS / 10 * 14, between);
  implicit_euler(r, 2 * STEPS, fine);
  double doubt = 0.0;
  for (int s = 0; s < SAMPLES; s++) {
    for (int i = 0; i < r->states; i++) {
      doubt = fmax(doubt, fmax(fabs(coarse[s][i] - fine[s][i]), fabs(between[s][i] - fine[s][i])));
    }
    if (doubt > TRUSTED) return s;
    for (int i = 0; i < r->states; i++) {
      if (!(fabs(run[s][i] - fine[s][i]) <= 3.0 * doubt + SPARE * (1.0 + fabs(fine[s][i])))) {
        print_error("seed %llu: x%d at %g is %.9g, the reference has %.9g and %.9g\n",
                    (unsigned long long)seed, i + 1, times[s], run[s][i], coarse[s][i], fine[s][i]);
        return -1;
      }
    }
  }
  return SAMPLES;
}

TEST(relays_switch_and_slide_as_the_reference_says) {
  static Cases cases;
  cases_begin(&cases, "relay_systems", CASES);
  uint64_t compared = 0;
  for (uint64_t seed = cases.first; seed < cases.first + cases.count; seed++) {
    Dice dice = {seed * 1000003u};
    Relays relays = draw_relays(&dice);
    int samples = compare_relays(&relays, seed);
    cases_result(&cases, seed, samples >= 0);
    compared += samples < 0 ? 0 : (uint64_t)samples;
  }
  double share = (double)compared / (double)(cases.count * SAMPLES);
  printf("%.0f %% of the samples compared\n", 100.0 * share);
  cases_end(&cases);
  CHECK(cases.count < 20 || cases.failed_count > 0 || share >= SHARE,
        "share that could be compared");
}
