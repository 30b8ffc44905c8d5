# NVIDIA A100 (PCIe 4), not measured: products are its data sheet's, less a tenth.
profile 1

# bytes/s, by the threads that copy through pinned slots
in_rate 2.2e10
out_rate 2.2e10
latency_seconds 6e-4
startup_seconds 4.5e-1
sgemm_rate 1.8e13
dgemm_rate 1.7e13
cgemm_rate 1.8e13
zgemm_rate 1.7e13

# What passes over device memory and steps take is guessed from data sheets.
pass_rate 1.4e12
step_seconds 6e-6

# An estimate until `blaslift tune --only symv` has measured it: a lane taken, two vectors moved by the calling thread, one
# kernel or two.
symv_latency_seconds 6e-5

# An estimate: some nine passes over their memory, seven kernels.
panel_rate 1.2e11
panel_seconds 1.2e-4
