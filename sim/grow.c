#include "sim/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16u

int bf_grow_size(void *array, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? 2 * *cap : FIRST;
	char *old, *grown;

	if (need <= *cap)
		return 0;
	n = n < need ? need : n;
	if (n < *cap || n > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old)); /* a pointer of any type */
	grown = realloc(old, n * size);
	if (!grown)
		return -ENOMEM;
	memset(grown + *cap * size, 0, (n - *cap) * size);
	memcpy(array, &grown, sizeof(grown));
	*cap = n;
	return 0;
}

int bf_grow_u32(void *array, uint32_t *cap, size_t need, size_t size)
{
	size_t wide = *cap;

	if (need > UINT32_MAX / 2 || bf_grow_size(array, &wide, need, size))
		return -ENOMEM;
	*cap = (uint32_t)wide;
	return 0;
}
