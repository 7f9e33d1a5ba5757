#include "sim/dmabuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/records_share.h"

static const char *const type_names[] = { "SGT", "SGT-P2P", "PAL" };

const char *bf_dmabuf_type_name(enum bf_dmabuf_type type)
{
	return (uint32_t)type < BF_ARRAY_LEN(type_names) ? type_names[type] : "?";
}

static void record(const struct bf_dmabuf *buf, const struct bf_dmabuf_attach *a, enum bf_dmabuf_event what, int status)
{
	struct bf_rec_dmabuf r = { .size = buf->size, .status = status, .what = (uint16_t)what, .type = UINT16_MAX };

	if (!bf_probe(buf->sim, BF_CLASS_META))
		return;
	memcpy(r.name, buf->name, sizeof(r.name));
	if (a) {
		r.type = (uint16_t)a->type;
		r.ranges = a->count;
		r.addr = a->count ? a->ranges[0].addr : 0;
		strncpy(r.importer, a->importer->name, sizeof(r.importer) - 1);
	}
	BF_EMIT_MADE(buf->sim, 0, dmabuf, r, NULL, 0);
}

void bf_dmabuf_init(struct bf_dmabuf *buf, struct bf_sim *sim, const char *name, uint64_t size,
		    const struct bf_dmabuf_ops *ops, void *owner)
{
	*buf = (struct bf_dmabuf){ .sim = sim, .ops = ops, .owner = owner, .size = size, .refs = 1 };
	snprintf(buf->name, sizeof(buf->name), "%.31s", name);
	record(buf, NULL, BF_DMABUF_EXPORTED, 0);
}

void bf_dmabuf_get(struct bf_dmabuf *buf)
{
	buf->refs++;
}

void bf_dmabuf_put(struct bf_dmabuf *buf)
{
	if (buf && !--buf->refs)
		buf->ops->release(buf);
}

/* The first of the importer's types that the exporter has. */
static int negotiate(struct bf_dmabuf *buf, const struct bf_dmabuf_importer *importer, enum bf_dmabuf_type *out)
{
	enum bf_dmabuf_type offered[BF_DMABUF_TYPES];
	const uint32_t n = buf->ops->types(buf, offered);

	for (uint32_t i = 0; i < importer->ntypes; i++) {
		for (uint32_t j = 0; j < n; j++) {
			if (importer->types[i] == offered[j]) {
				*out = offered[j];
				return 0;
			}
		}
	}
	return bf_fail(&buf->sim->error, -EINVAL, "DMA-BUF '%s': '%s' wants %s, and the exporter offers %s%s%s",
		       buf->name, importer->name, importer->ntypes ? type_names[importer->types[0]] : "nothing",
		       n ? type_names[offered[0]] : "nothing", n > 1 ? ", " : "", n > 1 ? type_names[offered[1]] : "");
}

int bf_dmabuf_attach(struct bf_dmabuf *buf, const struct bf_dmabuf_importer *importer, void *arg,
		     struct bf_dmabuf_attach **out)
{
	struct bf_dmabuf_attach made = { .buf = buf, .importer = importer, .arg = arg }, *a, **end = &buf->attached;
	int rc = 0;

	*out = NULL;
	if (buf->revoked)
		rc = bf_fail(&buf->sim->error, -ENODEV, "DMA-BUF '%s' is revoked", buf->name);
	if (!rc)
		rc = negotiate(buf, importer, &made.type);
	if (rc) {
		record(buf, &made, BF_DMABUF_ATTACHED, rc);
		return rc;
	}
	a = malloc(sizeof(*a));
	if (!a)
		return bf_fail(&buf->sim->error, -ENOMEM, "DMA-BUF '%s': no memory for an attachment", buf->name);
	*a = made;
	while (*end)
		end = &(*end)->next;
	*end = a;
	bf_dmabuf_get(buf);
	record(buf, a, BF_DMABUF_ATTACHED, 0);
	*out = a;
	return 0;
}

void bf_dmabuf_detach(struct bf_dmabuf_attach *a)
{
	struct bf_dmabuf *buf = a->buf;
	struct bf_dmabuf_attach **at = &buf->attached;

	bf_dmabuf_unmap(a);
	while (a->pins)
		bf_dmabuf_unpin(a);
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	record(buf, a, BF_DMABUF_DETACHED, 0);
	free(a);
	bf_dmabuf_put(buf);
}

int bf_dmabuf_pin(struct bf_dmabuf_attach *a)
{
	struct bf_dmabuf *buf = a->buf;
	int rc = buf->revoked ? bf_fail(&buf->sim->error, -ENODEV, "DMA-BUF '%s' is revoked", buf->name) : 0;

	if (!rc && buf->ops->pin)
		rc = buf->ops->pin(buf);
	if (!rc)
		a->pins++;
	record(buf, a, BF_DMABUF_PINNED, rc);
	return rc;
}

void bf_dmabuf_unpin(struct bf_dmabuf_attach *a)
{
	struct bf_dmabuf *buf = a->buf;

	if (!a->pins)
		return;
	a->pins--;
	if (buf->ops->unpin)
		buf->ops->unpin(buf);
	record(buf, a, BF_DMABUF_UNPINNED, 0);
}

/* An SGT for an importer that cannot follow moves is pinned by the core (dma_buf_map_attachment() in Linux). */
static int pin_for_static(struct bf_dmabuf_attach *a)
{
	int rc = 0;

	if (a->importer->move_notify || a->importer->pins || !a->buf->ops->pin)
		return 0;
	rc = a->buf->ops->pin(a->buf);
	a->core_pinned = !rc;
	return rc;
}

static void unpin_for_static(struct bf_dmabuf_attach *a)
{
	if (a->core_pinned)
		a->buf->ops->unpin(a->buf);
	a->core_pinned = false;
}

int bf_dmabuf_map(struct bf_dmabuf_attach *a)
{
	struct bf_dmabuf *buf = a->buf;
	int rc = 0;

	if (a->mapped)
		return bf_fail(&buf->sim->error, -EBUSY, "DMA-BUF '%s': '%s' has it mapped", buf->name,
			       a->importer->name);
	if (buf->revoked)
		rc = bf_fail(&buf->sim->error, -ENODEV, "DMA-BUF '%s' is revoked", buf->name);
	if (!rc)
		rc = buf->ops->map(a, &a->ranges, &a->count);
	if (!rc) {
		a->mapped = true;
		rc = pin_for_static(a);
		if (rc)
			bf_dmabuf_unmap(a);
	}
	record(buf, a, BF_DMABUF_MAPPED, rc);
	return rc;
}

void bf_dmabuf_unmap(struct bf_dmabuf_attach *a)
{
	if (!a->mapped)
		return;
	unpin_for_static(a);
	if (a->buf->ops->unmap)
		a->buf->ops->unmap(a);
	record(a->buf, a, BF_DMABUF_UNMAPPED, 0);
	free(a->ranges);
	a->ranges = NULL;
	a->count = 0;
	a->mapped = false;
}

void bf_dmabuf_moving(struct bf_dmabuf *buf)
{
	for (struct bf_dmabuf_attach *a = buf->attached, *next; a; a = next) {
		next = a->next;
		if (!a->mapped)
			continue;
		record(buf, a, a->importer->move_notify ? BF_DMABUF_MOVE_TOLD : BF_DMABUF_MOVE_UNTOLD, 0);
		if (a->importer->move_notify)
			a->importer->move_notify(a);
	}
}

void bf_dmabuf_revoke(struct bf_dmabuf *buf)
{
	if (buf->revoked)
		return;
	buf->revoked = true;
	record(buf, NULL, BF_DMABUF_REVOKED, 0);
	for (struct bf_dmabuf_attach *a = buf->attached, *next; a; a = next) {
		next = a->next;
		if (a->importer->revoked)
			a->importer->revoked(a);
	}
}

/* The exporter is given one piece for each run of bus addresses that [start, start + len) touches. */
int bf_dmabuf_enter(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t start, uint64_t len,
		    uint32_t perm)
{
	uint64_t done = 0, at = 0;
	int rc = 0;

	if (!a->mapped || !len || start > a->buf->size || len > a->buf->size - start)
		return bf_fail(&as->sim->error, -EINVAL, "DMA-BUF '%s': 0x%llx bytes from 0x%llx are not in it",
			       a->buf->name, (unsigned long long)len, (unsigned long long)start);
	for (uint32_t i = 0; !rc && i < a->count && done < len; at += a->ranges[i++].len) {
		const struct bf_dma_range *r = &a->ranges[i];
		const uint64_t into = start + done - at;
		uint64_t n;

		if (into >= r->len)
			continue;
		n = r->len - into < len - done ? r->len - into : len - done;
		rc = a->buf->ops->enter(a, as, iova + done, r->addr + into, n, perm);
		if (!rc)
			done += n;
	}
	if (rc && done)
		bf_dmabuf_leave(a, as, iova, done);
	return rc;
}

void bf_dmabuf_leave(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t len)
{
	a->buf->ops->leave(a, as, iova, len);
}

/* The exporter of BARs. */
struct bar_buf {
	struct bf_dmabuf buf;
	struct bf_region *bar;
	uint64_t offset;
};

static uint32_t bar_types(struct bf_dmabuf *buf, enum bf_dmabuf_type out[BF_DMABUF_TYPES])
{
	(void)buf;
	out[0] = BF_DMABUF_PAL;
	out[1] = BF_DMABUF_SGT_P2P;
	return 2;
}

static int bar_map(struct bf_dmabuf_attach *a, struct bf_dma_range **ranges, uint32_t *count)
{
	const struct bar_buf *b = BF_CONTAINER_OF(a->buf, struct bar_buf, buf);

	*ranges = malloc(sizeof(**ranges));
	if (!*ranges)
		return bf_fail(&a->buf->sim->error, -ENOMEM, "DMA-BUF '%s': no memory for a mapping", a->buf->name);
	(*ranges)[0] = (struct bf_dma_range){ b->bar->va + b->offset, a->buf->size };
	*count = 1;
	return 0;
}

static int bar_enter(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t addr, uint64_t len,
		     uint32_t perm)
{
	const struct bar_buf *b = BF_CONTAINER_OF(a->buf, struct bar_buf, buf);

	return bf_ioas_map(as, iova, b->bar, addr - b->bar->va, len, perm);
}

static void bar_leave(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t len)
{
	(void)a;
	bf_ioas_unmap(as, iova, len);
}

static void bar_release(struct bf_dmabuf *buf)
{
	free(BF_CONTAINER_OF(buf, struct bar_buf, buf));
}

static const struct bf_dmabuf_ops bar_ops = {
	.types = bar_types,
	.map = bar_map,
	.enter = bar_enter,
	.leave = bar_leave,
	.release = bar_release,
};

int bf_dmabuf_export_bar(struct bf_region *bar, uint64_t offset, uint64_t len, struct bf_dmabuf **out)
{
	struct bf_sim *sim = bar->space->sim;
	struct bar_buf *b;

	*out = NULL;
	if (!len || (offset | len) % BF_PAGE || offset > bar->size || len > bar->size - offset)
		return bf_fail(&sim->error, -EINVAL, "DMA-BUF of '%s': 0x%llx bytes from 0x%llx are not pages of it",
			       bar->name, (unsigned long long)len, (unsigned long long)offset);
	b = calloc(1, sizeof(*b));
	if (!b)
		return bf_fail(&sim->error, -ENOMEM, "DMA-BUF of '%s': no memory", bar->name);
	b->bar = bar;
	b->offset = offset;
	bf_dmabuf_init(&b->buf, sim, bar->name, len, &bar_ops, b);
	*out = &b->buf;
	return 0;
}
