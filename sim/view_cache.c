/*
 * Caches between a GPU's threads and its memory, as the visibility model meets them: below the store buffers, above the
 * bytes. The caches themselves belong to whoever models the GPU (struct bf_cache_ops).
 */
#include <string.h>

#include "sim/view_internal.h"

void bf_memory_load_cached(struct bf_agent *a, const void *p, void *data, uint32_t len, bool through)
{
	struct bf_region *r = a->view->space ? bf_space_find_host(a->view->space, p) : NULL;

	if (r && r->cache && bf_view_full(a->view)->on_gpu)
		r->cache->ops->load(r->cache, r, bf_va(r, p) - r->va, data, len, through);
	else
		memcpy(data, p, len);
}

void bf_memory_store_cached(struct bf_region *r, void *p, const void *data, uint32_t len, enum bf_path path,
			    uint32_t actor)
{
	const struct bf_visitor by = { .iova = UINT64_MAX, .actor = actor };

	if (path == BF_PATH_OUTSIDE) {
		r->cache->ops->landing(r->cache, r, bf_va(r, p) - r->va, len, &by);
		memcpy(p, data, len);
	} else {
		r->cache->ops->store(r->cache, r, bf_va(r, p) - r->va, data, len, path == BF_PATH_THROUGH, actor);
	}
}

enum bf_path bf_path_of(const struct bf_view_full *v, enum bf_sem sem, enum bf_scope scope)
{
	if (!v->on_gpu)
		return BF_PATH_OUTSIDE;
	return sem != BF_WEAK && scope == BF_SCOPE_SYS ? BF_PATH_THROUGH : BF_PATH_CACHED;
}

void bf_memory_write_back(struct bf_view_full *v, enum bf_view_cause cause)
{
	struct bf_cache *c = v->pub.space ? v->pub.space->cache : NULL;

	if (BF_LIKELY(!(v->sim->slow & BF_SLOW_CACHE)) || !v->on_gpu || !c)
		return;
	bf_buffer_push(&v->thread, BF_LEVEL_MEMORY, NULL, cause);
	c->ops->write_back(c);
}
