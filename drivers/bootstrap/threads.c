/* PEs as threads of this process. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/meet_internal.h"

struct threads;

struct thread_pe {
	struct bf_boot boot;
	struct threads *all;
	pthread_t thread;
};

struct threads {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct bf_meet meet; /* under the lock */
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
	if (bf_meet_arrive(&t->meet, b->pe, op, in, out, bytes))
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
					    .abort = thread_abort };
		if (pthread_create(&p->thread, NULL, thread_main, p))
			break;
	}
	for (uint32_t i = started; i < npes; i++)
		leave(t, i, -EAGAIN);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(t->pe[i].thread, NULL);
}

int bf_boot_threads_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
	struct threads t = { .fn = fn, .arg = arg };
	uint32_t pe = 0;
	int rc;

	if (!npes)
		return bf_fail(err, -EINVAL, "bootstrap: no PEs");
	rc = bf_meet_init(&t.meet, npes, 0, err);
	if (rc)
		return rc;
	t.pe = calloc(npes, sizeof(*t.pe));
	if (!t.pe) {
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
	bf_meet_fini(&t.meet);
	free(t.pe);
	return rc;
}
