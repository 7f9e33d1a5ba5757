/*
 * void bf_coro_switch(void **save, void *load)
 *
 * Parks the running stack in *save and goes on with the stack `load`. What a callee must preserve lies on the stack it
 * leaves (System V ABI, AMD64 supplement, "Registers and the Stack Frame"): rbx, rbp, r12-r15, the x87 control word
 * and the control bits of mxcsr. sim/coro.c builds a first frame of the same shape.
 *
 * The jump through rdx instead of `ret` keeps the return-address predictor out of it: it would always be wrong here.
 */
#include "sim/coro_arch_internal.h"

#if BF_CORO_X86_64
	.text
	.globl bf_coro_switch
	.hidden bf_coro_switch
	.type bf_coro_switch, @function
	.p2align 4
bf_coro_switch:
	pushq %rbp
	pushq %rbx
	pushq %r15
	pushq %r14
	pushq %r13
	pushq %r12
	subq $8, %rsp
	stmxcsr (%rsp)
	fnstcw 4(%rsp)
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	ldmxcsr (%rsp)
	fldcw 4(%rsp)
	addq $8, %rsp
	popq %r12
	popq %r13
	popq %r14
	popq %r15
	popq %rbx
	popq %rbp
	popq %rdx
	jmp *%rdx
	.size bf_coro_switch, . - bf_coro_switch

/* First thing on a new stack: r12 holds the function, r13 its argument. It never returns. */
	.globl bf_coro_start
	.hidden bf_coro_start
	.type bf_coro_start, @function
bf_coro_start:
	.cfi_startproc
	.cfi_undefined rip
	movq %r13, %rdi
	call *%r12
	ud2
	.cfi_endproc
	.size bf_coro_start, . - bf_coro_start
#endif

#if defined(__ELF__)
	.section .note.GNU-stack, "", @progbits
#endif
