/*
 * bf_patch_entry: called by a stub of trap_patch_x86.c, which has saved RAX and RCX and put the patch into RAX.
 *
 * Saves all that a call may change, for the code that jumped here does not know of one; makes a ucontext_t with the
 * general registers of the instruction; and returns in RCX what bf_patch_arrive() says.
 *
 * Vector registers by XSAVEC: x87, SSE, AVX and AVX-512 in the compacted format, 2432 bytes when all are in use (Intel
 * SDM vol. 1 sections 13.4.3 and 13.5).
 */
#if defined(__x86_64__)

#define STATES 0xe7	/* bits 0 x87, 1 SSE, 2 AVX, 5 to 7 AVX-512 */
#define XSAVE_BYTES 2496
#define XSAVE_HEADER 512
#define CONTEXT_BYTES 1024	/* of which ucontext_t needs 968 */
#define GREGS 40	/* uc_mcontext.gregs; order as in <sys/ucontext.h> */
#define GREG(n) (GREGS + 8 * (n))(%rbx)
#define ABOVE 168	/* from the frame pointer to the stack pointer of the instruction */

	.text
	.globl bf_patch_entry
	.hidden bf_patch_entry
	.type bf_patch_entry, @function
	.p2align 4
bf_patch_entry:
	.cfi_startproc
	pushfq
	.cfi_adjust_cfa_offset 8
	cld
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -24
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $(XSAVE_BYTES + CONTEXT_BYTES), %rsp
	andq $-64, %rsp
	movq %rbx, (XSAVE_BYTES + GREGS + 8 * 11)(%rsp)
	leaq XSAVE_BYTES(%rsp), %rbx
	movq %r8, GREG(0)
	movq %r9, GREG(1)
	movq %r10, GREG(2)
	movq %r11, GREG(3)
	movq %r12, GREG(4)
	movq %r13, GREG(5)
	movq %r14, GREG(6)
	movq %r15, GREG(7)
	movq %rdi, GREG(8)
	movq %rsi, GREG(9)
	movq %rdx, GREG(12)
	movq %rax, %rdi
	movq (%rbp), %rax	/* RBP */
	movq %rax, GREG(10)
	movq 8(%rbp), %rax	/* flags */
	movq %rax, GREG(17)
	movq 24(%rbp), %rax	/* RCX */
	movq %rax, GREG(14)
	movq 32(%rbp), %rax	/* RAX */
	movq %rax, GREG(13)
	leaq ABOVE(%rbp), %rax
	movq %rax, GREG(15)

	xorl %eax, %eax
	movq %rax, (XSAVE_HEADER + 0)(%rsp)
	movq %rax, (XSAVE_HEADER + 8)(%rsp)
	movq %rax, (XSAVE_HEADER + 16)(%rsp)
	movq %rax, (XSAVE_HEADER + 24)(%rsp)
	movq %rax, (XSAVE_HEADER + 32)(%rsp)
	movq %rax, (XSAVE_HEADER + 40)(%rsp)
	movq %rax, (XSAVE_HEADER + 48)(%rsp)
	movq %rax, (XSAVE_HEADER + 56)(%rsp)
	movl $STATES, %eax
	xorl %edx, %edx
	xsavec64 (%rsp)
	movq %rbx, %rsi
	call bf_patch_arrive
	movq %rax, %rcx
	movl $STATES, %eax
	xorl %edx, %edx
	xrstor64 (%rsp)

	movq GREG(0), %r8
	movq GREG(1), %r9
	movq GREG(2), %r10
	movq GREG(3), %r11
	movq GREG(8), %rdi
	movq GREG(9), %rsi
	movq GREG(12), %rdx
	movq GREG(11), %rbx
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popfq
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size bf_patch_entry, .-bf_patch_entry

#endif

	.section .note.GNU-stack,"",%progbits
