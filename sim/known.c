#include "sim/known_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/records_io.h"

static uint8_t *copy_of(const struct bf_region *r, const void *p)
{
	return r->known + ((const uint8_t *)p - r->bytes);
}

/* Pages that nobody has written stay unwritten in the copy: a large heap costs what is used of it. */
static void copy_pages(struct bf_region *r)
{
	for (uint64_t at = 0; at < r->size; at += BF_PAGE)
		if (memcmp(r->known + at, r->bytes + at, BF_PAGE) != 0)
			memcpy(r->known + at, r->bytes + at, BF_PAGE);
}

int bf_known_take(struct bf_region *r)
{
	void *p;

	if (r->kind == BF_MEM_MMIO || r->cache)
		return 0;
	if (!r->known) {
		p = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return bf_fail(&r->space->sim->error, -ENOMEM, "region '%s': no memory for a copy", r->name);
		r->known = p;
	}
	copy_pages(r);
	return 0;
}

void bf_known_drop(struct bf_region *r)
{
	if (r->known)
		munmap(r->known, r->size);
	r->known = NULL;
}

int bf_space_know(struct bf_space *sp)
{
	int rc = 0;

	for (uint32_t i = 0; i < sp->count && !rc; i++)
		rc = bf_known_take(sp->by_va[i]);
	if (!rc)
		sp->sim->slow |= BF_SLOW_KNOWN;
	return rc;
}

void bf_known_wrote(struct bf_region *r, const void *p, uint64_t len)
{
	memcpy(copy_of(r, p), p, len);
}

void bf_known_read(struct bf_region *r, const void *p, uint64_t len, uint32_t actor)
{
	const uint8_t *is = p, *known = copy_of(r, p);
	uint64_t first = 0, end = len;

	if (memcmp(is, known, len) == 0)
		return;
	while (is[first] == known[first])
		first++;
	while (is[end - 1] == known[end - 1])
		end--;
	if (bf_probe(r->space->sim, BF_REC_CLASS_unrecorded)) {
		struct bf_rec_unrecorded rec = { .va = bf_va(r, is + first), .len = end - first };

		rec.offset = rec.va - r->va;
		strncpy(rec.name, r->name, sizeof(rec.name) - 1);
		BF_EMIT_MADE(r->space->sim, actor, unrecorded, rec, NULL, 0);
	}
	bf_known_wrote(r, is + first, end - first);
}
