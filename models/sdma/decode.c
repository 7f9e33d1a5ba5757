/* From dwords to packets, and what a packet computes. */
#include "models/sdma/decode_internal.h"

#include <errno.h>

static void stop(struct bf_sdma_packet *p, enum bf_sdma_reason reason, uint32_t dword)
{
	if (p->reason)
		return;
	p->reason = reason;
	p->bad = dword;
}

/* Copies every field's bits to its member and collects the bits that no field has. */
static void read_fields(const struct bf_sdma_form *f, const uint32_t *dw, struct bf_sdma_packet *p)
{
	uint32_t used[BF_SDMA_MAX_FIXED] = { 0 };

	used[0] = (uint32_t)(BF_SDMA_HDR_OP | BF_SDMA_HDR_SUB_OP) | f->mask;
	for (const struct bf_sdma_field *row = f->fields, *end = row + f->nfields; row != end; row++) {
		const uint64_t part = (uint64_t)((dw[row->dword] & row->mask) >> row->low) << row->up;

		*(uint64_t *)(void *)((char *)p + row->member) |= part;
		used[row->dword] |= row->mask;
	}
	for (uint32_t i = 0; i < f->dwords; i++)
		p->reserved |= (uint32_t)((dw[i] & ~used[i]) != 0) << i;
}

/*
 * Addresses whose low bits the packet has no room for (the generations' headers: FENCE and POLL_REGMEM 31:2, TIMESTAMP
 * 31:3) or that every driver aligns: sub-windows to a dword, 64-bit atomics to 8 (ROCr amd_blit_sdma.cpp).
 */
static void check_alignment(struct bf_sdma_packet *p)
{
	switch (p->kind) {
	case BF_SDMA_KIND_RECT:
		if (p->src & 3)
			stop(p, BF_SDMA_MISALIGNED, 1);
		if (p->dst & 3)
			stop(p, BF_SDMA_MISALIGNED, p->dwords == BF_SDMA_RECT_LARGE_DWORDS ? 9 : 6);
		break;
	case BF_SDMA_KIND_FILL:
		if (p->dst & ((1u << p->fill_size) - 1))
			stop(p, BF_SDMA_MISALIGNED, 1);
		break;
	case BF_SDMA_KIND_FENCE:
	case BF_SDMA_KIND_POLL:
		if (p->dst & (p->is64 ? 7 : 3))
			stop(p, BF_SDMA_MISALIGNED, 1);
		break;
	case BF_SDMA_KIND_WRITE:
	case BF_SDMA_KIND_COND_EXE:
		if (p->dst & 3)
			stop(p, BF_SDMA_MISALIGNED, 1);
		break;
	case BF_SDMA_KIND_TIMESTAMP:
		if (p->dst & 7)
			stop(p, BF_SDMA_MISALIGNED, 1);
		break;
	case BF_SDMA_KIND_ATOMIC:
		if (p->dst & (p->is64 ? 7 : 3))
			stop(p, BF_SDMA_MISALIGNED, 1);
		break;
	default:
		break;
	}
}

/* Six dwords that ROCr's microcode knows as an HDP flush (sdma_registers.h, hdp_flush_cmd). */
static bool is_hdp_flush(const uint32_t *dw)
{
	return dw[0] == BF_SDMA_OP_POLL_REGMEM && !dw[1] && dw[2] == BF_SDMA_HDP_FLUSH_DW2 && !dw[3] && !dw[4] &&
	       !dw[5];
}

static void finish_poll(const uint32_t *dw, struct bf_sdma_packet *p)
{
	if (p->is64)
		p->mem_poll = 1;
	if (!p->is64 && is_hdp_flush(dw)) {
		p->kind = BF_SDMA_KIND_HDP_FLUSH;
		p->name = "HDP_FLUSH";
	} else if (!p->mem_poll || p->hdp_flush) {
		stop(p, BF_SDMA_PRIVILEGED, 0); /* registers are the kernel's */
	} else if (p->func > BF_SDMA_GT) {
		stop(p, BF_SDMA_RESERVED, 0);
	}
}

/* What the fields say together. */
static void finish(const uint32_t *dw, struct bf_sdma_packet *p)
{
	switch (p->kind) {
	case BF_SDMA_KIND_NOP:
		p->dwords += (uint32_t)p->count;
		break;
	case BF_SDMA_KIND_WRITE:
		p->dwords += (uint32_t)p->count + 1;
		break;
	case BF_SDMA_KIND_RECT:
		if (p->element > 4)
			stop(p, BF_SDMA_RESERVED, 0);
		break;
	case BF_SDMA_KIND_FILL:
		if (p->fill_size > BF_SDMA_FILL_WORDS)
			stop(p, BF_SDMA_RESERVED, 0);
		break;
	case BF_SDMA_KIND_ATOMIC:
		p->is64 = bf_sdma_atomic_bytes((uint32_t)p->operation) == 8;
		if (!bf_sdma_atomic_bytes((uint32_t)p->operation))
			stop(p, BF_SDMA_RESERVED, 0);
		break;
	case BF_SDMA_KIND_POLL:
		finish_poll(dw, p);
		break;
	case BF_SDMA_KIND_INDIRECT:
		if (p->priv)
			stop(p, BF_SDMA_PRIVILEGED, 0);
		if (p->src & 31)
			stop(p, BF_SDMA_INDIRECT_BAD, 1);
		break;
	case BF_SDMA_KIND_PRIVILEGED:
		stop(p, BF_SDMA_PRIVILEGED, 0);
		break;
	case BF_SDMA_KIND_UNMODELLED:
		stop(p, BF_SDMA_UNMODELLED, 0);
		break;
	default:
		break;
	}
	check_alignment(p);
}

/* In pieces of a few vector stores each: compilers clear all at once by an instruction that takes longer. */
static void clear(struct bf_sdma_packet *p)
{
	enum { PIECE = 64 };
	size_t at = 0;

	for (; at + PIECE <= sizeof(*p); at += PIECE)
		memset((char *)p + at, 0, PIECE);
	memset((char *)p + at, 0, sizeof(*p) % PIECE);
}

enum bf_sdma_reason bf_sdma_decode(const struct bf_sdma_dialect *d, const uint32_t *dw, uint32_t have,
				   struct bf_sdma_packet *out)
{
	const struct bf_sdma_form *f = have ? bf_sdma_form_find(d, dw[0]) : NULL;

	clear(out);
	out->form = f;
	out->name = f ? f->name : "?";
	out->dwords = out->fixed = 1;
	if (!have)
		return out->reason = BF_SDMA_TRUNCATED;
	out->op = (uint8_t)BF_FIELD_GET(BF_SDMA_HDR_OP, dw[0]);
	out->sub_op = (uint8_t)BF_FIELD_GET(BF_SDMA_HDR_SUB_OP, dw[0]);
	if (!f)
		return out->reason = BF_SDMA_BAD_OPCODE;
	out->kind = (enum bf_sdma_kind)f->kind;
	out->is64 = f->is64;
	out->dwords = out->fixed = f->dwords;
	if (have < f->dwords) {
		out->bad = have;
		return out->reason = BF_SDMA_TRUNCATED;
	}
	read_fields(f, dw, out);
	finish(dw, out);
	if (have < out->dwords)
		stop(out, BF_SDMA_TRUNCATED, have);
	return out->reason;
}

uint64_t bf_sdma_packet_bytes(const struct bf_sdma_packet *p)
{
	switch (p->kind) {
	case BF_SDMA_KIND_COPY:
		return p->count + 1;
	case BF_SDMA_KIND_RECT:
		return ((p->x + 1) << p->element) * (p->y + 1) * (p->z + 1);
	case BF_SDMA_KIND_WRITE:
		return (p->count + 1) * 4;
	case BF_SDMA_KIND_FILL:
		/* With wider fill sizes the low bits of the count do not matter (prm.h). */
		return ((p->count >> p->fill_size) + 1) << p->fill_size;
	default:
		return 0;
	}
}

uint32_t bf_sdma_atomic_bytes(uint32_t operation)
{
	const uint32_t base = operation & 31;

	if (operation > 127 || (base != BF_SDMA_ATOMIC_SWAP && base != BF_SDMA_ATOMIC_CMPSWAP &&
				(base < BF_SDMA_ATOMIC_ADD || base > BF_SDMA_ATOMIC_DEC)))
		return 0;
	return operation & BF_SDMA_ATOMIC_64 ? 8 : 4;
}

static int64_t signed_of(uint64_t v, uint32_t bytes)
{
	return bytes == 8 ? (int64_t)v : (int32_t)(uint32_t)v;
}

uint64_t bf_sdma_atomic_apply(uint32_t operation, uint64_t memory, uint64_t source, uint64_t compare)
{
	const uint32_t bytes = bf_sdma_atomic_bytes(operation);
	const uint64_t ones = bytes == 8 ? UINT64_MAX : UINT32_MAX;

	memory &= ones;
	source &= ones;
	switch (operation & 31) {
	case BF_SDMA_ATOMIC_SWAP:
		return source;
	case BF_SDMA_ATOMIC_CMPSWAP:
		return memory == (compare & ones) ? source : memory;
	case BF_SDMA_ATOMIC_ADD:
		return (memory + source) & ones;
	case BF_SDMA_ATOMIC_SUB:
		return (memory - source) & ones;
	case BF_SDMA_ATOMIC_SMIN:
		return signed_of(memory, bytes) < signed_of(source, bytes) ? memory : source;
	case BF_SDMA_ATOMIC_UMIN:
		return memory < source ? memory : source;
	case BF_SDMA_ATOMIC_SMAX:
		return signed_of(memory, bytes) > signed_of(source, bytes) ? memory : source;
	case BF_SDMA_ATOMIC_UMAX:
		return memory > source ? memory : source;
	case BF_SDMA_ATOMIC_AND:
		return memory & source;
	case BF_SDMA_ATOMIC_OR:
		return memory | source;
	case BF_SDMA_ATOMIC_XOR:
		return memory ^ source;
	case BF_SDMA_ATOMIC_INC:
		return memory >= source ? 0 : memory + 1;
	case BF_SDMA_ATOMIC_DEC:
		return !memory || memory > source ? source : memory - 1;
	default:
		return memory;
	}
}

bool bf_sdma_poll_holds(uint32_t func, uint64_t memory, uint64_t reference, uint64_t mask)
{
	memory &= mask;
	switch (func) {
	case BF_SDMA_ALWAYS:
		return true;
	case BF_SDMA_LT:
		return memory < reference;
	case BF_SDMA_LE:
		return memory <= reference;
	case BF_SDMA_EQ:
		return memory == reference;
	case BF_SDMA_NE:
		return memory != reference;
	case BF_SDMA_GE:
		return memory >= reference;
	case BF_SDMA_GT:
		return memory > reference;
	default:
		return false;
	}
}

int bf_sdma_dialect_find(const char *name, struct bf_sdma_dialect *out)
{
	for (enum bf_sdma_gen gen = BF_SDMA_V4; gen < BF_SDMA_GENS; gen++) {
		if (strcmp(name, bf_sdma_gen_name(gen)) != 0)
			continue;
		/* ROCr writes the wide layout for every ISA major of 12 and more (amd_blit_sdma.cpp). */
		*out = (struct bf_sdma_dialect){ .gen = gen, .wide_rect = gen >= BF_SDMA_V7 };
		return 0;
	}
	return -EINVAL;
}
