# Calls in processes that R makes, after an error, and at the very end; the status is the program's.
right <- function(n) {
  A <- matrix(rnorm(n * n), n)
  max(abs(solve(A) %*% A - diag(n))) < 1e-8
}
set.seed(1)
print(right(50))
print(unlist(parallel::mclapply(c(20, 50), right, mc.cores = 2))) # forked, while a device is open
program <- "A <- 2 * diag(50); cat(max(abs(solve(A) %*% A - diag(50))))"
print(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", shQuote(program)), stdout = TRUE))
print(tryCatch(solve(matrix(0, 50, 50)), error = conditionMessage))
print(tryCatch(chol(-diag(50)), error = conditionMessage))
print(right(50))
invisible(reg.finalizer(globalenv(), function(...) print(right(50)), onexit = TRUE))
quit(status = 7)
