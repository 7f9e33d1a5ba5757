/*
 * void bf_coro_switch(void **save, void *load)
 * void bf_coro_pass(void **save, void *load)
 *
 * Parks the running stack in *save and goes on with the stack `load`. What a callee must preserve lies on the stack it
 * leaves (System V ABI, AMD64 supplement, "Registers and the Stack Frame"): rbx, rbp, r12-r15, the x87 control word
 * and the control bits of mxcsr, which are loaded only where they differ. sim/coro.c builds a first frame of the same
 * shape.
 *
 * bf_coro_switch() jumps through rdx instead of `ret`, which keeps the return-address predictor out of it: between an
 * enterer and a coroutine it would always be wrong. bf_coro_pass() is for the switch from one coroutine to another that
 * was left at the same place: there each return address is the one that the predictor has.
 */
#include "sim/coro_arch_internal.h"

#if BF_CORO_X86_64
	.macro park_and_load
	pushq %rbp
	pushq %rbx
	pushq %r15
	pushq %r14
	pushq %r13
	pushq %r12
	subq $8, %rsp
	stmxcsr (%rsp)
	fnstcw 4(%rsp)
	movl (%rsp), %eax
	movzwl 4(%rsp), %ecx
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	cmpl %eax, (%rsp)
	jne 2f
	cmpw %cx, 4(%rsp)
	jne 2f
1:
	addq $8, %rsp
	popq %r12
	popq %r13
	popq %r14
	popq %r15
	popq %rbx
	popq %rbp
	.endm
	.macro load_control
2:
	ldmxcsr (%rsp)
	fldcw 4(%rsp)
	jmp 1b
	.endm

	.text
	.globl bf_coro_switch
	.hidden bf_coro_switch
	.type bf_coro_switch, @function
	.p2align 4
bf_coro_switch:
	park_and_load
	popq %rdx
	jmp *%rdx
	load_control
	.size bf_coro_switch, . - bf_coro_switch

	.globl bf_coro_pass
	.hidden bf_coro_pass
	.type bf_coro_pass, @function
	.p2align 4
bf_coro_pass:
	park_and_load
	ret
	load_control
	.size bf_coro_pass, . - bf_coro_pass

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
