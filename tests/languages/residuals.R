# What R computes by BLAS and LAPACK, put back into its equation. A line for each: the name, and "ok" or how many times
# its bound the residual is. R's own loops multiply here (matprod = "internal"), no BLAS.
times <- function(A, B) {
  options(matprod = "internal")
  on.exit(options(matprod = "default"))
  A %*% B
}
adjoint <- function(A) Conj(t(A))
one_norm <- function(A) max(colSums(abs(as.matrix(A))))
# LAPACK's testers allow 30 in these units: rounding errors of a sum of n terms.
check <- function(name, residual, size, n) {
  ratio <- one_norm(residual) / (.Machine$double.eps * n * size) / 30
  cat(name, if (is.finite(ratio) && ratio <= 1) "ok" else format(ratio), "\n")
}
equation <- function(name, A, X, B) check(name, times(A, X) - B, one_norm(A) * one_norm(X), nrow(A))
orthonormal <- function(name, Q) check(name, times(adjoint(Q), Q) - diag(ncol(Q)), 1, nrow(Q))

set.seed(1)
n <- 60
m <- 90
for (kind in c("complex", "real")) {  # what comes after it goes on with the real ones
  draw <- function(rows, cols) {
    x <- matrix(rnorm(rows * cols), rows)
    if (kind == "complex") x + 1i * matrix(rnorm(rows * cols), rows) else x
  }
  tell <- function(...) paste(kind, ...)
  A <- draw(n, n)
  B <- draw(n, 7)
  tall <- draw(m, n)
  definite <- times(adjoint(tall), tall)

  check(tell("A %*% B"), A %*% B - times(A, B), one_norm(A) * one_norm(B), n)
  check(tell("A %*% x"), A %*% B[, 1] - times(A, B[, 1]), one_norm(A) * one_norm(B[, 1]), n)
  check(tell("crossprod"), crossprod(tall) - times(t(tall), tall), one_norm(tall) * one_norm(t(tall)), m)
  check(tell("tcrossprod"), tcrossprod(A, tall) - times(A, t(tall)), one_norm(A) * one_norm(t(tall)), n)
  equation(tell("solve"), A, solve(A, B), B)
  equation(tell("inverse"), A, solve(A), diag(n))

  s <- svd(tall)
  check(tell("svd"), times(s$u, s$d * adjoint(s$v)) - tall, one_norm(tall), m)
  orthonormal(tell("svd's u"), s$u)
  orthonormal(tell("svd's v"), s$v)
  check(tell("singular values"), svd(tall, 0, 0)$d - s$d, s$d[1], m)

  e <- eigen(definite)
  check(tell("eigen, symmetric"), times(definite, e$vectors) - t(e$values * t(e$vectors)), one_norm(definite), n)
  orthonormal(tell("eigenvectors, symmetric"), e$vectors)
  check(tell("eigenvalues, symmetric"), eigen(definite, only.values = TRUE)$values - e$values, one_norm(definite), n)
  e <- eigen(A)
  check(tell("eigen, general"), times(A, e$vectors) - t(e$values * t(e$vectors)), one_norm(A) * one_norm(e$vectors), n)
  check(tell("eigenvalues, general"), sum(eigen(A, only.values = TRUE)$values) - sum(diag(A)), one_norm(A), n)

  q <- qr(tall, LAPACK = TRUE)
  Q <- qr.Q(q)
  orthonormal(tell("qr.Q"), Q)
  check(tell("qr"), times(Q, qr.R(q)) - tall[, q$pivot], one_norm(tall), m)
  x <- qr.coef(q, tall[, 1:3])
  check(tell("qr.coef"), x - diag(n)[, 1:3], max(s$d) / min(s$d), m)
  # R 4.2 writes into the matrix that a complex qr.qty is given, so give it another one.
  check(tell("qr.qty"), qr.qty(q, tall + 0)[1:n, ] - times(adjoint(Q), tall), one_norm(tall), m)
  # An estimate, from above; within 10, as Higham found it (Accuracy and Stability, 15.3).
  upper <- qr.R(q)
  for (triangular in c(FALSE, TRUE)) {
    M <- if (triangular) upper else A
    due <- 1 / (one_norm(M) * one_norm(solve(M)))
    got <- rcond(M, triangular = triangular)
    cat(tell("rcond", if (triangular) "of a triangle"), if (got > 0.99 * due && got < 10 * due) "ok" else got / due, "\n")
  }
}

R <- chol(definite)
check("chol", times(t(R), R) - definite, one_norm(definite), n)
equation("chol2inv", definite, chol2inv(R), diag(n))
R <- chol(definite, pivot = TRUE)
p <- attr(R, "pivot")
check("chol, pivoted", times(t(R), R) - definite[p, p], one_norm(definite), n)
equation("backsolve", R, backsolve(R, B), B)
equation("forwardsolve", t(R), forwardsolve(t(R), B), B)
