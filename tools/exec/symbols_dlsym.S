/*
 * void *dlsym(void *handle, const char *name)
 *
 * With the pseudo handles the answer depends on who asks, which the C library takes from the return address: those
 * calls go on to it from here, by a jump. The others are bf_exec_dlsym()'s (symbols.c).
 */
	.text
	.globl dlsym
	.type dlsym, @function
	.p2align 4
#if defined(__x86_64__)
dlsym:
	leaq 1(%rdi), %rax	/* RTLD_NEXT is -1, RTLD_DEFAULT 0 */
	cmpq $1, %rax
	ja bf_exec_dlsym
	pushq %rdi
	pushq %rsi
	subq $8, %rsp
	call bf_exec_real_dlsym
	addq $8, %rsp
	popq %rsi
	popq %rdi
	jmp *%rax
#elif defined(__aarch64__)
dlsym:
	add x2, x0, #1
	cmp x2, #1
	b.hi bf_exec_dlsym
	stp x29, x30, [sp, #-32]!
	stp x0, x1, [sp, #16]
	bl bf_exec_real_dlsym
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x29, x30, [sp], #32
	br x16
#endif
	.size dlsym, .-dlsym

	.section .note.GNU-stack,"",%progbits
