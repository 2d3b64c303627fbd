// SPDX-License-Identifier: MIT
//
// Vehicles cross a bridge. The bridge moves in its first mode, q'' + 2 z w q' + w^2 q = sum of the
// forces P sin(pi v t / L) of the vehicles that are on it. Each vehicle is a transaction: it is
// created, enters (time event), drives, leaves (time event) and is freed.
#include <saltus/cdcsis.h>

#define VEHICLES 6

typedef struct Vehicle {
  double enter, speed, load;
  struct Vehicle* next;  // on the bridge
} Vehicle;

static double q[3], qw[4];
static double length = 30.0, omega = 12.0, damping = 0.02, mass = 2.0e4;
static Vehicle* on_bridge;
static int crossed, together, most;
static double greatest;

void blocks(void) {
  Vehicle* vehicle = (Vehicle*)ptrans;
  switch (sj) {
  case 1: {  // the mode of the bridge
    double force = 0.0;
    for (Vehicle* v = on_bridge; v; v = v->next) {
      force += v->load * sin(3.14159265358979323846 * v->speed * (simtime - v->enter) / length);
    }
    q[2] = 2.0 / mass * force - 2.0 * damping * omega * q[1] - omega * omega * q[0];
    break;
  }
  case 2:  // a vehicle enters; it will leave when it has passed the length
    vehicle->enter = simtime;
    vehicle->next = on_bridge;
    on_bridge = vehicle;
    if (++together > most) most = together;
    hold(length / vehicle->speed, 3);
    break;
  case 3:  // a vehicle leaves
    for (Vehicle** v = &on_bridge; *v; v = &(*v)->next) {
      if (*v == vehicle) {
        *v = vehicle->next;
        break;
      }
    }
    together--;
    crossed++;
    cdcsis_canceltrans(vehicle);
    free(vehicle);
    break;
  case 4:  // the largest deflection
    if (fabs(q[0]) > greatest) greatest = fabs(q[0]);
    break;
  }
}

int main(void) {
  cdcsis_method("dp54");
  cdcsis_tolerance(1e-9, 1e-12);
  schedule(0.0, 1, 1, 0, "bridge");
  schedule(0.0, 4, -1, 0, "greatest");
  integr(2, &q[1], q, qw, "bridge");
  for (int i = 0; i < VEHICLES; i++) {
    Vehicle* vehicle = calloc(1, sizeof *vehicle);
    if (!vehicle) return 1;
    vehicle->speed = 20.0 + 2.0 * i;
    vehicle->load = 8.0e4;
    schedule(0.9 * i, 2, 0, vehicle, "enter");
  }
  graf(&q[0], 0.01, "deflection in the middle");
  wait(8.0, 0.01);
  printf("crossed = %d\nmost = %d\n", crossed, most);
  printf("greatest = %.9g\nq_end = %.12g\n", greatest, q[0]);
  return cdcsis_status() < 0;
}
