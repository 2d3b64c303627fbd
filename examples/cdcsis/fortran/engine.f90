! SPDX-License-Identifier: MIT
!
! The engine program of the paper's chapter 5 in Fortran.
module engine
  use cdcsis
  implicit none
  real(c_double) :: pom, k, T1, T2, T3, omb1, omb2, m, Ip, F1, omega
  real(c_double), target :: y(3), alfa(3), fi(3), yp(4), alfap(4), fip(4)
contains
  subroutine blocks() bind(C)
    select case (sj)
    case (1)
      pom = F1*sin(fi(1))
      y(3) = (pom - k*y(1))/m - 2.0d0*omb1*y(2)
      alfa(3) = (pom*0.7d0 - k*0.81d0*alfa(1))/Ip - 2.0d0*omb2*alfa(2)
    case (2)
      fi(3) = 0.0d0
    case (3)
      fi(3) = -omega/T3
    case (4)
      call cancel("in1")
    end select
  end subroutine
end module

program main
  use engine
  implicit none
  T1 = 5.0d0; T2 = 1.0d0; T3 = 5.0d0; omega = 100.0d0; k = 1.0d6; m = 500.0d0; Ip = 250.0d0
  F1 = 1000.0d0
  omb1 = 0.1418d0*sqrt(k/m); omb2 = 0.1418d0*sqrt(k*0.81d0/Ip)
  y = 0.0d0; fi = 0.0d0; alfa = 0.0d0
  fi(3) = omega/T1
  call schedule(0.0d0, 1, 1, c_null_ptr, "y,alfa")
  call schedule(T1, 2, 0, c_null_ptr, "T1")
  call schedule(T1 + T2, 3, 0, c_null_ptr, "T2")
  call schedule(T1 + T2 + T3, 4, 0, c_null_ptr, "T2")
  call graf(y(1), 0.01d0, "vertical displacement")
  call graf(alfa(1), 0.01d0, "turning")
  call integr(2, fi(2), fi, fip, "in1")
  call integr(2, y(2), y, yp, "int y")
  call integr(2, alfa(2), alfa, alfap, "int alfa")
  call wait(T1 + T2 + T3 + 0.5d0, 0.02d0, blocks)
end program
