/*
 * The engine's own thread: timers, frames from outside and, in poll mode, doorbell cells.
 *
 * It sleeps whenever it has nothing to do, on the word that other processes bump: a machine may have no more processors
 * than the program has busy threads, and a thread that spins there takes away from those that it waits for. In poll
 * mode nobody tells of a store, so it looks again after a while; a few looks without work come first, since a program
 * that is alone on its processors rings again within a microsecond.
 */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_A_TURN 64u /* a quarter of a ring of the largest: its answers leave while more is under way */

/*
 * Looks without work before it sleeps, in poll mode and while frames come in streams: so many at once, or so many times
 * one behind the other while the program posts nothing, which otherwise may wait for the processor that looks take.
 */
#define LOOKS 64u
#define STREAM 8u
#define ROW 16u
#define BEHIND_PS (20 * BF_US)

/*
 * How long it leaves a program alone that looks by itself, and how long it sleeps once after that has ended: a sender
 * may just have seen that the program looks. This is for a program that stops to look just when something comes. A
 * time-out beyond the next tick of the processor's costs nothing when a sleep begins and ends, a shorter one sets the
 * processor's timer twice (in a virtual machine 6 us each).
 *
 * In poll mode nobody else may see a ring. The short time is for programs that leave rings for later, and for some time
 * after rings were found that no glance saw, such as those of another thread's own queues.
 */
#define POLL_GUARD_PS (100 * BF_US)
#define UNSEEN_PS (50 * BF_MS)
#define GUARD_PS (5 * BF_MS)
#define LAST_GUARD_PS (5 * BF_MS)

/* And while threads of the program run its GPUs, of which the last one wakes it. */
#define DRIVEN_PS (2 * BF_MS)

/* A program's threads may take turns; it does not follow them more often than this. */
#define MOVE_PS (10 * BF_MS)

/* The shortest that there is. */
#define SLICE_NS 100000u

/* True: nobody has woken it. */
static bool wait_on(uint32_t *word, uint32_t value, uint64_t ps)
{
	const struct timespec t = { .tv_sec = (time_t)(ps / BF_S), .tv_nsec = (long)(ps % BF_S / BF_NS) };

	return syscall(SYS_futex, word, FUTEX_WAIT, value, ps == BF_NEVER ? NULL : &t, NULL, 0) && errno == ETIMEDOUT;
}

/* What it has seen since it last slept. */
struct idle {
	uint32_t looks;
	int cpu;            /* that it keeps away from; -1: none */
	uint64_t moved_ps;  /* since then */
	bool stream;        /* many frames came at once the last time that any came */
	uint32_t row;       /* turns with frames, one behind the other */
	uint64_t frames_ps; /* the last of them */
	uint64_t posted;    /* what the program had rung by then */
	bool alone;         /* it has slept to the end */
	uint64_t unseen_ps; /* until then somebody may ring whom no glance sees */
};

static void note_frames(const struct bf_engine *e, struct idle *idle, uint32_t frames)
{
	const uint64_t posted = e->count.stores + e->count.rings;
	const bool behind = e->sim->now_ps < idle->frames_ps + BEHIND_PS && posted == idle->posted;

	idle->row = behind ? idle->row + 1 : 0;
	idle->stream = frames >= STREAM || idle->row >= ROW;
	idle->frames_ps = e->sim->now_ps;
	idle->posted = posted;
}

/* Poll mode: unless glances take the rings. A thread of the program that posts when something has come does it best. */
static bool looks_at_pages(const struct bf_engine *e, const struct idle *idle)
{
	if (e->opts.doorbells != BF_EXEC_POLL)
		return false;
	return !e->glance.guarded || idle->alone || e->sim->now_ps < idle->unseen_ps ||
	       __atomic_load_n(&e->glance.left, __ATOMIC_RELAXED);
}

/* One turn, under the lock; true when there was work. */
static bool turn(struct bf_engine *e, struct idle *idle)
{
	uint32_t work = bf_outside_poll(e->outside, FRAMES_A_TURN);

	if (work) {
		note_frames(e, idle, work);
		bf_engine_glance_late(e);
	}
	e->count.turns++;
	if (looks_at_pages(e, idle)) {
		const uint32_t rung = bf_engine_pages_poll(e);

		e->count.rings += rung;
		if (rung && !work && idle->alone)
			idle->unseen_ps = e->sim->now_ps + UNSEEN_PS;
		work += rung;
	}
	idle->alone = false;
	return work != 0;
}

/* Those of the program go first: they hold a doorbell back, or an ioctl. */
static void give_way(const struct bf_engine *e)
{
	for (int i = 0; i < 10 && __atomic_load_n(&e->wanted, __ATOMIC_RELAXED); i++)
		sched_yield();
}

/* The latest time at which to look after the program, as long as it looks by itself; else BF_NEVER. */
static uint64_t guard(struct bf_engine *e, const struct idle *idle)
{
	const bool before = e->glance.guarded, now = bf_engine_glance_goes_on(e);

	__atomic_store_n(&e->glance.guarded, now, __ATOMIC_RELAXED);
	if (now && e->opts.doorbells == BF_EXEC_POLL && (e->sim->now_ps < idle->unseen_ps || !bf_engine_glance_rely(e)))
		return e->sim->now_ps + POLL_GUARD_PS;
	if (now)
		return e->sim->now_ps + GUARD_PS;
	if (!before)
		return BF_NEVER;
	bf_engine_glance_end_promise(e);
	return e->sim->now_ps + LAST_GUARD_PS;
}

/* A doorbell that nobody tells of, or more of a stream, may be there in a moment; unless the program looks itself. */
static bool may_look(const struct bf_engine *e, const struct idle *idle)
{
	return !e->glance.guarded && (e->opts.doorbells == BF_EXEC_POLL || idle->stream);
}

/*
 * How long to sleep after a turn, and on what; 0: not at all. In poll mode some looks without work come first. They go
 * by the clock of the first one, which is at most microseconds old by the last.
 */
static uint64_t plan(struct bf_engine *e, bool work, struct idle *idle, uint32_t **word, uint32_t *value)
{
	uint64_t due, latest;

	idle->looks = work ? 0 : idle->looks + 1;
	e->thread_due_ps = 0; /* nobody needs to wake it */
	if (work || (idle->looks < (idle->row >= ROW ? 4 * LOOKS : LOOKS) && may_look(e, idle)))
		return 0;
	idle->looks = 0;
	latest = guard(e, idle);
	due = e->glance.guarded ? bf_engine_next_due(e) : bf_engine_next_look(e);
	due = latest < due ? latest : due;
	if (bf_engine_driven(e) && due < e->sim->now_ps + DRIVEN_PS)
		due = e->sim->now_ps + DRIVEN_PS;
	if (due <= e->sim->now_ps || !bf_outside_sleep(e->outside, word, value))
		return 0;
	e->thread_due_ps = due;
	e->count.sleeps++;
	return due == BF_NEVER ? BF_NEVER : due - e->sim->now_ps;
}

/*
 * This thread runs for a microsecond at a time, and a program that looks at its memory waits for that, on the processor
 * that it wants. From Linux 6.12 on a thread may ask for short slices, which lets it in before those with longer ones
 * have had theirs (sched(7), sched_setattr(2)); it costs no right. Elsewhere this is refused.
 */
static void ask_for_short_slices(void)
{
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attr = { .size = sizeof(attr), .nice = getpriority(PRIO_PROCESS, 0), .runtime_ns = SLICE_NS };

	syscall(SYS_sched_setattr, 0, &attr, 0);
}

/*
 * Where a thread of the program spins is not the place for this thread: what it does is waited for right there. Being
 * woken by a sender beside that one costs a switch, being sent for on another processor an interrupt as well.
 */
static void keep_away(const struct bf_engine *e, struct idle *idle)
{
	const int cpu = __atomic_load_n(&e->glance.cpu, __ATOMIC_RELAXED);
	cpu_set_t may;

	if (cpu == idle->cpu || e->sim->now_ps < idle->moved_ps + MOVE_PS)
		return;
	idle->cpu = cpu;
	idle->moved_ps = e->sim->now_ps;
	if (sched_getaffinity(e->pid, sizeof(may), &may))
		return;
	if (CPU_COUNT(&may) > 1)
		CPU_CLR((size_t)cpu, &may);
	sched_setaffinity(0, sizeof(may), &may);
}

static void *run(void *arg)
{
	struct bf_engine *e = arg;
	struct idle idle = { .cpu = -1 };

	prctl(PR_SET_NAME, "belfry-exec");
	prctl(PR_SET_TIMERSLACK, 1); /* nanoseconds; 50 us otherwise */
	ask_for_short_slices();
	while (bf_engine_lock(e) && !e->stop) {
		uint32_t *word = NULL, value = 0;
		uint64_t sleep_ps;
		bool work;

		if (!idle.looks)
			bf_engine_catch_up(e);
		work = turn(e, &idle);
		bf_engine_run(e);
		bf_outside_flush(e->outside);
		sleep_ps = plan(e, work, &idle, &word, &value);
		keep_away(e, &idle);
		bf_engine_unlock(e);
		if (!sleep_ps) {
			give_way(e);
			continue;
		}
		idle.alone = wait_on(word, value, sleep_ps) && e->glance.relied;
		if (!bf_engine_lock(e))
			return NULL;
		bf_engine_glance_awake(e);
		e->thread_due_ps = 0;
		bf_outside_awake(e->outside);
		bf_engine_unlock(e);
	}
	if (bf_engine_inside(e))
		bf_engine_unlock(e);
	return NULL;
}

int bf_engine_thread_start(struct bf_engine *e)
{
	sigset_t most, before;
	int rc;

	/* Signals are the program's business; faults of the model's own are not. */
	sigfillset(&most);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &most, &before);
	rc = -pthread_create(&e->thread, NULL, run, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	e->running = !rc;
	return rc;
}

void bf_engine_thread_stop(struct bf_engine *e)
{
	if (!e->running)
		return;
	if (bf_engine_enter(e)) {
		e->stop = true;
		bf_engine_unlock(e);
		bf_outside_wake(e->outside);
	}
	pthread_join(e->thread, NULL);
	e->running = false;
}
