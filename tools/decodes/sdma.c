/* belfry decode sdma: dwords of a ring or an indirect buffer, packet by packet. */
#include <stdlib.h>
#include <string.h>

#include "models/sdma/decode.h"
#include "sim/bytes.h"
#include "tools/cli/cli.h"
#include "traces/container/text.h"

#define DWORDS_MAX 16384u

struct dwords {
	uint32_t dw[DWORDS_MAX];
	uint32_t n;
};

static bool is_gap(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',';
}

/* A group of digits is a dword; one of 16, 24, ... digits is several. Returns NULL, or where it is wrong. */
static const char *add_group(struct dwords *d, const char *at, const char *end)
{
	const size_t digits = (size_t)(end - at);
	const size_t each = digits <= 8 ? digits : 8;

	if (!digits || digits % each)
		return at;
	for (; at < end; at += each) {
		uint32_t value = 0;

		for (size_t i = 0; i < each; i++) {
			const int digit = bf_hex_digit(at[i]);

			if (digit < 0)
				return at + i;
			value = value << 4 | (uint32_t)digit;
		}
		if (d->n == DWORDS_MAX)
			return at;
		d->dw[d->n++] = value;
	}
	return NULL;
}

static int add_text(const struct bf_args *args, struct dwords *d, const char *text)
{
	while (*text) {
		const char *end = text, *wrong;

		while (*end && !is_gap(*end))
			end++;
		if (end > text) {
			if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
				text += 2;
			wrong = add_group(d, text, end);
			if (wrong && d->n == DWORDS_MAX)
				return bf_cli_error(args, BF_EXIT_USAGE, "more than %u dwords", DWORDS_MAX);
			if (wrong)
				return bf_cli_error(args, BF_EXIT_USAGE, "'%.*s' is not a dword of hexadecimal digits",
						    (int)(end - text < 40 ? end - text : 40), text);
		}
		text = *end ? end + 1 : end;
	}
	return 0;
}

static int read_dwords(const struct bf_args *args, struct dwords *d)
{
	struct bf_text_lines lines = { .f = stdin };
	struct bf_error err = { 0 };
	int rc = 0, more = 0;

	for (unsigned i = 1; i < bf_arg_positional_count(args) && !rc; i++) {
		const char *word = bf_arg_positional(args, i);

		if (strcmp(word, "-") != 0) {
			rc = add_text(args, d, word);
			continue;
		}
		while (!rc && (more = bf_text_line(&lines, &err)) > 0)
			rc = add_text(args, d, lines.text);
		if (more < 0)
			rc = bf_cli_error(args, BF_EXIT_USAGE, "standard input: %s", err.text);
	}
	free(lines.text);
	if (!rc && !d->n)
		rc = bf_cli_error(args, BF_EXIT_USAGE, "there are no dwords to decode");
	return rc;
}

static void json_field(void *arg, const char *name, uint32_t dword, uint64_t raw, const char *text)
{
	struct bf_json *j = arg;

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "name", name);
	bf_json_u64(j, "dword", dword);
	bf_json_hex(j, "value", raw);
	if (text[0])
		bf_json_text(j, "meaning", text);
	bf_json_close(j, '}');
}

static void json_packet(struct bf_json *j, const struct bf_sdma_packet *p, uint32_t at, const uint32_t *dw,
			uint32_t have)
{
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "packet", p->name);
	bf_json_u64(j, "at", at);
	bf_json_u64(j, "dwords", p->dwords);
	bf_json_u64(j, "bytes", bf_sdma_packet_bytes(p));
	bf_json_open(j, "fields", '[');
	bf_sdma_each_field(p, dw, have, json_field, j);
	bf_json_close(j, ']');
	bf_json_bool(j, "runs", !p->reason);
	if (p->reason) {
		bf_json_text(j, "reason", bf_sdma_reason_name(p->reason));
		bf_json_u64(j, "wrong_dword", p->bad);
	}
	bf_json_close(j, '}');
}

/* Packet by packet up to the end, or to the one that no engine gets past. */
static int decode_all(const struct bf_args *args, const struct bf_sdma_dialect *dialect, const struct dwords *d)
{
	const bool json = bf_arg_json(args);
	struct bf_sdma_packet p = { .reason = BF_SDMA_RUNS };
	char why[160];
	struct bf_json j;
	uint32_t at = 0;

	if (json) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_open(&j, "packets", '[');
	}
	while (at < d->n && !p.reason) {
		bf_sdma_decode(dialect, d->dw + at, d->n - at, &p);
		if (json) {
			json_packet(&j, &p, at, d->dw + at, d->n - at);
		} else {
			printf("%s%u: ", at ? "\n" : "", at);
			bf_sdma_print(stdout, &p, d->dw + at, d->n - at);
		}
		at += p.dwords;
	}
	snprintf(why, sizeof(why), "%s at dword %u, dword %u of it: %s", p.name, at - p.dwords, p.bad,
		 bf_sdma_reason_name(p.reason));
	if (json) {
		bf_json_close(&j, ']');
		if (p.reason) {
			bf_json_text(&j, "error", why);
			bf_json_u64(&j, "exit", BF_EXIT_USAGE);
		}
		bf_json_close(&j, '}');
		bf_json_end(&j);
		return p.reason ? BF_EXIT_USAGE : BF_EXIT_GOOD;
	}
	return p.reason ? bf_cli_error(args, BF_EXIT_USAGE, "%s", why) : BF_EXIT_GOOD;
}

enum { RECT_AUTO, RECT_NARROW, RECT_WIDE };

static int decode(const struct bf_args *args)
{
	const char *gen = bf_arg_text(args, "gen");
	const uint64_t rect = bf_arg_u64(args, "rect");
	struct bf_sdma_dialect dialect;
	struct dwords d;
	int rc;

	d.n = 0;
	if (strcmp(bf_arg_positional(args, 0), "sdma") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'; sdma is known",
				    bf_arg_positional(args, 0));
	if (bf_sdma_dialect_find(gen, &dialect))
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "there is no generation '%s'; v4, v5, v6, v7 and v7.1 are known", gen);
	if (rect != RECT_AUTO)
		dialect.wide_rect = rect == RECT_WIDE;
	dialect.wide_count = bf_arg_flag(args, "wide-count");
	rc = read_dwords(args, &d);
	return rc ? rc : decode_all(args, &dialect, &d);
}

static const struct bf_opt options[] = {
	{ .name = "gen",
	  .kind = BF_OPT_TEXT,
	  .arg = "GEN",
	  .initial = "v6",
	  .help = "the engine's generation: v4 (gfx9), v5 (gfx10), v6 (gfx11), v7 (gfx12), v7.1 (gfx1250)" },
	{ .name = "rect",
	  .kind = BF_OPT_ENUM,
	  .arg = "auto|narrow|wide",
	  .initial = "auto",
	  .help = "layout of sub-window packets; auto: wide from v7 on, as ROCr writes them" },
	{ .name = "wide-count", .kind = BF_OPT_FLAG, .help = "copy counts of 30 bits on v4 and v5 (gfx90a, gfx10.3)" },
	{ 0 },
};

const struct bf_command bf_cmd_decode_sdma = {
	.name = "decode",
	.usage = "decode sdma HEX...",
	.summary = "print the packets of an SDMA ring or indirect buffer",
	.details =
	    "HEX are dwords in hexadecimal, with or without 0x, between blanks or commas; '-' reads standard "
	    "input.\n"
	    "Packets are decoded one after the other; reserved bits that are set and what would stop a queue are\n"
	    "named.\n"
	    "\n"
	    "  belfry decode sdma --gen v4 5e00000a 1000 0 ffffffff ffffffff 0 0 0",
	.options = options,
	.min_args = 1,
	.max_args = 16384,
	.run = decode,
	.prefix = "sdma",
	.words = "sdma",
};
