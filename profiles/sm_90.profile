# NVIDIA H100 (PCIe 5), measured: docs/measurements/h100.md.
profile 1

# bytes/s, by the threads that copy through pinned slots
in_rate 4.9e10
out_rate 5.2e10
latency_seconds 6e-4
startup_seconds 4.5e-1
sgemm_rate 5.2e13
dgemm_rate 5.2e13
cgemm_rate 5.1e13
zgemm_rate 4.8e13

# What passes over device memory and steps take is measured.
pass_rate 2.9e12
step_seconds 5e-6

# An estimate until `blaslift tune --only symv` has measured it: a lane taken, two vectors moved by the calling thread, one
# kernel or two.
symv_latency_seconds 6e-5

# Measured: 16,384 and 1,048,576 rows of 64 doubles.
panel_rate 3.2e11
panel_seconds 1.8e-4

# flop/s of square products by their size, by `blaslift tune`: docs/measurements/h100.md.  FP32's without transposes were
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
