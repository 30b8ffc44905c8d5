% Octave's own checks of what it computes by BLAS and LAPACK.  A file for each: what was tested, and how it ended.
1;

function draw_the_same ()
  rand ("state", 1);
  randn ("state", 1);
end

folder = fullfile (OCTAVE_HOME, "share", "octave", OCTAVE_VERSION, "etc", "tests");
for name = {"libinterp/corefcn/chol", "libinterp/corefcn/det", "libinterp/corefcn/eig", "libinterp/corefcn/gsvd", ...
            "libinterp/corefcn/hess", "libinterp/corefcn/inv", "libinterp/corefcn/lu", "libinterp/corefcn/mgorth", ...
            "libinterp/corefcn/ordqz", "libinterp/corefcn/ordschur", "libinterp/corefcn/pinv", ...
            "libinterp/corefcn/qr", "libinterp/corefcn/qz", "libinterp/corefcn/rcond", "libinterp/corefcn/schur", ...
            "libinterp/corefcn/sqrtm", "libinterp/corefcn/svd", "libinterp/corefcn/sylvester", ...
            "liboctave/array/CMatrix", "liboctave/array/dMatrix", "liboctave/array/fCMatrix", "liboctave/array/fMatrix"}
  [~, base] = fileparts (name{1});
  draw_the_same ();
  test (fullfile (folder, [name{1} ".cc-tst"]), "verbose", ["_" base ".log"]);
end
for name = {"cond", "condeig", "condest", "expm", "fsolve", "gls", "housh", "isdefinite", "linsolve", "logm", ...
            "lscov", "lsqnonneg", "normest", "normest1", "null", "ols", "orth", "polyeig", "polyfit", "pqpnonneg", "rank", ...
            "roots", "subspace"}
  draw_the_same ();
  test (name{1}, "verbose", ["_" name{1} ".log"]);
end
