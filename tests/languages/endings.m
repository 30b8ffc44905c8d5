% Calls in processes that Octave makes, after an error, and at the very end; the status is the program's.
1;

function yes = right (n)
  A = randn (n);
  yes = norm (inv (A) * A - eye (n)) < 1e-8;
end

function at_last ()
  disp (right (50));
end

randn ("state", 1);
atexit ("at_last");
disp (right (50));
child = fork ();  % while a device is open
if (child == 0)
  disp (right (50));
  exit (4);
end
[~, status] = waitpid (child);
disp (WEXITSTATUS (status));
try
  chol (-eye (50));
catch failed
  disp (failed.message);
end
try
  eig ([Inf, 1; 1, 1]);
catch failed
  disp (failed.message);
end
disp (inv (zeros (2)));
disp (inv ([NaN, 1; 1, 1]));
disp (right (50));
exit (3);
