program main
  use iso_c_binding, only: c_int
  implicit none
  interface
    function blas_checks() bind(c) result(failed)
      import c_int
      integer(c_int) :: failed
    end function
  end interface
  if (blas_checks() /= 0) error stop 1
end program
