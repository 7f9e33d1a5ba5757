/* Names, and packets as text. */
#include "models/sdma/decode_internal.h"

#include <inttypes.h>

const char *bf_sdma_gen_name(enum bf_sdma_gen gen)
{
	static const char *const names[BF_SDMA_GENS] = { "v4", "v5", "v6", "v7", "v7.1" };

	return (unsigned)gen < BF_SDMA_GENS ? names[gen] : "?";
}

const char *bf_sdma_reason_name(enum bf_sdma_reason why)
{
	switch (why) {
	case BF_SDMA_RUNS:
		return "runs";
	case BF_SDMA_BAD_OPCODE:
		return "no such packet on this generation";
	case BF_SDMA_RESERVED:
		return "reserved value";
	case BF_SDMA_MISALIGNED:
		return "misaligned address";
	case BF_SDMA_TRUNCATED:
		return "packet longer than what was published";
	case BF_SDMA_STRADDLES:
		return "packet crosses the end of the ring";
	case BF_SDMA_MEMORY:
		return "memory fault";
	case BF_SDMA_PRIVILEGED:
		return "not for user queues";
	case BF_SDMA_DOORBELL_BACK:
		return "doorbell went back or past a whole ring";
	case BF_SDMA_OUT_OF_SURFACE:
		return "sub-window leaves its rows or slices";
	case BF_SDMA_OVERLAP:
		return "source and destination overlap";
	case BF_SDMA_INDIRECT_BAD:
		return "indirect buffer's address, size, place or nesting";
	case BF_SDMA_UNMODELLED:
		return "packet is not modelled";
	}
	return "?";
}

/* All packets up to the end, of which the last one may be cut. */
static bool is_of(const struct bf_sdma_dialect *d, const uint32_t *dw, size_t have)
{
	struct bf_sdma_packet p;

	for (size_t at = 0; at < have; at += p.dwords) {
		const enum bf_sdma_reason why = bf_sdma_decode(d, dw + at, (uint32_t)(have - at), &p);

		if (p.reserved || why == BF_SDMA_BAD_OPCODE || why == BF_SDMA_RESERVED)
			return false;
	}
	return true;
}

uint32_t bf_sdma_gens_of(const uint32_t *dw, size_t have, uint32_t *mask, char *text, size_t cap)
{
	struct bf_sdma_dialect d;
	uint32_t n = 0, left;
	size_t used = 0;

	*mask = 0;
	text[0] = '\0';
	for (uint32_t g = 0; g < BF_SDMA_GENS; g++)
		if (!bf_sdma_dialect_find(bf_sdma_gen_name((enum bf_sdma_gen)g), &d) && is_of(&d, dw, have))
			*mask |= 1u << g;
	for (left = *mask; left; left &= left - 1, n++)
		if (used < cap)
			used += (size_t)snprintf(text + used, cap - used, "%s%s",
						 !n                  ? ""
						 : left & (left - 1) ? ", "
								     : " and ",
						 bf_sdma_gen_name((enum bf_sdma_gen)__builtin_ctz(left)));
	return n;
}

const char *bf_sdma_func_name(uint32_t func)
{
	static const char *const names[] = { "always", "<", "<=", "==", "!=", ">=", ">" };

	return func < BF_ARRAY_LEN(names) ? names[func] : "reserved";
}

const char *bf_sdma_atomic_name(uint32_t operation)
{
	/* In the order of enum bf_sdma_atomic: 7, 8, 15 to 25. */
	static const char *const names[][2] = {
		{ "SWAP", "SWAP_64" }, { "CMPSWAP", "CMPSWAP_64" }, { "ADD", "ADD_64" },   { "SUB", "SUB_64" },
		{ "SMIN", "SMIN_64" }, { "UMIN", "UMIN_64" },       { "SMAX", "SMAX_64" }, { "UMAX", "UMAX_64" },
		{ "AND", "AND_64" },   { "OR", "OR_64" },           { "XOR", "XOR_64" },   { "INC", "INC_64" },
		{ "DEC", "DEC_64" },
	};
	const uint32_t base = operation & 31;

	if (!bf_sdma_atomic_bytes(operation))
		return "?";
	return names[base < BF_SDMA_ATOMIC_ADD ? base - BF_SDMA_ATOMIC_SWAP : base - BF_SDMA_ATOMIC_ADD + 2]
		    [operation & BF_SDMA_ATOMIC_64 ? 1 : 0];
}

static const char *meaning(const struct bf_sdma_field *f, uint64_t v, char *buf, size_t cap)
{
	static const char *const fills[] = { "bytes", "halves", "dwords", "reserved" };

	buf[0] = '\0';
	switch (f->note) {
	case BF_SDMA_LESS_ONE:
		snprintf(buf, cap, "%" PRIu64, v + 1);
		break;
	case BF_SDMA_LOG2:
		snprintf(buf, cap, v > 4 ? "reserved" : "%u bytes", 1u << (v & 7));
		break;
	case BF_SDMA_IS_FUNC:
		return bf_sdma_func_name((uint32_t)v);
	case BF_SDMA_IS_ATOMIC:
		return bf_sdma_atomic_name((uint32_t)v);
	case BF_SDMA_IS_FILL:
		return fills[v & 3];
	default:
		break;
	}
	return buf;
}

/* Bits of dword `at` that no field has. */
static uint32_t reserved_bits(const struct bf_sdma_form *f, const uint32_t *dw, uint32_t at)
{
	uint32_t used = at ? 0 : (uint32_t)(BF_SDMA_HDR_OP | BF_SDMA_HDR_SUB_OP) | f->mask;

	for (uint32_t i = 0; i < f->nfields; i++)
		if (f->fields[i].dword == at)
			used |= f->fields[i].mask;
	return dw[at] & ~used;
}

void bf_sdma_each_field(const struct bf_sdma_packet *p, const uint32_t *dw, uint32_t have, bf_sdma_field_fn *fn,
			void *arg)
{
	const struct bf_sdma_form *f = p->form;
	char text[32];

	if (!have)
		return;
	fn(arg, "op", 0, p->op, p->name);
	fn(arg, "sub_op", 0, p->sub_op, "");
	for (uint32_t i = 0; f && i < f->nfields; i++) {
		const struct bf_sdma_field *row = &f->fields[i];
		uint64_t v = 0;
		uint32_t last = i;

		while (last + 1 < f->nfields && !strcmp(f->fields[last + 1].name, row->name))
			last++;
		if (!row->mask || f->fields[last].dword >= have)
			continue;
		for (uint32_t k = i; k <= last; k++)
			v |= (uint64_t)((dw[f->fields[k].dword] & f->fields[k].mask) >> f->fields[k].low)
			     << f->fields[k].up;
		fn(arg, row->name, row->dword, v, meaning(row, v, text, sizeof(text)));
		i = last;
	}
	for (uint32_t i = 0; f && i < p->fixed && i < have; i++)
		if (p->reserved >> i & 1)
			fn(arg, "reserved", i, reserved_bits(f, dw, i), "reserved bits are set");
}

struct printer {
	FILE *out;
	const uint32_t *dw;
};

static void print_field(void *arg, const char *name, uint32_t dword, uint64_t raw, const char *text)
{
	const struct printer *pr = arg;

	fprintf(pr->out, "%3u  %08x  %-18s 0x%" PRIx64, dword, pr->dw[dword], name, raw);
	if (raw > 9 && !text[0])
		fprintf(pr->out, " (%" PRIu64 ")", raw);
	fprintf(pr->out, "%s%s\n", text[0] ? "  " : "", text);
}

void bf_sdma_print(FILE *out, const struct bf_sdma_packet *p, const uint32_t *dw, uint32_t have)
{
	struct printer pr = { out, dw };
	const uint64_t bytes = bf_sdma_packet_bytes(p);

	fprintf(out, "%s, %u dword%s", p->name, p->dwords, p->dwords == 1 ? "" : "s");
	if (bytes)
		fprintf(out, ", moves %" PRIu64 " bytes", bytes);
	fputc('\n', out);
	bf_sdma_each_field(p, dw, have, print_field, &pr);
	for (uint32_t i = p->fixed; i < p->dwords && i < have; i++)
		fprintf(out, "%3u  %08x  %s\n", i, dw[i], p->kind == BF_SDMA_KIND_WRITE ? "data" : "skipped");
	if (p->reason)
		fprintf(out, "dword %u: %s\n", p->bad, bf_sdma_reason_name(p->reason));
}
