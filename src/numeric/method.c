// SPDX-License-Identifier: MIT
//
// The table of methods.
#include "numeric/internal.h"

static const NumMethod methods[] = {
    {.name = "euler",
     .description = "explicit Euler, order 1, fixed step",
     .order = 1,
     .stages = 1,
     .dense_order = 1,
     .dense_degree = 1,
     .stability = 2.0,
     .kernel = &num_kernel_euler},
    {.name = "rk4",
     .description = "classical Runge-Kutta, order 4, fixed step",
     .order = 4,
     .stages = 4,
     .dense_order = 3,
     .dense_degree = 3,
     .stability = 2.785,
     .kernel = &num_kernel_rk4},
    {.name = "merson",
     .description = "Runge-Kutta-Merson, order 4 with error estimate",
     .order = 4,
     .error_order = 3,
     .stages = 5,
     .dense_order = 3,
     .dense_degree = 3,
     .adaptive = true,
     .stability = 3.55,
     .kernel = &num_kernel_merson},
    {.name = "bs32",
     .description = "Bogacki-Shampine 3(2), for loose tolerances and many events",
     .order = 3,
     .error_order = 2,
     .stages = 4,
     .dense_order = 3,
     .dense_degree = 3,
     .fsal = true,
     .adaptive = true,
     .stability = 2.512,
     .kernel = &num_kernel_bs32},
    {.name = "dp54",
     .description = "Dormand-Prince 5(4), the default for problems that are not stiff",
     .order = 5,
     .error_order = 4,
     .stages = 7,
     .dense_order = 4,
     .dense_degree = 4,
     .fsal = true,
     .adaptive = true,
     .stability = 3.306,
     .kernel = &num_kernel_dp54},
    {.name = "dop853",
     .description = "Dormand-Prince 8(5,3), for tight tolerances",
     .order = 8,
     .error_order = 7,
     .stages = 13,
     .dense_order = 7,
     .dense_degree = 7,
     .dense_stages = 3,
     .fsal = true,
     .adaptive = true,
     .stability = 6.393,
     .kernel = &num_kernel_dop853},
    {.name = "rodas3",
     .description = "Rosenbrock 3(2), L-stable, for stiff problems and loose tolerances",
     .order = 3,
     .error_order = 2,
     .stages = 4,
     .dense_order = 2,
     .dense_degree = 2,
     .adaptive = true,
     .stiff = true,
     .kernel = &num_kernel_rodas3},
    {.name = "rodas",
     .description = "Rosenbrock 4(3), L-stable, the default for stiff problems",
     .order = 4,
     .error_order = 3,
     .stages = 7,
     .dense_order = 3,
     .dense_degree = 3,
     .adaptive = true,
     .stiff = true,
     .kernel = &num_kernel_rodas},
    {.name = "rodas5",
     .description = "Rosenbrock 5(4), L-stable, for stiff problems and tight tolerances",
     .order = 5,
     .error_order = 4,
     .stages = 9,
     .dense_order = 4,
     .dense_degree = 4,
     .adaptive = true,
     .stiff = true,
     .kernel = &num_kernel_rodas5},
    {.name = "mosterman",
     .description = "forward Euler and the printed algorithm for mode changes, to compare with",
     .order = 1,
     .stages = 1,
     .dense_order = 1,
     .dense_degree = 1,
     .literal = true,
     .stability = 2.0,
     .kernel = &num_kernel_euler},
};

uint32_t num_method_count(void) {
  return (uint32_t)SLT_COUNT(methods);
}

const NumMethod* num_method_get(uint32_t index) {
  return index < SLT_COUNT(methods) ? &methods[index] : NULL;
}

const NumMethod* num_method_find(Str name) {
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    if (str_equal(str_from_c(methods[i].name), name)) {
      return &methods[i];
    }
  }
  return NULL;
}
