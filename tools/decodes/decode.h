/* The forms of `belfry decode`: a file for each device whose bytes are told as JSON, too. */
#ifndef BELFRY_TOOLS_DECODES_DECODE_H
#define BELFRY_TOOLS_DECODES_DECODE_H

#include "tools/cli/cli.h"
#include "traces/evidence/evidence.h"

struct bf_decode_form {
	struct bf_command_form form; /* its name, and what HEX is */
	enum bf_evidence_kind kind;  /* of dumps in a log: these are decoded */
	size_t lengths[2];           /* of bytes; else they may be a log. Zeros: any */
	/* Prints them; `own` is the one below. Returns an exit code. */
	int (*decode)(const struct bf_args *args, const void *own, const uint8_t *bytes, size_t len);
	const void *own;
};

/* All of them; NULL past the last. Layouts of devices (traces/device.h) come beside them. */
const struct bf_decode_form *bf_decode_form_at(unsigned i);

/* Forms with options of their own. */
extern const struct bf_command *const bf_decode_families[];

#endif
