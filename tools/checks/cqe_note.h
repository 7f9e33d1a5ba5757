/*
 * What somebody said about a completion, in words: the notes of vectors, which quote what libraries and users wrote
 * into public issue threads. Read like a person would: the first error that is named is this completion's.
 */
#ifndef BELFRY_TOOLS_CHECKS_CQE_NOTE_H
#define BELFRY_TOOLS_CHECKS_CQE_NOTE_H

#include <stdbool.h>
#include <stdint.h>

/* -1: not said. */
struct bf_cqe_expect {
	int64_t syndrome, vendor, qpn, wqe_opcode;
	int64_t status; /* enum ibv_wc_status, as libraries print it in brackets */
	int64_t slot;   /* place in the completion queue: makes the signature checkable */
	bool marked;    /* software wrote a marker over bytes 0 to 7 */
};

void bf_cqe_expect_none(struct bf_cqe_expect *e);

/* Adds what `note` says. */
void bf_cqe_note_read(const char *note, struct bf_cqe_expect *e);

/* The status that libibverbs reports for a syndrome (rdma-core providers/mlx5/cq.c mlx5_handle_error_cqe). */
int bf_cqe_verbs_status(uint8_t syndrome);

#endif
