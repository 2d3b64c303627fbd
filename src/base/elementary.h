// SPDX-License-Identifier: MIT
//
// Elementary functions whose bits do not depend on the machine: C leaves their last digits to the
// library, and libraries differ. Made of additions, multiplications, divisions and roots, which
// every machine rounds alike. Errors are below one unit in the last place where nothing else is
// said.
#ifndef SALTUS_BASE_ELEMENTARY_H
#define SALTUS_BASE_ELEMENTARY_H

double base_exp(double x);
double base_log(double x);
double base_log10(double x);
/// Of x 2^k it is that of x and k.
double base_log2(double x);
double base_log1p(double x);
double base_pow(double x, double y);
double base_sin(double x);
double base_cos(double x);
double base_tan(double x);
double base_asin(double x);
double base_acos(double x);
double base_atan(double x);
double base_atan2(double y, double x);
double base_sinh(double x);
double base_cosh(double x);
double base_tanh(double x);
double base_asinh(double x);
double base_acosh(double x);
double base_atanh(double x);
double base_cbrt(double x);
/// Within 4 units in the last place.
double base_erf(double x);
/// Below 1e-300 it is 0.
double base_erfc(double x);
/// Within 20 units in the last place; exact for whole numbers whose factorial is.
double base_gamma(double x);

#endif
