/* Which sectors of a namespace are allocated, and which were marked uncorrectable. */
#include "models/nvme/media_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Sectors of one chunk's word that a range covers. */
struct piece {
	uint64_t chunk;
	uint32_t word;
	uint64_t mask;
};

/* The word that holds the sector at `*offset`, cut to the range's end, and moves on behind it. */
static struct piece next_piece(uint64_t *offset, uint64_t end)
{
	const uint64_t sector = *offset / 512, last = end / 512;
	const uint32_t bit = (uint32_t)(sector % 64);
	uint64_t n = 64 - bit;
	struct piece p = {
		.chunk = *offset / BF_NVME_CHUNK,
		.word = (uint32_t)(*offset % BF_NVME_CHUNK / 512 / 64),
	};

	if (n > last - sector)
		n = last - sector;
	p.mask = (n == 64 ? UINT64_MAX : (1ull << n) - 1) << bit;
	*offset = (sector + n) * 512;
	return p;
}

static uint64_t count(uint64_t word)
{
	return (uint64_t)__builtin_popcountll(word);
}

struct bf_nvme_chunk *bf_nvme_media_chunk(struct bf_nvme_media *m, uint64_t index)
{
	struct bf_nvme_chunk *c = m->chunks[index];

	if (BF_LIKELY(c != NULL))
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		bf_fail(&m->sim->error, -ENOMEM, "no memory for a medium");
	else if (m->born_allocated)
		memset(c->allocated, 0xff, sizeof(c->allocated));
	m->chunks[index] = c;
	return c;
}

bool bf_nvme_media_written(struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	const uint64_t end = offset + len;

	while (offset < end) {
		struct piece p = next_piece(&offset, end);
		struct bf_nvme_chunk *c = bf_nvme_media_chunk(m, p.chunk);

		if (!c)
			return false;
		m->allocated += count(p.mask & ~c->allocated[p.word]);
		c->allocated[p.word] |= p.mask;
		if (BF_UNLIKELY(c->bad != NULL)) {
			m->bad -= count(p.mask & c->bad[p.word]);
			c->bad[p.word] &= ~p.mask;
		}
	}
	return true;
}

bool bf_nvme_media_poison(struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	const uint64_t end = offset + len;

	while (offset < end) {
		struct piece p = next_piece(&offset, end);
		struct bf_nvme_chunk *c = bf_nvme_media_chunk(m, p.chunk);

		if (c && !c->bad)
			c->bad = calloc(BF_NVME_CHUNK_WORDS, sizeof(uint64_t));
		if (!c)
			return false;
		if (!c->bad) {
			bf_fail(&m->sim->error, -ENOMEM, "no memory for a medium's bad sectors");
			return false;
		}
		m->bad += count(p.mask & ~c->bad[p.word]);
		c->bad[p.word] |= p.mask;
	}
	return true;
}

void bf_nvme_media_forget(struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	const uint64_t end = offset + len;

	while (offset < end) {
		struct piece p = next_piece(&offset, end);
		/* Without memory for it a sector stays allocated, which is allowed: deallocation is a hint. */
		struct bf_nvme_chunk *c = m->born_allocated ? bf_nvme_media_chunk(m, p.chunk) : m->chunks[p.chunk];

		if (!c)
			continue;
		m->allocated -= count(p.mask & c->allocated[p.word]);
		c->allocated[p.word] &= ~p.mask;
		if (c->bad) {
			m->bad -= count(p.mask & c->bad[p.word]);
			c->bad[p.word] &= ~p.mask;
		}
	}
}

static uint64_t first_sector(uint64_t behind, const struct piece *p, uint64_t hits)
{
	return (behind - 512) / 512 / 64 * 64 * 512 + (uint64_t)__builtin_ctzll(hits & p->mask) * 512;
}

uint64_t bf_nvme_media_find_bad(const struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	const uint64_t end = offset + len;

	while (m->bad && offset < end) {
		struct piece p = next_piece(&offset, end);
		const struct bf_nvme_chunk *c = m->chunks[p.chunk];

		if (c && c->bad && c->bad[p.word] & p.mask)
			return first_sector(offset, &p, c->bad[p.word]);
	}
	return end;
}

uint64_t bf_nvme_media_find_hole(const struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	const uint64_t end = offset + len;

	while (offset < end) {
		struct piece p = next_piece(&offset, end);
		const struct bf_nvme_chunk *c = m->chunks[p.chunk];
		const uint64_t holes = c ? ~c->allocated[p.word] : m->born_allocated ? 0 : UINT64_MAX;

		if (holes & p.mask)
			return first_sector(offset, &p, holes);
	}
	return end;
}
