// SPDX-License-Identifier: MIT
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_mode(FILE* out, SltSim* sim) {
  uint32_t count = slt_sim_automaton_count(sim);
  enum { SHOWN = 6 };
  for (uint32_t i = 0; i < count && i < SHOWN; i++) {
    const char* name = slt_sim_automaton_name(sim, i);
    const char* state = slt_sim_automaton_state(sim, i);
    // the only automaton of a model needs no name
    bool alone = count == 1 && strcmp(name, "main") == 0;
    cli_print(out, "%s%s%s%s", i ? ", " : "", alone ? "" : name, alone ? "" : " ", state);
  }
  if (count > SHOWN) cli_print(out, ", and %u more", count - SHOWN);
}

/// Six digits are enough for people.
static double rounded(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return strtod(text, NULL);
}

static void print_events(FILE* out, const SltStatistics* s) {
  static const char* const classes[] = {"interior", "mythical", "pinnacle", "boundary", "sliding"};
  cli_print(out, "  events       %llu", (unsigned long long)s->instants);
  uint64_t records = 0;
  for (int i = 0; i < 5; i++)
    records += s->by_class[i];
  const char* separator = " (";
  if (records != s->instants) {
    cli_print(out, " (%llu record%s", (unsigned long long)records, records == 1 ? "" : "s");
    separator = ": ";
  }
  for (int i = 0; i < 5; i++) {
    if (s->by_class[i] == 0) continue;
    cli_print(out, "%s%llu %s", separator, (unsigned long long)s->by_class[i], classes[i]);
    separator = ", ";
  }
  cli_print(out, "%s, %llu not certified\n", separator[0] == ' ' ? "" : ")",
            (unsigned long long)s->not_certified);
  if (s->not_proved) {
    cli_print(out, "  detection    %llu search%s without proof, by sampling\n",
              (unsigned long long)s->not_proved, s->not_proved == 1 ? "" : "es");
  }
}

/// Nothing is said about runs too short to be worth it.
static void print_native(FILE* out, const SltNativeReport* native) {
  if (native->programs) {
    cli_print(out,
              "  native       %u programs as machine code, %u unit%s compiled, %u from the cache\n",
              native->programs, native->compiled, native->compiled == 1 ? "" : "s", native->loaded);
  }
  if (native->note) {
    cli_print(out, "  native       %s: interpreted\n", native->note);
  }
}

/// What became of the energy that the model declares.
static void print_energy(FILE* out, const SltStatistics* s) {
  char start[32];
  char end[32];
  char events[32];
  char gained[32];
  char motion[32];
  if (isnan(s->energy_start)) return;
  double now = s->energy_start + s->energy_events + s->energy_motion;
  cli_print(out, "  energy       %s at the start, %s at the end: motion %s, events %s",
            cli_number_text(rounded(s->energy_start), start), cli_number_text(rounded(now), end),
            cli_number_text(rounded(s->energy_motion), motion),
            cli_number_text(rounded(s->energy_events), events));
  if (s->energy_gained > 0.0) {
    cli_print(out, ", of them %s created", cli_number_text(rounded(s->energy_gained), gained));
  }
  fputc('\n', out);
}

static void print_wall(FILE* out, double seconds) {
  if (seconds < 1.0) {
    cli_print(out, "  wall time    %.3g ms\n", 1e3 * seconds);
  } else {
    cli_print(out, "  wall time    %.3g s\n", seconds);
  }
}

static void print_file(FILE* out, const char* what, unsigned long long lines,
                       const Output* output) {
  if (!output->path) return;
  bool to_stdout = strcmp(output->path, "-") == 0;
  cli_print(out, "  %-11s  %llu in %s\n", what, lines,
            to_stdout ? "standard output" : output->path);
}

void summary_write(FILE* out, const RunSummary* summary) {
  char t_text[32];
  SltStatistics s = slt_sim_statistics(summary->sim);
  const char* how = summary->unfinished ? "not finished, ended" : "done";
  cli_print(out, "%s: %s at t = %s", summary->model, summary->stopped ? "stopped" : how,
            cli_number_text(summary->t, t_text));
  if (slt_sim_automaton_count(summary->sim) > 0) {
    fputs(", mode ", out);
    print_mode(out, summary->sim);
  }
  if (summary->stop_text && summary->stop_text[0]) cli_print(out, ": %s", summary->stop_text);
  fputc('\n', out);
  cli_print(out, "  steps        %llu (%llu rejected), method %s%s%s\n",
            (unsigned long long)s.steps, (unsigned long long)s.rejected, s.method ? s.method : "-",
            s.method_reason ? ": " : "", s.method_reason ? s.method_reason : "");
  print_events(out, &s);
  if (summary->undetermined[0]) cli_print(out, "  undetermined %s\n", summary->undetermined);
  print_energy(out, &s);
  cli_print(out, "  evaluations  %llu of the equations, %llu of the guards\n",
            (unsigned long long)s.evaluations, (unsigned long long)s.guard_evaluations);
  print_native(out, &summary->native);
  print_wall(out, summary->wall);
  pace_print(out, summary->pace, "rows were");
  print_file(out, "rows", summary->rows, summary->csv);
  print_file(out, "records", output_row_count(summary->events), summary->events);
  if (summary->plot && strcmp(summary->plot, "-") != 0) {
    cli_print(out, "  picture      %s\n", summary->plot);
  }
  if (summary->report) cli_print(out, "  report       %s\n", summary->report);
}
