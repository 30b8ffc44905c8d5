# A GPU of which nothing is known.  It may well have little FP64.
profile 1

in_rate 1e10
out_rate 1e10
latency_seconds 6e-4
startup_seconds 6e-1
sgemm_rate 5e12
dgemm_rate 2e11
cgemm_rate 5e12
zgemm_rate 2e11

# What passes over device memory and steps take is guessed from data sheets.
pass_rate 4e11
step_seconds 6e-6

# An estimate until `blaslift tune --only symv` has measured it: a lane taken, two vectors moved by the calling thread, one
# kernel or two.
symv_latency_seconds 1e-4

# An estimate: some nine passes over their memory, seven kernels.
panel_rate 3e10
panel_seconds 2e-4
