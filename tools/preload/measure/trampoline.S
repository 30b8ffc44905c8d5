/* One stub a symbol; all come together in `enter`, which knows no signature: it keeps every register that can hold an
   argument, asks measure_enter where to go, and goes there, with the return address replaced by `leave`. */

.macro STUB name index
  .globl \name
  .type \name, @function
\name:
  movl $\index, %r11d
  jmp enter
  .size \name, . - \name
.endm

  .text
  .type enter, @function
enter:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  sub $136, %rsp
  movaps %xmm0, (%rsp)
  movaps %xmm1, 16(%rsp)
  movaps %xmm2, 32(%rsp)
  movaps %xmm3, 48(%rsp)
  movaps %xmm4, 64(%rsp)
  movaps %xmm5, 80(%rsp)
  movaps %xmm6, 96(%rsp)
  movaps %xmm7, 112(%rsp)
  movl %r11d, %edi
  lea 184(%rsp), %rsi            /* where the return address stands */
  call measure_enter             /* the function underneath */
  movq %rax, %r11
  movaps (%rsp), %xmm0
  movaps 16(%rsp), %xmm1
  movaps 32(%rsp), %xmm2
  movaps 48(%rsp), %xmm3
  movaps 64(%rsp), %xmm4
  movaps 80(%rsp), %xmm5
  movaps 96(%rsp), %xmm6
  movaps 112(%rsp), %xmm7
  add $136, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  jmp *%r11
  .size enter, . - enter

  .globl measure_leave_stub
  .hidden measure_leave_stub
  .type measure_leave_stub, @function
measure_leave_stub:              /* the function underneath returns here, its results in rax, rdx, xmm0, xmm1 */
  sub $8, %rsp
  push %rax
  push %rdx
  sub $40, %rsp
  movaps %xmm0, (%rsp)
  movaps %xmm1, 16(%rsp)
  lea 56(%rsp), %rdi             /* where the return address stood */
  call measure_leave             /* the return address */
  movq %rax, 56(%rsp)
  movaps (%rsp), %xmm0
  movaps 16(%rsp), %xmm1
  add $40, %rsp
  pop %rdx
  pop %rax
  ret
  .size measure_leave_stub, . - measure_leave_stub

#include "stubs.inc"

  .section .note.GNU-stack, "", @progbits
