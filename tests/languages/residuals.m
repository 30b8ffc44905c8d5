% What Octave computes by BLAS and LAPACK, put back into its equation.  A line for each: the name, and "ok" or how many
% times its bound the residual is.
1;

function C = times (A, B)  % by loops: no BLAS
  C = zeros (rows (A), columns (B), class (A(1) * B(1)));
  for k = 1:columns (A)
    C += A(:, k) .* B(k, :);
  end
end

function x = one_norm (A)
  x = max (sum (abs (full (A)), 1));
end

% LAPACK's testers allow 30 in these units: rounding errors of a sum of n terms.
function check (name, residual, bound, n)
  global kind;
  ratio = double (one_norm (residual) / (eps (kind{2}) * n * bound) / 30);
  if (all (isfinite (residual(:))) && isfinite (bound) && ratio <= 1)  % max leaves out NaN
    said = "ok";
  else
    said = num2str (ratio);
  end
  printf ("%s %s %s: %s\n", kind{:}, name, said);
end

function equation (name, A, X, B)
  check (name, times (A, X) - B, one_norm (A) * one_norm (X), rows (A));
end

function orthonormal (name, Q)
  check (name, times (Q', Q) - eye (columns (Q)), 1, rows (Q));
end

function x = draw (m, n)
  global kind;
  x = randn (m, n);
  if (strcmp (kind{1}, "complex"))
    x += i * randn (m, n);
  end
  x = cast (x, kind{2});
end

global kind;
rand ("state", 1);
randn ("state", 1);
n = 40;
m = 60;
for of = {{"real", "double"}, {"complex", "double"}, {"real", "single"}, {"complex", "single"}}
  kind = of{1};
  A = draw (n, n);
  B = draw (n, 7);
  tall = draw (m, n);
  definite = times (tall', tall);
  definite = (definite + definite') / 2;

  check ("A * B", A * B - times (A, B), one_norm (A) * one_norm (B), n);
  check ("A' * B", A' * B - times (A', B), one_norm (A') * one_norm (B), n);
  check ("A * x", A * B(:, 1) - times (A, B(:, 1)), one_norm (A) * one_norm (B(:, 1)), n);
  check ("A' * A", tall' * tall - definite, one_norm (tall) * one_norm (tall'), m);
  check ("A.' * A", tall.' * tall - times (tall.', tall), one_norm (tall) * one_norm (tall'), m);
  equation ("A \\ B", A, A \ B, B);
  equation ("B / A", A.', (B.' / A).', B);
  equation ("definite \\ B", definite, definite \ B, B);
  equation ("triangle \\ B", triu (definite), triu (definite) \ B, B);
  equation ("inv", A, inv (A), eye (n));
  equation ("inv, definite", definite, inv (definite), eye (n));
  equation ("inv, triangle", tril (definite), inv (tril (definite)), eye (n));

  R = chol (definite);
  check ("chol", times (R', R) - definite, one_norm (definite), n);
  equation ("chol2inv", definite, chol2inv (R), eye (n));
  equation ("cholinv", definite, cholinv (definite), eye (n));
  [L, U, P] = lu (A);
  check ("lu", times (L, U) - A(P * (1:n)', :), one_norm (A), n);
  check ("det", det (A) - prod (diag (U)) * det (P), abs (det (A)), n);

  [Q, R] = qr (tall);
  orthonormal ("qr's Q", Q);
  check ("qr", times (Q, R) - tall, one_norm (tall), m);
  [Q, R, p] = qr (tall, 0);
  orthonormal ("pivoted qr's Q", Q);
  check ("pivoted qr", times (Q, R) - tall(:, p), one_norm (tall), m);
  x = tall \ tall(:, 1:3);
  check ("least squares", x - eye (n)(:, 1:3), cond (tall), m);

  for driver = {"gesvd", "gesdd"}
    svd_driver (driver{1});
    [U, S, V] = svd (tall);
    orthonormal (["U of " driver{1}], U);
    orthonormal (["V of " driver{1}], V);
    check (["svd by " driver{1}], times (U, times (full (S), V')) - tall, one_norm (tall), m);
    check (["values by " driver{1}], svd (tall) - diag (S), S(1), m);
  end
  svd_driver ("gesvd");
  equation ("pinv", A, pinv (A), eye (n));

  [V, D] = eig (definite);
  orthonormal ("eig's V, definite", V);
  check ("eig, definite", times (definite, V) - V .* diag (D).', one_norm (definite), n);
  [V, D] = eig (A);
  check ("eig, general", times (A, V) - V .* diag (D).', one_norm (A) * one_norm (V), n);
  M = A + A';
  [V, D] = eig (M, definite);
  check ("eig, generalized", times (M, V) - times (definite, V) .* diag (D).', ...
         one_norm (M) * one_norm (V) * cond (definite), n);
  [Q, H] = hess (A);
  orthonormal ("hess's Q", Q);
  check ("hess", times (times (Q, H), Q') - A, one_norm (A), n);
  [Q, T] = schur (A);
  orthonormal ("schur's Q", Q);
  check ("schur", times (times (Q, T), Q') - A, one_norm (A), n);
  X = sqrtm (definite);
  check ("sqrtm", times (X, X) - definite, one_norm (X) ^ 2, n);
  X = expm (A / n);
  equation ("expm", X, expm (-A / n), eye (n));
end
