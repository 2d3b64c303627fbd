// SPDX-License-Identifier: MIT
//
// Occupation of hospital beds. No differential equations: every patient is a transaction, every
// change of occupation a time event. Three questions: how many patients are sent away when there is
// no waiting (ten beds, two patients a day, four days each; the distribution of the stay does not
// matter), how long they wait when they do, and a day with fixed times that can be followed by
// hand.
#include <saltus/cdcsis.h>

#define ARRIVALS 200000

typedef struct Patient {
  int number;
  double arrived;
  struct Patient* next;
} Patient;

static SltRandom arrivals, stays;
static int beds = 10, free_beds, kind, admitted, sent_away, waited, number;
static int loss, fixed_times;
static Patient *first, *last;  // the queue
static double wait_of[32], last_discharge;
static SltTally waits;
static SltLevel occupied;

static double stay(void) {
  if (fixed_times) return 3.5;
  switch (kind) {
  case 0: return slt_random_exponential(&stays, 4.0);
  case 1: return 4.0;
  default: return slt_random_lognormal(&stays, 4.0, 3.0);
  }
}

static void admit(Patient* patient) {
  double waiting = simtime - patient->arrived;
  free_beds--;
  admitted++;
  slt_tally_add(&waits, waiting);
  if (waiting > 0.0) waited++;
  if (patient->number < 32) wait_of[patient->number] = waiting;
  slt_level_set(&occupied, simtime, beds - free_beds);
  schedule(simtime + stay(), 2, 0, patient, "discharge");
}

void blocks(void) {
  switch (sj) {
  case 1: {  // a patient arrives, and the next one is expected
    Patient* patient = calloc(1, sizeof *patient);
    if (!patient) return;
    patient->number = number++;
    patient->arrived = simtime;
    if (number < (fixed_times ? 20 : ARRIVALS)) {
      hold(fixed_times ? 1.0 : slt_random_exponential(&arrivals, 0.5), 1);
    }
    if (free_beds > 0) {
      admit(patient);
    } else if (loss) {
      sent_away++;
      free(patient);
    } else {
      *(first ? &last->next : &first) = patient;
      last = patient;
    }
    break;
  }
  case 2:  // a patient goes home; the first of the queue takes the bed
    cdcsis_canceltrans(ptrans);
    free(ptrans);
    free_beds++;
    last_discharge = simtime;
    slt_level_set(&occupied, simtime, beds - free_beds);
    if (first) {
      Patient* patient = first;
      first = patient->next;
      patient->next = 0;
      admit(patient);
    }
    break;
  }
}

static void run(int number_of_beds, int with_loss, int with_fixed_times, double end) {
  beds = number_of_beds;
  loss = with_loss;
  fixed_times = with_fixed_times;
  free_beds = beds;
  admitted = sent_away = waited = number = 0;
  waits = (SltTally){0};
  occupied = (SltLevel){0};
  slt_random_init(&arrivals, 2008, 1);
  slt_random_init(&stays, 2008, 2);
  beg(0.0);
  slt_level_set(&occupied, 0.0, 0.0);
  schedule(0.0, 1, 0, 0, "arrival");
  wait(end, 1.0);
}

int main(void) {
  for (kind = 0; kind < 3; kind++) {
    run(10, 1, 0, 1e9);
    printf("P_block_%d = %.6g\n", kind, (double)sent_away / ARRIVALS);
    if (kind == 0) {
      SltSummary s = slt_level_summary(&occupied, last_discharge, 0.95);
      printf("mean_occupied_loss = %.6g\nmean_occupied_loss_half = %.4g\n", s.mean, s.half_width);
    }
  }
  kind = 0;
  run(10, 0, 0, 1e9);
  SltSummary s = slt_tally_summary(&waits, 0.95);
  printf("P_wait = %.6g\n", (double)waited / admitted);
  printf("mean_wait_days = %.6g\nmean_wait_half = %.4g\n", s.mean, s.half_width);
  run(3, 0, 1, 1e6);
  printf("dd3_wait_patient_3 = %.15g\n", wait_of[3]);
  printf("dd3_wait_patient_10 = %.15g\n", wait_of[10]);
  printf("dd3_wait_patient_19 = %.15g\n", wait_of[19]);
  printf("dd3_last_discharge = %.15g\n", last_discharge);
  return cdcsis_status() < 0;
}
