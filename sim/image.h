/*
 * An image: bytes that many regions begin with, such as a table that each of thousands of PEs has in its own memory and
 * that is the same everywhere. The regions share its pages until one is written, which then is that region's own.
 */
#ifndef BELFRY_SIM_IMAGE_H
#define BELFRY_SIM_IMAGE_H

#include <stdint.h>

#include "sim/compiler.h"

BF_API_BEGIN

struct bf_image {
	int fd;        /* memory without a name (memfd_create(2)) */
	uint64_t size; /* in whole pages of BF_PAGE; 0: there is none */
};

/* Takes a copy of `len` bytes, at least one; what is left of the last page is zero. 0 or a negative errno. */
int bf_image_create(struct bf_image *im, const void *bytes, uint64_t len);

/*
 * Maps all of it, readable, writable and private to whoever maps it, for munmap() of `size` bytes. NULL on lack of
 * memory or of room for another mapping.
 */
void *bf_image_map(const struct bf_image *im);

/* Mappings stay. Does nothing to a zeroed one. */
void bf_image_destroy(struct bf_image *im);

BF_API_END

#endif
