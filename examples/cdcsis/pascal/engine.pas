{ SPDX-License-Identifier: MIT

  The engine program of the paper's chapter 5 in Pascal. }
program engine;
{$mode objfpc}

uses ctypes, cdcsis;

const
  { typed, or the compiler calculates with 80 bits }
  c07: cdouble = 0.7; c081: cdouble = 0.81; zeta: cdouble = 0.1418;

var
  pom, k, T1, T2, T3, omb1, omb2, m, Ip, F1, omega: cdouble;
  y, alfa, fi: array[0..2] of cdouble;
  yp, alfap, fip: array[0..3] of cdouble;

procedure blocks; cdecl;
begin
  case sj of
    1:
      begin
        pom := F1*csin(fi[0]);
        y[2] := (pom-k*y[0])/m-2.0*omb1*y[1];
        alfa[2] := (pom*c07-k*c081*alfa[0])/Ip-2.0*omb2*alfa[1];
      end;
    2: fi[2] := 0.0;
    3: fi[2] := -omega/T3;
    4: cancel('in1');
  end;
end;

begin
  T1 := 5.0; T2 := 1.0; T3 := 5.0; omega := 100.0; k := 1.0e6; m := 500.0; Ip := 250; F1 := 1000.0;
  omb1 := zeta*sqrt(k/m); omb2 := zeta*sqrt(k*c081/Ip);
  y[0] := 0.0; y[1] := 0.0; fi[0] := 0.0; fi[1] := 0.0; alfa[0] := 0.0; alfa[1] := 0.0;
  fi[2] := omega/T1;
  schedule(0.0, 1, 1, nil, 'y,alfa');
  schedule(T1, 2, 0, nil, 'T1');
  schedule(T1+T2, 3, 0, nil, 'T2');
  schedule(T1+T2+T3, 4, 0, nil, 'T2');
  graf(@y[0], 0.01, 'vertical displacement');
  graf(@alfa[0], 0.01, 'turning');
  integr(2, @fi[1], @fi[0], @fip[0], 'in1');
  integr(2, @y[1], @y[0], @yp[0], 'int y');
  integr(2, @alfa[1], @alfa[0], @alfap[0], 'int alfa');
  wait(T1+T2+T3+0.5, 0.02, @blocks);
end.
