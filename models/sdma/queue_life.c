/* User queues as the kernel driver sees them: created, paused, resumed, destroyed. */
#include "models/sdma/engine_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/stats.h"

static void record_queue(struct bf_sdma_queue *q, enum bf_sdma_queue_event event)
{
	const struct bf_sdma *dev = q->dev;
	uint64_t offset;

	bf_sdma_doorbell(q, &offset);
	BF_EMIT(dev->sim, q->actor, sdma_queue, .ring = q->opts.ring, .bytes = q->opts.bytes, .rptr = q->opts.rptr,
		.wptr = q->opts.wptr, .doorbell = (uint32_t)offset, .gen = dev->dialect.gen,
		.wide_rect = dev->dialect.wide_rect, .wide_count = dev->dialect.wide_count, .wrapped = q->opts.wrapped,
		.strict = q->opts.strict, .event = event);
}

/*
 * RB_BASE holds the address >> 8, RB_SIZE the log2 of the size (Linux kfd_mqd_manager_v9.c, update_mqd_sdma); smaller
 * rings are not taken (kfd_chardev.c, set_queue_properties_from_user).
 */
static int check_ring(struct bf_sdma *dev, uint64_t ring, uint64_t bytes)
{
	struct bf_error *err = &dev->sim->error;

	if (!ring || ring & 255)
		return bf_fail(err, -EINVAL, "%s: ring 0x%llx is not a multiple of 256", dev->name,
			       (unsigned long long)ring);
	if (bytes < 1024 || bytes & (bytes - 1))
		return bf_fail(err, -EINVAL, "%s: bytes %llu is not a power of two from 1024 up", dev->name,
			       (unsigned long long)bytes);
	return 0;
}

static int check_queue(struct bf_sdma *dev, const struct bf_sdma_queue_opts *o)
{
	struct bf_error *err = &dev->sim->error;

	if (!o->rptr || o->rptr & 7)
		return bf_fail(err, -EINVAL, "%s: rptr 0x%llx is not a multiple of 8", dev->name,
			       (unsigned long long)o->rptr);
	if (o->wptr & 7)
		return bf_fail(err, -EINVAL, "%s: wptr 0x%llx is not a multiple of 8", dev->name,
			       (unsigned long long)o->wptr);
	if (o->wrapped && o->bytes > 1ull << 31)
		return bf_fail(err, -EINVAL, "%s: bytes %llu do not suit 32-bit indices", dev->name,
			       (unsigned long long)o->bytes);
	return check_ring(dev, o->ring, o->bytes);
}

static int attach_stats(struct bf_sdma_queue *q, const char *name)
{
	struct bf_sim *sim = q->dev->sim;
	int status = 0;

#define C(counter) status = status ? status : bf_stats_attach_part(sim, q, name, #counter, "", &q->count.counter);
	BF_SDMA_QUEUE_COUNTERS(C)
#undef C
	return status;
}

static int open_stream(struct bf_sdma_queue *q, struct bf_sdma_stream *s)
{
	s->q = q;
	s->op.done = bf_sdma_on_fetched;
	s->cap = 2 * q->dev->profile.fetch_bytes;
	s->buf = malloc(s->cap);
	return s->buf ? 0 : -ENOMEM;
}

int bf_sdma_queue_create(struct bf_sdma *dev, const struct bf_sdma_queue_opts *opts, struct bf_sdma_queue **out)
{
	struct bf_sdma_queue *q;
	char name[48];
	uint32_t id = 0;
	int status = check_queue(dev, opts);

	*out = NULL;
	if (status)
		return status;
	while (id < dev->profile.queues && dev->queues[id])
		id++;
	if (id == dev->profile.queues)
		return bf_fail(&dev->sim->error, -ENOSPC, "%s: all %u queues are in use", dev->name, id);
	snprintf(name, sizeof(name), "%s.q%u", dev->name, id);
	q = calloc(1, sizeof(*q));
	if (!q)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory", name);
	q->dev = dev;
	q->id = id;
	q->opts = *opts;
	q->mask = opts->bytes - 1;
	q->from = &q->ring;
	bf_event_init(&q->step, bf_sdma_on_step);
	bf_event_init(&q->timer, bf_sdma_on_timer);
	q->op.done = bf_sdma_op_done;
	bf_event_init(&q->rptr, bf_sdma_on_rptr);
	q->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	if (open_stream(q, &q->ring) || open_stream(q, &q->ib) || !q->actor || attach_stats(q, name)) {
		bf_sdma_queue_bury(q);
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory", name);
	}
	dev->queues[id] = q;
	record_queue(q, BF_SDMA_QUEUE_CREATED);
	*out = q;
	return 0;
}

void bf_sdma_queue_bury(struct bf_sdma_queue *q)
{
	struct bf_sdma_queue **at = &q->dev->zombies;

	if (q->op_busy || q->ring.fetching || q->ib.fetching)
		return;
	for (; *at; at = &(*at)->next_zombie) {
		if (*at == q) {
			*at = q->next_zombie;
			break;
		}
	}
	bf_stats_detach(q->dev->sim, q);
	free(q->ring.buf);
	free(q->ib.buf);
	free(q);
}

void bf_sdma_queue_destroy(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;

	record_queue(q, dev->going ? BF_SDMA_QUEUE_LEFT : BF_SDMA_QUEUE_DESTROYED);
	dev->queues[q->id] = NULL;
	bf_sim_cancel(dev->sim, &q->step);
	bf_sim_cancel(dev->sim, &q->timer);
	bf_sim_cancel(dev->sim, &q->rptr);
	bf_sdma_jobs_cancel(q);
	q->dead = true;
	q->next_zombie = dev->zombies;
	dev->zombies = q;
	bf_sdma_queue_bury(q);
}

int bf_sdma_queue_update(struct bf_sdma_queue *q, uint64_t ring, uint64_t bytes)
{
	struct bf_sdma *dev = q->dev;
	int status;

	if (!ring || !bytes) {
		q->paused = true;
		bf_sim_cancel(dev->sim, &q->step);
		if (!q->in_packet && q->from == &q->ring) {
			bf_sdma_forget_fetched(&q->ring);
			q->waits = NULL;
			q->for_slot = false;
		}
		record_queue(q, BF_SDMA_QUEUE_PAUSED);
		return 0;
	}
	status = check_ring(dev, ring, bytes);
	if (status)
		return status;
	q->opts.ring = ring;
	q->opts.bytes = bytes;
	q->mask = bytes - 1;
	q->paused = false;
	record_queue(q, BF_SDMA_QUEUE_RESUMED);
	if (!q->in_packet)
		bf_sdma_retry(q);
	return 0;
}
