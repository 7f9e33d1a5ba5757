#include "tools/serve/crash.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/compiler.h"

static const int crashes[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE };

/* For a stack that has overflowed; a chunk of a trace is put together elsewhere. */
#define STACK_SIZE 65536u

/* A signal handler has no argument of ours. */
static struct {
	struct bf_trace_keeper *keeper;
	bool (*mend)(void *arg, const void *address);
	void *arg;
	void *stack;
	struct sigaction before[BF_ARRAY_LEN(crashes)];
} watch;

/* As it was before us, which is the default action or a sanitizer's report. */
static void hand_back(int number, const siginfo_t *info)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(crashes); i++)
		if (crashes[i] == number)
			sigaction(number, &watch.before[i], NULL);
	if (info->si_code <= 0) /* sent; what an instruction raised comes again by itself */
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void on_crash(int number, siginfo_t *info, void *context)
{
	const int keep = errno;

	(void)context;
	if (number == SIGBUS && info->si_code == BUS_ADRERR && watch.mend && watch.mend(watch.arg, info->si_addr)) {
		errno = keep;
		return;
	}
	bf_trace_rescue(watch.keeper);
	hand_back(number, info);
}

int bf_crash_watch(struct bf_trace_keeper *keeper)
{
	struct sigaction a = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_size = STACK_SIZE };

	watch.keeper = keeper;
	watch.stack = stack.ss_sp = malloc(STACK_SIZE);
	if (!stack.ss_sp)
		return -ENOMEM;
	if (sigaltstack(&stack, NULL))
		return -errno;
	sigfillset(&a.sa_mask);
	for (size_t i = 0; i < BF_ARRAY_LEN(crashes); i++)
		sigdelset(&a.sa_mask, crashes[i]); /* one within is the end */
	for (size_t i = 0; i < BF_ARRAY_LEN(crashes); i++)
		if (sigaction(crashes[i], &a, &watch.before[i]))
			return -errno;
	return 0;
}

void bf_crash_forget(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	if (!watch.keeper)
		return;
	for (size_t i = 0; watch.stack && i < BF_ARRAY_LEN(crashes); i++)
		sigaction(crashes[i], &watch.before[i], NULL);
	sigaltstack(&none, NULL);
	free(watch.stack);
	memset(&watch, 0, sizeof(watch));
}

void bf_crash_mend(bool (*mend)(void *arg, const void *address), void *arg)
{
	watch.arg = arg;
	watch.mend = mend;
}
