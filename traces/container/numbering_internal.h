/*
 * Numbers that a file gives, each with a place: 0 for the first that comes, 1 for the next. A table by place is as long
 * as there are numbers, however large they are. All zero is an empty numbering.
 */
#ifndef BELFRY_TRACES_CONTAINER_NUMBERING_INTERNAL_H
#define BELFRY_TRACES_CONTAINER_NUMBERING_INTERNAL_H

#include "traces/container/number_map_internal.h"

#define BF_NUMBERING_NEAR 65536u /* what one number can ask for: 256 KiB */

struct bf_numbering {
	uint32_t *near; /* places plus one of smaller numbers, which most are */
	uint32_t near_cap, count;
	struct bf_number_map far; /* of the others */
};

void bf_numbering_free(struct bf_numbering *n);

/* See bf_numbering_find(). */
uint32_t bf_numbering_find_far(const struct bf_numbering *n, uint32_t number);

/* The place of a number, plus one; 0: it has none. */
static inline uint32_t bf_numbering_find(const struct bf_numbering *n, uint32_t number)
{
	if (number < BF_NUMBERING_NEAR)
		return number < n->near_cap ? n->near[number] : 0;
	return bf_numbering_find_far(n, number);
}

/* The same, and one that has none gets the next. 0: no memory for it, and nothing has changed. */
uint32_t bf_numbering_add(struct bf_numbering *n, uint32_t number);

#endif
