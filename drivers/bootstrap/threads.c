/* PEs as threads of this process. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/bootstrap/meet_internal.h"
#include "sim/mem.h"

/* How often a thread looks whether another has come before it sleeps: some tens of microseconds. */
#define LOOKS 2000u

struct threads;

struct thread_pe {
	struct bf_boot boot;
	struct threads *all;
	pthread_t thread;
	struct bf_boot_buf *mail; /* [2][npes]: to each, of exchanges with an even and an odd number */
	uint64_t exchanges;
	/* Exchanges whose mail is there. Others look at it all the time, so it has lines of its own. */
	_Alignas(2 * BF_LINE) _Atomic uint64_t posted;
};

struct threads {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct bf_meet meet;     /* under the lock */
	_Atomic uint32_t asleep; /* in an exchange */
	uint32_t looks;
	struct thread_pe *pe;
	bf_boot_fn *fn;
	void *arg;
};

static struct thread_pe *thread_of(struct bf_boot *b)
{
	return BF_CONTAINER_OF(b, struct thread_pe, boot);
}

static int call(struct bf_boot *b, enum bf_boot_op op, const void *in, void *out, size_t bytes)
{
	struct threads *t = thread_of(b)->all;
	int rc;

	pthread_mutex_lock(&t->lock);
	/* Who sleeps in an exchange looks whether this is another call. */
	if (bf_meet_arrive(&t->meet, b->pe, op, in, out, bytes) || atomic_load(&t->asleep))
		pthread_cond_broadcast(&t->answered);
	while (t->meet.pe[b->pe].op != BF_BOOT_NONE)
		pthread_cond_wait(&t->answered, &t->lock);
	rc = t->meet.pe[b->pe].rc;
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int thread_allgather(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return call(b, BF_BOOT_ALLGATHER, in, out, bytes);
}

static int thread_alltoall(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return call(b, BF_BOOT_ALLTOALL, in, out, bytes);
}

static int thread_barrier(struct bf_boot *b)
{
	return call(b, BF_BOOT_BARRIER, NULL, NULL, 0);
}

/* `from` does not post in time: sleeps until it does, or until it is clear that it will not. */
static int sleep_until_posted(struct threads *t, struct thread_pe *me, const struct thread_pe *from)
{
	struct bf_meet *m = &t->meet;
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	atomic_fetch_add(&t->asleep, 1);
	while (atomic_load(&from->posted) < me->exchanges) {
		/* Who has left, or waits in another call, was not in this exchange: it cannot end without `from`. */
		if (!m->broken && m->gone)
			bf_meet_break(m, bf_fail(m->err, -ECONNRESET, "PE %u ended before the others", from->boot.pe));
		if (!m->broken && m->waiting)
			bf_meet_break(m,
				      bf_fail(m->err, -EPROTO,
					      "PE %u calls exchange while another calls something else", me->boot.pe));
		if (m->broken) {
			pthread_cond_broadcast(&t->answered);
			m->pe[me->boot.pe].cut = true;
			rc = m->broken;
			break;
		}
		pthread_cond_wait(&t->answered, &t->lock);
	}
	atomic_fetch_sub(&t->asleep, 1);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int await(struct threads *t, struct thread_pe *me, const struct thread_pe *from)
{
	for (uint32_t i = 0; i < t->looks; i++) {
		if (atomic_load_explicit(&from->posted, memory_order_acquire) >= me->exchanges)
			return 0;
		bf_cpu_relax();
	}
	return sleep_until_posted(t, me, from);
}

static void leave(struct threads *t, uint32_t pe, int ended);

/*
 * Each writes into mail of its own and takes what others wrote for it by exchanging buffers, without a lock. When all
 * have posted an exchange, all have taken the mail of the one before; so mail of two exchanges is enough.
 */
static int thread_exchange(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in)
{
	struct thread_pe *me = thread_of(b);
	struct threads *t = me->all;
	const size_t set = (size_t)(++me->exchanges % 2) * b->npes;
	int rc = 0;

	for (uint32_t to = 0; to < b->npes; to++) {
		struct bf_boot_buf *mail = &me->mail[set + to];

		if (bf_boot_buf_reserve(mail, out[to].bytes)) {
			leave(t, b->pe, -ENOMEM);
			return -ENOMEM;
		}
		if (out[to].bytes)
			memcpy(mail->data, out[to].data, out[to].bytes);
	}
	atomic_store(&me->posted, me->exchanges);
	if (atomic_load(&t->asleep)) {
		pthread_mutex_lock(&t->lock);
		pthread_cond_broadcast(&t->answered);
		pthread_mutex_unlock(&t->lock);
	}
	for (uint32_t from = 0; !rc && from < b->npes; from++)
		rc = await(t, me, &t->pe[from]);
	for (uint32_t from = 0; !rc && from < b->npes; from++) {
		struct bf_boot_buf *mail = &t->pe[from].mail[set + b->pe];
		const struct bf_boot_buf got = *mail;

		*mail = in[from];
		in[from] = got;
	}
	return rc;
}

static void leave(struct threads *t, uint32_t pe, int ended)
{
	pthread_mutex_lock(&t->lock);
	bf_meet_leave(&t->meet, pe, ended);
	pthread_cond_broadcast(&t->answered);
	pthread_mutex_unlock(&t->lock);
}

static void thread_abort(struct bf_boot *b)
{
	leave(thread_of(b)->all, b->pe, -ECANCELED);
}

static void *thread_main(void *arg)
{
	struct thread_pe *p = arg;

	leave(p->all, p->boot.pe, p->all->fn(&p->boot, p->all->arg));
	return NULL;
}

/* Those that cannot be started count as PEs that gave up, so that the others come back. */
static void run_all(struct threads *t)
{
	const uint32_t npes = t->meet.npes;
	uint32_t started = 0;

	for (; started < npes; started++) {
		struct thread_pe *p = &t->pe[started];

		p->all = t;
		p->boot = (struct bf_boot){ .pe = started,
					    .npes = npes,
					    .allgather = thread_allgather,
					    .alltoall = thread_alltoall,
					    .barrier = thread_barrier,
					    .exchange = thread_exchange,
					    .abort = thread_abort };
		if (pthread_create(&p->thread, NULL, thread_main, p))
			break;
	}
	for (uint32_t i = started; i < npes; i++)
		leave(t, i, -EAGAIN);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(t->pe[i].thread, NULL);
}

static void free_mail(struct threads *t)
{
	const uint32_t npes = t->meet.npes;

	for (uint32_t i = 0; t->pe && i < npes; i++) {
		for (uint32_t k = 0; t->pe[i].mail && k < 2 * npes; k++)
			free(t->pe[i].mail[k].data);
		free(t->pe[i].mail);
	}
}

static bool make_mail(struct threads *t)
{
	for (uint32_t i = 0; t->pe && i < t->meet.npes; i++)
		if (!(t->pe[i].mail = calloc(2 * (size_t)t->meet.npes, sizeof(*t->pe[i].mail))))
			return false;
	return t->pe;
}

/* Where threads have no processor each, looking for another keeps it from running. */
static uint32_t looks_of(uint32_t npes)
{
	return sysconf(_SC_NPROCESSORS_ONLN) >= (long)npes ? LOOKS : 1;
}

int bf_boot_threads_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
	struct threads t = { .fn = fn, .arg = arg, .looks = looks_of(npes) };
	uint32_t pe = 0;
	int rc;

	if (!npes)
		return bf_fail(err, -EINVAL, "bootstrap: no PEs");
	rc = bf_meet_init(&t.meet, npes, 0, err);
	if (rc)
		return rc;
	t.pe = aligned_alloc(_Alignof(struct thread_pe), npes * sizeof(*t.pe));
	if (t.pe)
		memset(t.pe, 0, npes * sizeof(*t.pe));
	if (!make_mail(&t)) {
		free_mail(&t);
		free(t.pe);
		bf_meet_fini(&t.meet);
		return bf_fail(err, -ENOMEM, "bootstrap: no memory for %u PEs", npes);
	}
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.answered, NULL);
	run_all(&t);
	rc = bf_meet_outcome(&t.meet, &pe);
	if (rc && err && err->code != rc)
		bf_fail(err, rc, "PE %u: %s", pe, strerror(-rc));
	pthread_cond_destroy(&t.answered);
	pthread_mutex_destroy(&t.lock);
	free_mail(&t);
	bf_meet_fini(&t.meet);
	free(t.pe);
	return rc;
}
