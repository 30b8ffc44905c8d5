// What refusing.c offers to the program that it is preloaded into.
#pragma once

/// From here on requests are counted, and those from number `from` to number `to` refused (from 1; 0: none).
__attribute__((weak)) void refusing_begin(long from, long to);
/// Around calls of BLAS, on the program's own thread.
__attribute__((weak)) void refusing_enter(void);
__attribute__((weak)) void refusing_leave(void);
/// So far.
__attribute__((weak)) long refusing_requests(void);
