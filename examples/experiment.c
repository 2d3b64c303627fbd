// SPDX-License-Identifier: MIT
//
// Many runs of one model: how the second bounce of a ball depends on its restitution.
#include <saltus/saltus_experiment.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "const k = 0.8;\n"
                           "y' = v;   y(t0) = 1.25;\n"
                           "v' = -10; v(t0) = 0;\n"
                           "state bounce [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, bounce;\n"
                           "experiment { end = 3; }\n";

static SltStatus print_row(void* user, const SltSweepRow* row) {
  (void)user;
  if (row->status < 0) {
    printf("k = %.2f: %s\n", row->parameters[0], row->message);
  } else {
    printf("k = %.2f: second bounce at %.4f, highest speed %.4f\n", row->parameters[0],
           row->values[0], row->values[1]);
  }
  return SLT_OK;
}

int main(void) {
  static const char* const measures_text[] = {"time(main.bounce, 2)", "max(v)"};
  SltModel* model = NULL;
  SltMeasures* measures = NULL;
  SltDesign* design = NULL;
  SltProblem problem = {0};
  SltStatus status = slt_model_compile("ball", text, strlen(text), NULL, &model);
  if (status >= 0) status = slt_measures_create(model, measures_text, 2, &measures, &problem);
  if (status >= 0) status = slt_design_create(model, &design);
  if (status >= 0) status = slt_design_add(design, "k=0.5:0.9:5", &problem);
  if (status >= 0) status = slt_design_sample(design, SLT_SAMPLE_GRID, 0, 0, &problem);
  if (status >= 0) status = slt_design_check_names(design, measures, &problem);
  if (status >= 0) {
    SltSweepOptions options = slt_sweep_options();
    options.on_row = print_row;
    status = slt_sweep_run(model, design, measures, &options);
  }
  if (status < 0) fprintf(stderr, "%s: %s\n", slt_status_text(status), problem.message);
  slt_design_free(design);
  slt_measures_free(measures);
  slt_model_free(model);
  return status < 0 ? 1 : 0;
}
