/*
 * The engine's life, its lock, and the calls that come from the program in the order of engine.h.
 *
 * The lock takes no system call as long as nobody else is inside. While a thread is inside, only signals that its own
 * instructions raise may come: the program's handlers could call us again. Whoever comes from a fault handler has them
 * blocked by its sa_mask already, the others block them here.
 */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim/stats.h"

/* Looks at a lock that is held before a thread sleeps for it: the holder is done in a microsecond, mostly. */
#define LOCK_LOOKS 500

/* Frames that are taken at a time, and as many as may come before a timer that is due. */
#define FRAMES 256u
#define ANSWERS 8192u

/* How late a timer may be and still fire at its own time. */
#define LATE_PS BF_MS

static bool take(struct bf_engine *e)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&e->lock, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Three states (Drepper, "Futexes Are Tricky", section 5): who sleeps leaves 2 behind, so that the holder wakes. */
static void take_slowly(struct bf_engine *e)
{
	for (int i = 0; i < LOCK_LOOKS; i++) {
		bf_cpu_relax();
		if (!__atomic_load_n(&e->lock, __ATOMIC_RELAXED) && take(e))
			return;
	}
	__atomic_add_fetch(&e->wanted, 1, __ATOMIC_RELAXED);
	while (__atomic_exchange_n(&e->lock, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &e->lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	__atomic_sub_fetch(&e->wanted, 1, __ATOMIC_RELAXED);
}

void bf_engine_unlock(struct bf_engine *e)
{
	__atomic_store_n(&e->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&e->lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &e->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void bf_engine_run(struct bf_engine *e)
{
	bf_sim_run(e->sim, e->sim->now_ps);
}

/*
 * A process that had to wait for a processor finds time-outs due and the answers to them in its rings. They came first.
 */
static void take_answers(struct bf_engine *e, uint64_t now_ps)
{
	uint64_t next = bf_sim_next(e->sim);

	if (BF_LIKELY(next > now_ps))
		return;
	if (e->sim->now_ps + 1 < next)
		e->sim->now_ps = next - 1;
	for (uint32_t i = 0; i < ANSWERS / FRAMES && bf_outside_poll(e->outside, FRAMES) == FRAMES; i++)
		;
}

/*
 * What is far behind happens now instead of at its time: a time-out that starts the next one would otherwise go through
 * all its retries at once, without a moment for an answer to any.
 */
static void let_pass(struct bf_engine *e, uint64_t now_ps)
{
	const uint64_t next = bf_sim_next(e->sim);

	if (BF_UNLIKELY(next < now_ps && now_ps - next > LATE_PS))
		e->sim->now_ps = now_ps;
}

void bf_engine_catch_up(struct bf_engine *e)
{
	const uint64_t now = bf_engine_now_ps(e);

	take_answers(e, now);
	let_pass(e, now);
	if (e->ptx)
		bf_engine_ptx_run(e, now);
	else
		bf_sim_run(e->sim, now);
	if (e->sim->now_ps < now)
		e->sim->now_ps = now;
}

bool bf_engine_lock(struct bf_engine *e)
{
	if (__atomic_load_n(&e->dead, __ATOMIC_RELAXED))
		return false;
	if (BF_UNLIKELY(!take(e)))
		take_slowly(e);
	__atomic_store_n(&e->owner, (uintptr_t)pthread_self(), __ATOMIC_RELAXED);
	if (!e->dead)
		return true;
	bf_engine_unlock(e);
	return false;
}

bool bf_engine_enter(struct bf_engine *e)
{
	if (!bf_engine_lock(e))
		return false;
	bf_engine_catch_up(e);
	return true;
}

uint64_t bf_engine_next_due(struct bf_engine *e)
{
	return bf_outside_blocked(e->outside) ? e->sim->now_ps + BF_US : bf_sim_next(e->sim);
}

uint64_t bf_engine_next_look(struct bf_engine *e)
{
	const uint64_t next = bf_engine_next_due(e);
	const uint64_t idle = e->sim->now_ps + e->opts.idle_us * BF_US;

	return e->opts.doorbells == BF_EXEC_POLL && e->npages && idle < next ? idle : next;
}

bool bf_engine_driven(const struct bf_engine *e)
{
	return e->opts.doorbells != BF_EXEC_POLL && __atomic_load_n(&e->drivers, __ATOMIC_RELAXED);
}

void bf_engine_leave(struct bf_engine *e)
{
	uint64_t due;
	bool poke;

	for (uint32_t i = 0; i < e->nlate; i++) {
		const struct bf_engine_late *l = &e->late[i];

		bf_engine_deliver(e, l->region, l->offset, l->data, l->len, l->ip);
	}
	e->nlate = 0;
	bf_engine_run(e);
	bf_outside_flush(e->outside);
	/* It looks at doorbells when it wakes by itself, but not if it sleeps forever. */
	due = e->thread_due_ps == BF_NEVER ? bf_engine_next_look(e) : bf_engine_next_due(e);
	poke = due < e->thread_due_ps && !bf_engine_driven(e);
	if (poke)
		e->thread_due_ps = due;
	bf_engine_unlock(e);
	if (poke)
		bf_outside_wake(e->outside);
}

void bf_engine_block(struct bf_engine_caller *c)
{
	sigset_t most;

	sigfillset(&most);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGTRAP);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel);
	pthread_sigmask(SIG_SETMASK, &most, &c->before);
}

void bf_engine_unblock(const struct bf_engine_caller *c)
{
	pthread_sigmask(SIG_SETMASK, &c->before, NULL);
	pthread_setcancelstate(c->cancel, NULL);
}

bool bf_engine_call(struct bf_engine *e, struct bf_engine_caller *c)
{
	bf_engine_block(c);
	if (bf_engine_enter(e))
		return true;
	bf_engine_unblock(c);
	return false;
}

void bf_engine_return(struct bf_engine *e, const struct bf_engine_caller *c)
{
	bf_engine_leave(e);
	bf_engine_unblock(c);
}

int bf_engine_start(struct bf_engine **out, char *why, size_t cap)
{
	struct bf_engine *e = calloc(1, sizeof(*e));
	int rc;

	*out = NULL;
	if (!e) {
		snprintf(why, cap, "no memory for the engine");
		return -ENOMEM;
	}
	e->pid = getpid();
	e->glance.cpu = -1;
	rc = bf_engine_env(&e->opts, why, cap);
	bf_store_cpu_init(&e->cpu);
	if (!rc)
		rc = bf_engine_world_open(e, why, cap);
	if (!rc) {
		rc = bf_engine_thread_start(e);
		if (rc)
			snprintf(why, cap, "no thread for the engine: %s", strerror(-rc));
	}
	if (rc) {
		bf_engine_world_close(e);
		free(e);
		return rc;
	}
	*out = e;
	return 0;
}

static void print_stat(void *arg, const char *name, const char *unit, const uint64_t *counter,
		       const struct bf_hist *hist)
{
	const pid_t pid = *(const pid_t *)arg;

	if (counter && *counter)
		fprintf(stderr, "belfry exec: %d: %s %llu%s%s\n", (int)pid, name, (unsigned long long)*counter,
			*unit ? " " : "", unit);
	else if (hist && hist->count)
		fprintf(stderr, "belfry exec: %d: %s count %llu, mean %llu, median %llu, largest %llu%s%s\n", (int)pid,
			name, (unsigned long long)hist->count, (unsigned long long)(hist->sum / hist->count),
			(unsigned long long)bf_hist_quantile(hist, 500000), (unsigned long long)hist->max,
			*unit ? " " : "", unit);
}

/* A NIC acknowledges what comes as long as the queue pair is there, whatever its program does. */
static void last_frames(struct bf_engine *e)
{
	uint32_t n = FRAMES;

	for (uint32_t i = 0; i < ANSWERS / FRAMES && n == FRAMES; i++) {
		n = bf_outside_poll(e->outside, FRAMES);
		bf_engine_run(e);
		bf_outside_flush(e->outside);
	}
}

void bf_engine_stop(struct bf_engine *e)
{
	struct bf_engine_caller c;

	if (!e || __atomic_load_n(&e->dead, __ATOMIC_RELAXED) || e->pid != getpid() || bf_engine_inside(e))
		return;
	bf_engine_thread_stop(e);
	if (!bf_engine_call(e, &c))
		return;
	last_frames(e);
	if (e->opts.stats)
		bf_stats_each(e->sim, print_stat, &e->pid);
	__atomic_store_n(&e->dead, true, __ATOMIC_SEQ_CST);
	bf_patch_forget(e);
	bf_engine_glance_end(e);
	bf_engine_world_close(e);
	bf_engine_unlock(e);
	bf_engine_unblock(&c);
}

/* Who holds the lock is done in microseconds, unless it is what is broken: it never is then. */
#define RESCUE_LOOKS 1000

void bf_engine_rescue(struct bf_engine *e)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (__atomic_load_n(&e->dead, __ATOMIC_RELAXED) || e->pid != getpid())
		return;
	/* The lock is kept: whoever else is on the way has nothing to record any more. */
	if (!bf_engine_inside(e))
		for (int i = 0; i < RESCUE_LOOKS && !take(e); i++)
			nanosleep(&moment, NULL);
	if (!e->dead)
		bf_trace_rescue(&e->keeper);
}

uint32_t bf_engine_devices(const struct bf_engine *e)
{
	return e->opts.devices;
}

int bf_engine_open(struct bf_engine *e, uint32_t index, struct bf_uverbs_file **out)
{
	struct bf_engine_caller c;
	int rc;

	*out = NULL;
	if (index >= e->opts.devices)
		return -ENODEV;
	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = bf_uverbs_open(e->device[index].uverbs, out);
	bf_engine_return(e, &c);
	return rc;
}

void bf_engine_close(struct bf_engine *e, struct bf_uverbs_file *f)
{
	struct bf_engine_caller c;

	if (!bf_engine_call(e, &c))
		return;
	bf_engine_pages_forget(e, f);
	bf_uverbs_close(f);
	bf_engine_return(e, &c);
}

/*
 * What the program rang before it called reaches the device before what the call makes of it: stores to doorbells and
 * commands are posted writes to one device, which do not pass each other (PCI Express Base 4.0 section 2.4.1).
 */
static void take_rings(struct bf_engine *e)
{
	if (e->opts.doorbells != BF_EXEC_POLL)
		return;
	e->count.rings += bf_engine_pages_poll(e);
	bf_engine_run(e);
}

int bf_engine_ioctl(struct bf_engine *e, struct bf_uverbs_file *f, uint64_t request, uint64_t arg)
{
	struct bf_engine_caller c;
	int rc;

	if (!bf_engine_call(e, &c))
		return -EIO;
	take_rings(e);
	rc = bf_uverbs_ioctl(f, request, arg);
	bf_engine_return(e, &c);
	return rc;
}

int64_t bf_engine_write(struct bf_engine *e, struct bf_uverbs_file *f, uint64_t address, uint64_t len)
{
	struct bf_engine_caller c;
	int64_t done;

	if (!bf_engine_call(e, &c))
		return -EIO;
	take_rings(e);
	done = bf_uverbs_write(f, address, len);
	bf_engine_return(e, &c);
	return done;
}

void bf_engine_ring(struct bf_engine *e)
{
	struct bf_engine_caller c;

	if (!bf_engine_call(e, &c))
		return;
	e->count.rings += bf_engine_pages_poll(e);
	bf_engine_return(e, &c);
}

void bf_engine_forked(struct bf_engine *e)
{
	e->dead = true;
	e->lock = 0; /* of a thread that this process does not have */
	e->owner = 0;
	if (e->outside)
		bf_outside_forked(e->outside);
}
