/*
 * Arrays that grow, one way for all of them. An array is a pointer, NULL at first, and its capacity, 0 at first:
 *
 *	if (BF_GROW(list->item, list->cap, list->count + 1))
 *		return -ENOMEM;
 *	list->item[list->count++] = *item;
 *
 * free() gives it back.
 */
#ifndef BELFRY_SIM_GROW_H
#define BELFRY_SIM_GROW_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes the array that `array` points to at least `need` elements of `size` bytes long, and twice as long as it was.
 * Elements that are new are zero. 0; or -ENOMEM, and nothing has changed.
 */
int bf_grow_size(void *array, size_t *cap, size_t need, size_t size);
int bf_grow_u32(void *array, uint32_t *cap, size_t need, size_t size);

/* The same for a pointer and a capacity of size_t or uint32_t. No call where there is room. */
#define BF_GROW(array, cap, need)                                                                                      \
	((size_t)(need) <= (cap) ? 0                                                                                   \
				 : _Generic(&(cap), size_t *                                                           \
					    : bf_grow_size, uint32_t *                                                 \
					    : bf_grow_u32)(&(array), &(cap), (need), sizeof(*(array))))

#endif
