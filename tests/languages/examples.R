# The examples of R's own help pages on what it computes by BLAS and LAPACK, one after the other: run.py compares what
# they print.  Not kappa's and rcond's, which ask whether two roundings are the same.
options(width = 10000, warn = 1) # no line breaks where a number has a digit more
for (topic in c("solve", "chol", "chol2inv", "backsolve", "qr", "qr.Q", "svd", "eigen", "det", "crossprod", "matmult",
                "norm", "outer", "lm", "lm.fit", "lm.influence", "glm", "nls", "loess", "smooth.spline", "prcomp",
                "princomp", "factanal", "cmdscale", "cov.wt", "mahalanobis")) {
  cat("==== topic", topic, "\n")
  set.seed(1)
  # An example that shows an error does so by try(): any other is one.
  outcome <- tryCatch({
    example(topic, character.only = TRUE, ask = FALSE, local = TRUE)
    "ended"
  }, error = conditionMessage)
  cat("\n==== outcome", outcome, "\n")
}
