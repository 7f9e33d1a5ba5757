/*
 * Decoder of SDMA packets: dwords in, fields out, what is wrong named. Used by the model, by `belfry decode sdma`, by
 * importers and by fuzzers. Pure functions, thread-safe, no allocation.
 */
#ifndef BELFRY_MODELS_SDMA_DECODE_H
#define BELFRY_MODELS_SDMA_DECODE_H

#include <stdbool.h>
#include <stdio.h>

#include "models/sdma/prm.h"

/* What decides how bits are read. */
struct bf_sdma_dialect {
	enum bf_sdma_gen gen;
	bool wide_rect;  /* sub-windows in ROCr's gfx12 layout */
	bool wide_count; /* v4 and v5: copy counts of 30 bits (gfx90a, gfx10.3); later ones always have them */
};

/* What a packet does; one executor for each. */
enum bf_sdma_kind {
	BF_SDMA_KIND_NONE, /* nothing is known of this opcode */
	BF_SDMA_KIND_NOP,
	BF_SDMA_KIND_COPY, /* linear, with a second destination when `broadcast` is set */
	BF_SDMA_KIND_RECT, /* sub-window, both layouts and LARGE */
	BF_SDMA_KIND_WRITE,
	BF_SDMA_KIND_FILL,
	BF_SDMA_KIND_FENCE,
	BF_SDMA_KIND_POLL,
	BF_SDMA_KIND_HDP_FLUSH,
	BF_SDMA_KIND_ATOMIC,
	BF_SDMA_KIND_TIMESTAMP,
	BF_SDMA_KIND_TRAP,
	BF_SDMA_KIND_DUMMY_TRAP,
	BF_SDMA_KIND_COND_EXE,
	BF_SDMA_KIND_INDIRECT,
	BF_SDMA_KIND_GCR,
	BF_SDMA_KIND_PRIVILEGED, /* known, and not for user queues */
	BF_SDMA_KIND_UNMODELLED, /* known, and this model does not execute it (tiled surfaces) */
	BF_SDMA_KINDS
};

/* The fields of one form of a packet; decode.c. */
struct bf_sdma_form;

#define BF_SDMA_MAX_FIXED 20u /* dwords of the longest packet without payload */

/*
 * A decoded packet. Fields that it does not have are 0; those of the union mean something in packets of the kinds named
 * there only. "Minus one" fields are as they are encoded.
 */
struct bf_sdma_packet {
	const struct bf_sdma_form *form; /* NULL: unknown opcode */
	const char *name;                /* "COPY_LINEAR", or "?" */
	enum bf_sdma_kind kind;
	uint32_t dwords;            /* of the whole packet; what follows a stopped queue's packet is not decoded */
	uint32_t fixed;             /* dwords before the payload (WRITE's data, NOP's skipped dwords) */
	uint32_t reserved;          /* bit n: reserved bits of dword n are set */
	enum bf_sdma_reason reason; /* why it cannot be executed; BF_SDMA_RUNS: it can */
	uint32_t bad;               /* the dword that says so */
	uint8_t op, sub_op;
	bool is64; /* FENCE, POLL: the 64-bit form; ATOMIC: a 64-bit operation */

	uint64_t count; /* copy and fill: bytes minus one; write: dwords minus one; nop, cond_exe, indirect: dwords */
	uint64_t src, dst, dst2; /* addresses; every other packet's only address is `dst` */
	uint64_t data;           /* fence, fill, timestamp set, trap; atomic: the source */
	uint64_t broadcast, backwards;
	uint64_t element; /* log2 of the bytes */
	uint64_t fill_size;
	uint64_t attributes; /* cache policies, scopes, swaps and the like: no effect here; 0 when all are */
	union {
		__extension__ struct { /* RECT */
			uint64_t src_x, src_y, src_z, src_pitch, src_slice;
			uint64_t dst_x, dst_y, dst_z, dst_pitch, dst_slice;
		};
		__extension__ struct { /* POLL, COND_EXE, ATOMIC */
			uint64_t func, reference, mask, interval, retries, mem_poll, hdp_flush;
			uint64_t operation, loop, compare;
		};
		__extension__ struct { /* INDIRECT, GCR */
			uint64_t priv, vmid, csa;
			uint64_t gcr_base, gcr_limit, gcr_control;
		};
	};
	uint64_t x, y, z; /* RECT: extents minus one */
};

/*
 * Decodes the packet at `dw`, of which `have` dwords may be read. Returns its reason: BF_SDMA_RUNS, BF_SDMA_TRUNCATED
 * when it is longer than `have` (`dwords` is then what has to be there before it can be looked at again), or why no
 * engine of this kind would execute it. Op, sub op and name are valid when have > 0. Bits past the known fields are
 * reported in `reserved` and change nothing.
 */
enum bf_sdma_reason bf_sdma_decode(const struct bf_sdma_dialect *d, const uint32_t *dw, uint32_t have,
				   struct bf_sdma_packet *out);

/* Bytes that a COPY, RECT, WRITE or FILL packet moves to each destination; 0 for others. */
uint64_t bf_sdma_packet_bytes(const struct bf_sdma_packet *p);

/* Bytes that ATOMIC operates on: 4, 8, or 0 when there is no such operation. */
uint32_t bf_sdma_atomic_bytes(uint32_t operation);

/* Memory's new value. `operation` must be a known one; values of 4-byte operations are zero-extended. */
uint64_t bf_sdma_atomic_apply(uint32_t operation, uint64_t memory, uint64_t source, uint64_t compare);

/* (memory & mask) FUNC reference, as ROCr's header words it: the reference is not masked. Func 7 never holds. */
bool bf_sdma_poll_holds(uint32_t func, uint64_t memory, uint64_t reference, uint64_t mask);

/* "v6" to its generation; -EINVAL otherwise. The dialect is the one that ROCr expects of it. */
int bf_sdma_dialect_find(const char *name, struct bf_sdma_dialect *out);
const char *bf_sdma_gen_name(enum bf_sdma_gen gen);       /* "v7.1" */
const char *bf_sdma_reason_name(enum bf_sdma_reason why); /* "misaligned address" */
const char *bf_sdma_func_name(uint32_t func);             /* "==" */
const char *bf_sdma_atomic_name(uint32_t operation);      /* "ADD_64", or "?" */

/*
 * The generations that define every bit of the packets at `dw` and would execute them, in words: "v5, v6 and v7". ""
 * when none does. The last packet counts as far as it is there. Returns how many there are; bit n of `*mask` is
 * generation n.
 */
uint32_t bf_sdma_gens_of(const uint32_t *dw, size_t have, uint32_t *mask, char *text, size_t cap);

/*
 * Calls `fn` for each field: `dword` is the first that it lies in, `raw` its value as encoded, `text` what the value
 * means ("" when the number says it all). The header's op and sub op come first. Reserved bits that are set come as a
 * field called "reserved" of their dword.
 */
typedef void bf_sdma_field_fn(void *arg, const char *name, uint32_t dword, uint64_t raw, const char *text);
void bf_sdma_each_field(const struct bf_sdma_packet *p, const uint32_t *dw, uint32_t have, bf_sdma_field_fn *fn,
			void *arg);

/* Prints the packet, one field per line with its dword, and what is wrong with it. */
void bf_sdma_print(FILE *out, const struct bf_sdma_packet *p, const uint32_t *dw, uint32_t have);

#endif
