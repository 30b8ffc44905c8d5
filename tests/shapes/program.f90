! BLAS and LAPACK calls from Fortran, each compared with plain loops.  Built once per link shape:
! -fdefault-integer-8 for 64-bit integers, -Ddgemm=dgemm_64 and so on for the names that promise them.
function blas_checks() bind(c) result(failed)
  use iso_c_binding, only: c_int
  implicit none
  integer(c_int) :: failed
  integer, parameter :: dp = kind(1d0), rounds = 3
  ! Prime to each other and unequal, so that no dimension can stand in for another.
  integer, parameter :: m = 19, n = 17, k = 23, lda = 29, ldb = 31, ldc = 37
  real(dp), parameter :: unused = -7777
  integer :: failures, round
  external :: dgemm, zgemm, dsymv, zhemv, dgeqrf

  failures = 0
  do round = 1, rounds
    call check_dgemm()
    call check_zgemm()
    call check_dsymv()
    call check_zhemv()
    call check_dgeqrf()
  end do
  print '(a,5(a,i0),a)', 'calls {', '"dgemm": ', rounds, ', "zgemm": ', rounds, ', "dsymv": ', rounds, &
    ', "zhemv": ', rounds, ', "dgeqrf": ', 2 * rounds, '}'
  if (failures == 0) then
    print '(a)', 'ok'
  else
    print '(a)', 'WRONG'
  end if
  flush (6)
  failed = merge(1_c_int, 0_c_int, failures /= 0)

contains

  ! |got - wanted| <= (terms + 4) eps * magnitude: the error bound of a sum of `terms` products in any order, with two
  ! more roundings for alpha and beta (Higham, Accuracy and Stability, 3.1 and 3.5); complex products round four times
  ! as often.
  subroutine compare(what, got, wanted, magnitude, terms)
    character(*), intent(in) :: what
    complex(dp), intent(in) :: got, wanted
    real(dp), intent(in) :: magnitude
    integer, intent(in) :: terms
    if (abs(got - wanted) <= 4 * (terms + 4) * epsilon(1d0) * magnitude) return
    failures = failures + 1
    if (failures <= 10) print *, what, ', round ', round, ': ', got, ' instead of ', wanted
  end subroutine

  subroutine fill(x, rows, cols)
    real(dp), intent(out) :: x(:, :)
    integer, intent(in) :: rows, cols
    x = unused
    call random_number(x(:rows, :cols))
    x(:rows, :cols) = x(:rows, :cols) - 0.5d0
  end subroutine

  subroutine zfill(x, rows, cols)
    complex(dp), intent(out) :: x(:, :)
    integer, intent(in) :: rows, cols
    real(dp) :: re(size(x, 1), size(x, 2)), im(size(x, 1), size(x, 2))
    call fill(re, rows, cols)
    call fill(im, rows, cols)
    x = cmplx(re, im, dp)
  end subroutine

  subroutine check_dgemm()
    real(dp) :: a(lda, k), b(ldb, k), c(ldc, n), was(ldc, n), wanted, magnitude
    integer :: i, j
    call fill(a, m, k)
    call fill(b, n, k)
    call fill(c, m, n)
    was = c
    call dgemm('N', 'T', m, n, k, 0.75d0, a, lda, b, ldb, -0.5d0, c, ldc)
    do j = 1, n
      do i = 1, ldc
        if (i > m) then
          call compare('gap', cmplx(c(i, j), 0, dp), cmplx(unused, 0, dp), 0d0, 0)
        else
          wanted = 0.75d0 * sum(a(i, :) * b(j, :)) - 0.5d0 * was(i, j)
          magnitude = sum(abs(a(i, :) * b(j, :))) + abs(was(i, j))
          call compare('real product', cmplx(c(i, j), 0, dp), cmplx(wanted, 0, dp), magnitude, k)
        end if
      end do
    end do
  end subroutine

  subroutine check_zgemm()
    complex(dp), parameter :: alpha = (0.75d0, -0.25d0), beta = (-0.5d0, 0.125d0)
    complex(dp) :: a(lda, k), b(ldb, k), c(ldc, n), was(ldc, n), wanted
    real(dp) :: magnitude
    integer :: i, j
    call zfill(a, m, k)
    call zfill(b, n, k)
    call zfill(c, m, n)
    was = c
    call zgemm('N', 'C', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    do j = 1, n
      do i = 1, m
        wanted = alpha * sum(a(i, :) * conjg(b(j, :))) + beta * was(i, j)
        magnitude = sum(abs(a(i, :) * b(j, :))) + abs(was(i, j))
        call compare('complex product', c(i, j), wanted, magnitude, k)
      end do
    end do
  end subroutine

  subroutine check_dsymv()
    real(dp) :: a(lda, n), x(n), y(n), was(n), row(n)
    integer :: i
    call fill(a, n, n)
    call random_number(x)
    call random_number(y)
    was = y
    call dsymv('U', n, 0.75d0, a, lda, x, 1, -0.5d0, y, -1)
    do i = 1, n
      row = [a(:i, i), a(i, i + 1:)]
      call compare('symmetric', cmplx(y(n + 1 - i), 0, dp), &
        cmplx(0.75d0 * sum(row * x) - 0.5d0 * was(n + 1 - i), 0, dp), sum(abs(row * x)) + was(n + 1 - i), n)
    end do
  end subroutine

  subroutine check_zhemv()
    complex(dp), parameter :: alpha = (0.75d0, -0.25d0), beta = (-0.5d0, 0.125d0)
    complex(dp) :: a(lda, n), y(ldc, 2), x(ldc, 2), was(n), row(n)
    integer :: i
    call zfill(a, n, n)
    call zfill(x, n, 1)
    call zfill(y, n, 1)
    do i = 1, n
      a(i, i) = real(a(i, i), dp)
    end do
    was = y(:n, 1)
    call zhemv('L', n, alpha, a, lda, x, 1, beta, y, 1)
    do i = 1, n
      row = [a(i, :i), conjg(a(i + 1:n, i))]
      call compare('hermitian', y(i, 1), alpha * sum(row * x(:n, 1)) + beta * was(i), &
        sum(abs(row * x(:n, 1))) + abs(was(i)), n)
    end do
  end subroutine

  ! A = Q R: R put back through the reflectors must give A.
  subroutine check_dgeqrf()
    real(dp) :: a(lda, n), was(lda, n), tau(n), best(1), column(m), v(m), norm
    real(dp), allocatable :: work(:)
    integer :: info, i, j, r
    call fill(a, m, n)
    was = a
    call dgeqrf(m, n, a, lda, tau, best, -1, info)
    if (info /= 0 .or. best(1) < n) failures = failures + 1
    allocate (work(max(n, int(best(1)))))
    call dgeqrf(m, n, a, lda, tau, work, size(work), info)
    if (info /= 0) failures = failures + 1
    norm = sqrt(sum(was(:m, :)**2))
    do j = 1, n
      column = 0
      column(:j) = a(:j, j)
      do r = n, 1, -1  ! H(r) = I - tau v v**T
        v = 0
        v(r) = 1
        v(r + 1:) = a(r + 1:m, r)
        column = column - tau(r) * sum(v * column) * v
      end do
      ! Higham 19.4: ||A - QR|| <= gamma_mn ||A||; half of the terms for the factorisation, half for putting it back.
      do i = 1, m
        call compare('QR', cmplx(column(i), 0, dp), cmplx(was(i, j), 0, dp), norm, m * n)
      end do
    end do
  end subroutine

end function
