/*
 * Dumps of an SDMA ring: dwords in hexadecimal, as people paste them, or as umr prints a ring:
 *
 *   vega10.sdma0.rptr == 512
 *   vega10.sdma0.wptr == 526
 *   vega10.sdma0.drv_wptr == 526
 *   vega10.sdma0.ring[ 512] == 0x00000401    r.. what umr makes of it
 *
 * (umr src/app/ring_read.c; pointers and indices count dwords.) The plain form is dwords with or without 0x, several to
 * a line, each line with or without "OFFSET:" in front (in bytes, hexadecimal); '#' begins a comment. Indices must
 * follow each other; a jump back to 0 is the ring's end. Anything else is an error with line and column. One thread per
 * dump.
 */
#ifndef BELFRY_TRACES_IMPORT_SDMA_DUMP_H
#define BELFRY_TRACES_IMPORT_SDMA_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"
#include "sim/record.h"

struct bf_sdma_dump {
	uint32_t *dw;
	size_t count, cap;
	uint32_t first;       /* place of the first dword in the ring, in dwords */
	uint32_t ring_dwords; /* a power of two, when the dump goes over the ring's end; 0: not known */
	uint32_t rptr, wptr;  /* in dwords */
	bool has_rptr, has_wptr;
	char name[40]; /* "vega10.sdma0", "" if the dump does not say */
};

/*
 * Reads a dump from memory. 0, or -EBADMSG with line, column and reason in `err`, or -ENOMEM. `*out` is set in every
 * case but -ENOMEM and holds all dwords before the damage. Free with bf_sdma_dump_free().
 */
int bf_sdma_dump_parse(const char *text, size_t len, struct bf_sdma_dump **out, struct bf_error *err);

/* The same with what follows in `f`: a dump, or a trace that one was imported into. `path` is for messages. */
int bf_sdma_dump_load_file(FILE *f, const char *path, struct bf_sdma_dump **out, struct bf_error *err);
void bf_sdma_dump_free(struct bf_sdma_dump *d);

/* True when the bytes, the beginning of a file, look like a dump. */
bool bf_sdma_dump_probe(const char *text, size_t len);

/* Emits the dump as one record (type 620). */
int bf_sdma_dump_emit(const struct bf_sdma_dump *d, struct bf_sink *sink, struct bf_error *err);

#endif
