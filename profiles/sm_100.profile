# NVIDIA B200 (PCIe 5), not measured: products are its data sheet's, less a tenth.
profile 1

# bytes/s, by the threads that copy through pinned slots
in_rate 4.8e10
out_rate 4.8e10
latency_seconds 6e-4
startup_seconds 4.5e-1
sgemm_rate 6.5e13
dgemm_rate 3.3e13
cgemm_rate 6.5e13
zgemm_rate 3.3e13

# What passes over device memory and steps take is guessed from data sheets.
pass_rate 6e12
step_seconds 6e-6

# An estimate until `blaslift tune --only symv` has measured it: a lane taken, two vectors moved by the calling thread, one
# kernel or two.
symv_latency_seconds 6e-5

# An estimate: some nine passes over their memory, seven kernels.
panel_rate 5e11
panel_seconds 1.2e-4
