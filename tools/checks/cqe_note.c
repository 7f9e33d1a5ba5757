#include "tools/checks/cqe_note.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "models/mlx5/prm.h"

/* Names of errors as libibverbs (ibv_wc_status_str), libmlx5 and their users write them. */
static const struct {
	const char *words;
	uint8_t syndrome;
} errors[] = {
	{ "local length error", BF_MLX5_SYND_LOCAL_LENGTH },
	{ "local QP operation error", BF_MLX5_SYND_LOCAL_QP_OP },
	{ "local protection", BF_MLX5_SYND_LOCAL_PROT },
	{ "flush", BF_MLX5_SYND_WR_FLUSH },
	{ "bad response", BF_MLX5_SYND_BAD_RESP },
	{ "local access error", BF_MLX5_SYND_LOCAL_ACCESS },
	{ "remote invalid request", BF_MLX5_SYND_REM_INV_REQ },
	{ "remote access error", BF_MLX5_SYND_REM_ACCESS },
	{ "remote operation", BF_MLX5_SYND_REM_OP },
	{ "transport retry", BF_MLX5_SYND_RETRY_EXC },
	{ "RNR retry", BF_MLX5_SYND_RNR_EXC },
};

static const struct {
	const char *words;
	uint8_t opcode;
} operations[] = {
	/* where two begin at one place, the longer stands first */
	{ "RDMA WRITE with imm", BF_MLX5_OP_RDMA_WRITE_IMM },
	{ "on a SEND with imm", BF_MLX5_OP_SEND_IMM },
	{ "on a SEND", BF_MLX5_OP_SEND },
	{ "send completion", BF_MLX5_OP_SEND },
	{ "RDMA READ", BF_MLX5_OP_RDMA_READ },
	{ "RDMA WRITE", BF_MLX5_OP_RDMA_WRITE },
	{ "ib_write_", BF_MLX5_OP_RDMA_WRITE },
	{ "ib_read_", BF_MLX5_OP_RDMA_READ },
	{ "ib_send_", BF_MLX5_OP_SEND },
};

/* Finds `words` without regard to case, not as the end of a longer word. */
static const char *find_words(const char *text, const char *words)
{
	size_t n = strlen(words);

	for (const char *p = text; *p; p++) {
		if (strncasecmp(p, words, n) == 0 && (p == text || !isalnum((unsigned char)p[-1])))
			return p;
	}
	return NULL;
}

/* The number behind `words` and blanks, decimal or 0x; -1 if there is none. */
static int64_t number_after(const char *text, const char *words)
{
	for (const char *p = text; (p = find_words(p, words)) != NULL; p++) {
		const char *digits = p + strlen(words);

		digits += strspn(digits, " =:");
		if (digits > p + strlen(words) && isdigit((unsigned char)*digits))
			return (int64_t)(strtoull(digits, NULL, digits[1] == 'x' ? 16 : 10) & 0xffffffff);
	}
	return -1;
}

/* A number in brackets right behind the error's name, such as "remote access error (10)". */
static int64_t bracketed_after(const char *p, const char *words)
{
	p += strlen(words);
	p += strncmp(p, " error", 6) == 0 ? 6 : 0;
	if (strncmp(p, " (", 2) != 0 || !isdigit((unsigned char)p[2]) || p[3] == 'x')
		return -1;
	return strtoll(p + 2, NULL, 10);
}

static void read_error(const char *note, struct bf_cqe_expect *e)
{
	const char *first = NULL, *words = NULL;

	for (size_t i = 0; i < BF_ARRAY_LEN(errors); i++) {
		const char *p = find_words(note, errors[i].words);

		if (p && (!first || p < first)) {
			first = p;
			words = errors[i].words;
			e->syndrome = errors[i].syndrome;
		}
	}
	if (first)
		e->status = bracketed_after(first, words);
}

static int64_t first_number(const char *note, const char *const *names)
{
	int64_t n = -1;

	for (; *names && n < 0; names++)
		n = number_after(note, *names);
	return n;
}

void bf_cqe_expect_none(struct bf_cqe_expect *e)
{
	*e = (struct bf_cqe_expect){
		.syndrome = -1,
		.vendor = -1,
		.qpn = -1,
		.wqe_opcode = -1,
		.status = -1,
		.slot = -1,
	};
}

void bf_cqe_note_read(const char *note, struct bf_cqe_expect *e)
{
	/* What perftest prints as "syndrome" is the vendor's. */
	static const char *const vendor[] = { "vendor_err", "vendor syndrome", "vendor error", "syndrome", NULL };
	static const char *const qpn[] = { "qpn", "qp", NULL };
	const char *first = NULL;

	read_error(note, e);
	if (e->status < 0)
		e->status = number_after(note, "status");
	e->vendor = first_number(note, vendor);
	e->qpn = first_number(note, qpn);
	e->slot = number_after(note, "CQ slot");
	e->marked = find_words(note, "software marker") != NULL;
	for (size_t i = 0; i < BF_ARRAY_LEN(operations); i++) {
		const char *p = find_words(note, operations[i].words);

		if (p && (!first || p < first)) {
			first = p;
			e->wqe_opcode = operations[i].opcode;
		}
	}
}

int bf_cqe_verbs_status(uint8_t syndrome)
{
	static const struct {
		uint8_t syndrome;
		int status;
	} table[] = {
		{ BF_MLX5_SYND_LOCAL_LENGTH, 1 }, { BF_MLX5_SYND_LOCAL_QP_OP, 2 }, { BF_MLX5_SYND_LOCAL_PROT, 4 },
		{ BF_MLX5_SYND_WR_FLUSH, 5 },     { BF_MLX5_SYND_MW_BIND, 6 },     { BF_MLX5_SYND_BAD_RESP, 7 },
		{ BF_MLX5_SYND_LOCAL_ACCESS, 8 }, { BF_MLX5_SYND_REM_INV_REQ, 9 }, { BF_MLX5_SYND_REM_ACCESS, 10 },
		{ BF_MLX5_SYND_REM_OP, 11 },      { BF_MLX5_SYND_RETRY_EXC, 12 },  { BF_MLX5_SYND_RNR_EXC, 13 },
		{ BF_MLX5_SYND_REM_ABORT, 16 },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(table); i++) {
		if (table[i].syndrome == syndrome)
			return table[i].status;
	}
	return 21; /* IBV_WC_GENERAL_ERR */
}
