/*
 * Handles: the lowest free number of a file names an object (Linux core/rdma_core.c allocates them the same way). The
 * list of a file is in order of creation; closing goes through it from the newest to the oldest, so that users go
 * before what they use.
 */
#include "models/uverbs/uverbs_internal.h"

#include <stdlib.h>

#include "sim/grow.h"

static uint32_t *count_of(struct bf_uverbs *u, uint16_t type)
{
	struct bf_uverbs_counts *n = &u->count;

	switch (type) {
	case UVERBS_OBJECT_PD:
		return &n->pds;
	case UVERBS_OBJECT_MR:
		return &n->mrs;
	case UVERBS_OBJECT_DM:
		return &n->dms;
	case UVERBS_OBJECT_XRCD:
		return &n->xrcds;
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
	case UVERBS_OBJECT_FLOW:
		return &n->flows;
	case UVERBS_OBJECT_WQ:
		return &n->wqs;
	case UVERBS_OBJECT_RWQ_IND_TBL:
		return &n->tables;
	default:
		return bf_uv_provider(u)->count(n, type);
	}
}

void *bf_uv_new(struct bf_uv_call *c, uint16_t type, size_t size)
{
	struct bf_uverbs_file *f = c->f;
	struct bf_uv_object *o = calloc(1, size);

	while (f->first_free < f->handles && f->objects[f->first_free])
		f->first_free++;
	if (!o || BF_GROW(f->objects, f->handles, f->first_free + 1)) {
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
	++*count_of(f->u, type);
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
	--*count_of(f->u, o->type);
	free(o);
}

int bf_uv_destroy(struct bf_uv_object *o, bool forced)
{
	int err;

	if (o->users && !forced)
		return -EBUSY;
	err = bf_uv_provider(o->file->u)->destroy(o, forced);
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

/* Handles of a kind, for a program that imports a context. */
int bf_uv_info_handles(struct bf_uv_call *c)
{
	const struct bf_uv_attr *room = bf_uv_attr(c, UVERBS_ATTR_INFO_HANDLES_LIST);
	struct bf_uv_bytes at = room->bytes;
	uint32_t total = 0;
	uint64_t kind;

	if (!c->f->context)
		return -EINVAL;
	if (bf_uv_attr_get(c, UVERBS_ATTR_INFO_OBJECT_ID, &kind, sizeof(kind)))
		return -EFAULT;
	for (const struct bf_uv_object *o = c->f->oldest; o && at.len >= 4; o = o->next) {
		struct bf_uv_bytes one = { .address = at.address, .len = 4 };

		if (o->type != kind)
			continue;
		if (bf_uv_put(c, &one, &o->handle, sizeof(o->handle)))
			return -EFAULT;
		at.address += 4;
		at.len -= 4;
		total++;
	}
	if (bf_uv_put(c, &at, NULL, 0) || bf_uv_attr_mark(c, UVERBS_ATTR_INFO_HANDLES_LIST))
		return -EFAULT;
	return bf_uv_attr_put(c, UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total));
}
