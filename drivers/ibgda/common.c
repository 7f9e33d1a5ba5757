/* IBGDA, host side: what the PEs of one process learn once for all of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"
#include "sim/grow.h"

/* Smaller tables are copied: mapping takes longer, and mappings are not without number. */
#define IMAGE_FROM (16u << 10)

static int reserve(struct bf_ibgda_transport *t, uint32_t i, size_t bytes)
{
	struct bf_ibgda_common *c = t->common;

	if (BF_GROW(c->gathered[i], c->gathered_cap[i], bytes))
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for %zu bytes of %u PEs", t->pe, bytes, t->npes);
	return 0;
}

int bf_ibgda_gather(struct bf_ibgda_transport *t, const void *mine, size_t bytes, const void **all)
{
	struct bf_ibgda_common *c = t->common;
	const uint32_t i = t->gathers++ % 2;
	int rc = t->pe == c->first ? reserve(t, i, t->npes * bytes) : 0;

	if (!rc)
		rc = t->boot->allgather(t->boot, mine, t->pe == c->first ? c->gathered[i] : NULL, bytes);
	*all = c->gathered[i];
	return rc;
}

int bf_ibgda_alloc_table(struct bf_ibgda_transport *t, const void *bytes, uint64_t len, const char *name,
			 struct bf_image *image, struct bf_memory *out)
{
	int rc;

	*out = (struct bf_memory){ 0 };
	if (!t->be->alloc_image || len < IMAGE_FROM) {
		rc = bf_ibgda_alloc(t, BF_PLACE_GPU, len, name, out);
		if (!rc)
			memcpy(out->ptr, bytes, len);
		return rc;
	}
	rc = image->size ? 0 : bf_image_create(image, bytes, len);
	if (!rc)
		rc = t->be->alloc_image(t->world, t->pe, image, name, out);
	if (rc)
		return bf_fail(t->err, rc, "PE %u: no memory for '%s' of %llu bytes", t->pe, name,
			       (unsigned long long)len);
	t->live[BF_IBGDA_KIND_MEMORY]++;
	return 0;
}

void bf_ibgda_forget_common(struct bf_ibgda_common *c)
{
	free(c->gathered[0]);
	free(c->gathered[1]);
	free(c->dcts);
	free(c->rkeys);
	bf_image_destroy(&c->heaps);
	bf_image_destroy(&c->rkey_table);
	bf_image_destroy(&c->dct_table);
	*c = (struct bf_ibgda_common){ .first = c->first };
}
