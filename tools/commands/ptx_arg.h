/*
 * Arguments of a kernel as `belfry ptx run` takes them: numbers, bytes, and buffers with what they begin with and what
 * becomes of them.
 */
#ifndef BELFRY_TOOLS_COMMANDS_PTX_ARG_H
#define BELFRY_TOOLS_COMMANDS_PTX_ARG_H

#include "sim/mem.h"
#include "tools/cli/cli.h"

enum bf_ptx_show { BF_PTX_SHOW_NONE, BF_PTX_SHOW_HEX, BF_PTX_SHOW_WORDS, BF_PTX_SHOW_FLOATS };

struct bf_ptx_arg {
	bool buffer;
	uint8_t bytes[4096]; /* of a number, or of `bytes:` */
	uint32_t len;
	/* Of a buffer. */
	uint64_t size;
	enum { BF_PTX_BEGIN_ZERO, BF_PTX_BEGIN_FILL, BF_PTX_BEGIN_COUNT, BF_PTX_BEGIN_RANDOM, BF_PTX_BEGIN_FILE } begin;
	uint64_t begin_value; /* the byte, the seed */
	char file[512], save[512], expect[512];
	enum bf_ptx_show show;
	uint64_t show_count; /* 0: all */
	struct bf_region *region;
	bool differs; /* from `expect`, or `expect` could not be read */
	uint64_t differs_at;
};

/* Reads one text. 0 or -EINVAL with `err` saying what of it is wrong. */
int bf_ptx_arg_parse(const char *text, struct bf_ptx_arg *out, struct bf_error *err);

/* Makes the memory of buffer number `index` in `space` and fills it. 0 or a negative errno with `err`. */
int bf_ptx_arg_open(struct bf_ptx_arg *a, uint32_t index, struct bf_space *space, struct bf_error *err);

/* After the run: writes and compares files. 0 or a negative errno with `err`; a difference is in `differs`. */
int bf_ptx_arg_close(struct bf_ptx_arg *a, struct bf_error *err);

/* What is to be shown of a buffer, as text; as the member "hex" or "values" of the open JSON object. */
void bf_ptx_arg_print(const struct bf_ptx_arg *a, uint32_t index);
void bf_ptx_arg_json(const struct bf_ptx_arg *a, struct bf_json *j);

#endif
