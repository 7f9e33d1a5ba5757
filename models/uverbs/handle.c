/*
 * Handles: the lowest free number of a file names an object (Linux core/rdma_core.c allocates them the same way). The
 * list of a file is in order of creation; closing goes through it from the newest to the oldest, so that users go
 * before what they use.
 */
#include "models/uverbs/uverbs_internal.h"

#include <stdlib.h>

static int grow(struct bf_uverbs_file *f)
{
	uint32_t cap = f->handles ? f->handles * 2 : 32;
	struct bf_uv_object **objects = realloc(f->objects, cap * sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	for (uint32_t i = f->handles; i < cap; i++)
		objects[i] = NULL;
	f->objects = objects;
	f->handles = cap;
	return 0;
}

static uint32_t *count_of(struct bf_uverbs_counts *n, uint16_t type)
{
	switch (type) {
	case UVERBS_OBJECT_PD:
		return &n->pds;
	case UVERBS_OBJECT_MR:
		return &n->mrs;
	case UVERBS_OBJECT_MW:
		return &n->mws;
	case UVERBS_OBJECT_CQ:
		return &n->cqs;
	case UVERBS_OBJECT_QP:
		return &n->qps;
	case UVERBS_OBJECT_SRQ:
		return &n->srqs;
	case UVERBS_OBJECT_AH:
		return &n->ahs;
	case MLX5_IB_OBJECT_UAR:
		return &n->uars;
	case MLX5_IB_OBJECT_DEVX_UMEM:
		return &n->umems;
	default:
		return &n->devx_objects;
	}
}

void *bf_uv_new(struct bf_uv_call *c, uint16_t type, size_t size)
{
	struct bf_uverbs_file *f = c->f;
	struct bf_uv_object *o = calloc(1, size);

	while (f->first_free < f->handles && f->objects[f->first_free])
		f->first_free++;
	if (!o || (f->first_free == f->handles && grow(f))) {
		free(o);
		return NULL;
	}
	o->file = f;
	o->type = type;
	o->handle = f->first_free;
	f->objects[o->handle] = o;
	o->prev = f->newest;
	*(f->newest ? &f->newest->next : &f->oldest) = o;
	f->newest = o;
	++*count_of(&f->u->count, type);
	c->handle = o->handle;
	return o;
}

void bf_uv_free(struct bf_uv_object *o)
{
	struct bf_uverbs_file *f = o->file;

	f->objects[o->handle] = NULL;
	if (o->handle < f->first_free)
		f->first_free = o->handle;
	*(o->prev ? &o->prev->next : &f->oldest) = o->next;
	*(o->next ? &o->next->prev : &f->newest) = o->prev;
	--*count_of(&f->u->count, o->type);
	free(o);
}

/* Each returns 0 when the device has let go; the object is freed here. */
static int destroy_one(struct bf_uv_object *o, bool forced)
{
	switch (o->type) {
	case UVERBS_OBJECT_PD:
		return bf_uv_pd_destroy(o, forced);
	case UVERBS_OBJECT_MR:
		return bf_uv_mr_destroy(o, forced);
	case UVERBS_OBJECT_MW:
		return bf_uv_mw_destroy(o, forced);
	case UVERBS_OBJECT_CQ:
		return bf_uv_cq_destroy(o, forced);
	case UVERBS_OBJECT_QP:
		return bf_uv_qp_destroy(o, forced);
	case UVERBS_OBJECT_SRQ:
		return bf_uv_srq_destroy(o, forced);
	case UVERBS_OBJECT_AH:
		return bf_uv_ah_destroy(o, forced);
	case MLX5_IB_OBJECT_UAR:
		return bf_uv_uar_destroy(o, forced);
	case MLX5_IB_OBJECT_DEVX_UMEM:
		return bf_uv_umem_destroy(o, forced);
	default:
		return bf_uv_devx_destroy(o, forced);
	}
}

int bf_uv_destroy(struct bf_uv_object *o, bool forced)
{
	int err;

	if (o->users && !forced)
		return -EBUSY;
	err = destroy_one(o, forced);
	if (err && !forced)
		return err;
	bf_uv_free(o);
	return 0;
}

struct bf_uv_object *bf_uv_find(struct bf_uverbs_file *f, uint32_t handle)
{
	return handle < f->handles ? f->objects[handle] : NULL;
}

int bf_uv_lookup(struct bf_uverbs_file *f, uint16_t type, uint32_t handle, struct bf_uv_object **out)
{
	struct bf_uv_object *o = bf_uv_find(f, handle);

	if (!o)
		return -ENOENT;
	if (type != BF_UV_ANY && o->type != type)
		return -EINVAL;
	*out = o;
	return 0;
}

void *bf_uv_get_object(struct bf_uv_call *c, uint16_t type, uint32_t handle)
{
	struct bf_uv_object *o;

	if (c->handle == BF_UV_NO_HANDLE)
		c->handle = handle;
	return bf_uv_lookup(c->f, type, handle, &o) ? NULL : o;
}

int bf_uv_destroy_handle(struct bf_uv_call *c, uint16_t type, uint32_t handle)
{
	struct bf_uv_object *o;
	int err = bf_uv_lookup(c->f, type, handle, &o);

	c->handle = handle;
	return err ? err : bf_uv_destroy(o, false);
}

void bf_uv_close_objects(struct bf_uverbs_file *f)
{
	f->closing = true;
	/* DEVX objects may use what is newer than they are: whatever can go goes, until all has gone or nothing can. */
	for (bool gone = true; gone;) {
		gone = false;
		for (struct bf_uv_object *o = f->newest, *prev; o; o = prev) {
			prev = o->prev;
			if (!bf_uv_destroy(o, false))
				gone = true;
		}
	}
	while (f->newest)
		bf_uv_destroy(f->newest, true);
	free(f->objects);
	f->objects = NULL;
	f->handles = 0;
}
