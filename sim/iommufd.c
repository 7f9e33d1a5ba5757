/* IOMMUFD: objects, devices, and what devices are attached to. Areas are in iommufd_map.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/iommufd_internal.h"

#include "sim/grow.h"

int bf_iommufd_open(struct bf_sim *sim, struct bf_space *space, struct bf_iommufd **out)
{
	struct bf_iommufd *fd = calloc(1, sizeof(*fd));

	*out = NULL;
	if (!fd)
		return bf_fail(&sim->error, -ENOMEM, "IOMMUFD: no memory");
	fd->sim = sim;
	fd->space = space;
	bf_ioas_init(&fd->blocked, sim, "blocked", BF_PAGE);
	*out = fd;
	return 0;
}

int bf_iommufd_done(struct bf_iommufd *fd, const struct bf_rec_iommufd *rec, const char *name)
{
	struct bf_rec_iommufd r = *rec;

	if (bf_probe(fd->sim, BF_CLASS_META)) {
		snprintf(r.name, sizeof(r.name), "%.31s", name ? name : "");
		BF_EMIT_MADE(fd->sim, 0, iommufd, r, NULL, 0);
	}
	return rec->status;
}

void *bf_iommufd_find(struct bf_iommufd *fd, uint32_t id, enum bf_iommufd_kind kind)
{
	struct bf_iommufd_object *o = id && id <= fd->cap ? fd->objects[id - 1] : NULL;

	if (o && o->kind == kind)
		return o;
	bf_fail(&fd->sim->error, -ENOENT, "IOMMUFD: object %u is no %s", id,
		kind == BF_IOMMUFD_IOAS   ? "IOAS"
		: kind == BF_IOMMUFD_HWPT ? "HWPT"
					  : "device");
	return NULL;
}

/* A zeroed object of `size` bytes under the lowest free id. */
static void *new_object(struct bf_iommufd *fd, enum bf_iommufd_kind kind, size_t size)
{
	struct bf_iommufd_object *o = calloc(1, size);
	uint32_t at = 0;

	while (at < fd->cap && fd->objects[at])
		at++;
	if (!o || BF_GROW(fd->objects, fd->cap, at + 1)) {
		free(o);
		bf_fail(&fd->sim->error, -ENOMEM, "IOMMUFD: no memory for an object");
		return NULL;
	}
	o->kind = kind;
	o->id = at + 1;
	fd->objects[at] = o;
	return o;
}

static void free_object(struct bf_iommufd *fd, struct bf_iommufd_object *o)
{
	fd->objects[o->id - 1] = NULL;
	free(o);
}

int bf_iommufd_ioas_alloc(struct bf_iommufd *fd, uint32_t *id)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_IOAS_ALLOC };
	struct bf_iommufd_ioas *ioas = new_object(fd, BF_IOMMUFD_IOAS, sizeof(*ioas));
	char name[24];

	*id = 0;
	if (!ioas)
		return -ENOMEM;
	snprintf(name, sizeof(name), "ioas%u", ioas->obj.id);
	bf_ioas_init(&ioas->table, fd->sim, name, BF_PAGE);
	ioas->fd = fd;
	rec.object = *id = ioas->obj.id;
	return bf_iommufd_done(fd, &rec, name);
}

/* From now on the device's DMA is translated by `table`; what is in flight is translated again when it lands. */
static void translate_by(struct bf_iommufd_device *d, struct bf_ioas *table)
{
	const uint64_t before = d->port->ioas->generation;

	if (table->generation <= before)
		table->generation = before + 1;
	d->port->ioas = table;
}

int bf_iommufd_bind(struct bf_iommufd *fd, const char *name, struct bf_dma_port *port, uint32_t *id)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_BIND };
	struct bf_iommufd_device *d;

	*id = 0;
	for (uint32_t i = 0; i < fd->cap; i++) {
		struct bf_iommufd_object *o = fd->objects[i];

		if (o && o->kind == BF_IOMMUFD_DEVICE && ((struct bf_iommufd_device *)(void *)o)->port == port) {
			rec.status = bf_fail(&fd->sim->error, -EBUSY, "IOMMUFD: device '%s' is bound", name);
			return bf_iommufd_done(fd, &rec, name);
		}
	}
	d = new_object(fd, BF_IOMMUFD_DEVICE, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->port = port;
	d->before = port->ioas;
	snprintf(d->name, sizeof(d->name), "%.23s", name);
	translate_by(d, &fd->blocked);
	rec.object = *id = d->obj.id;
	return bf_iommufd_done(fd, &rec, name);
}

static struct bf_iommufd_hwpt *new_hwpt(struct bf_iommufd *fd, struct bf_iommufd_ioas *ioas, bool automatic)
{
	struct bf_iommufd_hwpt *h = new_object(fd, BF_IOMMUFD_HWPT, sizeof(*h));

	if (h) {
		h->ioas = ioas;
		h->automatic = automatic;
		ioas->obj.users++;
	}
	return h;
}

static void free_hwpt(struct bf_iommufd *fd, struct bf_iommufd_hwpt *h)
{
	h->ioas->obj.users--;
	free_object(fd, &h->obj);
}

static void detach(struct bf_iommufd *fd, struct bf_iommufd_device *d)
{
	struct bf_iommufd_hwpt *h = d->hwpt;

	if (!h)
		return;
	translate_by(d, &fd->blocked);
	d->hwpt = NULL;
	h->ioas->devices--;
	if (!--h->obj.users && h->automatic)
		free_hwpt(fd, h);
}

/* The HWPT that attaching to `pt` means: itself, the automatic one of an IOAS, or a new one. */
static struct bf_iommufd_hwpt *hwpt_for(struct bf_iommufd *fd, uint32_t pt, int *rc)
{
	struct bf_iommufd_object *o = pt && pt <= fd->cap ? fd->objects[pt - 1] : NULL;
	struct bf_iommufd_hwpt *h;

	if (!o) {
		*rc = bf_fail(&fd->sim->error, -ENOENT, "IOMMUFD: there is no object %u to attach to", pt);
		return NULL;
	}
	if (o->kind == BF_IOMMUFD_HWPT)
		return (struct bf_iommufd_hwpt *)(void *)o;
	if (o->kind != BF_IOMMUFD_IOAS) {
		*rc = bf_fail(&fd->sim->error, -EINVAL, "IOMMUFD: object %u is neither IOAS nor HWPT", pt);
		return NULL;
	}
	for (uint32_t i = 0; i < fd->cap; i++) {
		h = (struct bf_iommufd_hwpt *)(void *)fd->objects[i];
		if (h && h->obj.kind == BF_IOMMUFD_HWPT && h->automatic && &h->ioas->obj == o)
			return h;
	}
	h = new_hwpt(fd, (struct bf_iommufd_ioas *)(void *)o, true);
	*rc = h ? 0 : -ENOMEM;
	return h;
}

int bf_iommufd_attach(struct bf_iommufd *fd, uint32_t device, uint32_t *pt)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_ATTACH, .object = device, .other = *pt };
	struct bf_iommufd_device *d = bf_iommufd_find(fd, device, BF_IOMMUFD_DEVICE);
	struct bf_iommufd_hwpt *h = NULL;
	int rc = d ? 0 : -ENOENT;

	if (!rc)
		h = hwpt_for(fd, *pt, &rc);
	if (!rc)
		rc = bf_iommufd_check_reserved(h->ioas);
	if (!rc && d->hwpt != h) {
		h->obj.users++;
		h->ioas->devices++;
		detach(fd, d);
		d->hwpt = h;
		translate_by(d, &h->ioas->table);
	} else if (rc && h && h->automatic && !h->obj.users) {
		free_hwpt(fd, h);
	}
	if (!rc)
		*pt = d->hwpt->obj.id;
	rec.status = rc;
	return bf_iommufd_done(fd, &rec, d ? d->name : NULL);
}

int bf_iommufd_detach(struct bf_iommufd *fd, uint32_t device)
{
	struct bf_iommufd_device *d = bf_iommufd_find(fd, device, BF_IOMMUFD_DEVICE);
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_DETACH, .object = device, .status = d ? 0 : -ENOENT };

	if (d)
		detach(fd, d);
	return bf_iommufd_done(fd, &rec, d ? d->name : NULL);
}

int bf_iommufd_hwpt_alloc(struct bf_iommufd *fd, uint32_t device, uint32_t ioas, uint32_t *id)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_HWPT_ALLOC, .other = ioas };
	struct bf_iommufd_hwpt *h;

	*id = 0;
	if (!bf_iommufd_find(fd, device, BF_IOMMUFD_DEVICE) || !bf_iommufd_find(fd, ioas, BF_IOMMUFD_IOAS)) {
		rec.status = -ENOENT;
		return bf_iommufd_done(fd, &rec, NULL);
	}
	h = new_hwpt(fd, bf_iommufd_find(fd, ioas, BF_IOMMUFD_IOAS), false);
	if (!h)
		return -ENOMEM;
	rec.object = *id = h->obj.id;
	return bf_iommufd_done(fd, &rec, NULL);
}

static void destroy(struct bf_iommufd *fd, struct bf_iommufd_object *o)
{
	struct bf_iommufd_device *d = (struct bf_iommufd_device *)(void *)o;
	struct bf_iommufd_ioas *ioas = (struct bf_iommufd_ioas *)(void *)o;

	switch (o->kind) {
	case BF_IOMMUFD_DEVICE:
		detach(fd, d);
		translate_by(d, d->before);
		free_object(fd, o);
		break;
	case BF_IOMMUFD_HWPT:
		free_hwpt(fd, (struct bf_iommufd_hwpt *)(void *)o);
		break;
	default:
		bf_iommufd_clear(ioas);
		bf_ioas_fini(&ioas->table);
		free(ioas->areas);
		free(ioas->allowed);
		free_object(fd, o);
	}
}

int bf_iommufd_destroy(struct bf_iommufd *fd, uint32_t id)
{
	struct bf_iommufd_object *o = id && id <= fd->cap ? fd->objects[id - 1] : NULL;
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_DESTROY, .object = id };

	if (!o)
		rec.status = bf_fail(&fd->sim->error, -ENOENT, "IOMMUFD: there is no object %u", id);
	else if (o->users)
		rec.status = bf_fail(&fd->sim->error, -EBUSY, "IOMMUFD: %u others use object %u", o->users, id);
	else
		destroy(fd, o);
	return bf_iommufd_done(fd, &rec, NULL);
}

/* Users first: devices, then page tables, then the rest. */
void bf_iommufd_close(struct bf_iommufd *fd)
{
	static const enum bf_iommufd_kind order[] = { BF_IOMMUFD_DEVICE, BF_IOMMUFD_HWPT, BF_IOMMUFD_IOAS };

	if (!fd)
		return;
	for (uint32_t k = 0; k < BF_ARRAY_LEN(order); k++)
		for (uint32_t i = 0; i < fd->cap; i++)
			if (fd->objects[i] && fd->objects[i]->kind == order[k])
				destroy(fd, fd->objects[i]);
	bf_ioas_fini(&fd->blocked);
	free(fd->objects);
	free(fd);
}
