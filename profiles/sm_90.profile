# NVIDIA H100 (PCIe 5), measured: docs/measurements/lab-notes-h100.md.
profile 1

# bytes/s, by the threads that copy through pinned slots
in_rate 4.9e10
out_rate 5.2e10
# All devices together, both ways: 95 to 106 GB/s, measured with two H200 and a host of 32 cores (2026-11-29, 10bbafc).
host_rate 1e11
latency_seconds 6e-4
startup_seconds 4.5e-1
sgemm_rate 5.2e13
dgemm_rate 5.2e13
cgemm_rate 5.1e13
zgemm_rate 4.8e13

# Operations/s of large INT8 products, of which products by residues are made: measured on an H200 (2026-11-29, ef658a0).
int8_rate 1.35e15

# What passes over device memory and steps take is measured.
pass_rate 2.9e12
step_seconds 5e-6

# An estimate until `blaslift tune --only symv` has measured it: a lane taken, two vectors moved by the calling thread, one
# kernel or two.
symv_latency_seconds 6e-5

# Measured: 16,384 and 1,048,576 rows of 64 doubles.
panel_rate 3.2e11
panel_seconds 1.8e-4

# flop/s of square products by their size, by `blaslift tune`: docs/measurements/lab-notes-h100.md.  FP32's without transposes were
# measured one after the other without passes between; FP64's 16,384 NT is of whole products.
sgemm_leaf_rate 256 2.5e12
sgemm_leaf_rate 384 8.3e12
sgemm_leaf_rate 512 1.82e13
sgemm_leaf_rate 640 2.16e13
sgemm_leaf_rate 768 2.58e13
sgemm_leaf_rate 1024 3.81e13
sgemm_leaf_rate 1280 3.48e13
sgemm_leaf_rate 1536 3.85e13
sgemm_leaf_rate 2048 5.07e13
sgemm_leaf_rate 2560 4.69e13
sgemm_leaf_rate 3072 4.54e13
sgemm_leaf_rate 4096 5.13e13
sgemm_leaf_rate 5120 4.66e13
sgemm_leaf_rate 6144 5.1e13
sgemm_leaf_rate 8192 5.11e13
sgemm_leaf_rate 10240 4.92e13
sgemm_leaf_rate 12288 5.09e13
sgemm_leaf_rate 16384 5.24e13
sgemm_leaf_rate NT 1024 3.97e13
sgemm_leaf_rate NT 1280 3.94e13
sgemm_leaf_rate NT 1536 3.73e13
sgemm_leaf_rate NT 2048 5.25e13
sgemm_leaf_rate NT 2560 4.31e13
sgemm_leaf_rate NT 3072 4.83e13
sgemm_leaf_rate NT 4096 5.19e13
sgemm_leaf_rate NT 5120 5.09e13
sgemm_leaf_rate NT 6144 5.27e13
sgemm_leaf_rate NT 8192 5.33e13
sgemm_leaf_rate NT 10240 5.39e13
sgemm_leaf_rate NT 12288 5.42e13
sgemm_leaf_rate NT 16384 5.44e13
sgemm_leaf_rate TN 1024 3.69e13
sgemm_leaf_rate TN 1280 3.5e13
sgemm_leaf_rate TN 1536 4.1e13
sgemm_leaf_rate TN 2048 5.07e13
sgemm_leaf_rate TN 2560 4.67e13
sgemm_leaf_rate TN 3072 3.97e13
sgemm_leaf_rate TN 4096 5.1e13
sgemm_leaf_rate TN 5120 4.88e13
sgemm_leaf_rate TN 6144 5.18e13
sgemm_leaf_rate TN 8192 5.13e13
sgemm_leaf_rate TN 10240 4.96e13
sgemm_leaf_rate TN 12288 5.1e13
sgemm_leaf_rate TN 16384 4.93e13
sgemm_leaf_rate TT 1024 4.06e13
sgemm_leaf_rate TT 1280 3.37e13
sgemm_leaf_rate TT 1536 4.03e13
sgemm_leaf_rate TT 2048 5e13
sgemm_leaf_rate TT 2560 4.76e13
sgemm_leaf_rate TT 3072 4.15e13
sgemm_leaf_rate TT 4096 4.91e13
sgemm_leaf_rate TT 5120 4.72e13
sgemm_leaf_rate TT 6144 5.04e13
sgemm_leaf_rate TT 8192 5.05e13
sgemm_leaf_rate TT 10240 5.05e13
sgemm_leaf_rate TT 12288 5.12e13
sgemm_leaf_rate TT 16384 5.11e13
dgemm_leaf_rate 256 2.2e12
dgemm_leaf_rate 384 7.7e12
dgemm_leaf_rate 512 1.82e13
dgemm_leaf_rate 640 3.55e13
dgemm_leaf_rate 768 3.63e13
dgemm_leaf_rate 1024 5.07e13
dgemm_leaf_rate 1280 4.46e13
dgemm_leaf_rate 1536 4.87e13
dgemm_leaf_rate 2048 5.45e13
dgemm_leaf_rate 2560 5e13
dgemm_leaf_rate 3072 5.45e13
dgemm_leaf_rate 4096 5.41e13
dgemm_leaf_rate 5120 5.44e13
dgemm_leaf_rate 6144 5.47e13
dgemm_leaf_rate 8192 5.28e13
dgemm_leaf_rate 10240 5.51e13
dgemm_leaf_rate 12288 5.41e13
dgemm_leaf_rate 16384 5.23e13
dgemm_leaf_rate NT 1024 5.13e13
dgemm_leaf_rate NT 1280 4.47e13
dgemm_leaf_rate NT 1536 4.89e13
dgemm_leaf_rate NT 2048 5.24e13
dgemm_leaf_rate NT 2560 5.05e13
dgemm_leaf_rate NT 3072 5.07e13
dgemm_leaf_rate NT 4096 5.05e13
dgemm_leaf_rate NT 5120 5.16e13
dgemm_leaf_rate NT 6144 5.1e13
dgemm_leaf_rate NT 8192 5.2e13
dgemm_leaf_rate NT 10240 4.97e13
dgemm_leaf_rate NT 12288 5.91e13
dgemm_leaf_rate NT 16384 5.75e13
dgemm_leaf_rate TN 1024 5.14e13
dgemm_leaf_rate TN 1280 4.59e13
dgemm_leaf_rate TN 1536 4.93e13
dgemm_leaf_rate TN 2048 5.36e13
dgemm_leaf_rate TN 2560 4.94e13
dgemm_leaf_rate TN 3072 5.4e13
dgemm_leaf_rate TN 4096 5.33e13
dgemm_leaf_rate TN 5120 5.41e13
dgemm_leaf_rate TN 6144 5.57e13
dgemm_leaf_rate TN 8192 5.48e13
dgemm_leaf_rate TN 10240 5.4e13
dgemm_leaf_rate TN 12288 5.48e13
dgemm_leaf_rate TN 16384 5.39e13
dgemm_leaf_rate TT 1024 5.12e13
dgemm_leaf_rate TT 1280 4.43e13
dgemm_leaf_rate TT 1536 4.88e13
dgemm_leaf_rate TT 2048 5.5e13
dgemm_leaf_rate TT 2560 5e13
dgemm_leaf_rate TT 3072 5.45e13
dgemm_leaf_rate TT 4096 5.45e13
dgemm_leaf_rate TT 5120 5.52e13
dgemm_leaf_rate TT 6144 5.53e13
dgemm_leaf_rate TT 8192 5.47e13
dgemm_leaf_rate TT 10240 5.44e13
dgemm_leaf_rate TT 12288 5.91e13
dgemm_leaf_rate TT 16384 5.4e13
cgemm_leaf_rate 256 6.9e12
cgemm_leaf_rate 384 2.34e13
cgemm_leaf_rate 512 4.14e13
cgemm_leaf_rate 640 3.8e13
cgemm_leaf_rate 768 4.33e13
cgemm_leaf_rate 1024 5.2e13
cgemm_leaf_rate 1280 4.77e13
cgemm_leaf_rate 1536 5.04e13
cgemm_leaf_rate 2048 5.4e13
cgemm_leaf_rate 2560 4.94e13
cgemm_leaf_rate 3072 5.35e13
cgemm_leaf_rate 4096 5.3e13
cgemm_leaf_rate 5120 5.37e13
cgemm_leaf_rate 6144 5.25e13
cgemm_leaf_rate 8192 5.19e13
cgemm_leaf_rate 10240 5.25e13
cgemm_leaf_rate 12288 5.02e13
cgemm_leaf_rate 16384 5.15e13
cgemm_leaf_rate NT 1024 5.11e13
cgemm_leaf_rate NT 1280 4.72e13
cgemm_leaf_rate NT 1536 5.17e13
cgemm_leaf_rate NT 2048 5.32e13
cgemm_leaf_rate NT 2560 5.13e13
cgemm_leaf_rate NT 3072 5.34e13
cgemm_leaf_rate NT 4096 5.34e13
cgemm_leaf_rate NT 5120 5.45e13
cgemm_leaf_rate NT 6144 5.49e13
cgemm_leaf_rate NT 8192 5.42e13
cgemm_leaf_rate NT 10240 5.36e13
cgemm_leaf_rate NT 12288 5.14e13
cgemm_leaf_rate TN 1024 5.21e13
cgemm_leaf_rate TN 1280 4.82e13
cgemm_leaf_rate TN 1536 5.26e13
cgemm_leaf_rate TN 2048 5.45e13
cgemm_leaf_rate TN 2560 5.26e13
cgemm_leaf_rate TN 3072 5.44e13
cgemm_leaf_rate TN 4096 5.44e13
cgemm_leaf_rate TN 5120 5.53e13
cgemm_leaf_rate TN 6144 5.47e13
cgemm_leaf_rate TN 8192 5.44e13
cgemm_leaf_rate TN 10240 5.43e13
cgemm_leaf_rate TN 12288 5.16e13
cgemm_leaf_rate TT 1024 5.16e13
cgemm_leaf_rate TT 1280 4.79e13
cgemm_leaf_rate TT 1536 5.06e13
cgemm_leaf_rate TT 2048 5.39e13
cgemm_leaf_rate TT 2560 5.05e13
cgemm_leaf_rate TT 3072 5.42e13
cgemm_leaf_rate TT 4096 5.43e13
cgemm_leaf_rate TT 5120 5.55e13
cgemm_leaf_rate TT 6144 5.44e13
cgemm_leaf_rate TT 8192 5.44e13
cgemm_leaf_rate TT 10240 5.4e13
cgemm_leaf_rate TT 12288 5.16e13
zgemm_leaf_rate 256 1.01e13
zgemm_leaf_rate 384 2.59e13
zgemm_leaf_rate 512 4.85e13
zgemm_leaf_rate 640 4.18e13
zgemm_leaf_rate 768 4.64e13
zgemm_leaf_rate 1024 5.47e13
zgemm_leaf_rate 1280 4.9e13
zgemm_leaf_rate 1536 4.87e13
zgemm_leaf_rate 2048 5.5e13
zgemm_leaf_rate 2560 4.68e13
zgemm_leaf_rate 3072 4.94e13
zgemm_leaf_rate 4096 5.02e13
zgemm_leaf_rate 5120 5.39e13
zgemm_leaf_rate 6144 4.92e13
zgemm_leaf_rate 8192 4.9e13
zgemm_leaf_rate 10240 4.94e13
zgemm_leaf_rate 12288 4.79e13
zgemm_leaf_rate 16384 4.82e13
zgemm_leaf_rate NT 1024 5.62e13
zgemm_leaf_rate NT 1280 5.07e13
zgemm_leaf_rate NT 1536 5.02e13
zgemm_leaf_rate NT 2048 5.62e13
zgemm_leaf_rate NT 2560 4.8e13
zgemm_leaf_rate NT 3072 5.27e13
zgemm_leaf_rate NT 4096 5.07e13
zgemm_leaf_rate NT 5120 4.94e13
zgemm_leaf_rate NT 6144 5.15e13
zgemm_leaf_rate NT 8192 4.96e13
zgemm_leaf_rate NT 10240 5.07e13
zgemm_leaf_rate NT 12288 4.87e13
zgemm_leaf_rate TN 1024 5.58e13
zgemm_leaf_rate TN 1280 5.13e13
zgemm_leaf_rate TN 1536 5.15e13
zgemm_leaf_rate TN 2048 5.61e13
zgemm_leaf_rate TN 2560 4.81e13
zgemm_leaf_rate TN 3072 5.33e13
zgemm_leaf_rate TN 4096 5.08e13
zgemm_leaf_rate TN 5120 5.03e13
zgemm_leaf_rate TN 6144 4.95e13
zgemm_leaf_rate TN 8192 5.06e13
zgemm_leaf_rate TN 10240 5.1e13
zgemm_leaf_rate TN 12288 4.85e13
zgemm_leaf_rate TT 1024 5.58e13
zgemm_leaf_rate TT 1280 5.14e13
zgemm_leaf_rate TT 1536 5.04e13
zgemm_leaf_rate TT 2048 5.62e13
zgemm_leaf_rate TT 2560 4.82e13
zgemm_leaf_rate TT 3072 5.28e13
zgemm_leaf_rate TT 4096 5.23e13
zgemm_leaf_rate TT 5120 5.11e13
zgemm_leaf_rate TT 6144 5.06e13
zgemm_leaf_rate TT 8192 5.16e13
zgemm_leaf_rate TT 10240 5.04e13
zgemm_leaf_rate TT 12288 4.86e13

# Factorisations and decompositions, with what they load once left out: `blaslift tune --only lapack` (driver 580.159.04,
# cuSOLVER of CUDA 13.0); gesdd's on an H200.
spotrf_seconds 1 1024:0.00039586 2048:0.0011772 4096:0.0031286 8192:0.010063 16384:0.045391
sgetrf_seconds 1 1024:0.0023495 2048:0.0052447 4096:0.013251 8192:0.035817 16384:0.12669
ssyevd_values_seconds 1 512:0.0050361 1024:0.010489 2048:0.02457 4096:0.087882
ssyevd_seconds 1 512:0.0052365 1024:0.011272 2048:0.026045 4096:0.095637
sgeev_values_seconds 1 512:0.099896 1024:0.17584 2048:0.34439 4096:0.94267
sgeev_seconds 1 512:0.099331 1024:0.17826 2048:0.44771 4096:1.3349
sgesdd_seconds 1 512:0.0084845 1024:0.017986 2048:0.038828 4096:0.143
sgebrd_seconds 1 512:0.02624 1024:0.051726 2048:0.095315 4096:0.26037
dpotrf_seconds 1 1024:0.00049413 2048:0.0012527 4096:0.0032314 8192:0.0095761 16384:0.040926
dgetrf_seconds 1 1024:0.0028137 2048:0.0063508 4096:0.014939 8192:0.039037 16384:0.13351
dsyevd_values_seconds 1 512:0.00495 1024:0.010874 2048:0.027187 4096:0.11991
dsyevd_seconds 1 512:0.0053297 1024:0.011906 2048:0.029289 4096:0.12918
dgeev_values_seconds 1 512:0.10431 1024:0.22353 2048:0.71195 4096:1.2373
dgeev_seconds 1 512:0.091357 1024:0.21659 2048:0.67809 4096:2.1267
dgesdd_seconds 1 512:0.0094434 1024:0.018337 2048:0.043397 4096:0.16809
dgebrd_seconds 1 512:0.030334 1024:0.058495 2048:0.12156 4096:0.32747
cpotrf_seconds 1 1024:0.00080563 2048:0.0021019 4096:0.0061882 8192:0.024671 16384:0.1391
cgetrf_seconds 1 1024:0.0026854 2048:0.0063018 4096:0.018109 8192:0.062068 16384:0.30834
csyevd_values_seconds 1 512:0.0047702 1024:0.010645 2048:0.027039 4096:0.12289
csyevd_seconds 1 512:0.0052006 1024:0.011794 2048:0.030014 4096:0.13743
cgeev_values_seconds 1 512:0.10997 1024:0.25493 2048:0.64433 4096:1.6296
cgeev_seconds 1 512:0.13329 1024:0.30726 2048:0.85393 4096:2.4126
cgesdd_seconds 1 512:0.0098179 1024:0.021413 2048:0.058997 4096:0.27384
cgebrd_seconds 1 512:0.027793 1024:0.061049 2048:0.12351 4096:0.34036
zpotrf_seconds 1 1024:0.00056392 2048:0.0015842 4096:0.0050084 8192:0.021628 16384:0.13542
zgetrf_seconds 1 1024:0.0033357 2048:0.0078785 4096:0.020442 8192:0.069735 16384:0.33319
zsyevd_values_seconds 1 512:0.0056048 1024:0.012534 2048:0.038463 4096:0.20359
zsyevd_seconds 1 512:0.0060492 1024:0.013693 2048:0.041914 4096:0.22146
zgeev_values_seconds 1 512:0.12731 1024:0.30297 2048:0.83969 4096:3.1041
zgeev_seconds 1 512:0.13939 1024:0.33119 2048:1.0521 4096:4.0761
zgesdd_seconds 1 512:0.011157 1024:0.022784 2048:0.068495 4096:0.3619
zgebrd_seconds 1 512:0.023742 1024:0.051724 2048:0.13637 4096:0.48071
