! SPDX-License-Identifier: MIT
!
! The CDCSIS dialect for Fortran: procedures and variables of <saltus/cdcsis.h>, with the names of
! J. Culik, "CDCSIS - software for discrete continuous simulation". `blocks` is a subroutine with
! bind(C) that is passed to `wait`. The work variable of `event` is passed by address and must be a
! different one for every event.
module cdcsis
  use, intrinsic :: iso_c_binding
  implicit none
  public

  real(c_double), bind(C, name="cdcsis_simtime") :: simtime
  real(c_double), bind(C, name="cdcsis_step") :: step
  type(c_ptr), bind(C, name="cdcsis_ptrans") :: ptrans
  integer(c_int), bind(C, name="cdcsis_stest") :: stest
  integer(c_int), bind(C, name="cdcsis_sj") :: sj

  type, bind(C) :: rblock
    integer(c_int32_t) :: index, generation
  end type
  type, bind(C) :: rint_
    integer(c_int32_t) :: index, generation
  end type

  interface
    function cdcsis_schedule(timep, iblock, priorp, transp, ptext) bind(C) result(handle)
      import
      real(c_double), value :: timep
      integer(c_int), value :: iblock, priorp
      type(c_ptr), value :: transp
      character(kind=c_char), intent(in) :: ptext(*)
      type(rblock) :: handle
    end function
    function cdcsis_integr(np, pvin, pvout, pvw, ptext) bind(C) result(handle)
      import
      integer(c_int), value :: np
      type(c_ptr), value :: pvin, pvout, pvw
      character(kind=c_char), intent(in) :: ptext(*)
      type(rint_) :: handle
    end function
    subroutine cdcsis_cancel(name) bind(C)
      import
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine cancelblock(p) bind(C, name="cdcsis_cancelblock")
      import
      type(rblock), intent(in) :: p
    end subroutine
    subroutine cancelint(p) bind(C, name="cdcsis_cancelint")
      import
      type(rint_), intent(in) :: p
    end subroutine
    subroutine hold(timeh, block_) bind(C, name="cdcsis_hold")
      import
      real(c_double), value :: timeh
      integer(c_int), value :: block_
    end subroutine
    function cdcsis_event(x, p) bind(C) result(fires)
      import
      real(c_double), value :: x
      real(c_double), intent(in) :: p
      integer(c_int) :: fires
    end function
    subroutine cdcsis_wait(endtime, gstepp, blocks) bind(C)
      import
      real(c_double), value :: endtime, gstepp
      type(c_funptr), value :: blocks
    end subroutine
    subroutine beg(starttime) bind(C, name="cdcsis_beg")
      import
      real(c_double), value :: starttime
    end subroutine
    subroutine cdcsis_graf(p, ampl, text) bind(C)
      import
      type(c_ptr), value :: p
      real(c_double), value :: ampl
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine anim(dx, dy, xmax, ymax, x, y, alfa, n, a, b) bind(C, name="cdcsis_anim")
      import
      real(c_double), value :: dx, dy, xmax, ymax, x, y, alfa
      integer(c_int), value :: n
      real(c_double), intent(in) :: a(*), b(*)
    end subroutine
    function cdcsis_test() bind(C) result(on)
      import
      integer(c_int) :: on
    end function
    function cdcsis_method(method) bind(C) result(status)
      import
      character(kind=c_char), intent(in) :: method(*)
      integer(c_int) :: status
    end function
  end interface

contains

  subroutine schedule(timep, iblock, priorp, transp, ptext, handle)
    real(c_double), intent(in) :: timep
    integer(c_int), intent(in) :: iblock, priorp
    type(c_ptr), intent(in) :: transp
    character(len=*), intent(in) :: ptext
    type(rblock), intent(out), optional :: handle
    type(rblock) :: made
    made = cdcsis_schedule(timep, iblock, priorp, transp, ptext // c_null_char)
    if (present(handle)) handle = made
  end subroutine

  ! pass the first element of each vector; they must be targets that stay where they are
  subroutine integr(np, pvin, pvout, pvw, ptext, handle)
    integer(c_int), intent(in) :: np
    real(c_double), intent(in), target :: pvin(*), pvout(*), pvw(*)
    character(len=*), intent(in) :: ptext
    type(rint_), intent(out), optional :: handle
    type(rint_) :: made
    made = cdcsis_integr(np, c_loc(pvin), c_loc(pvout), c_loc(pvw), ptext // c_null_char)
    if (present(handle)) handle = made
  end subroutine

  subroutine cancel(name)
    character(len=*), intent(in) :: name
    call cdcsis_cancel(name // c_null_char)
  end subroutine

  logical function event(x, p)
    real(c_double), intent(in) :: x
    real(c_double), intent(in) :: p
    event = cdcsis_event(x, p) /= 0
  end function

  logical function test()
    test = cdcsis_test() /= 0
  end function

  subroutine wait(endtime, gstepp, blocks)
    real(c_double), intent(in) :: endtime, gstepp
    interface
      subroutine blocks() bind(C)
      end subroutine
    end interface
    call cdcsis_wait(endtime, gstepp, c_funloc(blocks))
  end subroutine

  subroutine graf(p, ampl, text)
    real(c_double), intent(in), target :: p
    real(c_double), intent(in) :: ampl
    character(len=*), intent(in) :: text
    call cdcsis_graf(c_loc(p), ampl, text // c_null_char)
  end subroutine

end module
