# The host backend: threads of the CPU in the place of a GPU, for tests.
profile 1

in_rate 8e9
out_rate 8e9
latency_seconds 6e-5
startup_seconds 1e-3
sgemm_rate 2e10
dgemm_rate 1e10
cgemm_rate 2e10
zgemm_rate 1e10
pass_rate 8e9
step_seconds 1e-6

# An estimate until `blaslift tune --only symv` has measured it: a lane taken, two vectors moved by the calling thread, one
# kernel or two.
symv_latency_seconds 2e-5

# An estimate: some nine passes over their memory, seven kernels.
panel_rate 2e7
panel_seconds 2e-5
