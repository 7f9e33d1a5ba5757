/* belfry decode: bytes of one entry or completion, field by field. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/spell.h"
#include "tools/cli/cli.h"
#include "traces/device.h"
#include "tools/cli/hex.h"
#include "tools/decodes/decode.h"

#define BYTES_MAX 1024u
#define INPUT_MAX (64u << 20) /* of a log */

/* ---- what was pasted ---- */

/* The arguments, or standard input for '-', in one text. */
static int gather(const struct bf_args *args, char **text, size_t *len, struct bf_error *err)
{
	const unsigned n = bf_arg_positional_count(args);
	FILE *out = open_memstream(text, len);
	char part[4096];
	size_t got, all = 0;

	if (!out)
		return bf_fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 1; i < n; i++) {
		const char *word = bf_arg_positional(args, i);

		if (strcmp(word, "-") != 0)
			fprintf(out, "%s%s", i > 1 ? " " : "", word);
		while (strcmp(word, "-") == 0 && all <= INPUT_MAX && (got = fread(part, 1, sizeof(part), stdin)) > 0)
			all += fwrite(part, 1, got, out);
	}
	if (all > INPUT_MAX) {
		fclose(out);
		return bf_fail(err, -EFBIG, "standard input is longer than %u MiB", INPUT_MAX >> 20);
	}
	return fclose(out) == 0 && *text ? 0 : bf_fail(err, -ENOMEM, "out of memory");
}

/* The next dump that `form` is of, from `*at` on; NULL: no other. */
static const struct bf_evidence *next_dump(const struct bf_evidence_list *list, const struct bf_decode_form *form,
					   size_t *at)
{
	while (*at < list->count) {
		const struct bf_evidence *e = &list->item[(*at)++];

		if (e->kind == form->kind && e->have)
			return e;
	}
	return NULL;
}

/*
 * Lines of a log, as `belfry why` takes them: each dump in them is decoded. -1: there is none. Of a completion whose
 * last row alone is there, the other bytes are zero.
 */
static int decode_log(const struct bf_args *args, const char *text, size_t len, const struct bf_decode_form *form)
{
	struct bf_evidence_list list = { 0 };
	struct bf_error err = { 0 };
	const struct bf_evidence *e;
	size_t at = 0, dumps = 0;
	int code = -1;

	if (bf_evidence_read(text, len, &list, &err))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	while (code < 0 && next_dump(&list, form, &at))
		dumps++;
	if (dumps > 1 && bf_arg_json(args))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%zu dumps; --json takes one", dumps);
	for (at = 0; code <= 0 && (e = next_dump(&list, form, &at)) != NULL;) {
		if (dumps > 1)
			printf("%sline %llu:\n", code < 0 ? "" : "\n", (unsigned long long)e->line);
		code = form->decode(args, form->own, e->bytes, sizeof(e->bytes));
	}
	bf_evidence_free(&list);
	return code;
}

/* A layout of a device that has some in its descriptor; NULL. With `known` set, their names. */
static const struct bf_device_form *device_form(const char *what, char *known, size_t cap)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_device_form *f = d->forms; f && f->name; f++) {
			if (strcmp(f->name, what) == 0)
				return f;
			snprintf(known + strlen(known), cap - strlen(known), ", %s", f->name);
		}
	return NULL;
}

static int decode_device(const struct bf_args *args, const struct bf_device_form *form, const uint8_t *bytes,
			 size_t len)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	struct bf_json j;

	if (len < form->bytes)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s has %zu bytes; these are %zu", form->name, form->bytes,
				    len);
	if (!bf_arg_json(args)) {
		form->print(stdout, bytes, len);
		return BF_EXIT_GOOD;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	form->print(out, bytes, len);
	if (fclose(out) != 0 || !text) {
		free(text);
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "form", form->name);
	bf_json_text(&j, "text", text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	free(text);
	return BF_EXIT_GOOD;
}

#define ROW 16u

/* Rows of bytes in lines, of which each `form->bytes` are one. `offsets`: only if some row has an offset in front. */
static int decode_rows(const struct bf_args *args, const char *text, size_t size, const struct bf_device_form *form,
		       bool offsets)
{
	const char *end = text + size;
	uint8_t bytes[BYTES_MAX];
	size_t len = 0;
	int code = -1;

	for (const char *at = text, *next; at < end; at = next) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		int64_t offset;

		next = newline ? newline + 1 : end;
		if (!bf_evidence_row(at, newline ? newline : end, bytes + len, &offset))
			continue;
		if (offset < 0 && offsets && code < 0 && !len)
			return -1; /* bytes without offsets are bytes alone */
		len += ROW;
		if (len < form->bytes)
			continue;
		if (code >= 0 && bf_arg_json(args))
			return bf_cli_error(args, BF_EXIT_USAGE, "several dumps; --json takes one");
		if (code >= 0)
			printf("\n");
		code = decode_device(args, form, bytes, form->bytes);
		len = 0;
	}
	return code;
}

/* Lines of a log that say in words what the bytes are. */
static int decode_said(const struct bf_args *args, const char *text, size_t size, const struct bf_device_form *form)
{
	struct bf_evidence_list list = { 0 };
	struct bf_error err = { 0 };
	uint8_t bytes[BYTES_MAX];
	int code = -1;

	if (bf_evidence_read(text, size, &list, &err))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	for (size_t i = 0; code <= 0 && i < list.count; i++) {
		if (!form->said(&list.item[i], bytes))
			continue;
		if (code == 0 && bf_arg_json(args))
			code = bf_cli_error(args, BF_EXIT_USAGE, "several lines; --json takes one");
		else
			code = decode_device(args, form, bytes, form->bytes);
	}
	bf_evidence_free(&list);
	return code;
}

static const struct bf_decode_form *form_of(const char *what)
{
	const struct bf_decode_form *form;

	for (unsigned i = 0; (form = bf_decode_form_at(i)) != NULL; i++)
		if (strcmp(what, form->form.name) == 0)
			return form;
	return NULL;
}

static int unknown_form(const struct bf_args *args, const char *what, const char *layouts)
{
	struct bf_spell near = { .word = what, .len = strlen(what) };
	const struct bf_decode_form *form;
	char hint[64], known[192] = "";

	for (unsigned i = 0; (form = bf_decode_form_at(i)) != NULL; i++) {
		bf_spell_try(&near, form->form.name);
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s, ", form->form.name);
	}
	bf_spell_hint(&near, hint, sizeof(hint));
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'%s %s%s%s are known", what, *hint ? hint : ";",
			    known, bf_decode_families[0]->prefix, layouts);
}

static bool fits(const struct bf_decode_form *form, size_t len)
{
	return !form->lengths[0] || len == form->lengths[0] || len == form->lengths[1];
}

static int decode(const struct bf_args *args)
{
	char known[256] = "";
	const char *what = bf_arg_positional(args, 0);
	const struct bf_device_form *device = device_form(what, known, sizeof(known));
	const struct bf_decode_form *form = form_of(what);
	uint8_t bytes[BYTES_MAX];
	struct bf_error err = { 0 };
	size_t len = 0, size = 0;
	char *text = NULL;
	int rc, code = -1;

	if (!form && !device)
		return unknown_form(args, what, known);
	if (gather(args, &text, &size, &err)) {
		free(text);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	}
	rc = bf_hex_append(text, bytes, BYTES_MAX, &len, &err);
	if (form && (rc || !fits(form, len)))
		code = decode_log(args, text, size, form);
	if (device && device->bytes <= BYTES_MAX - ROW)
		code = decode_rows(args, text, size, device, !rc);
	if (device && rc && code < 0 && device->said)
		code = decode_said(args, text, size, device);
	free(text);
	if (code >= 0)
		return code;
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (len == 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "there are no bytes to decode");
	return form ? form->decode(args, form->own, bytes, len) : decode_device(args, device, bytes, len);
}

static const struct bf_command_form *form_at(unsigned i)
{
	const struct bf_decode_form *form = bf_decode_form_at(i);

	return form ? &form->form : NULL;
}

static const struct bf_opt options[] = { { 0 } };

const struct bf_command bf_cmd_decode = {
	.name = "decode",
	.usage = "decode FORM HEX...",
	.summary = "print the fields of a work-queue entry or a completion",
	.details = "Other devices have forms too: the message for an unknown name (`belfry decode list`) lists all.\n"
		   "\n"
		   "HEX may contain blanks, colons, commas and 0x, in one or more arguments; '-' reads standard "
		   "input. It may also be lines of a log, as `belfry why` reads them: with clocks, ranks and offsets "
		   "in front, several dumps in one paste.",
	.form = form_at,
	.options = options,
	.min_args = 1,
	.max_args = 1024,
	.run = decode,
	.families = bf_decode_families,
};
