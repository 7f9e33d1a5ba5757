/* Views and domains: how they begin and end, and how all that they hold moves on. What a thread does is in view.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/pool.h"
#include "sim/view_internal.h"

#define THREAD_BUCKET_BITS 3
#define DOMAIN_BUCKET_BITS 8

static const char *const ordering_names[] = { "sc", "tso", "gpu", "adversarial" };

int bf_ordering_parse(const char *text, enum bf_ordering *out)
{
	for (uint32_t i = 0; i < BF_ARRAY_LEN(ordering_names); i++) {
		if (!strcmp(text, ordering_names[i])) {
			*out = (enum bf_ordering)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *bf_ordering_name(enum bf_ordering o)
{
	return (uint32_t)o < BF_ARRAY_LEN(ordering_names) ? ordering_names[o] : "?";
}

struct bf_domain {
	struct bf_buffer buffer;
};

int bf_domain_create(struct bf_sim *sim, enum bf_scope level, struct bf_domain *parent, struct bf_domain **out)
{
	struct bf_domain *d;
	int rc;

	*out = NULL;
	if (level == BF_SCOPE_SYS || (parent && (level != BF_SCOPE_CTA || parent->buffer.level != BF_LEVEL_GPU)))
		return bf_fail(&sim->error, -EINVAL, "a domain is a GPU without parent or a block, of a GPU or none");
	d = calloc(1, sizeof(*d));
	if (!d)
		return bf_fail(&sim->error, -ENOMEM, "no memory for a domain");
	rc = bf_buffer_init(&d->buffer, sim, level == BF_SCOPE_CTA ? BF_LEVEL_CTA : BF_LEVEL_GPU,
			    parent ? &parent->buffer : NULL, DOMAIN_BUCKET_BITS);
	if (!rc && level == BF_SCOPE_CTA)
		rc = bf_stale_init(&d->buffer);
	if (rc) {
		bf_domain_destroy(d);
		return bf_fail(&sim->error, rc, "no memory for a domain");
	}
	*out = d;
	return 0;
}

void bf_domain_destroy(struct bf_domain *d)
{
	if (!d)
		return;
	if (d->buffer.bucket)
		bf_buffer_fini(&d->buffer);
	bf_stale_fini(&d->buffer);
	free(d);
}

void bf_domain_flush(struct bf_domain *d)
{
	if (d && d->buffer.bucket)
		bf_buffer_push(&d->buffer, BF_LEVEL_MEMORY, NULL, BF_CAUSE_DRAIN);
}

static bool domain_on_gpu(const struct bf_domain *d)
{
	return d && (d->buffer.level == BF_LEVEL_GPU || d->buffer.above);
}

int bf_view_create(struct bf_sim *sim, const struct bf_view_opts *opts, struct bf_view **out)
{
	struct bf_view_full *v = bf_pool_take(sim, sizeof(*v));
	struct bf_buffer *above = opts->domain ? &opts->domain->buffer : NULL;
	char stream[64] = "drain/";

	*out = NULL;
	if (!v)
		return bf_fail(&sim->error, -ENOMEM, "no memory for a view");
	v->pub = (struct bf_view){ .cost = opts->cost, .space = opts->space, .ordering = opts->ordering };
	v->sim = sim;
	if (opts->ordering == BF_ORDER_TSO)
		above = NULL;
	if (bf_buffer_init(&v->thread, sim, BF_LEVEL_THREAD, above, THREAD_BUCKET_BITS)) {
		bf_pool_give(sim, v, sizeof(*v));
		return bf_fail(&sim->error, -ENOMEM, "no memory for a view");
	}
	if (above && above->stale)
		v->block = above;
	v->on_gpu = domain_on_gpu(opts->domain);
	strncat(stream, opts->name, sizeof(stream) - sizeof("drain/"));
	bf_rng_init(&v->rng, sim->seed, stream);
	bf_wc_init(v);
	if (opts->ordering != BF_ORDER_SC) {
		sim->agents->weak_views++;
		sim->slow |= BF_SLOW_ORDER;
	}
	bf_view_update_slow(sim);
	*out = &v->pub;
	return 0;
}

const struct bf_buffer *bf_view_buffer(struct bf_view *v)
{
	return &bf_view_full(v)->thread;
}

void bf_view_destroy(struct bf_view *view)
{
	struct bf_view_full *v;

	if (!view)
		return;
	v = bf_view_full(view);
	bf_sim_cancel(v->sim, &v->wc.evict);
	bf_buffer_fini(&v->thread);
	if (view->ordering != BF_ORDER_SC && !--v->sim->agents->weak_views)
		v->sim->slow &= ~BF_SLOW_ORDER;
	bf_pool_give(v->sim, v, sizeof(*v));
}

void bf_view_flush(struct bf_view *view)
{
	if (view)
		bf_buffer_push(&bf_view_full(view)->thread, BF_LEVEL_MEMORY, NULL, BF_CAUSE_DRAIN);
}

uint32_t bf_view_ready(const struct bf_view *v)
{
	return bf_buffer_ready(&bf_view_full((struct bf_view *)(uintptr_t)v)->thread);
}

void bf_view_drain(struct bf_view *v, uint32_t i)
{
	bf_buffer_drain_ready(&bf_view_full(v)->thread, i);
}

uint32_t bf_domain_ready(const struct bf_domain *d)
{
	return bf_buffer_ready(&d->buffer);
}

void bf_domain_drain(struct bf_domain *d, uint32_t i)
{
	bf_buffer_drain_ready(&d->buffer, i);
}

void bf_domain_forget(struct bf_domain *d)
{
	if (d->buffer.stale)
		bf_stale_drop_all(&d->buffer);
}
