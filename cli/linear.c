// SPDX-License-Identifier: MIT
//
// saltus steady, saltus linearize: where a mode stands still, and its equations to first order.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum LinearOption {
  LINEAR_AT = TRIAL_OPTION_COUNT,
  LINEAR_STATE,
  LINEAR_INPUTS,
  LINEAR_OUTPUTS,
  LINEAR_RESPONSE,
  LINEAR_FILE,
  LINEAR_PLOT,
  LINEAR_OPTION_COUNT
} LinearOption;

static const OptionSpec specs[LINEAR_OPTION_COUNT] = {
    TRIAL_SPECS,
    [LINEAR_AT] = {"--at", NULL, OPTION_VALUE},
    [LINEAR_STATE] = {"--state", NULL, OPTION_VALUE},
    [LINEAR_INPUTS] = {"--inputs", NULL, OPTION_VALUE},
    [LINEAR_OUTPUTS] = {"--outputs", NULL, OPTION_VALUE},
    [LINEAR_RESPONSE] = {"--response", NULL, OPTION_VALUE},
    [LINEAR_FILE] = {"--output", "-o", OPTION_VALUE},
    [LINEAR_PLOT] = {"--plot", NULL, OPTION_VALUE},
};

#define RESPONSE_MOST 100000.0

typedef struct LinearCommand {
  const char* name;
  Trial trial;
  double at;  // time; NaN: the start
  CliTexts states;
  CliNames inputs, outputs;
  double from, to;  // of the response
  uint32_t points;  // 0: none
  const char* path;
  const char* plot;
  Output file;
  SltSim* sim;
  SltLinear* linear;
  double *real, *imaginary;
  uint32_t eigenvalues;
} LinearCommand;

static bool read_response(LinearCommand* c, const char* text) {
  double points = 0.0;
  char rest = '\0';
  // NOLINTNEXTLINE(cert-err34-c): what is read is checked
  bool good = sscanf(text, "%lf:%lf:%lf%c", &c->from, &c->to, &points, &rest) == 3 &&
              c->from > 0.0 && c->to > c->from && isfinite(c->to) && points >= 2.0 &&
              points <= RESPONSE_MOST && points == floor(points);
  c->points = good ? (uint32_t)points : 0;
  if (good) return true;
  cli_error("--response '%s' is no range of frequencies", text);
  cli_hint(
      "--response 0.1:100:61: from 0.1 to 100 rad/s, 61 of them, equally spaced in the logarithm");
  return false;
}

static bool read_option(LinearCommand* c, int option, const char* text) {
  if (option < TRIAL_OPTION_COUNT) return trial_option(&c->trial, (TrialOption)option, text);
  switch (option) {
  case LINEAR_AT: return option_time("--at", text, &c->at);
  case LINEAR_STATE: return texts_add(&c->states, text);
  case LINEAR_INPUTS: return cli_names_parse("--inputs", text, &c->inputs);
  case LINEAR_OUTPUTS: return cli_names_parse("--outputs", text, &c->outputs);
  case LINEAR_RESPONSE: return read_response(c, text);
  case LINEAR_FILE: c->path = text; return csv_path_check(text);
  case LINEAR_PLOT: c->plot = text; return plot_path_check("--plot", text);
  default: return false;
  }
}

static int read_options(LinearCommand* c, int argc, char** argv) {
  OptionParser parser = {.command = c->name,
                         .specs = specs,
                         .spec_count = LINEAR_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    bool good = option == OPTION_WORD ? cli_one_model(c->name, parser.value, &c->trial.path)
                                      : read_option(c, option, parser.value);
    if (!good) return CLI_USAGE;
  }
  bool steady = strcmp(c->name, "steady") == 0;
  if (steady && (c->points || c->inputs.count || c->outputs.count)) {
    cli_error("steady has no inputs, outputs and response");
    cli_hint("`saltus linearize` has");
    return CLI_USAGE;
  }
  if (c->plot && c->points == 0) {
    cli_error("--plot draws a response");
    cli_hint("--response 0.1:100:61 says at which frequencies");
    return CLI_USAGE;
  }
  if (c->points == 0 || (c->inputs.count && c->outputs.count)) return CLI_DONE;
  cli_error("a response is that of an output to an input");
  cli_hint("--inputs F --outputs x names them");
  return CLI_USAGE;
}

// ---- the point ----------------------------------------------------------------------------------

/// `x = 1` as a value of the present point.
static bool set_state(LinearCommand* c, const char* text) {
  char name[128];
  const char* sign = strchr(text, '=');
  double value = 0.0;
  SltQuantity q;
  size_t length = sign ? (size_t)(sign - text) : 0;
  while (length && text[length - 1] == ' ')
    length--;
  bool good = length > 0 && length < sizeof name && option_number("--state", sign + 1, &value);
  if (!sign || length == 0 || length >= sizeof name) {
    cli_error("--state '%s' gives no value", text);
    cli_hint("--state x=1.5");
  }
  if (!good) return false;
  memcpy(name, text, length);
  name[length] = '\0';
  if (slt_sim_find(c->sim, name, &q) >= 0 && slt_sim_set(c->sim, q, value) >= 0) return true;
  cli_error("`%s` cannot be set there", name);
  cli_hint("--state takes states and variables that do not flow");
  return false;
}

static int run_failed(const LinearCommand* c, SltStatus status, const char* where) {
  SltRunError error = slt_sim_error(c->sim);
  if (error.rendered) fputs(error.rendered, stderr);
  cli_error("the run fails %s: %s", where, slt_status_text(status));
  return CLI_RUN;
}

static int advance(LinearCommand* c) {
  SltStatus status = slt_sim_start(c->sim);
  double t = isnan(c->at) ? c->trial.t_start : c->at;
  double start = slt_sim_time(c->sim);
  while (status >= 0 && status != SLT_END && slt_sim_time(c->sim) < t)
    status = slt_sim_advance(c->sim, t, NULL);
  if (status < 0) return run_failed(c, status, "before");
  if (!isnan(c->at) && (c->at < start || slt_sim_time(c->sim) < c->at)) {
    char ends[2][32];
    cli_error("--at: the run goes from %s to %s", cli_number_text(start, ends[0]),
              cli_number_text(c->at < start ? c->trial.t_end : slt_sim_time(c->sim), ends[1]));
    return CLI_USAGE;
  }
  for (uint32_t i = 0; i < c->states.count; i++) {
    if (!set_state(c, c->states.items[i])) return CLI_USAGE;
  }
  // guards that hold there fire
  status = c->states.count ? slt_sim_advance(c->sim, slt_sim_time(c->sim), NULL) : SLT_OK;
  return status < 0 ? run_failed(c, status, "there") : CLI_DONE;
}

static int find_all(LinearCommand* c, const CliNames* names, SltQuantity* out) {
  for (uint32_t i = 0; i < names->count; i++) {
    if (slt_sim_find(c->sim, names->items[i], &out[i]) >= 0) continue;
    cli_error("the model has no `%s`", names->items[i]);
    return CLI_MODEL;
  }
  return CLI_DONE;
}

static int explain(const LinearCommand* c, SltStatus status) {
  static const char* const steady[] = {"no equilibrium of this mode was found from here",
                                       "--state x=1 or --at T begin elsewhere"};
  bool missing = status == SLT_ERR_STEP;
  bool argument = status == SLT_ERR_ARGUMENT;
  cli_error("%s", missing    ? steady[0]
                  : argument ? "one of these can be no input or output here"
                  : status == SLT_ERR_UNSUPPORTED
                      ? "the motion here is not that of one mode's states alone"
                      : slt_status_text(status));
  cli_hint(
      "%s",
      missing ? steady[1]
      : argument
          ? "inputs are constants and variables that do not flow, and move no constraint; outputs "
            "are variables and macros"
          : "a closed contact lifts off at once in one direction, and a delay has infinitely many "
            "eigenvalues; along a surface outputs are states");
  (void)c;
  return CLI_RUN;
}

// ---- output -------------------------------------------------------------------------------------

static void write_matrix(LinearCommand* c, const char* name, const double* m, uint32_t rows,
                         uint32_t columns) {
  char line[200];
  for (uint32_t i = 0; i < rows; i++) {
    for (uint32_t j = 0; j < columns; j++) {
      int length = snprintf(line, sizeof line, "%s,%u,%u,%.17g\n", name, i + 1, j + 1,
                            m[(size_t)i * columns + j]);
      output_write(&c->file, line, (size_t)length);
    }
  }
}

static int write_response(LinearCommand* c) {
  char line[300];
  int length = snprintf(line, sizeof line, "omega,input,output,real,imaginary,gain,phase\n");
  output_write(&c->file, line, (size_t)length);
  for (uint32_t k = 0; k < c->points; k++) {
    double omega = c->from * pow(c->to / c->from, (double)k / (double)(c->points - 1));
    for (uint32_t i = 0; i < c->inputs.count; i++) {
      for (uint32_t o = 0; o < c->outputs.count; o++) {
        double re = 0.0;
        double im = 0.0;
        if (slt_linear_response(c->linear, o, i, omega, &re, &im) < 0) re = im = (double)NAN;
        length = snprintf(line, sizeof line, "%.17g,%.60s,%.60s,%.17g,%.17g,%.17g,%.17g\n", omega,
                          c->inputs.items[i], c->outputs.items[o], re, im, hypot(re, im),
                          atan2(im, re) * 57.295779513082323);
        output_write(&c->file, line, (size_t)length);
      }
    }
  }
  return CLI_DONE;
}

/// A column of gains and one of phases for each pair, over the frequency, as text of a table.
static char* response_table(const LinearCommand* c, size_t* size) {
  char* text = NULL;
  FILE* out = open_memstream(&text, size);
  if (!out) return NULL;
  static const char* const words[] = {"gain", "phase"};
  uint32_t pairs = c->inputs.count * c->outputs.count;
  fputs("omega", out);
  for (uint32_t k = 0; k < 2 * pairs; k++) {
    char name[160];
    uint32_t pair = k % pairs;
    snprintf(name, sizeof name, "%s %.60s by %.60s", words[k / pairs],
             c->outputs.items[pair % c->outputs.count], c->inputs.items[pair / c->outputs.count]);
    cell_text(out, false, name);
  }
  for (uint32_t i = 0; i < c->points; i++) {
    double omega = c->from * pow(c->to / c->from, (double)i / (double)(c->points - 1));
    fputc('\n', out);
    cell_number(out, true, omega);
    for (uint32_t k = 0; k < 2 * pairs; k++) {
      double re = 0.0;
      double im = 0.0;
      uint32_t pair = k % pairs;
      SltStatus status = slt_linear_response(c->linear, pair % c->outputs.count,
                                             pair / c->outputs.count, omega, &re, &im);
      double value = k < pairs ? hypot(re, im) : atan2(im, re) * 57.295779513082323;
      cell_number(out, false, status < 0 ? (double)NAN : value);
    }
  }
  fputc('\n', out);
  fclose(out);
  return text;
}

static int draw_response(const LinearCommand* c) {
  size_t size = 0;
  uint32_t line = 0;
  char* text = response_table(c, &size);
  SltTable* table = NULL;
  CliFigure options = {0};
  SltFigure* figure = NULL;
  int exit = CLI_RUN;
  if (text && slt_table_read_csv(text, size, &table, &line) >= 0) {
    figure = figure_make(&options, NULL, c->trial.source.name);
  }
  static const char* const settings[][2] = {{"x", "omega"}, {"xlabel", "rad/s"}, {"panel", "gain*"},
                                            {"log", "x,y"}, {"panel", "phase*"}, {"log", "x"}};
  bool good = figure && slt_figure_add(figure, table, "response") >= 0;
  for (size_t i = 0; good && i < sizeof settings / sizeof *settings; i++)
    good = slt_figure_set(figure, settings[i][0], settings[i][1]) >= 0;
  if (good) exit = figure_write(figure, &options, table, c->plot);
  slt_figure_free(figure);
  slt_table_free(table);
  free(text);
  return exit;
}

static int write_file(LinearCommand* c) {
  if (!c->path) return CLI_DONE;
  if (c->points) return write_response(c);
  const SltLinear* l = c->linear;
  const char* header = "matrix,row,column,value\n";
  output_write(&c->file, header, strlen(header));
  write_matrix(c, "x", l->x, l->state_count, 1);
  write_matrix(c, "A", l->a, l->state_count, l->state_count);
  write_matrix(c, "B", l->b, l->state_count, l->input_count);
  write_matrix(c, "C", l->c, l->output_count, l->state_count);
  write_matrix(c, "D", l->d, l->output_count, l->input_count);
  for (uint32_t i = 0; i < c->eigenvalues; i++) {
    double pair[2] = {c->real[i], c->imaginary[i]};
    char line[120];
    int length = snprintf(line, sizeof line, "eigenvalue,%u,1,%.17g\neigenvalue,%u,2,%.17g\n",
                          i + 1, pair[0], i + 1, pair[1]);
    output_write(&c->file, line, (size_t)length);
  }
  return CLI_DONE;
}

static void print_mode(const LinearCommand* c) {
  cli_print(stdout, "at t = %.10g", slt_sim_time(c->sim));
  for (uint32_t a = 0; a < slt_sim_automaton_count(c->sim); a++) {
    cli_print(stdout, ", %s = %s", slt_sim_automaton_name(c->sim, a),
              slt_sim_automaton_state(c->sim, a));
  }
  cli_print(stdout, "\n");
}

static void print_eigenvalues(const LinearCommand* c) {
  cli_print(stdout, "\neigenvalues\n");
  for (uint32_t i = 0; i < c->eigenvalues; i++) {
    double re = c->real[i];
    double im = c->imaginary[i];
    cli_print(stdout, "  %14.8g", re);
    if (im != 0.0) {
      cli_print(stdout, " %+.8gi   frequency %.6g Hz, damping %.6g", im,
                hypot(re, im) / 6.283185307179586, -re / hypot(re, im));
    } else if (re != 0.0) {
      cli_print(stdout, "   time constant %.6g s", 1.0 / fabs(re));
    }
    cli_print(stdout, "\n");
  }
}

static void print_matrix(const char* name, const double* m, uint32_t rows, uint32_t columns,
                         const char* const* names) {
  if (rows == 0 || columns == 0) return;
  cli_print(stdout, "\n%s\n", name);
  for (uint32_t i = 0; i < rows; i++) {
    cli_print(stdout, "  %-14s", names[i]);
    for (uint32_t j = 0; j < columns; j++)
      cli_print(stdout, " %13.6g", m[(size_t)i * columns + j]);
    cli_print(stdout, "\n");
  }
}

static void print_states(const LinearCommand* c) {
  for (uint32_t i = 0; i < c->linear->state_count; i++) {
    cli_print(stdout, "  %-20s %.12g\n", c->linear->names[i], c->linear->x[i]);
  }
}

static const char* const stabilities[] = {"stable", "unstable", "indifferent to first order"};

static int conclude(LinearCommand* c, const SltStability* stability) {
  const SltLinear* l = c->linear;
  c->real = calloc(l->state_count + 1u, sizeof(double));
  c->imaginary = calloc(l->state_count + 1u, sizeof(double));
  if (!c->real || !c->imaginary) return out_of_memory();
  SltStatus status = slt_linear_eigenvalues(l, c->real, c->imaginary, &c->eigenvalues);
  if (status < 0) return explain(c, status);
  write_file(c);
  int exit = c->plot ? draw_response(c) : CLI_DONE;
  if (exit != CLI_DONE) return exit;
  bool to_stdout = c->path && strcmp(c->path, "-") == 0;
  if (to_stdout || c->trial.quiet) return CLI_DONE;
  print_mode(c);
  if (stability) {
    cli_print(stdout, "%s equilibrium%s\n", stabilities[*stability],
              l->crossed ? ", which the mode does not reach: it is left before" : "");
  }
  print_states(c);
  if (!stability) {
    const char* const* names = (const char* const*)l->names;
    print_matrix("A", l->a, l->state_count, l->state_count, names);
    print_matrix("B", l->b, l->state_count, l->input_count, names);
    print_matrix("C", l->c, l->output_count, l->state_count, c->outputs.items);
    print_matrix("D", l->d, l->output_count, l->input_count, c->outputs.items);
  }
  print_eigenvalues(c);
  return CLI_DONE;
}

static int run_steady(LinearCommand* c) {
  SltStability stability = SLT_STABLE;
  SltStatus status = slt_sim_steady(c->sim, &c->linear, &stability);
  return status < 0 ? explain(c, status) : conclude(c, &stability);
}

static int run_linearize(LinearCommand* c) {
  SltQuantity* inputs = calloc(c->inputs.count + 1u, sizeof *inputs);
  SltQuantity* outputs = calloc(c->outputs.count + 1u, sizeof *outputs);
  int exit = inputs && outputs ? CLI_DONE : out_of_memory();
  if (exit == CLI_DONE) exit = find_all(c, &c->inputs, inputs);
  if (exit == CLI_DONE) exit = find_all(c, &c->outputs, outputs);
  if (exit == CLI_DONE) {
    SltStatus status = slt_sim_linearize(c->sim, NULL, inputs, c->inputs.count, outputs,
                                         c->outputs.count, &c->linear);
    exit = status < 0 ? explain(c, status) : conclude(c, NULL);
  }
  free(inputs);
  free(outputs);
  return exit;
}

static int prepare(LinearCommand* c) {
  int exit = trial_open(&c->trial, c->name);
  if (exit != CLI_DONE) return exit;
  if (slt_sim_create(c->trial.model, &c->trial.sim, &c->sim) < 0) return out_of_memory();
  if (!c->path) return CLI_DONE;
  c->file = (Output){.path = c->path, .fd = -1, .late = true, .csv = true};
  return output_open(&c->file) ? CLI_DONE : CLI_USAGE;
}

static int command(const char* name, int argc, char** argv, int (*run)(LinearCommand*)) {
  LinearCommand c = {
      .name = name, .trial = trial_defaults(), .at = (double)NAN, .file = {.fd = -1}};
  int exit = read_options(&c, argc, argv);
  if (exit == CLI_DONE) exit = prepare(&c);
  if (exit == CLI_DONE) exit = advance(&c);
  if (exit == CLI_DONE) exit = run(&c);
  output_close(&c.file);
  if (exit == CLI_DONE && c.file.error) exit = output_report(&c.file, "rows");
  free(c.real);
  free(c.imaginary);
  slt_linear_free(c.linear);
  slt_sim_free(c.sim);
  texts_clear(&c.states);
  cli_names_clear(&c.inputs);
  cli_names_clear(&c.outputs);
  trial_close(&c.trial);
  return exit;
}

int command_steady(int argc, char** argv) {
  return command("steady", argc, argv, run_steady);
}

int command_linearize(int argc, char** argv) {
  return command("linearize", argc, argv, run_linearize);
}
