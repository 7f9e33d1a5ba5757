/* Making plans: heaps, threads, steps. */
#include "tools/workloads/sdma_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"

/* Memory that stays where it is, for what steps point to. */
struct bf_sdma_work_plan_chunk {
	struct bf_sdma_work_plan_chunk *next;
	size_t used, cap;
	uint64_t bytes[];
};

#define CHUNK_BYTES (256u << 10)

static void *keep(struct bf_sdma_work_plan *p, size_t bytes)
{
	struct bf_sdma_work_plan_chunk *c = p->chunks;
	size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	void *out;

	bytes = (bytes + 7) & ~(size_t)7;
	cap = (cap + 7) & ~(size_t)7;
	if (!c || c->cap - c->used < bytes) {
		c = p->rc ? NULL : malloc(sizeof(*c) + cap);
		if (!c) {
			p->rc = p->rc ? p->rc : -ENOMEM;
			return NULL;
		}
		c->next = p->chunks;
		c->used = 0;
		c->cap = cap;
		p->chunks = c;
	}
	out = (uint8_t *)c->bytes + c->used;
	c->used += bytes;
	return out;
}

/* Room for one more; the lack of memory is noted. */
#define ROOM(p, array, cap, n) ((p)->rc == 0 && ((p)->rc = BF_GROW(array, cap, (n) + 1)) == 0)

uint64_t bf_sdma_work_plan_va(const struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at)
{
	return p->heap[pe].va + at;
}

static int add_area(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, uint64_t bytes, const char *name)
{
	struct bf_sdma_work_plan_area *a;

	if (!ROOM(p, p->areas, p->areas_cap, p->nareas))
		return 0;
	a = &p->areas[p->nareas++];
	*a = (struct bf_sdma_work_plan_area){ .pe = pe, .at = at, .bytes = bytes };
	snprintf(a->name, sizeof(a->name), "%s", name);
	return 0;
}

uint64_t bf_sdma_work_plan_area(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t bytes, const char *name)
{
	const uint64_t at = p->used[pe], end = at + ((bytes + 63) & ~63ull);

	if (end > p->heap[pe].size) {
		p->rc = p->rc ? p->rc : -ENOSPC;
		return 0;
	}
	p->used[pe] = end;
	add_area(p, pe, at, bytes, name);
	return at;
}

/* Memory of a world that does not run is the host's to write. */
void bf_sdma_work_plan_before(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, const void *bytes, uint64_t n)
{
	if (p->rc)
		return;
	memcpy((uint8_t *)p->heap[pe].ptr + at, bytes, n);
	memcpy(p->shadow[pe] + at, bytes, n);
}

void bf_sdma_work_plan_random(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, uint64_t bytes)
{
	if (p->rc)
		return;
	for (uint64_t i = 0; i < bytes; i += 8) {
		uint8_t word[8];

		bf_put_le64(word, bf_rng_next(&p->rng));
		bf_sdma_work_plan_before(p, pe, at + i, word, bytes - i < 8 ? bytes - i : 8);
	}
}

struct bf_sdma_drv_signal bf_sdma_work_plan_signal(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t before,
						   uint64_t after)
{
	const uint64_t at = bf_sdma_work_plan_area(p, pe, 8, "a signal");
	uint8_t word[8];

	if (!p->rc) {
		bf_put_le64(word, before);
		bf_sdma_work_plan_before(p, pe, at, word, 8);
		bf_put_le64(p->shadow[pe] + at, after);
	}
	return (struct bf_sdma_drv_signal){
		.va = bf_sdma_work_plan_va(p, pe, at) + (p->w->bugs & BF_SDMA_DRV_BUG_SIGNAL_ALIGN ? 4 : 0),
		.value = (uint64_t *)(void *)((uint8_t *)p->heap[pe].ptr + at),
	};
}

void bf_sdma_work_plan_copied(struct bf_sdma_work_plan *p, uint32_t dst_pe, uint64_t dst, uint32_t src_pe, uint64_t src,
			      uint64_t bytes)
{
	if (p->rc)
		return;
	memmove(p->shadow[dst_pe] + dst, p->shadow[src_pe] + src, bytes);
	p->result->moved += bytes;
}

void bf_sdma_work_plan_filled(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, uint32_t value, uint64_t dwords)
{
	if (p->rc)
		return;
	for (uint64_t i = 0; i < dwords; i++)
		bf_put_le32(p->shadow[pe] + at + i * 4, value);
	p->result->moved += dwords * 4;
}

void bf_sdma_work_plan_stored(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, const void *bytes, uint64_t n)
{
	if (p->rc)
		return;
	memcpy(p->shadow[pe] + at, bytes, n);
	p->result->moved += n;
}

uint32_t bf_sdma_work_plan_thread(struct bf_sdma_work_plan *p, uint32_t pe)
{
	struct bf_sdma_work_plan_thread *t;
	const uint64_t status = bf_sdma_work_plan_area(p, pe, 8, "a thread's status");

	if (!ROOM(p, p->threads, p->threads_cap, p->nthreads))
		return 0;
	t = &p->threads[p->nthreads];
	*t = (struct bf_sdma_work_plan_thread){ .pe = pe, .phase = p->phase };
	t->status = (uint64_t *)(void *)((uint8_t *)p->heap[pe].ptr + status);
	if (!p->rc)
		bf_put_le64(p->shadow[pe] + status, BF_SDMA_DRV_THREAD_DONE);
	return p->nthreads++;
}

void bf_sdma_work_plan_next_phase(struct bf_sdma_work_plan *p)
{
	p->phase++;
}

static int add_action(struct bf_sdma_work_plan *p, enum bf_sdma_work_action kind, uint32_t pe, uint32_t queue)
{
	if (!ROOM(p, p->actions, p->actions_cap, p->nactions))
		return 0;
	p->actions[p->nactions++] =
	    (struct bf_sdma_work_plan_action){ .kind = kind, .phase = p->phase, .pe = pe, .queue = queue };
	return 0;
}

void bf_sdma_work_plan_act(struct bf_sdma_work_plan *p, enum bf_sdma_work_action kind, uint32_t pe, uint32_t queue)
{
	add_action(p, kind, pe, queue);
}

void bf_sdma_work_plan_body(struct bf_sdma_work_plan *p, struct bf_sdma_drv_body *b, uint32_t dwords)
{
	uint32_t *dw = keep(p, dwords * sizeof(*dw));

	bf_sdma_drv_body_begin(b, &p->w->caps, p->w->bugs, dw, dw ? dwords : 0);
}

static struct bf_sdma_drv_step *add_step(struct bf_sdma_work_plan *p, uint32_t thread)
{
	struct bf_sdma_work_plan_thread *t;

	if (p->rc)
		return NULL;
	t = &p->threads[thread];
	if (!ROOM(p, t->steps, t->cap, t->nsteps))
		return NULL;
	t->steps[t->nsteps] = (struct bf_sdma_drv_step){ 0 };
	return &t->steps[t->nsteps++];
}

static void add_submission(struct bf_sdma_work_plan *p, enum bf_sdma_drv_step_kind kind, uint32_t thread,
			   uint32_t queue, const struct bf_sdma_drv_body *body,
			   const struct bf_sdma_drv_submission *how, uint32_t packets)
{
	struct bf_sdma_drv_submission *s = keep(p, sizeof(*s));
	struct bf_sdma_drv_step *step = s ? add_step(p, thread) : NULL;

	if (!step)
		return;
	*s = *how;
	s->body = body->dw;
	s->dwords = body->n < body->cap ? body->n : body->cap;
	step->kind = kind;
	step->writer = bf_sdma_drv_host_writer(p->host, p->threads[thread].pe, queue);
	step->submission = s;
	p->result->submissions++;
	p->result->packets += packets;
}

void bf_sdma_work_plan_submit(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue,
			      const struct bf_sdma_drv_body *body, const struct bf_sdma_drv_submission *how,
			      uint32_t packets)
{
	add_submission(p, BF_SDMA_DRV_STEP_SUBMIT, thread, queue, body, how, packets);
}

void bf_sdma_work_plan_quietly(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue,
			       const struct bf_sdma_drv_body *body, uint32_t packets)
{
	const struct bf_sdma_drv_submission how = { .plain = 1 };

	add_submission(p, BF_SDMA_DRV_STEP_QUIETLY, thread, queue, body, &how, packets);
}

void bf_sdma_work_plan_delay(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t ns)
{
	struct bf_sdma_drv_step *s = add_step(p, thread);

	if (s)
		*s = (struct bf_sdma_drv_step){ .kind = BF_SDMA_DRV_STEP_DELAY, .value = ns };
}

void bf_sdma_work_plan_idle(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue)
{
	struct bf_sdma_drv_step *s = add_step(p, thread);

	if (s)
		*s = (struct bf_sdma_drv_step){ .kind = BF_SDMA_DRV_STEP_IDLE,
						.writer =
						    bf_sdma_drv_host_writer(p->host, p->threads[thread].pe, queue) };
}

static void add_word(struct bf_sdma_work_plan *p, uint32_t thread, enum bf_sdma_drv_step_kind kind, uint64_t *at,
		     uint64_t va, uint64_t value)
{
	struct bf_sdma_drv_step *s = add_step(p, thread);

	if (s)
		*s = (struct bf_sdma_drv_step){ .kind = kind, .at = at, .va = va, .value = value };
}

void bf_sdma_work_plan_wait(struct bf_sdma_work_plan *p, uint32_t thread, const struct bf_sdma_drv_signal *s,
			    uint64_t value)
{
	add_word(p, thread, BF_SDMA_DRV_STEP_WAIT, s->value, s->va, value);
}

static uint64_t *word_at(const struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at)
{
	return (uint64_t *)(void *)((uint8_t *)p->heap[pe].ptr + at);
}

void bf_sdma_work_plan_store(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t pe, uint64_t at, uint64_t value)
{
	if (!p->rc)
		bf_put_le64(p->shadow[pe] + at, value);
	add_word(p, thread,
		 p->w->bugs & BF_SDMA_DRV_BUG_WEAK_DATA ? BF_SDMA_DRV_STEP_STORE_WEAK : BF_SDMA_DRV_STEP_STORE,
		 word_at(p, pe, at), bf_sdma_work_plan_va(p, pe, at), value);
}

void bf_sdma_work_plan_check(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t pe, uint64_t at, uint64_t bytes)
{
	const uint64_t last = at + bytes - 8;

	if (p->rc || bytes < 8 || at % 8 || bytes % 8)
		return;
	add_word(p, thread, BF_SDMA_DRV_STEP_CHECK, word_at(p, pe, at), bf_sdma_work_plan_va(p, pe, at),
		 bf_get_le64(p->shadow[pe] + at));
	add_word(p, thread, BF_SDMA_DRV_STEP_CHECK, word_at(p, pe, last), bf_sdma_work_plan_va(p, pe, last),
		 bf_get_le64(p->shadow[pe] + last));
}

static int add_times(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t first, uint64_t second)
{
	if (!ROOM(p, p->times, p->times_cap, p->ntimes))
		return 0;
	p->times[p->ntimes++] = (struct bf_sdma_work_plan_times){ .pe = pe, .first = first, .second = second };
	return 0;
}

void bf_sdma_work_plan_timed(struct bf_sdma_work_plan *p, uint32_t pe, struct bf_sdma_drv_submission *how)
{
	const uint64_t at =
	    bf_sdma_work_plan_area(p, pe, 64, "timestamps") + (p->w->bugs & BF_SDMA_DRV_BUG_TIME_ALIGN ? 8 : 0);

	how->start_va = bf_sdma_work_plan_va(p, pe, at);
	how->end_va = bf_sdma_work_plan_va(p, pe, at + 32);
	add_times(p, pe, at, at + 32);
}

static int add_picture(struct bf_sdma_work_plan *p, const struct bf_sdma_work_plan_picture *picture)
{
	if (!ROOM(p, p->pictures, p->pictures_cap, p->npictures))
		return 0;
	p->pictures[p->npictures++] = *picture;
	return 0;
}

void bf_sdma_work_plan_picture(struct bf_sdma_work_plan *p, uint64_t at, uint32_t element, uint32_t x, uint32_t y,
			       uint32_t width, uint32_t height, uint32_t side)
{
	const struct bf_sdma_work_plan_picture picture = { at, side, element, x, y, width, height };

	add_picture(p, &picture);
}

void bf_sdma_work_plan_refuse(struct bf_sdma_work_plan *p, const char *fmt, ...)
{
	va_list ap;

	if (p->rc)
		return;
	p->rc = -ENOTSUP;
	va_start(ap, fmt);
	vsnprintf(p->refused, sizeof(p->refused), fmt, ap);
	va_end(ap);
}

void bf_sdma_work_plan_say(struct bf_sdma_work_plan *p, const char *fmt, ...)
{
	const size_t used = strlen(p->result->info);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->result->info + used, sizeof(p->result->info) - used, fmt, ap);
	va_end(ap);
}

int bf_sdma_work_plan_begin(struct bf_sdma_work_plan *p, const struct bf_sdma_workload *w,
			    struct bf_sdma_drv_host *host, struct bf_sdma_work_result *result)
{
	*p = (struct bf_sdma_work_plan){ .w = w, .host = host, .result = result };
	bf_rng_init(&p->rng, w->seed, "sdma-plan");
	for (uint32_t pe = 0; pe < w->pes; pe++) {
		p->heap[pe] = bf_sdma_drv_host_heap(host, pe);
		p->shadow[pe] = calloc(1, p->heap[pe].size);
		if (!p->shadow[pe])
			p->rc = -ENOMEM;
	}
	return p->rc;
}

void bf_sdma_work_plan_free(struct bf_sdma_work_plan *p)
{
	struct bf_sdma_work_plan_chunk *c;

	while ((c = p->chunks)) {
		p->chunks = c->next;
		free(c);
	}
	for (uint32_t i = 0; i < p->nthreads; i++)
		free(p->threads[i].steps);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(p->shadow); i++)
		free(p->shadow[i]);
	free(p->threads);
	free(p->actions);
	free(p->times);
	free(p->areas);
	free(p->pictures);
}
