#include "traces/container/numbering_internal.h"

#include <stdlib.h>

#include "sim/grow.h"

static const uint64_t *key_of(uint32_t number, uint64_t key[3])
{
	key[0] = number;
	key[1] = key[2] = 0;
	return key;
}

void bf_numbering_free(struct bf_numbering *n)
{
	free(n->near);
	bf_number_map_free(&n->far);
	*n = (struct bf_numbering){ 0 };
}

uint32_t bf_numbering_find_far(const struct bf_numbering *n, uint32_t number)
{
	uint64_t key[3];

	return n->far.count ? (uint32_t)bf_number_get(&n->far, key_of(number, key)) : 0;
}

uint32_t bf_numbering_add(struct bf_numbering *n, uint32_t number)
{
	const uint32_t place = bf_numbering_find(n, number);
	uint64_t key[3];

	if (place)
		return place;
	if (number >= BF_NUMBERING_NEAR) {
		if (bf_number_put(&n->far, key_of(number, key), n->count + 1))
			return 0;
	} else {
		if (BF_GROW(n->near, n->near_cap, number + 1))
			return 0;
		n->near[number] = n->count + 1;
	}
	return ++n->count;
}
