/* Open addressing with linear probing. Nothing depends on the order of slots. */
#include "traces/container/number_map_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/record.h"

void bf_number_map_free(struct bf_number_map *m)
{
	free(m->slots);
	*m = (struct bf_number_map){ 0 };
}

static size_t place_of(const struct bf_number_map *m, const uint64_t key[3])
{
	uint64_t h = bf_hash_bytes(key, 3 * sizeof(*key));

	return (size_t)h & (m->cap - 1);
}

struct bf_number_entry *bf_number_find(const struct bf_number_map *m, const uint64_t key[3])
{
	if (!m->cap)
		return NULL;
	for (size_t i = place_of(m, key); m->slots[i].value; i = (i + 1) & (m->cap - 1)) {
		if (memcmp(m->slots[i].key, key, sizeof(m->slots[i].key)) == 0)
			return &m->slots[i];
	}
	return NULL;
}

uint64_t bf_number_get(const struct bf_number_map *m, const uint64_t key[3])
{
	const struct bf_number_entry *e = bf_number_find(m, key);

	return e ? e->value : 0;
}

static int grow(struct bf_number_map *m)
{
	struct bf_number_map bigger = { .cap = m->cap ? 2 * m->cap : 256 };

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++) {
		size_t at;

		if (!m->slots[i].value)
			continue;
		for (at = place_of(&bigger, m->slots[i].key); bigger.slots[at].value; at = (at + 1) & (bigger.cap - 1))
			;
		bigger.slots[at] = m->slots[i];
	}
	bigger.count = m->count;
	free(m->slots);
	*m = bigger;
	return 0;
}

int bf_number_put(struct bf_number_map *m, const uint64_t key[3], uint64_t value)
{
	struct bf_number_entry *e = bf_number_find(m, key);
	size_t i;

	if (e) {
		e->value = value;
		return 0;
	}
	if (2 * (m->count + 1) > m->cap && grow(m))
		return -ENOMEM;
	for (i = place_of(m, key); m->slots[i].value; i = (i + 1) & (m->cap - 1))
		;
	memcpy(m->slots[i].key, key, sizeof(m->slots[i].key));
	m->slots[i].value = value;
	m->count++;
	return 0;
}

/* Entries behind it that probed past its place move up, so that no mark is left where it was. */
void bf_number_take_out(struct bf_number_map *m, struct bf_number_entry *e)
{
	size_t hole = (size_t)(e - m->slots);

	for (size_t i = (hole + 1) & (m->cap - 1); m->slots[i].value; i = (i + 1) & (m->cap - 1)) {
		const size_t home = place_of(m, m->slots[i].key);

		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].value = 0;
	m->count--;
}
