{ SPDX-License-Identifier: MIT

  The CDCSIS dialect for Free Pascal: procedures and variables of <saltus/cdcsis.h>, with the names
  of J. Culik, "CDCSIS - software for discrete continuous simulation". `blocks` is a cdecl procedure
  that is passed to `wait`. The work variable of `event` is passed by address and must be a
  different one for every event. }
unit cdcsis;
{$mode objfpc}{$linklib saltus}{$linklib m}{$linklib c}

interface

uses ctypes;

type
  rblock = record index, generation: cuint32; end;
  rint = record index, generation: cuint32; end;
  prblock = ^rblock;
  print = ^rint;
  blocksproc = procedure; cdecl;

var
  simtime: cdouble; external name 'cdcsis_simtime';
  step: cdouble; external name 'cdcsis_step';
  ptrans: pcdouble; external name 'cdcsis_ptrans';
  stest: cint; external name 'cdcsis_stest';
  sj: cint; external name 'cdcsis_sj';

function schedule(timep: cdouble; iblock, priorp: cint; transp: pointer; ptext: pchar): rblock;
  cdecl; external name 'cdcsis_schedule';
function integr(np: cint; pvin, pvout, pvw: pcdouble; ptext: pchar): rint;
  cdecl; external name 'cdcsis_integr';
procedure cancel(name: pchar); cdecl; external name 'cdcsis_cancel';
procedure cancelblock(p: prblock); cdecl; external name 'cdcsis_cancelblock';
procedure cancelint(p: print); cdecl; external name 'cdcsis_cancelint';
procedure hold(timeh: cdouble; block: cint); cdecl; external name 'cdcsis_hold';
function event(x: cdouble; constref p: cdouble): boolean;
procedure wait(endtime, gstepp: cdouble; blocks: blocksproc); cdecl; external name 'cdcsis_wait';
procedure beg(starttime: cdouble); cdecl; external name 'cdcsis_beg';
function test: boolean;
procedure graf(p: pcdouble; ampl: cdouble; text: pchar); cdecl; external name 'cdcsis_graf';
procedure anim(dx, dy, xmax, ymax, x, y, alfa: cdouble; n: cint; a, b: pcdouble);
  cdecl; external name 'cdcsis_anim';
function cdcsis_method(method: pchar): cint; cdecl; external name 'cdcsis_method';

{ sin and sqrt of the C library, so that results agree with programs in C to the last bit }
function csin(x: cdouble): cdouble; cdecl; external name 'sin';

implementation

function cdcsis_event(x: cdouble; p: pcdouble): cint; cdecl; external name 'cdcsis_event';
function cdcsis_test: cint; cdecl; external name 'cdcsis_test';

function event(x: cdouble; constref p: cdouble): boolean;
begin
  event := cdcsis_event(x, @p) <> 0;
end;

function test: boolean;
begin
  test := cdcsis_test <> 0;
end;

end.
