/*
 * Signals. Faults at doorbells must come to the engine, whatever handlers the program has for SIGSEGV, SIGBUS and
 * SIGTRAP (a JVM, UCX, a crash reporter) and whatever it blocks. What it asks for these is noted and done for those
 * faults that are its own: its mask, SA_RESETHAND, the default action, as the kernel would have.
 *
 * Where the program leaves a signal that ends it to the default action, a handler of ours writes the end of the trace
 * first. It may interrupt anything, so it takes nothing from the allocator and leaves everything else where it is.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "tools/exec/exec_internal.h"
#include "tools/exec/real_internal.h"

/* abort() is no doorbell, but the end of a trace. */
static const int ours[] = { SIGSEGV, SIGBUS, SIGTRAP, SIGABRT };
#define OURS BF_ARRAY_LEN(ours)

/* These are ours only as long as the program leaves them to the default action. */
static const int ends[] = { SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGILL, SIGFPE,
			    SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU };

/* What the program wants of one of them. Written with all signals blocked, read by fault handlers. */
struct wish {
	atomic_uint version; /* odd: being written */
	struct sigaction action;
};

static struct {
	atomic_bool on;
	atomic_flag writing;
	struct wish wishes[OURS];
} signals = { .writing = ATOMIC_FLAG_INIT };

static struct wish *find_wish(int number)
{
	for (size_t i = 0; i < OURS; i++)
		if (ours[i] == number)
			return &signals.wishes[i];
	return NULL;
}

/*
 * While the program's handler for a fault runs, the kernel would block that signal, and end a process whose handler
 * faults itself. Ours must stay open, so another signal is blocked in its stead: leaving the handler by siglongjmp()
 * unblocks it as well.
 */
static int mark_of(int number)
{
	return SIGRTMAX - (int)(find_wish(number) - signals.wishes);
}

static void set_mask(int how, const sigset_t *set, sigset_t *old)
{
	BF_CALL_REAL(pthread_sigmask)(how, set, old);
}

/* ---- what the program wants ---- */

static void read_wish(struct wish *w, struct sigaction *out)
{
	unsigned version;

	do {
		version = atomic_load_explicit(&w->version, memory_order_acquire) & ~1u;
		*out = w->action;
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&w->version, memory_order_relaxed) != version);
}

/* Writers keep each other out; they cannot be interrupted by one of their own thread. */
static void write_wish(struct wish *w, const struct sigaction *in, struct sigaction *old)
{
	sigset_t all, before;

	sigfillset(&all);
	set_mask(SIG_BLOCK, &all, &before);
	while (atomic_flag_test_and_set_explicit(&signals.writing, memory_order_acquire))
		;
	if (old)
		*old = w->action;
	if (in) {
		atomic_fetch_add_explicit(&w->version, 1, memory_order_acq_rel);
		atomic_thread_fence(memory_order_release);
		w->action = *in;
		atomic_fetch_add_explicit(&w->version, 1, memory_order_release);
	}
	atomic_flag_clear_explicit(&signals.writing, memory_order_release);
	set_mask(SIG_SETMASK, &before, NULL);
}

/* ---- faults ---- */

/* An instruction raised it and will again. */
static bool comes_again(int number, const siginfo_t *info)
{
	return info->si_code > 0 && (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE);
}

/* A second time with nobody in between: the instruction faults again, or the signal is sent again. */
static void do_default(int number, const siginfo_t *info)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	struct bf_engine *e = bf_exec_running();

	if (e)
		bf_engine_rescue(e); /* the trace of a crash is the one that is wanted */
	BF_CALL_REAL(sigaction)(number, &standard, NULL);
	if (!comes_again(number, info))
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void hand_on(int number, siginfo_t *info, ucontext_t *context)
{
	struct wish *w = find_wish(number);
	struct sigaction a;
	sigset_t mask;

	read_wish(w, &a);
	if (a.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	/* A fault cannot be ignored, nor be handled inside its handler. */
	if (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN || sigismember(&context->uc_sigmask, mark_of(number))) {
		do_default(number, info);
		return;
	}
	if (a.sa_flags & (int)SA_RESETHAND) {
		const struct sigaction standard = { .sa_handler = SIG_DFL };

		write_wish(w, &standard, NULL);
	}
	/* Those that it may not block stay open, for its handler may ring a doorbell. */
	sigorset(&mask, &context->uc_sigmask, &a.sa_mask);
	for (size_t i = 0; i < OURS; i++)
		sigdelset(&mask, ours[i]);
	if (!(a.sa_flags & SA_NODEFER))
		sigaddset(&mask, mark_of(number));
	set_mask(SIG_SETMASK, &mask, NULL);
	if (a.sa_flags & SA_SIGINFO)
		a.sa_sigaction(number, info, context);
	else
		a.sa_handler(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct bf_engine *e = bf_exec_running();
	const int keep = errno;

	if (number == SIGABRT || !bf_engine_fault(e, number, info, context))
		hand_on(number, info, context);
	errno = keep;
}

/* ---- ends ---- */

static bool is_end(int number)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(ends); i++)
		if (ends[i] == number)
			return true;
	return false;
}

static void on_end(int number, siginfo_t *info, void *context)
{
	(void)context;
	do_default(number, info); /* it is blocked until this handler has returned */
}

static const struct sigaction *our_end(struct sigaction *to)
{
	*to = (struct sigaction){ .sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	sigfillset(&to->sa_mask);
	for (size_t i = 0; i < OURS; i++)
		sigdelset(&to->sa_mask, ours[i]);
	return to;
}

static bool is_ours(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_end;
}

/* The default action as the program knows it. */
static void hide_ours(struct sigaction *a)
{
	if (is_ours(a))
		*a = (struct sigaction){ .sa_handler = SIG_DFL };
}

static void watch_ends(void)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(ends); i++) {
		struct sigaction a;

		if (!BF_CALL_REAL(sigaction)(ends[i], NULL, &a) && !(a.sa_flags & SA_SIGINFO) &&
		    a.sa_handler == SIG_DFL)
			BF_CALL_REAL(sigaction)(ends[i], our_end(&a), NULL);
	}
}

void bf_exec_signals_start(void)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	if (atomic_exchange(&signals.on, true))
		return;
	/* The engine is not entered again by the program's other handlers; a fault inside it is its own. */
	sigfillset(&a.sa_mask);
	for (size_t i = 0; i < OURS; i++)
		sigdelset(&a.sa_mask, ours[i]);
	for (size_t i = 0; i < OURS; i++) {
		struct sigaction before;

		BF_CALL_REAL(sigaction)(ours[i], NULL, &before);
		write_wish(&signals.wishes[i], &before, NULL);
		BF_CALL_REAL(sigaction)(ours[i], &a, NULL);
	}
	watch_ends();
}

/* ---- what the program calls ---- */

/* Handlers of other signals ring doorbells as well. */
int sigaction(int number, const struct sigaction *in, struct sigaction *old)
{
	struct wish *w = find_wish(number);
	struct sigaction open_to_ours;
	int rc;

	if (w && atomic_load(&signals.on)) {
		write_wish(w, in, old);
		return 0;
	}
	if (in && bf_exec_dir()[0]) {
		open_to_ours = *in;
		for (size_t i = 0; i < OURS; i++)
			sigdelset(&open_to_ours.sa_mask, ours[i]);
		in = &open_to_ours;
		if (is_end(number) && in->sa_handler == SIG_DFL && atomic_load(&signals.on))
			in = our_end(&open_to_ours);
	}
	rc = BF_CALL_REAL(sigaction)(number, in, old);
	if (!rc && old)
		hide_ours(old);
	return rc;
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags }, old;

	sigemptyset(&a.sa_mask);
	if (!(flags & SA_NODEFER))
		sigaddset(&a.sa_mask, number);
	return sigaction(number, &a, &old) ? SIG_ERR : old.sa_handler;
}

sighandler_t signal(int number, sighandler_t handler)
{
	union {
		void (*action)(int, siginfo_t *, void *);
		sighandler_t handler;
	} ours_too = { .action = on_end };
	sighandler_t old;

	if (find_wish(number) || (is_end(number) && handler == SIG_DFL))
		return set_handler(number, handler, SA_RESTART);
	old = BF_CALL_REAL(signal)(number, handler); /* knows of siginterrupt() */
	return old == ours_too.handler ? SIG_DFL : old;
}

sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

sighandler_t ssignal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return __sysv_signal(number, handler);
}

/* `set` without ours; NULL stays NULL. */
static const sigset_t *leave_ours(const sigset_t *set, sigset_t *to)
{
	if (!set || !bf_exec_dir()[0])
		return set;
	*to = *set;
	for (size_t i = 0; i < OURS; i++)
		sigdelset(to, ours[i]);
	return to;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t open_to_ours;

	return BF_CALL_REAL(sigprocmask)(how, how == SIG_UNBLOCK ? set : leave_ours(set, &open_to_ours), old);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t open_to_ours;

	return BF_CALL_REAL(pthread_sigmask)(how, how == SIG_UNBLOCK ? set : leave_ours(set, &open_to_ours), old);
}
