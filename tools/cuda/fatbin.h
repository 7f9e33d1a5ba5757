/*
 * Fat binaries: what nvcc puts into a program for its GPUs. Found in them: the PTX texts, unpacked.
 *
 * Sources: fatbinary_section.h of the CUDA toolkit (the wrapper and its magic numbers), LZ4 block format description,
 * RFC 8878 (zstd); the places of fields by looking at binaries that nvcc 13 made of our own sources.
 */
#ifndef BELFRY_TOOLS_CUDA_FATBIN_H
#define BELFRY_TOOLS_CUDA_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_FATBIN_WRAPPER 0x466243b1u /* of struct bf_fatbin_wrapper */
#define BF_FATBIN_MAGIC 0xba55ed50u   /* of the data */

/* What a program registers: 24 bytes of its section .nvFatBinSegment. */
struct bf_fatbin_wrapper {
	uint32_t magic;
	uint32_t version; /* 1; 2: relocatable, `more` is an array of the objects' fat binaries that ends with NULL */
	const void *data;
	const void *more;
};

enum bf_fatbin_kind {
	BF_FATBIN_PTX = 1,
	BF_FATBIN_CUBIN = 2,
	BF_FATBIN_LTO = 8,
	BF_FATBIN_RELOCATABLE_PTX = 64,
};

/* One entry, as it lies there. */
struct bf_fatbin_entry {
	uint32_t kind; /* enum bf_fatbin_kind, or others */
	uint32_t arch; /* 90 of sm_90 */
	uint64_t flags;
	uint64_t full_size; /* unpacked; 0: it is not packed */
	const uint8_t *payload;
	uint64_t payload_size; /* packed, without padding */
};

/*
 * How many bytes a fat binary at `data` has, which begins with its header of 16 bytes; 0: it is none. Programs do not
 * say how long theirs are.
 */
uint64_t bf_fatbin_size(const void *data);

/*
 * The entry at `*at` (0 at first), which goes on to the next one. 1, 0 at the end, or -EINVAL with `err` when what is
 * there does not fit into `len` bytes.
 */
int bf_fatbin_next(const void *data, uint64_t len, uint64_t *at, struct bf_fatbin_entry *out, struct bf_error *err);

/*
 * The text of a PTX entry, to be freed, with a final NUL that `*len` does not count. NULL with `err`: it cannot be
 * unpacked (-EINVAL), this build has no zstd (-ENOTSUP), no memory.
 */
char *bf_fatbin_text(const struct bf_fatbin_entry *entry, size_t *len, struct bf_error *err);

/* The other way round: a fat binary with one text, of so many bytes, a multiple of 8; `out` is zeroed. */
size_t bf_fatbin_wrapped(size_t len);
void bf_fatbin_wrap(uint8_t *out, const char *text, size_t len);

/* An LZ4 block (without a frame) of `len` bytes, which gives `size`. 0 or -EINVAL. */
int bf_lz4_unpack(const uint8_t *in, size_t len, uint8_t *out, size_t size);

/* What a fat binary has, for those who choose: the best PTX for a compute capability, and what else there is. */
struct bf_fatbin_choice {
	struct bf_fatbin_entry ptx; /* kind 0: there is none */
	uint32_t cubins, ltos;
	uint32_t cubin_arch; /* of one of them */
};

/* The newest PTX not above `arch`, else the oldest above it. 0 or -EINVAL with `err`. */
int bf_fatbin_choose(const void *data, uint64_t len, uint32_t arch, struct bf_fatbin_choice *out, struct bf_error *err);

#endif
