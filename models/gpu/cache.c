/*
 * What GPU threads see of VRAM: the L2, and lines that have arrived but are not visible.
 *
 * The region's bytes are memory as PCIe sees it. A line that a write from outside has changed and that the GPU has not
 * been made to see is "held": a copy of what it was before. A line in the L2 is a copy as well, with a bit for each
 * byte that a store has changed and memory lacks. Both kinds come from one pool; most lines have neither.
 */
#include <stdlib.h>
#include <string.h>

#include "models/gpu/gpu_internal.h"
#include "sim/grow.h"

static struct bf_gpu *gpu_of(struct bf_cache *c)
{
	return BF_CONTAINER_OF(c, struct bf_gpu, cache);
}

static struct bf_gpu_copy *copy_at(struct bf_gpu *gpu, uint32_t ref)
{
	return ref ? &gpu->copies[ref - 1] : NULL;
}

static uint8_t *line_bytes(const struct bf_gpu_bo *bo, uint32_t line)
{
	return bo->region->bytes + (uint64_t)line * bo->gpu->profile.line;
}

static uint64_t line_va(const struct bf_gpu_bo *bo, uint32_t line)
{
	return bo->region->va + (uint64_t)line * bo->gpu->profile.line;
}

/* In host memory it is coherent, as all host memory is. */
static bool is_vram(const struct bf_gpu_bo *bo)
{
	return bo->nextents != 0;
}

static uint32_t *slot_of(struct bf_gpu_copy *c)
{
	return c->list == BF_GPU_HELD ? &c->bo->held[c->line] : &c->bo->l2[c->line];
}

static void chain(struct bf_gpu *gpu, uint32_t ref, enum bf_gpu_list list)
{
	struct bf_gpu_chain *to = &gpu->list[list];
	struct bf_gpu_copy *c = copy_at(gpu, ref);

	c->list = (uint8_t)list;
	c->next = 0;
	c->prev = to->last;
	*(to->last ? &copy_at(gpu, to->last)->next : &to->first) = ref;
	to->last = ref;
	to->count++;
}

static void unchain(struct bf_gpu *gpu, uint32_t ref)
{
	struct bf_gpu_copy *c = copy_at(gpu, ref);
	struct bf_gpu_chain *from = &gpu->list[c->list];

	*(c->prev ? &copy_at(gpu, c->prev)->next : &from->first) = c->next;
	*(c->next ? &copy_at(gpu, c->next)->prev : &from->last) = c->prev;
	from->count--;
}

static bool grow(struct bf_gpu *gpu)
{
	uint32_t cap = gpu->ncopies;

	if (BF_GROW(gpu->copies, cap, cap ? cap + 1 : 64))
		return false;
	while (gpu->ncopies < cap)
		chain(gpu, ++gpu->ncopies, BF_GPU_UNUSED);
	return true;
}

/* A copy of a line with `bytes`; 0 on lack of memory. */
static uint32_t take(struct bf_gpu_bo *bo, uint32_t line, const uint8_t *bytes, enum bf_gpu_list list)
{
	struct bf_gpu *gpu = bo->gpu;
	uint32_t ref;
	struct bf_gpu_copy *c;

	if (!gpu->list[BF_GPU_UNUSED].first && !grow(gpu))
		return 0;
	ref = gpu->list[BF_GPU_UNUSED].first;
	unchain(gpu, ref);
	c = copy_at(gpu, ref);
	*c = (struct bf_gpu_copy){ .bo = bo, .line = line, .since_ps = BF_NEVER };
	memcpy(c->bytes, bytes, gpu->profile.line);
	chain(gpu, ref, list);
	*slot_of(c) = ref;
	return ref;
}

static void give_back(struct bf_gpu *gpu, uint32_t ref)
{
	struct bf_gpu_copy *c = copy_at(gpu, ref);

	if (c->list != BF_GPU_HELD && c->since_ps != BF_NEVER)
		gpu->nstale--;
	*slot_of(c) = 0;
	unchain(gpu, ref);
	chain(gpu, ref, BF_GPU_UNUSED);
}

/* Those who poll the line look again. */
static void wake(const struct bf_gpu_bo *bo, uint32_t line)
{
	bf_mem_touched(bo->region, line_bytes(bo, line), bo->gpu->profile.line);
}

/* Chance is switched on only while it can change what somebody sees, so that a run can end. */
static void arm(struct bf_gpu *gpu)
{
	const bool l2 = gpu->nstale || gpu->list[BF_GPU_DIRTY].count;

	if (gpu->profile.evict_ps && l2 && !bf_event_pending(&gpu->evict))
		bf_sim_after(gpu->sim, &gpu->evict, 1 + bf_rng_below(&gpu->rng, 2 * gpu->profile.evict_ps));
	if (gpu->profile.background_ps && (l2 || gpu->list[BF_GPU_HELD].count) && !bf_event_pending(&gpu->background))
		bf_sim_after(gpu->sim, &gpu->background, 1 + bf_rng_below(&gpu->rng, 2 * gpu->profile.background_ps));
}

static void show_line(struct bf_gpu *gpu, uint32_t ref, enum bf_gpu_cause cause)
{
	const struct bf_gpu_copy *c = copy_at(gpu, ref);
	struct bf_gpu_bo *bo = c->bo;
	const uint32_t line = c->line;

	BF_EMIT(gpu->sim, gpu->actor, gpu_visible, .va = line_va(bo, line), .age = gpu->sim->now_ps - c->since_ps,
		.len = gpu->profile.line, .cause = cause);
	gpu->stats.visible++;
	give_back(gpu, ref);
	wake(bo, line);
}

uint32_t bf_gpu_make_visible(struct bf_gpu *gpu, enum bf_gpu_cause cause)
{
	const uint32_t n = gpu->list[BF_GPU_HELD].count;

	while (gpu->list[BF_GPU_HELD].first)
		show_line(gpu, gpu->list[BF_GPU_HELD].first, cause);
	return n;
}

static bool is_dirty(const struct bf_gpu_copy *c, uint32_t byte)
{
	return c->dirty[byte / 64] >> (byte % 64) & 1;
}

/* The bytes that stores changed go to memory, and to what the GPU sees of it. The copy stays, clean. */
static void write_back(struct bf_gpu *gpu, uint32_t ref, enum bf_gpu_cause cause)
{
	struct bf_gpu_copy *c = copy_at(gpu, ref), *held = copy_at(gpu, c->bo->held[c->line]);
	uint8_t *bytes = line_bytes(c->bo, c->line);

	BF_EMIT(gpu->sim, gpu->actor, gpu_write_back, .va = line_va(c->bo, c->line), .mask = c->dirty[0],
		.mask_high = c->dirty[1], .age = gpu->sim->now_ps - c->dirty_ps, .by = c->dirty_by, .cause = cause);
	for (uint32_t i = 0; i < gpu->profile.line; i++) {
		if (!is_dirty(c, i))
			continue;
		bytes[i] = c->bytes[i];
		if (held)
			held->bytes[i] = c->bytes[i];
	}
	gpu->stats.write_backs++;
	memset(c->dirty, 0, sizeof(c->dirty));
	unchain(gpu, ref);
	chain(gpu, ref, BF_GPU_CLEAN);
	wake(c->bo, c->line);
}

/* A line leaves the L2. With it ends what kept an earlier write from being seen. */
static void evict_line(struct bf_gpu *gpu, uint32_t ref, enum bf_gpu_cause cause)
{
	struct bf_gpu_copy *c = copy_at(gpu, ref);
	struct bf_gpu_bo *bo = c->bo;
	const uint32_t line = c->line;

	if (c->list == BF_GPU_DIRTY)
		write_back(gpu, ref, cause);
	give_back(gpu, ref);
	gpu->stats.evictions++;
	if (bo->held[line])
		show_line(gpu, bo->held[line], cause);
	else
		wake(bo, line);
}

static void on_background(struct bf_event *ev)
{
	struct bf_gpu *gpu = BF_CONTAINER_OF(ev, struct bf_gpu, background);

	while (gpu->list[BF_GPU_DIRTY].first)
		evict_line(gpu, gpu->list[BF_GPU_DIRTY].first, BF_GPU_BY_BACKGROUND);
	while (gpu->list[BF_GPU_CLEAN].first)
		evict_line(gpu, gpu->list[BF_GPU_CLEAN].first, BF_GPU_BY_BACKGROUND);
	bf_gpu_make_visible(gpu, BF_GPU_BY_BACKGROUND);
}

/* Some line of the L2, by seed: the first one from a random place in the pool on. */
static void on_evict(struct bf_event *ev)
{
	struct bf_gpu *gpu = BF_CONTAINER_OF(ev, struct bf_gpu, evict);
	uint32_t at = (uint32_t)bf_rng_below(&gpu->rng, gpu->ncopies);

	for (uint32_t i = 0; i < gpu->ncopies; i++, at = (at + 1) % gpu->ncopies) {
		const uint8_t list = gpu->copies[at].list;

		if (list != BF_GPU_CLEAN && list != BF_GPU_DIRTY)
			continue;
		evict_line(gpu, at + 1, BF_GPU_BY_EVICTION);
		break;
	}
	arm(gpu);
}

void bf_gpu_cache_init(struct bf_gpu *gpu)
{
	char stream[40] = "gpu/";

	strncat(stream, gpu->name, sizeof(stream) - 5);
	bf_rng_init(&gpu->rng, gpu->sim->seed, stream);
	bf_event_init(&gpu->evict, on_evict);
	bf_event_init(&gpu->background, on_background);
}

void bf_gpu_cache_fini(struct bf_gpu *gpu)
{
	bf_sim_cancel(gpu->sim, &gpu->evict);
	bf_sim_cancel(gpu->sim, &gpu->background);
	free(gpu->copies);
}

void bf_gpu_cache_forget(struct bf_gpu_bo *bo)
{
	struct bf_gpu *gpu = bo->gpu;
	const uint64_t lines = bo->region->size / gpu->profile.line;

	for (uint32_t i = 0; i < lines; i++) {
		if (bo->l2[i] && copy_at(gpu, bo->l2[i])->list == BF_GPU_DIRTY)
			write_back(gpu, bo->l2[i], BF_GPU_BY_MOVE);
		if (bo->l2[i])
			give_back(gpu, bo->l2[i]);
		if (bo->held[i])
			show_line(gpu, bo->held[i], BF_GPU_BY_MOVE);
	}
}

/* The line as the GPU's fabric delivers it: what has been made visible. */
static const uint8_t *visible(struct bf_gpu_bo *bo, uint32_t line)
{
	const struct bf_gpu_copy *held = copy_at(bo->gpu, bo->held[line]);

	return held ? held->bytes : line_bytes(bo, line);
}

/* The line in the L2, fetched if it is not there; NULL on lack of memory. */
static struct bf_gpu_copy *in_l2(struct bf_gpu_bo *bo, uint32_t line)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_copy *c, *held;
	uint8_t bytes[BF_GPU_LINE_MAX];

	if (bo->l2[line])
		return copy_at(gpu, bo->l2[line]);
	if ((uint64_t)(gpu->list[BF_GPU_CLEAN].count + gpu->list[BF_GPU_DIRTY].count) * gpu->profile.line +
		gpu->profile.line >
	    gpu->profile.l2_bytes)
		evict_line(
		    gpu, gpu->list[BF_GPU_CLEAN].first ? gpu->list[BF_GPU_CLEAN].first : gpu->list[BF_GPU_DIRTY].first,
		    BF_GPU_BY_EVICTION);
	memcpy(bytes, visible(bo, line), gpu->profile.line); /* the pool may move */
	c = copy_at(gpu, take(bo, line, bytes, BF_GPU_CLEAN));
	held = copy_at(gpu, bo->held[line]);
	if (c && held) {
		c->since_ps = held->since_ps;
		c->last_ps = held->last_ps;
		c->by = held->by;
		gpu->nstale++;
	}
	return c;
}

static uint64_t head_of(const uint8_t *p, uint32_t len)
{
	uint64_t v = 0;

	memcpy(&v, p, len < 8 ? len : 8);
	return v;
}

/* Counts and names a load that returned `got` where memory, with the GPU's own stores over it, holds something else. */
static void check_stale(struct bf_gpu_bo *bo, uint32_t line, uint32_t at, const uint8_t *got, uint32_t len,
			struct bf_gpu_copy *from, bool through)
{
	struct bf_gpu *gpu = bo->gpu;
	const struct bf_gpu_copy *l2 = copy_at(gpu, bo->l2[line]);
	uint8_t fresh[BF_LINE];

	memcpy(fresh, line_bytes(bo, line) + at, len);
	for (uint32_t i = 0; l2 && i < len; i++)
		if (is_dirty(l2, at + i))
			fresh[i] = l2->bytes[at + i];
	if (!memcmp(fresh, got, len))
		return;
	gpu->stats.stale_loads++;
	from->missed++;
	if (!from->told && bf_probe(gpu->sim, BF_CLASS_MEM)) {
		struct bf_rec_gpu_stale_load r = { .va = line_va(bo, line) + at,
						   .value = head_of(got, len),
						   .fresh = head_of(fresh, len),
						   .since = from->since_ps,
						   .len = len,
						   .by = from->by,
						   .from = from->list != BF_GPU_HELD,
						   .through = through };

		BF_EMIT_MADE(gpu->sim, gpu->actor, gpu_stale_load, r, NULL, 0);
		from->told = true;
	}
}

static void load(struct bf_cache *cache, struct bf_region *r, uint64_t offset, void *data, uint32_t len, bool through)
{
	struct bf_gpu_bo *bo = bf_gpu_bo_of(r);
	struct bf_gpu *gpu = gpu_of(cache);
	const uint32_t line = (uint32_t)(offset / gpu->profile.line), at = (uint32_t)(offset % gpu->profile.line);
	struct bf_gpu_copy *c = NULL;
	uint8_t *out = data;

	if (!is_vram(bo)) {
		memcpy(data, r->bytes + offset, len);
		return;
	}
	if (bo->mtype == BF_GPU_MTYPE_RW && !through)
		c = in_l2(bo, line);
	if (c) {
		memcpy(out, c->bytes + at, len);
		if (c->since_ps != BF_NEVER)
			check_stale(bo, line, at, out, len, c, through);
		return;
	}
	memcpy(out, visible(bo, line) + at, len);
	c = copy_at(gpu, bo->l2[line]);
	for (uint32_t i = 0; c && i < len; i++) /* the GPU's own stores are never missed */
		if (is_dirty(c, at + i))
			out[i] = c->bytes[at + i];
	if (bo->held[line])
		check_stale(bo, line, at, out, len, copy_at(gpu, bo->held[line]), through);
}

/* Straight to memory. Copies of the line follow, and need not write these bytes any more. */
static void store_memory(struct bf_gpu_bo *bo, uint32_t line, uint32_t at, const uint8_t *data, uint32_t len)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_copy *held = copy_at(gpu, bo->held[line]), *l2 = copy_at(gpu, bo->l2[line]);

	memcpy(line_bytes(bo, line) + at, data, len);
	if (held)
		memcpy(held->bytes + at, data, len);
	if (!l2)
		return;
	memcpy(l2->bytes + at, data, len);
	for (uint32_t i = at; i < at + len; i++)
		l2->dirty[i / 64] &= ~(1ull << (i % 64));
	if (l2->list == BF_GPU_DIRTY && !l2->dirty[0] && !l2->dirty[1]) {
		unchain(gpu, bo->l2[line]);
		chain(gpu, bo->l2[line], BF_GPU_CLEAN);
	}
}

static void store(struct bf_cache *cache, struct bf_region *r, uint64_t offset, const void *data, uint32_t len,
		  bool through, uint32_t actor)
{
	struct bf_gpu_bo *bo = bf_gpu_bo_of(r);
	struct bf_gpu *gpu = gpu_of(cache);
	const uint32_t line = (uint32_t)(offset / gpu->profile.line), at = (uint32_t)(offset % gpu->profile.line);
	struct bf_gpu_copy *c = NULL;

	if (bo->mtype == BF_GPU_MTYPE_RW && !through && is_vram(bo))
		c = in_l2(bo, line);
	if (!c) {
		store_memory(bo, line, at, data, len);
		return;
	}
	memcpy(c->bytes + at, data, len);
	for (uint32_t i = at; i < at + len; i++)
		c->dirty[i / 64] |= 1ull << (i % 64);
	if (c->list != BF_GPU_DIRTY) {
		c->dirty_ps = gpu->sim->now_ps;
		c->dirty_by = actor;
		unchain(gpu, bo->l2[line]);
		chain(gpu, bo->l2[line], BF_GPU_DIRTY);
	}
	arm(gpu);
}

static void write_back_all(struct bf_cache *cache)
{
	struct bf_gpu *gpu = gpu_of(cache);

	while (gpu->list[BF_GPU_DIRTY].first)
		write_back(gpu, gpu->list[BF_GPU_DIRTY].first, BF_GPU_BY_REQUEST);
}

/* One line of a write from outside: what the GPU sees stays as it is. */
static void hold(struct bf_gpu_bo *bo, uint32_t line, uint64_t va, uint32_t len, uint32_t by)
{
	struct bf_gpu *gpu = bo->gpu;
	const uint64_t now = gpu->sim->now_ps;
	const bool first = !bo->held[line];
	struct bf_gpu_copy *held, *l2;

	if (first && !take(bo, line, line_bytes(bo, line), BF_GPU_HELD))
		return; /* no memory to be behind with */
	held = copy_at(gpu, bo->held[line]);
	l2 = copy_at(gpu, bo->l2[line]);
	held->since_ps = first ? now : held->since_ps;
	held->last_ps = now;
	held->by = by;
	held->told = false;
	held->missed = 0;
	if (l2 && l2->since_ps == BF_NEVER) {
		l2->since_ps = now;
		gpu->nstale++;
	}
	if (l2) {
		l2->last_ps = now;
		l2->by = by;
		l2->told = false;
		l2->missed = 0;
	}
	gpu->stats.arrived += first;
	BF_EMIT(gpu->sim, gpu->actor, gpu_arrived, .va = va, .len = len, .by = by, .in_l2 = l2 != NULL,
		.held = gpu->list[BF_GPU_HELD].count);
}

static void landing(struct bf_cache *cache, struct bf_region *r, uint64_t offset, uint64_t len,
		    const struct bf_visitor *by)
{
	struct bf_gpu_bo *bo = bf_gpu_bo_of(r);
	struct bf_gpu *gpu = gpu_of(cache);
	const uint64_t size = gpu->profile.line, end = offset + len;

	if (BF_UNLIKELY(gpu->nstray))
		bf_gpu_check_stray(bo, offset, len, by);
	if (!is_vram(bo) || bo == gpu->free_memory)
		return;
	for (uint64_t at = offset; at < end; at = (at / size + 1) * size) {
		const uint64_t n = (at / size + 1) * size < end ? (at / size + 1) * size - at : end - at;

		hold(bo, (uint32_t)(at / size), r->va + at, (uint32_t)n, by->actor);
	}
	arm(gpu);
}

/* Keeps the first late store of each thread and reader, for the report. */
static void note_late(struct bf_gpu *gpu, const struct bf_gpu_copy *c, uint64_t va, uint32_t reader)
{
	struct bf_gpu_late *l = gpu->late, *const end = gpu->late + gpu->lates;

	while (l < end && (l->by != c->dirty_by || l->reader != reader))
		l++;
	if (l < end) {
		l->count++;
		return;
	}
	if (gpu->lates == BF_GPU_LATES)
		return;
	gpu->lates++;
	*l = (struct bf_gpu_late){ .time_ps = gpu->sim->now_ps,
				   .since_ps = c->dirty_ps,
				   .va = va,
				   .by = c->dirty_by,
				   .reader = reader,
				   .count = 1 };
	strncpy(l->buffer, c->bo->region->name, sizeof(l->buffer) - 1);
}

static void sampled(struct bf_cache *cache, struct bf_region *r, uint64_t offset, uint64_t len,
		    const struct bf_visitor *by)
{
	struct bf_gpu_bo *bo = bf_gpu_bo_of(r);
	struct bf_gpu *gpu = gpu_of(cache);
	const uint64_t size = gpu->profile.line;

	if (!gpu->list[BF_GPU_DIRTY].count || !len || !is_vram(bo))
		return;
	for (uint64_t line = offset / size; line <= (offset + len - 1) / size; line++) {
		const struct bf_gpu_copy *c = copy_at(gpu, bo->l2[line]);
		const uint64_t from = offset > line * size ? offset - line * size : 0;
		const uint64_t to = offset + len < (line + 1) * size ? offset + len - line * size : size;
		bool late = false;

		for (uint64_t i = from; c && !late && i < to; i++)
			late = is_dirty(c, (uint32_t)i);
		if (!late)
			continue;
		gpu->stats.late_stores++;
		note_late(gpu, c, line_va(bo, (uint32_t)line) + from, by->actor);
		BF_EMIT(gpu->sim, gpu->actor, gpu_late_store, .va = line_va(bo, (uint32_t)line) + from,
			.since = c->dirty_ps, .len = (uint32_t)(to - from), .by = c->dirty_by, .reader = by->actor);
	}
}

const struct bf_cache_ops bf_gpu_cache_ops = {
	.load = load,
	.store = store,
	.write_back = write_back_all,
	.landing = landing,
	.sampled = sampled,
};
