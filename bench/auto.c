// SPDX-License-Identifier: MIT
//
// What `auto` costs beside the best of the methods it could have taken, on stiff problems and on
// mild ones.
//
// Definition: each problem at default tolerances by every adaptive method and by auto. Opponent:
// the fastest method whose error at the end is at most three times the larger of auto's error and
// rtol. Methods that take more than 20 times auto's steps (and more than 20 000) are given up.
// Error: relative error of one variable at the end; the reference is rodas5 at rtol 1e-11. Budget:
// twice the time of the best method.
#include "bench.h"

#define R_TOL       1e-6
#define STEPS_LEAST 20000

typedef struct Problem {
  const char* name;
  const char* what;
  const char* variable;
  double t_end;
  const char* text;
} Problem;

static const Problem problems[] = {
    {"robertson", "auto on Robertson, T = 1e11", "y1", 1e11,
     "y1' = -0.04*y1 + 1e4*y2*y3; y1(t0)=1;\n"
     "y2' = 0.04*y1 - 1e4*y2*y3 - 3e7*y2*y2; y2(t0)=0;\n"
     "y3' = 3e7*y2*y2; y3(t0)=0;\n"},
    {"hires", "auto on HIRES", "y_1", 321.8122,
     "y_1' = -1.71 * y_1 + 0.43 * y_2 + 8.32 * y_3 + 0.0007; y_1(t0) = 1;\n"
     "y_2' = 1.71 * y_1 - 8.75 * y_2; y_2(t0) = 0;\n"
     "y_3' = -10.03 * y_3 + 0.43 * y_4 + 0.035 * y_5; y_3(t0) = 0;\n"
     "y_4' = 8.32 * y_2 + 1.71 * y_3 - 1.12 * y_4; y_4(t0) = 0;\n"
     "y_5' = -1.745 * y_5 + 0.43 * y_6 + 0.43 * y_7; y_5(t0) = 0;\n"
     "y_6' = -280 * y_6 * y_8 + 0.69 * y_4 + 1.71 * y_5 - 0.43 * y_6 + 0.69 * y_7; y_6(t0) = 0;\n"
     "y_7' = 280 * y_6 * y_8 - 1.81 * y_7; y_7(t0) = 0;\n"
     "y_8' = -280 * y_6 * y_8 + 1.81 * y_7; y_8(t0) = 0.0057;\n"},
    {"oregonator", "auto on Oregonator", "y1", 360,
     "y1' = 77.27*(y2 + y1*(1 - 8.375e-6*y1 - y2)); y1(t0)=1;\n"
     "y2' = (y3 - (1+y1)*y2)/77.27; y2(t0)=2;\n"
     "y3' = 0.161*(y1-y3); y3(t0)=3;\n"},
    {"belousov", "auto on Belousov-Zhabotinskii", "y4", 40,
     "const k1=4.72,k2=3e9,k3=1.5e4,k4=4e7,k5=1;\n"
     "y1' = -k1*y1*y2; y1(t0)=0.066;\n"
     "y2' = -k1*y1*y2 - k2*y2*y3 + k5*y7; y2(t0)=0;\n"
     "y3' = k1*y1*y2 - k2*y2*y3 + k3*y3*y4 - 2*k4*y3*y3; y3(t0)=0;\n"
     "y4' = -k3*y3*y4; y4(t0)=0.066;\n"
     "y5' = k2*y2*y3; y5(t0)=0;\n"
     "y6' = k4*y3*y3; y6(t0)=0;\n"
     "y7' = k3*y3*y4 - k5*y7; y7(t0)=0.002;\n"},
    {"pollu", "auto on POLLU", "y1", 60,
     "r1 = 0.35*y1;\n"
     "r2 = 26.6*y2*y4;\n"
     "r3 = 12300.0*y5*y2;\n"
     "r4 = 0.00086*y7;\n"
     "r5 = 0.00082*y7;\n"
     "r6 = 15000.0*y7*y6;\n"
     "r7 = 0.00013*y9;\n"
     "r8 = 24000.0*y9*y6;\n"
     "r9 = 16500.0*y11*y2;\n"
     "r10 = 9000.0*y11*y1;\n"
     "r11 = 0.022*y13;\n"
     "r12 = 12000.0*y10*y2;\n"
     "r13 = 1.88*y14;\n"
     "r14 = 16300.0*y1*y6;\n"
     "r15 = 4800000.0*y3;\n"
     "r16 = 0.00035*y4;\n"
     "r17 = 0.0175*y4;\n"
     "r18 = 100000000.0*y16;\n"
     "r19 = 444000000000.0*y16;\n"
     "r20 = 1240.0*y17*y6;\n"
     "r21 = 2.1*y19;\n"
     "r22 = 5.78*y19;\n"
     "r23 = 0.0474*y1*y4;\n"
     "r24 = 1780.0*y19*y1;\n"
     "r25 = 3.12*y20;\n"
     "y1' = -r1-r10-r14-r23-r24+r2+r3+r9+r11+r12+r22+r25; y1(t0)=0;\n"
     "y2' = -r2-r3-r9-r12+r1+r21; y2(t0)=0.2;\n"
     "y3' = -r15+r1+r17+r19+r22; y3(t0)=0;\n"
     "y4' = -r2-r16-r17-r23+r15; y4(t0)=0.04;\n"
     "y5' = -r3+2*r4+r6+r7+r13+r20; y5(t0)=0;\n"
     "y6' = -r6-r8-r14-r20+r3+2*r18; y6(t0)=0;\n"
     "y7' = -r4-r5-r6+r13; y7(t0)=0.1;\n"
     "y8' = r4+r5+r6+r7; y8(t0)=0.3;\n"
     "y9' = -r7-r8; y9(t0)=0.01;\n"
     "y10' = -r12+r7+r9; y10(t0)=0;\n"
     "y11' = -r9-r10+r8+r11; y11(t0)=0;\n"
     "y12' = r9; y12(t0)=0;\n"
     "y13' = -r11+r10; y13(t0)=0;\n"
     "y14' = -r13+r12; y14(t0)=0;\n"
     "y15' = r14; y15(t0)=0;\n"
     "y16' = -r18-r19+r16; y16(t0)=0;\n"
     "y17' = -r20; y17(t0)=0.007;\n"
     "y18' = r20; y18(t0)=0;\n"
     "y19' = -r21-r22-r24+r23+r25; y19(t0)=0;\n"
     "y20' = -r25+r24; y20(t0)=0;\n"},
    {"medakzo", "auto on Medakzo, N = 200", "u79", 20,
     "const N=200, k=100, c=4, dz=1/N;\n"
     "u[0] = if(time < 5, 2, 0);\n"
     "for i = 1:N-1 {\n"
     "u[i]' = 2*(i*dz-1)^3/c^2*(u[i+1]-u[i-1])/(2*dz) + (i*dz-1)^4/c^2*(u[i-1]-2*u[i]+u[i+1])/dz^2 "
     "- k*u[i]*v[i];\n"
     "u[i](t0)=0;\n"
     "}\n"
     "u[N]' = -k*u[N]*v[N]; u[N](t0)=0;\n"
     "for i = 1:N { v[i]' = -k*u[i]*v[i]; v[i](t0)=1; }\n"},
    {"vdp1e3", "auto on Van der Pol, mu = 1e3", "y", 2000,
     "const mu=1000; y' = z; y(t0)=2; z' = mu*(1-y*y)*z - y; z(t0)=0;\n"},
    {"vdp1e6", "auto on Van der Pol, mu = 1e6", "y", 2,
     "const e=1e-6; y' = z; y(t0)=2; z' = ((1-y*y)*z - y)/e; z(t0)=0;\n"},
    {"prothero", "auto on Prothero-Robinson, 1e6", "y", 10,
     "y' = -1e6*(y - cos(time)) - sin(time); y(t0)=1;\n"},
    {"prothero1e3", "auto on Prothero-Robinson, 1e3, off the curve", "y", 10,
     "y' = -1e3*(y - cos(time)) - sin(time); y(t0)=2;\n"},
    {"heat", "auto on heat in 100 cells", "u50", 1,
     "const N=100; for i = 1:N { u[i]' = (u[i-1]-2*u[i]+u[i+1])*N^2; u[i](t0)=sin(pi*i/(N+1)); } "
     "u[0]=0; u[N+1]=0;\n"},
    {"damped", "auto on overdamped spring", "x", 50,
     "x' = v; v' = -100*x-1000*v; x(t0)=1; v(t0)=0;\n"},
    {"vdp50", "auto on Van der Pol, mu = 50", "y", 500,
     "const mu=50; y' = z; y(t0)=2; z' = mu*(1-y*y)*z - y; z(t0)=0;\n"},
    {"vdp5", "auto on Van der Pol, mu = 5", "y", 200,
     "const mu=5; y' = z; y(t0)=2; z' = mu*(1-y*y)*z - y; z(t0)=0;\n"},
    {"lotka", "auto on Lotka-Volterra", "x", 100,
     "x' = x*(1.5-y); x(t0)=1; y' = y*(x-3); y(t0)=1;\n"},
    {"lorenz", "auto on Lorenz", "x", 20,
     "x' = 10*(y-x); y' = x*(28-z)-y; z' = x*y-8/3*z; x(t0)=1; y(t0)=1; z(t0)=1;\n"},
    {"brusselator", "auto on Brusselator, 2 states", "x", 200,
     "x' = 1 + x*x*y - 4*x; y' = 3*x - x*x*y; x(t0)=1.5; y(t0)=3;\n"},
    {"arenstorf", "auto on Arenstorf orbit", "x", 17.0652165601579625588917206249,
     "const m=0.012277471, n=1-m;\n"
     "x' = vx; y' = vy;\n"
     "d1 = ((x+m)^2+y^2)^1.5; d2 = ((x-n)^2+y^2)^1.5;\n"
     "vx' = x + 2*vy - n*(x+m)/d1 - m*(x-n)/d2;\n"
     "vy' = y - 2*vx - n*y/d1 - m*y/d2;\n"
     "x(t0)=0.994; y(t0)=0; vx(t0)=0; vy(t0)=-2.00158510637908252240537862224;\n"},
    {"rigid", "auto on rigid body", "x", 200,
     "x' = y*z; y' = -x*z; z' = -0.51*x*y; x(t0)=0; y(t0)=1; z(t0)=1;\n"},
    {"oscillator", "auto on oscillator", "x", 1000, "x' = v; v' = -x; x(t0)=1; v(t0)=0;\n"},
};

typedef struct Task {
  const Problem* problem;
  SltModel* model;
  const char* method;
  double rtol;
  uint64_t max_steps;
  double reference;
  uint64_t steps;  // of the last run
} Task;

/// Relative error at the end; infinite where the run was given up.
static double run(void* user) {
  Task* task = user;
  SltSimOptions options = slt_sim_options();
  options.method = task->method;
  options.rtol = task->rtol;
  options.max_steps = task->max_steps;
  SltSim* sim = bench_start(task->model, &options);
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, task->problem->t_end, NULL);
  }
  double value = status < 0 ? HUGE_VAL : bench_value(sim, task->problem->variable);
  task->steps = slt_sim_statistics(sim).steps;
  slt_sim_free(sim);
  return fabs(value - task->reference) / fabs(task->reference);
}

static double reference(Task task) {
  task.method = "rodas5";
  task.rtol = 1e-11;
  task.max_steps = 0;
  task.reference = 0.0;
  SltSimOptions options = slt_sim_options();
  options.method = task.method;
  options.rtol = task.rtol;
  SltSim* sim = bench_start(task.model, &options);
  bench_advance(sim, task.problem->t_end);
  double value = bench_value(sim, task.problem->variable);
  slt_sim_free(sim);
  return value;
}

/// The best of several runs.
static double time_of(Task* task, double* error) {
  double best = HUGE_VAL;
  int rounds = bench_smoke() ? 1 : 7;
  double began = bench_now();
  for (int i = 0; i < rounds && (i < 2 || bench_now() - began < 1.0); i++) {
    best = fmin(best, bench_once(run, task, "", error));
    if (!isfinite(*error)) break;
  }
  return best;
}

static void compare(const Problem* problem) {
  static const char* const methods[] = {"bs32", "dp54", "dop853", "rodas3", "rodas", "rodas5"};
  Task task = {.problem = problem, .model = bench_model(problem->name, problem->text)};
  task.rtol = R_TOL;
  task.reference = reference(task);
  char name[80];
  snprintf(name, sizeof name, "auto_%s", problem->name);
  BenchRow row = bench_row(name, problem->what);
  task.method = "auto";
  task.max_steps = 0;
  row.saltus_s = time_of(&task, &row.error);
  uint64_t steps = task.steps;
  task.max_steps = 20 * steps + STEPS_LEAST;
  row.opponent_s = HUGE_VAL;
  char note[200] = "";
  uint64_t steps_best = 0;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    double error = HUGE_VAL;
    task.method = methods[i];
    double seconds = time_of(&task, &error);
    bool counts = error <= 3.0 * fmax(row.error, R_TOL);
    if (getenv("SALTUS_BENCH_ALL")) {
      fprintf(stderr, "    %-8s %9.3g s %8llu steps, error %.1e%s\n", methods[i], seconds,
              (unsigned long long)task.steps, error, counts ? "" : " (does not count)");
    }
    if (!counts || seconds >= row.opponent_s) continue;
    row.opponent = methods[i];
    row.opponent_s = seconds;
    row.opponent_error = error;
    steps_best = task.steps;
  }
  snprintf(note, sizeof note, "%llu steps; %s %llu", (unsigned long long)steps, row.opponent,
           (unsigned long long)steps_best);
  row.note = note;
  row.budget = 2.0;
  bench_print(&row);
  slt_model_free(task.model);
}

int main(int count, char** names) {
  size_t all = sizeof problems / sizeof *problems;
  for (size_t i = 0; i < (bench_smoke() ? 2 : all); i++) {
    bool asked = count < 2;
    for (int k = 1; k < count; k++) {
      asked = asked || strcmp(names[k], problems[i].name) == 0;
    }
    if (asked) compare(&problems[i]);
  }
  return 0;
}
