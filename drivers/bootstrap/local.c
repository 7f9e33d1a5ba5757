/* PEs as coroutines of one thread, alone or beside those of other processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/across_internal.h"
#include "drivers/bootstrap/meet_internal.h"
#include "sim/coro.h"

/* Host code formats texts and calls into models; pages that it does not touch cost nothing. */
#define STACK_BYTES (256u << 10)

struct local;

struct local_pe {
	struct bf_boot boot;
	struct local *all;
	struct bf_coro *coro;
};

struct local {
	struct bf_meet meet;
	struct local_pe *pe;
	bf_boot_fn *fn;
	void *arg;
};

static struct local_pe *local_of(struct bf_boot *b)
{
	return BF_CONTAINER_OF(b, struct local_pe, boot);
}

/* Its place among the PEs of this process. */
static uint32_t place(const struct local_pe *p)
{
	return (uint32_t)(p - p->all->pe);
}

static int call(struct bf_boot *b, enum bf_boot_op op, const void *in, void *out, size_t bytes)
{
	struct local_pe *p = local_of(b);
	struct bf_meet *m = &p->all->meet;
	const uint32_t self = place(p);

	if (!bf_meet_arrive(m, self, op, in, out, bytes))
		while (m->pe[self].op != BF_BOOT_NONE)
			bf_coro_leave(p->coro);
	return m->pe[self].rc;
}

static int local_allgather(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return call(b, BF_BOOT_ALLGATHER, in, out, bytes);
}

static int local_alltoall(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return call(b, BF_BOOT_ALLTOALL, in, out, bytes);
}

static int local_barrier(struct bf_boot *b)
{
	return call(b, BF_BOOT_BARRIER, NULL, NULL, 0);
}

static void local_abort(struct bf_boot *b)
{
	struct local_pe *p = local_of(b);

	bf_meet_leave(&p->all->meet, place(p), -ECANCELED);
}

static void pe_main(void *arg)
{
	struct local_pe *p = arg;

	bf_meet_leave(&p->all->meet, place(p), p->all->fn(&p->boot, p->all->arg));
}

static int create_pe(struct local *l, uint32_t npes, uint32_t i)
{
	struct local_pe *p = &l->pe[i];

	p->all = l;
	p->boot = (struct bf_boot){ .pe = l->meet.first + i,
				    .npes = npes,
				    .allgather = local_allgather,
				    .alltoall = local_alltoall,
				    .barrier = local_barrier,
				    .abort = local_abort };
	return bf_coro_create(&p->coro, pe_main, p, STACK_BYTES);
}

/*
 * Each gives way only while it waits for those behind it, so a turn through all of them answers at least one call. Who
 * has finished gives its stack back at once.
 */
static void run_all(struct local *l)
{
	uint32_t left = l->meet.npes;

	while (left) {
		for (uint32_t i = 0; i < l->meet.npes; i++) {
			struct local_pe *p = &l->pe[i];

			if (!p->coro || l->meet.pe[i].op != BF_BOOT_NONE)
				continue;
			bf_coro_enter(p->coro);
			if (!bf_coro_finished(p->coro))
				continue;
			bf_coro_destroy(p->coro);
			p->coro = NULL;
			left--;
		}
	}
}

static int run(struct local *l, uint32_t npes, struct bf_across *across)
{
	struct bf_meet *m = &l->meet;
	uint32_t pe = 0;
	int rc = 0;

	l->pe = calloc(m->npes ? m->npes : 1, sizeof(*l->pe));
	if (!l->pe)
		rc = -ENOMEM;
	for (uint32_t i = 0; !rc && i < m->npes; i++)
		rc = create_pe(l, npes, i);
	if (rc)
		bf_fail(m->err, rc, "bootstrap: no memory for %u PEs", m->npes);
	else
		run_all(l);
	for (uint32_t i = 0; l->pe && i < m->npes; i++)
		bf_coro_destroy(l->pe[i].coro);
	free(l->pe);
	if (!rc) {
		rc = bf_meet_outcome(m, &pe);
		if (rc && m->err && m->err->code != rc)
			bf_fail(m->err, rc, "PE %u: %s", m->first + pe, strerror(-rc));
	}
	return across ? bf_across_end(across, m, rc, pe) : rc;
}

int bf_boot_local_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err)
{
	return bf_boot_ranks_run(NULL, npes, 0, npes, fn, arg, err);
}

int bf_boot_ranks_run(struct bf_boot *ranks, uint32_t npes, uint32_t first, uint32_t count, bf_boot_fn *fn, void *arg,
		      struct bf_error *err)
{
	struct local l = { .fn = fn, .arg = arg };
	struct bf_across across = { 0 };
	int rc;

	if (!npes || first > npes || count > npes - first || (!ranks && count != npes))
		return bf_fail(err, -EINVAL, "bootstrap: PEs %u to %u of %u", first, first + count, npes);
	rc = bf_meet_init(&l.meet, count, first, err);
	if (!rc && ranks)
		rc = bf_across_begin(&across, ranks, &l.meet, npes);
	if (!rc)
		rc = run(&l, npes, ranks ? &across : NULL);
	if (ranks)
		bf_across_fini(&across);
	bf_meet_fini(&l.meet);
	return rc;
}
