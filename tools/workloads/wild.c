#include "tools/workloads/wild.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "sim/compiler.h"
#include "sim/sanitizers.h"
#include "sim/wild.h"

static const int watched[] = { SIGSEGV, SIGBUS, SIGFPE, SIGINT, SIGTERM, SIGXCPU };

#define ALTERNATE_BYTES 65536u /* for a stack that is full */
#define FULL_BYTES 65536u      /* an address that much below the stack's end is one of a stack that is full */
#define UNTOUCHED_BYTES 1024u  /* what lies below the stack's end may be in use (x86-64: 128 bytes) */

/* A signal handler has no argument of ours. */
static struct {
	struct sigaction before[BF_ARRAY_LEN(watched)];
	uint32_t taken;  /* how many signals are ours */
	sigjmp_buf back; /* of bf_wild_guard(), while `guarded` */
	pthread_t thread;
	bool guarded;
	bool asked; /* to end the run, by a user */
	void *stack;
} watch;

/* What the thread goes on with, on its own stack. */
static void faulted(struct bf_agent *a, const void *p, int number)
{
	bf_wild_instruction(a, p, number == SIGFPE);
}

/* Where the interrupted thread's stack ends; 0: not known here. */
static uintptr_t stack_of(const ucontext_t *c)
{
#if defined(__x86_64__)
	return (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return (uintptr_t)c->uc_mcontext.sp;
#else
	(void)c;
	return 0;
#endif
}

/* When the handler returns, faulted() begins in place of the instruction. */
static void divert(ucontext_t *c, struct bf_agent *a, const void *p, int number)
{
	const uintptr_t sp = (stack_of(c) - UNTOUCHED_BYTES) & ~(uintptr_t)15;

#if defined(__x86_64__)
	c->uc_mcontext.gregs[REG_RSP] = (greg_t)(sp - 8); /* as behind a call */
	c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)faulted;
	c->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)a;
	c->uc_mcontext.gregs[REG_RSI] = (greg_t)(uintptr_t)p;
	c->uc_mcontext.gregs[REG_RDX] = number;
#elif defined(__aarch64__)
	c->uc_mcontext.sp = sp;
	c->uc_mcontext.pc = (uintptr_t)faulted;
	c->uc_mcontext.regs[0] = (uintptr_t)a;
	c->uc_mcontext.regs[1] = (uintptr_t)p;
	c->uc_mcontext.regs[2] = (uintptr_t)number;
#else
	(void)sp, (void)c, (void)a, (void)p, (void)number;
#endif
}

/* As it was before us; what an instruction raised comes again by itself. */
static void hand_back(int number, const siginfo_t *info)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(watched); i++)
		if (watched[i] == number)
			sigaction(number, &watch.before[i], NULL);
	if (info->si_code <= 0 || number == SIGINT || number == SIGTERM || number == SIGXCPU)
		raise(number);
}

/* The kernel repeats SIGXCPU each second. */
static void on_end(int number, const siginfo_t *info)
{
	const bool again = watch.asked;

	watch.asked = number != SIGXCPU;
	if (again || !bf_wild_interrupt())
		hand_back(number, info);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct bf_agent *a = info->si_code > 0 ? bf_agent_here() : NULL;
	const uintptr_t sp = stack_of(context), at = (uintptr_t)info->si_addr;

	if (number == SIGINT || number == SIGTERM || number == SIGXCPU) {
		on_end(number, info);
		return;
	}
	if (a && sp && (number == SIGFPE || sp - at > FULL_BYTES)) {
		divert(context, a, info->si_addr, number);
		return;
	}
	if (!a && info->si_code > 0 && watch.guarded && pthread_equal(pthread_self(), watch.thread)) {
		watch.guarded = false;
		siglongjmp(watch.back, number);
	}
	hand_back(number, info);
}

int bf_wild_guard(int (*run)(void *arg), void *arg, bool *crashed, struct bf_error *err)
{
	const int number = sigsetjmp(watch.back, 1);
	int rc;

	*crashed = number != 0;
	if (number)
		return bf_fail(err, -EFAULT,
			       "the run was stopped: code of the host, outside of all simulated threads, %s",
			       number == SIGFPE ? "divided by zero"
						: "touched an address where nothing lies: it went beyond the end of a "
						  "table, or followed a pointer that was never set");
	watch.thread = pthread_self();
	watch.guarded = watch.taken != 0;
	rc = run(arg);
	watch.guarded = false;
	return rc;
}

void bf_wild_watch(void)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_size = ALTERNATE_BYTES };

	if (BF_ASAN || BF_TSAN || watch.taken)
		return;
	watch.stack = stack.ss_sp = malloc(ALTERNATE_BYTES);
	if (!stack.ss_sp || sigaltstack(&stack, NULL)) {
		bf_wild_forget();
		return;
	}
	watch.asked = false;
	sigemptyset(&a.sa_mask);
	while (watch.taken < BF_ARRAY_LEN(watched) && !sigaction(watched[watch.taken], &a, &watch.before[watch.taken]))
		watch.taken++;
}

void bf_wild_forget(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	while (watch.taken) {
		watch.taken--;
		sigaction(watched[watch.taken], &watch.before[watch.taken], NULL);
	}
	if (watch.stack)
		sigaltstack(&none, NULL);
	free(watch.stack);
	watch.stack = NULL;
}

bool bf_wild_asked(void)
{
	return watch.asked;
}
