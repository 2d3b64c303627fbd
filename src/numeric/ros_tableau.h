// SPDX-License-Identifier: MIT
//
// Coefficients of the Rosenbrock methods, in the form of Hairer & Wanner II, IV.7.25, as lists of
// their non-zero entries (see tableau.h). With the increments U_i of the stages
//
//   (D/(h gamma) - J) U_i = F(t0 + c_i h, x0 + sum A(i, j) U_j) + D sum C(i, j)/h U_j + h d_i F_t
//
// the new state is x0 + sum B_j U_j. All methods here are stiffly accurate: the argument of the
// last stage and its increment make the new state, and that increment is the error estimate. H
// lists are the coefficients r2, r3, ... of dense output (dense.c). METHOD_STAGES(S) lists S(stage,
// c, d, a-list, c-list) for the stages from 2 on.
#ifndef SALTUS_NUMERIC_ROS_TABLEAU_H
#define SALTUS_NUMERIC_ROS_TABLEAU_H

// clang-format off

// ---- order 3(2): Sandu, Verwer, Blom, Spee, Carmichael & Potra, Atmospheric Environment 31, 1997 ----
// The second stage shares its argument with the first. Dense output of order 2: by the first two stages,
// and by the third one in stiff components that are driven by time. Order 3 cannot be had from these
// stages (the last two look alike to its conditions), and Hermite's cubic would magnify the errors of
// stiff components; the error of the output at the middle of the step is under control instead.
#define RODAS3_GAMMA 0.5
#define RODAS3_D1    0.5
#define RODAS3_A2(F, N) F(1, 0.0)
#define RODAS3_A3(F, N) F(1, 2.0)
#define RODAS3_A4(F, N) F(1, 2.0) N(3, 1.0)
#define RODAS3_B(F, N)  F(1, 2.0) N(3, 1.0) N(4, 1.0)
#define RODAS3_C2(F, N) F(1, 4.0)
#define RODAS3_C3(F, N) F(1, 1.0) N(2, -1.0)
#define RODAS3_C4(F, N) F(1, 1.0) N(2, -1.0) N(3, -8.0 / 3)
#define RODAS3_H2(F, N) F(1, 3.0) N(2, -1.0) N(3, -1.0)
#define RODAS3_STAGES(S) \
  S(2, 0.0, 1.5, RODAS3_A2, RODAS3_C2) S(3, 1.0, 0.0, RODAS3_A3, RODAS3_C3) \
  S(4, 1.0, 0.0, RODAS3_A4, RODAS3_C4)

// ---- order 4(3): RODASP2, Steinebach, "Improvement of Rosenbrock-Wanner method RODASP", 2020 ----
// Unlike RODAS itself it keeps its order, in the dense output too, where stiff components are driven
// by time or by boundary values (the problem of Prothero and Robinson).
#define RODAS_GAMMA 0.25
#define RODAS_D1    0.25
#define RODAS_A2(F, N) F(1, 3.0)
#define RODAS_A3(F, N) F(1, 0.906377755268814) N(2, -0.189707390391685)
#define RODAS_A4(F, N) F(1, 3.758617027739064) N(2, 1.161741776019525) N(3, -0.849258085312803)
#define RODAS_A5(F, N) F(1, 7.089566927282776) N(2, 4.573591406461604) N(3, -8.423496976860259) \
  N(4, -0.959280113459775)
#define RODAS_A6(F, N) F(1, 7.089566927282776) N(2, 4.573591406461604) N(3, -8.423496976860259) \
  N(4, -0.959280113459775) N(5, 1.0)
#define RODAS_B(F, N) F(1, 7.089566927282776) N(2, 4.573591406461604) N(3, -8.423496976860259) \
  N(4, -0.959280113459775) N(5, 1.0) N(6, 1.0)
#define RODAS_C2(F, N) F(1, -12.0)
#define RODAS_C3(F, N) F(1, -6.354581592719008) N(2, 0.338972550544623)
#define RODAS_C4(F, N) F(1, -8.575016317114033) N(2, -7.606483992117508) N(3, 12.22499765012482)
#define RODAS_C5(F, N) F(1, -5.888975457523102) N(2, -8.15739661784182) N(3, 24.805546872612922) \
  N(4, 12.79040151279698)
#define RODAS_C6(F, N) F(1, -4.408651676063871) N(2, -6.692003137674639) \
  N(3, 24.625568527593117) N(4, 16.627521966636085) N(5, -5.714285714285718)
#define RODAS_H2(F, N) F(1, -5.323528268423303) N(2, -10.042123754867493) \
  N(3, 17.175254928256965) N(4, -5.079931171878093) N(5, -0.016185991706112)
#define RODAS_H3(F, N) F(1, 6.984505741529879) N(2, 6.914061169603662) N(3, -0.849178943070653) \
  N(4, 18.104410789349338) N(5, -3.516963011559032)
#define RODAS_STAGES(S) \
  S(2, 0.75, -0.5, RODAS_A2, RODAS_C2) \
  S(3, 0.321448134013046, -0.189532918363016, RODAS_A3, RODAS_C3) \
  S(4, 0.519745732277726, 0.085612108792769, RODAS_A4, RODAS_C4) \
  S(5, 1.0, 0.0, RODAS_A5, RODAS_C5) S(6, 1.0, 0.0, RODAS_A6, RODAS_C6)

// ---- order 5(4): Rodas5P, Steinebach, BIT 63, 2023 ----
// Its dense output is printed for powers: theta^3 (1 - theta) = theta^2 (1 - theta) - theta^2 (1 -
// theta)^2, so H3 = h3 + h4, H4 = -h4.
#define RODAS5_GAMMA 0.21193756319429014
#define RODAS5_D1    0.21193756319429014
#define RODAS5_A2(F, N) F(1, 3.0)
#define RODAS5_A3(F, N) F(1, 2.849394379747939) N(2, 0.45842242204463923)
#define RODAS5_A4(F, N) F(1, -6.954028509809101) N(2, 2.489845061869568) \
  N(3, -10.358996098473584)
#define RODAS5_A5(F, N) F(1, 2.8029986275628964) N(2, 0.5072464736228206) \
  N(3, -0.3988312541770524) N(4, -0.04721187230404641)
#define RODAS5_A6(F, N) F(1, -7.502846399306121) N(2, 2.561846144803919) \
  N(3, -11.627539656261098) N(4, -0.18268767659942256) N(5, 0.030198172008377946)
#define RODAS5_A7(F, N) F(1, -7.502846399306121) N(2, 2.561846144803919) \
  N(3, -11.627539656261098) N(4, -0.18268767659942256) N(5, 0.030198172008377946) N(6, 1.0)
#define RODAS5_A8(F, N) F(1, -7.502846399306121) N(2, 2.561846144803919) \
  N(3, -11.627539656261098) N(4, -0.18268767659942256) N(5, 0.030198172008377946) N(6, 1.0) \
  N(7, 1.0)
#define RODAS5_B(F, N) F(1, -7.502846399306121) N(2, 2.561846144803919) \
  N(3, -11.627539656261098) N(4, -0.18268767659942256) N(5, 0.030198172008377946) N(6, 1.0) \
  N(7, 1.0) N(8, 1.0)
#define RODAS5_C2(F, N) F(1, -14.155112264123755)
#define RODAS5_C3(F, N) F(1, -17.97296035885952) N(2, -2.859693295451294)
#define RODAS5_C4(F, N) F(1, 147.12150275711716) N(2, -1.41221402718213) N(3, 71.68940251302358)
#define RODAS5_C5(F, N) F(1, 165.43517024871676) N(2, -0.4592823456491126) \
  N(3, 42.90938336958603) N(4, -5.961986721573306)
#define RODAS5_C6(F, N) F(1, 24.854864614690072) N(2, -3.0009227002832186) \
  N(3, 47.4931110020768) N(4, 5.5814197821558125) N(5, -0.6610691825249471)
#define RODAS5_C7(F, N) F(1, 30.91273214028599) N(2, -3.1208243349937974) \
  N(3, 77.79954646070892) N(4, 34.28646028294783) N(5, -19.097331116725623) \
  N(6, -28.087943162872662)
#define RODAS5_C8(F, N) F(1, 37.80277123390563) N(2, -3.2571969029072276) \
  N(3, 112.26918849496327) N(4, 66.9347231244047) N(5, -40.06618937091002) \
  N(6, -54.66780262877968) N(7, -9.48861652309627)
#define RODAS5_H2(F, N) F(1, 25.948786856663858) N(2, -2.5579724845846235) \
  N(3, 10.433815404888879) N(4, -2.3679251022685204) N(5, 0.524948541321073) \
  N(6, 1.1241088310450404) N(7, 0.4272876194431874) N(8, -0.17202221070155493)
#define RODAS5_H3(F, N) F(1, 1.504215068970552) N(2, 1.9189700552021840) \
  N(3, 75.9651836842581353) N(4, 55.629893780010634) N(5, -31.896733031443610) \
  N(6, -43.80927263842078) N(7, -6.94486714624739313) N(8, -1.827148884209650)
#define RODAS5_H4(F, N) F(1, -11.419903575922262) N(2, -2.8879645146136994) \
  N(3, -72.92137995996029) N(4, -80.12511834622643) N(5, 52.072871366152654) \
  N(6, 59.78993625266729) N(7, 0.15582684282751913) N(8, -4.883087185713722)
#define RODAS5_STAGES(S) \
  S(2, 0.6358126895828704, -0.42387512638858027, RODAS5_A2, RODAS5_C2) \
  S(3, 0.4095798393397535, -0.3384627126235924, RODAS5_A3, RODAS5_C3) \
  S(4, 0.9769306725060716, 1.8046452872882734, RODAS5_A4, RODAS5_C4) \
  S(5, 0.4288403609558664, 2.325825639765069, RODAS5_A5, RODAS5_C5) \
  S(6, 1.0, 0.0, RODAS5_A6, RODAS5_C6) S(7, 1.0, 0.0, RODAS5_A7, RODAS5_C7) \
  S(8, 1.0, 0.0, RODAS5_A8, RODAS5_C8)

// clang-format on

#endif
