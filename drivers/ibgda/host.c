/* IBGDA, host side, for a world: every PE's transport, led through the collective steps together. */
#include "drivers/ibgda/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

struct bf_ibgda_host {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_error *err;
	struct bf_boot *ranks;
	uint32_t npes;
	uint32_t first, count; /* PEs of this process */
	struct bf_ibgda_transport *pe;
	struct bf_ibgda_env env;
	struct bf_ibgda_common common;
};

/* One collective step of all PEs. */
struct step {
	struct bf_ibgda_host *h;
	int (*fn)(struct bf_ibgda_transport *t, const struct step *s);
	uint64_t bytes;
	uint32_t num_qps;
	uint32_t *handles;
};

static int step_of_pe(struct bf_boot *boot, void *arg)
{
	const struct step *s = arg;
	struct bf_ibgda_transport *t = &s->h->pe[boot->pe - s->h->first];
	int rc;

	t->boot = boot;
	t->common = &s->h->common;
	t->gathers = 0;
	t->err = &t->error;
	t->error = (struct bf_error){ 0 };
	rc = s->fn(t, s);
	t->boot = NULL;
	t->common = NULL;
	return rc;
}

/* The text of the PE whose failure it was; the others were only told that somebody gave up. */
static int tell(const struct bf_ibgda_host *h, const char *text, int rc)
{
	const bool more = h->err && h->err->code == rc; /* the backend has said something, too */

	return bf_fail(h->err, rc, "%s%s%s", text, more ? ": " : "", more ? h->err->text : "");
}

static int run_step(struct step *s)
{
	struct bf_ibgda_host *h = s->h;
	struct bf_error boot_err = { 0 };
	int rc;

	if (h->err)
		*h->err = (struct bf_error){ 0 };
	h->common.first = h->first;
	if (h->ranks)
		rc = bf_boot_ranks_run(h->ranks, h->npes, h->first, h->count, step_of_pe, s, &boot_err);
	else
		rc = bf_boot_local_run(h->npes, step_of_pe, s, &boot_err);
	bf_ibgda_forget_common(&h->common);
	if (!rc)
		return 0;
	for (uint32_t i = 0; i < h->count; i++)
		if (h->pe[i].error.code == rc)
			return tell(h, h->pe[i].error.text, rc);
	return bf_fail(h->err, rc, "%s", boot_err.text[0] ? boot_err.text : "the bootstrap failed");
}

static int start(struct bf_ibgda_transport *t, const struct step *s)
{
	(void)s;
	return bf_ibgda_start(t);
}

static int add_qps(struct bf_ibgda_transport *t, const struct step *s)
{
	/* Handles are the same on all PEs. */
	return bf_ibgda_connect_endpoints(t, s->num_qps, t->pe == s->h->first ? s->handles : NULL);
}

static int grow_heap(struct bf_ibgda_transport *t, const struct step *s)
{
	return bf_ibgda_register_heap(t, s->bytes);
}

/* Which PEs are here: runs in order, as the world has them (struct bf_world_opts). */
static int choose_pes(struct bf_ibgda_host *h)
{
	const uint32_t ranks = h->ranks ? h->ranks->npes : 1, rank = h->ranks ? h->ranks->pe : 0;

	if (h->npes < ranks || !h->npes)
		return bf_fail(h->err, -EINVAL, "%u PEs on %u processes: each needs at least one", h->npes, ranks);
	h->first = bf_ranks_first(h->npes, ranks, rank);
	h->count = bf_ranks_first(h->npes, ranks, rank + 1) - h->first;
	h->pe = calloc(h->count, sizeof(*h->pe));
	return h->pe ? 0 : bf_fail(h->err, -ENOMEM, "no memory for %u PEs", h->count);
}

int bf_ibgda_host_open(const struct bf_backend *be, struct bf_world *w, uint32_t npes,
		       const struct bf_ibgda_host_opts *opts, struct bf_error *err, struct bf_ibgda_host **out)
{
	struct bf_ibgda_host *h = calloc(1, sizeof(*h));
	struct step s = { .h = h, .fn = start };
	int rc;

	*out = NULL;
	if (!h)
		return bf_fail(err, -ENOMEM, "no memory for IBGDA's host side");
	*h = (struct bf_ibgda_host){ .be = be, .world = w, .err = err, .ranks = opts->ranks, .npes = npes };
	if (opts->env)
		h->env = *opts->env;
	else
		bf_ibgda_env_init(&h->env);
	rc = choose_pes(h);
	for (uint32_t i = 0; !rc && i < h->count; i++) {
		struct bf_ibgda_transport *t = &h->pe[i];

		t->be = be;
		t->world = w;
		t->pe = h->first + i;
		t->npes = npes;
		t->opts = *opts;
		t->env = &h->env;
	}
	if (!rc)
		rc = run_step(&s);
	for (uint32_t i = 0; h->pe && i < h->count; i++)
		h->pe[i].opts.env = NULL; /* was borrowed */
	if (rc)
		bf_ibgda_host_close(h);
	else
		*out = h;
	return rc;
}

uint64_t bf_ibgda_host_close_report(struct bf_ibgda_host *h, char *leaks, size_t cap)
{
	int64_t left[BF_IBGDA_KINDS] = { 0 };
	uint64_t sum = 0;
	size_t used = 0;

	if (cap)
		leaks[0] = '\0';
	if (!h)
		return 0;
	for (uint32_t i = 0; h->pe && i < h->count; i++) {
		bf_ibgda_finalize(&h->pe[i]);
		bf_ibgda_count_left(&h->pe[i], left);
	}
	for (uint32_t k = 0; k < BF_IBGDA_KINDS; k++) {
		if (!left[k])
			continue;
		if (used < cap)
			used += (size_t)snprintf(leaks + used, cap - used, "%s%" PRId64 " %s", used ? ", " : "",
						 left[k], bf_ibgda_kind_names[k]);
		sum += (uint64_t)(left[k] < 0 ? -left[k] : left[k]);
	}
	free(h->pe);
	free(h);
	return sum;
}

void bf_ibgda_host_close(struct bf_ibgda_host *h)
{
	bf_ibgda_host_close_report(h, NULL, 0);
}

int bf_ibgda_host_add_qps(struct bf_ibgda_host *h, uint32_t num_qps, uint32_t *handles)
{
	struct step s = { .h = h, .fn = add_qps, .num_qps = num_qps, .handles = handles };

	return run_step(&s);
}

int bf_ibgda_host_grow_heap(struct bf_ibgda_host *h, uint64_t bytes)
{
	struct step s = { .h = h, .fn = grow_heap, .bytes = bytes };

	return run_step(&s);
}

static struct bf_ibgda_transport *transport_of(const struct bf_ibgda_host *h, uint32_t pe)
{
	return pe - h->first < h->count ? &h->pe[pe - h->first] : NULL;
}

/* Calls that concern one PE tell their failure to whoever opened the host side. */
static struct bf_ibgda_transport *use(struct bf_ibgda_host *h, uint32_t pe)
{
	struct bf_ibgda_transport *t = transport_of(h, pe);

	if (t)
		t->err = h->err;
	else
		bf_fail(h->err, -EINVAL, "no PE %u here: there are %u from %u on", pe, h->count, h->first);
	return t;
}

int bf_ibgda_host_register(struct bf_ibgda_host *h, uint32_t pe, const struct bf_memory *m, bool host)
{
	struct bf_ibgda_transport *t = use(h, pe);

	return t ? bf_ibgda_register_local(t, m, host) : -EINVAL;
}

int bf_ibgda_host_unregister(struct bf_ibgda_host *h, uint32_t pe, const struct bf_memory *m)
{
	struct bf_ibgda_transport *t = use(h, pe);

	return t ? bf_ibgda_unregister_local(t, m) : -EINVAL;
}

int bf_ibgda_host_reconnect(struct bf_ibgda_host *h, uint32_t pe, const struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_transport *t = use(h, pe);

	return t ? bf_ibgda_reconnect(t, qp) : -EINVAL;
}

struct bf_ibgda_state *bf_ibgda_host_state(struct bf_ibgda_host *h, uint32_t pe)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	return t ? t->state : NULL;
}

const void *bf_ibgda_host_look(const struct bf_ibgda_host *h, const void *p)
{
	return h->be->look ? h->be->look(h->world, p) : p;
}

struct bf_memory bf_ibgda_host_heap(const struct bf_ibgda_host *h, uint32_t pe)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	return t ? t->heap : (struct bf_memory){ 0 };
}

static struct bf_ibgda_qp *entry(const struct bf_ibgda_transport *t, struct bf_ibgda_qp *table, uint32_t peer,
				 uint32_t i)
{
	struct bf_ibgda_qp *qp;

	if (!t || !table || peer >= t->npes || i >= t->num_rc)
		return NULL;
	qp = &table[bf_ibgda_rc_index(t->opts.layout, t->npes, t->num_rc, peer, i)];
	return qp->qpn == BF_IBGDA_UNUSED ? NULL : qp;
}

struct bf_ibgda_qp *bf_ibgda_host_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t peer, uint32_t i)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	return entry(t, t ? t->state->globalmem.rcs : NULL, peer, i);
}

struct bf_ibgda_qp *bf_ibgda_host_backup_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t peer, uint32_t i)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	return entry(t, t ? t->state->globalmem.backups : NULL, peer, i);
}

struct bf_ibgda_qp *bf_ibgda_host_dci(struct bf_ibgda_host *h, uint32_t pe, uint32_t i)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	return t && i < t->num_dci ? &t->state->globalmem.dcis[i] : NULL;
}

struct bf_ibgda_proxy *bf_ibgda_host_proxy(struct bf_ibgda_host *h, uint32_t pe)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	return t ? t->proxy : NULL;
}

int bf_ibgda_host_device(const struct bf_ibgda_host *h, uint32_t pe, uint32_t dev, uint32_t *nic, uint32_t *port)
{
	const struct bf_ibgda_transport *t = transport_of(h, pe);

	if (!t || dev >= t->ndevs)
		return -EINVAL;
	*nic = t->dev[dev].nic->index;
	*port = t->dev[dev].port;
	return 0;
}

uint64_t bf_ibgda_host_bytes(const struct bf_ibgda_host *h)
{
	uint64_t sum = sizeof(*h) + h->count * sizeof(*h->pe);

	for (uint32_t i = 0; i < h->count; i++)
		sum += h->pe[i].host_bytes;
	return sum;
}
