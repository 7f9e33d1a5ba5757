#include "tools/commands/ptx_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_MOST (UINT64_C(1) << 34)

/* ---- reading ---- */

/* A whole number with C's prefixes, and K, M, G. */
static int number(const char *text, size_t len, uint64_t *out)
{
	char copy[64], *end;
	int shift = 0;

	if (len == 0 || len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = 0;
	errno = 0;
	*out = copy[0] == '-' ? (uint64_t)strtoll(copy, &end, 0) : strtoull(copy, &end, 0);
	if (errno || end == copy)
		return -EINVAL;
	shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	end += shift != 0;
	if (*end || (shift && *out > UINT64_MAX >> shift))
		return -EINVAL;
	*out <<= shift;
	return 0;
}

static int take_integer(struct bf_ptx_arg *a, const char *text, const char *value, struct bf_error *err)
{
	uint32_t bits = (uint32_t)strtoul(text + 1, NULL, 10);
	uint64_t v;

	if (number(value, strlen(value), &v))
		return bf_fail(err, -EINVAL, "'%s' is not a number", value);
	if (bits < 64 && v >> bits && (text[0] == 'u' || (int64_t)v >> (bits - 1) != -1))
		return bf_fail(err, -EINVAL, "%s does not fit into %u bits", value, bits);
	if (text[0] == 's' && value[0] != '-' && bits < 64 && v >> (bits - 1))
		return bf_fail(err, -EINVAL, "%s does not fit into %u bits with a sign", value, bits);
	a->len = bits / 8;
	for (uint32_t i = 0; i < a->len; i++)
		a->bytes[i] = (uint8_t)(v >> 8 * i);
	return 0;
}

static int take_real(struct bf_ptx_arg *a, bool wide, const char *value, struct bf_error *err)
{
	char *end;
	double d = strtod(value, &end);
	float f = (float)d;

	if (end == value || *end)
		return bf_fail(err, -EINVAL, "'%s' is not a number", value);
	a->len = wide ? 8 : 4;
	memcpy(a->bytes, wide ? (const void *)&d : (const void *)&f, a->len);
	return 0;
}

static int take_bytes(struct bf_ptx_arg *a, const char *value, struct bf_error *err)
{
	size_t len = strlen(value);

	if (len % 2 || len / 2 > sizeof(a->bytes))
		return bf_fail(err, -EINVAL, "bytes: expects pairs of hexadecimal digits, at most %zu",
			       sizeof(a->bytes));
	for (size_t i = 0; i < len; i += 2) {
		char pair[3] = { value[i], value[i + 1], 0 }, *end;

		a->bytes[i / 2] = (uint8_t)strtoul(pair, &end, 16);
		if (end != pair + 2 || pair[0] == '-' || pair[0] == '+' || pair[0] == ' ')
			return bf_fail(err, -EINVAL, "'%s' is not a pair of hexadecimal digits", pair);
	}
	a->len = (uint32_t)(len / 2);
	return 0;
}

static int take_path(char *out, size_t cap, const char *value, struct bf_error *err)
{
	if (strlen(value) >= cap || !*value)
		return bf_fail(err, -EINVAL, "the name of a file, at most %zu letters, is expected", cap - 1);
	memcpy(out, value, strlen(value) + 1);
	return 0;
}

static int take_show(struct bf_ptx_arg *a, enum bf_ptx_show show, const char *value, struct bf_error *err)
{
	a->show = show;
	if (value && (number(value, strlen(value), &a->show_count) || !a->show_count))
		return bf_fail(err, -EINVAL, "'%s' is not a count of values to print", value);
	return 0;
}

/* What follows the size: `word` or `word=value`. */
static int take_option(struct bf_ptx_arg *a, const char *word, const char *value, struct bf_error *err)
{
	if (strcmp(word, "zero") == 0 && !value) {
		a->begin = BF_PTX_BEGIN_ZERO;
		return 0;
	}
	if (strcmp(word, "count") == 0 && !value) {
		a->begin = BF_PTX_BEGIN_COUNT;
		return 0;
	}
	if ((strcmp(word, "fill") == 0 || strcmp(word, "random") == 0) && value) {
		a->begin = word[0] == 'f' ? BF_PTX_BEGIN_FILL : BF_PTX_BEGIN_RANDOM;
		if (number(value, strlen(value), &a->begin_value) || (word[0] == 'f' && a->begin_value > UINT8_MAX))
			return bf_fail(err, -EINVAL, "'%s' is not a %s", value, word[0] == 'f' ? "byte" : "seed");
		return 0;
	}
	if (strcmp(word, "file") == 0 && value) {
		a->begin = BF_PTX_BEGIN_FILE;
		return take_path(a->file, sizeof(a->file), value, err);
	}
	if (strcmp(word, "save") == 0 && value)
		return take_path(a->save, sizeof(a->save), value, err);
	if (strcmp(word, "expect") == 0 && value)
		return take_path(a->expect, sizeof(a->expect), value, err);
	if (strcmp(word, "hex") == 0)
		return take_show(a, BF_PTX_SHOW_HEX, value, err);
	if (strcmp(word, "words") == 0)
		return take_show(a, BF_PTX_SHOW_WORDS, value, err);
	if (strcmp(word, "floats") == 0)
		return take_show(a, BF_PTX_SHOW_FLOATS, value, err);
	return bf_fail(err, -EINVAL, "a buffer has no '%s'", word);
}

static int take_buffer(struct bf_ptx_arg *a, char *rest, struct bf_error *err)
{
	char *next = strchr(rest, ',');
	size_t len = next ? (size_t)(next - rest) : strlen(rest);
	int rc = 0;

	a->buffer = true;
	if (number(rest, len, &a->size) || !a->size || a->size > BUFFER_MOST)
		return bf_fail(err, -EINVAL, "'%.*s' is not a size of a buffer", (int)len, rest);
	while (!rc && next) {
		char *word = next + 1, *value;

		next = strchr(word, ',');
		if (next)
			*next = 0;
		value = strchr(word, '=');
		if (value)
			*value++ = 0;
		rc = take_option(a, word, value, err);
	}
	return rc;
}

int bf_ptx_arg_parse(const char *text, struct bf_ptx_arg *out, struct bf_error *err)
{
	static const char *const integers[] = { "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64" };
	const char *colon = strchr(text, ':');
	char *copy;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!colon)
		return bf_fail(err, -EINVAL, "TYPE:VALUE or buffer:SIZE is expected");
	copy = strdup(text);
	if (!copy)
		return bf_fail(err, -ENOMEM, "out of memory");
	copy[colon - text] = 0;
	rc = bf_fail(err, -EINVAL, "there is no type '%s'; u8 to u64, s8 to s64, f32, f64, bytes, buffer are known",
		     copy);
	for (size_t i = 0; i < BF_ARRAY_LEN(integers); i++)
		if (strcmp(copy, integers[i]) == 0)
			rc = take_integer(out, copy, colon + 1, err);
	if (strcmp(copy, "f32") == 0 || strcmp(copy, "f64") == 0)
		rc = take_real(out, copy[1] == '6', colon + 1, err);
	if (strcmp(copy, "bytes") == 0)
		rc = take_bytes(out, colon + 1, err);
	if (strcmp(copy, "buffer") == 0)
		rc = take_buffer(out, copy + (colon - text) + 1, err);
	free(copy);
	return rc;
}

/* ---- memory ---- */

/* splitmix64, as the vectors of real GPUs have it. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void put_words(const struct bf_ptx_arg *a)
{
	uint8_t *bytes = a->region->bytes;

	for (uint64_t i = 0; i < a->size; i++) {
		uint64_t word = i / 4;
		uint64_t v = a->begin == BF_PTX_BEGIN_COUNT ? word : mix(a->begin_value << 32 | word);

		bytes[i] = (uint8_t)(v >> 8 * (i % 4));
	}
}

static int put_file(const struct bf_ptx_arg *a, struct bf_error *err)
{
	FILE *f = fopen(a->file, "rb");
	int rc = 0;

	if (!f)
		return bf_fail(err, -errno, "cannot open %s: %s", a->file, strerror(errno));
	fread(a->region->bytes, 1, a->size, f);
	if (ferror(f))
		rc = bf_fail(err, -EIO, "cannot read %s", a->file);
	else if (fgetc(f) != EOF)
		rc = bf_fail(err, -EINVAL, "%s has more than the %" PRIu64 " bytes of its buffer", a->file, a->size);
	fclose(f);
	return rc;
}

int bf_ptx_arg_open(struct bf_ptx_arg *a, uint32_t index, struct bf_space *space, struct bf_error *err)
{
	struct bf_region_opts opts = { .kind = BF_MEM_VRAM, .size = a->size };
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "arg%" PRIu32, index);
	opts.name = name;
	rc = bf_region_create(space, &opts, &a->region);
	if (rc)
		return bf_fail(err, rc, "%s", space->sim->error.text);
	a->len = sizeof(a->region->va);
	memcpy(a->bytes, &a->region->va, a->len);
	if (a->begin == BF_PTX_BEGIN_FILL)
		memset(a->region->bytes, (int)a->begin_value, a->size);
	else if (a->begin == BF_PTX_BEGIN_FILE)
		return put_file(a, err);
	else if (a->begin != BF_PTX_BEGIN_ZERO)
		put_words(a);
	return 0;
}

/* ---- afterwards ---- */

static int save(const struct bf_ptx_arg *a, struct bf_error *err)
{
	FILE *f = fopen(a->save, "wb");
	bool good;

	if (!f)
		return bf_fail(err, -errno, "cannot open %s: %s", a->save, strerror(errno));
	good = fwrite(a->region->bytes, 1, a->size, f) == a->size;
	good &= fclose(f) == 0;
	return good ? 0 : bf_fail(err, -EIO, "cannot write %s", a->save);
}

/* The file may be shorter than the buffer: as much as it has is compared. */
static int compare(struct bf_ptx_arg *a, struct bf_error *err)
{
	FILE *f = fopen(a->expect, "rb");
	int c = 0;

	if (!f)
		return bf_fail(err, -errno, "cannot open %s: %s", a->expect, strerror(errno));
	for (uint64_t i = 0; i < a->size && (c = fgetc(f)) != EOF; i++)
		if (!a->differs && c != a->region->bytes[i]) {
			a->differs = true;
			a->differs_at = i;
		}
	if (!a->differs && c != EOF && fgetc(f) != EOF) {
		a->differs = true;
		a->differs_at = a->size;
	}
	fclose(f);
	return 0;
}

int bf_ptx_arg_close(struct bf_ptx_arg *a, struct bf_error *err)
{
	int rc = a->save[0] ? save(a, err) : 0;

	return !rc && a->expect[0] ? compare(a, err) : rc;
}

static uint64_t things(const struct bf_ptx_arg *a, uint64_t each)
{
	uint64_t all = a->size / each;

	return a->show_count && a->show_count < all ? a->show_count : all;
}

static void print_hex(const struct bf_ptx_arg *a)
{
	uint64_t n = things(a, 1);

	for (uint64_t i = 0; i < n; i++)
		printf("%s%02x%s", i % 16 ? " " : "  ", a->region->bytes[i], i % 16 == 15 || i + 1 == n ? "\n" : "");
}

static void print_values(const struct bf_ptx_arg *a)
{
	uint64_t n = things(a, 4);

	for (uint64_t i = 0; i < n; i++) {
		uint32_t w;
		float f;

		memcpy(&w, a->region->bytes + 4 * i, 4);
		memcpy(&f, &w, 4);
		printf("%s", i % 8 ? " " : "  ");
		if (a->show == BF_PTX_SHOW_WORDS)
			printf("%" PRIu32, w);
		else
			printf("%g", (double)f);
		if (i % 8 == 7 || i + 1 == n)
			printf("\n");
	}
}

void bf_ptx_arg_print(const struct bf_ptx_arg *a, uint32_t index)
{
	if (a->show)
		printf("argument %" PRIu32 ":\n", index);
	if (a->show == BF_PTX_SHOW_HEX)
		print_hex(a);
	else if (a->show)
		print_values(a);
	if (a->differs)
		printf("argument %" PRIu32 " differs from %s at byte %" PRIu64 "\n", index, a->expect, a->differs_at);
}

void bf_ptx_arg_json(const struct bf_ptx_arg *a, struct bf_json *j)
{
	uint64_t n = things(a, a->show == BF_PTX_SHOW_HEX ? 1 : 4);

	bf_json_hex(j, "address", a->region->va);
	bf_json_u64(j, "size", a->size);
	if (a->expect[0])
		bf_json_bool(j, "as_expected", !a->differs);
	if (a->differs)
		bf_json_u64(j, "differs_at", a->differs_at);
	if (!a->show)
		return;
	bf_json_open(j, a->show == BF_PTX_SHOW_HEX ? "bytes" : "values", '[');
	for (uint64_t i = 0; i < n; i++) {
		uint32_t w = 0;
		float f;
		char text[32];

		memcpy(&w, a->region->bytes + (a->show == BF_PTX_SHOW_HEX ? i : 4 * i),
		       a->show == BF_PTX_SHOW_HEX ? 1 : 4);
		memcpy(&f, &w, 4);
		snprintf(text, sizeof(text), "%.9g", (double)f);
		if (a->show == BF_PTX_SHOW_FLOATS)
			bf_json_text(j, NULL, text);
		else
			bf_json_u64(j, NULL, w);
	}
	bf_json_close(j, ']');
}
