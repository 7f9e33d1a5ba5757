/*
 * void bf_coro_switch(void **save, void *load)
 * void bf_coro_pass(void **save, void *load)
 *
 * Parks the running stack in *save and goes on with the stack `load`. Callee-saved by the AAPCS64 ("Register use"):
 * x19-x28, the frame pair x29 and x30, and the low halves of v8-v15; the control register fpcr rides along as mxcsr
 * does on x86-64. sim/coro.c builds a first frame of the same shape. The two differ in what they tell the predictor of
 * return addresses, as on x86-64.
 */
#include "sim/coro_arch_internal.h"

#if BF_CORO_AARCH64
	.macro park_and_load
	sub sp, sp, #176
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mrs x9, fpcr
	str x9, [sp, #160]
	mov x10, sp
	str x10, [x0]
	mov sp, x1
	ldr x11, [sp, #160]
	cmp x9, x11
	b.eq 1f
	msr fpcr, x11
1:
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #176
	.endm

	.text
	.globl bf_coro_switch
	.hidden bf_coro_switch
	.type bf_coro_switch, %function
	.p2align 4
bf_coro_switch:
	park_and_load
	br x30
	.size bf_coro_switch, . - bf_coro_switch

	.globl bf_coro_pass
	.hidden bf_coro_pass
	.type bf_coro_pass, %function
	.p2align 4
bf_coro_pass:
	park_and_load
	ret
	.size bf_coro_pass, . - bf_coro_pass

/* First thing on a new stack: x19 holds the function, x20 its argument. It never returns. */
	.globl bf_coro_start
	.hidden bf_coro_start
	.type bf_coro_start, %function
bf_coro_start:
	.cfi_startproc
	.cfi_undefined x30
	mov x0, x20
	blr x19
	brk #0
	.cfi_endproc
	.size bf_coro_start, . - bf_coro_start
#endif

#if defined(__ELF__)
	.section .note.GNU-stack, "", %progbits
#endif
