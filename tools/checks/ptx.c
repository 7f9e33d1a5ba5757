/*
 * belfry check ptx: PTX kernels that a GPU ran, on the model: checksums of what they leave in memory.
 *
 * A line is one of
 *  {"id": N, "block": THREADS, "row": BYTES, "input_seed": N, "ptx": TEXT, "crc": {"r0": HEX, ..., "p": HEX}}: one
 * block of `k(in, out)`, of which each thread reads and writes a row of registers: r0..7, rd0..3, f0..3, fd0..2, h0..3,
 * and predicates as bits of the last four bytes. Inputs follow from the seed (column_value()).
 *  {"kernel": NAME, "grid": N, "block": N, "shared": BYTES, "n": N, "in_words": N, "out_words": N, "compare": [FROM,
 * TO], "seeds": [N, ...], "crc": [HEX, ...]}: NAME(in, out, n) of the module whose file has the name of this one, with
 * .ptx.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/roce.h"
#include "models/ptx/launch.h"
#include "models/ptx/module.h"
#include "sim/sim.h"
#include "tools/checks/check.h"

#define TEXT_MAX (64u << 20)
#define WORDS_MAX (1u << 22) /* of a kernel's input or output: a line must not ask for all memory */
#define SEEDS_MAX 16u

struct tally {
	struct bf_check base;
	uint64_t columns; /* compared */
	uint64_t instructions;
	char *module; /* of the lines with "kernel" */
	size_t module_len;
	struct bf_ptx_strays strays; /* in it */
};

/* ---- one launch on a machine of its own ---- */

struct machine {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *in, *out;
	struct bf_ptx_device *device;
	struct bf_ptx_library *library;
};

static int make_region(struct machine *m, const char *name, uint64_t size, struct bf_region **out)
{
	const struct bf_region_opts opts = { .name = name, .kind = BF_MEM_VRAM, .size = size ? size : 1 };

	return bf_region_create(&m->space, &opts, out);
}

static int machine_open(struct machine *m, const struct bf_ptx_source *source, uint64_t in_bytes, uint64_t out_bytes,
			struct bf_error *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	rc = bf_sim_create(1, &m->sim);
	if (rc)
		return bf_fail(err, rc, "out of memory");
	rc = bf_space_init(&m->space, m->sim, "gpu0", 0);
	if (!rc)
		rc = make_region(m, "in", in_bytes, &m->in);
	if (!rc)
		rc = make_region(m, "out", out_bytes, &m->out);
	if (!rc)
		rc = bf_ptx_device_create(m->sim, &(struct bf_ptx_device_opts){ .space = &m->space }, &m->device);
	if (!rc)
		rc = bf_ptx_device_load(m->device, source, 1, &m->library);
	return rc ? bf_fail(err, rc, "%s", m->sim->error.text) : 0;
}

static void machine_close(struct machine *m)
{
	bf_ptx_device_destroy(m->device);
	if (m->sim)
		bf_space_fini(&m->space);
	bf_sim_destroy(m->sim);
}

/* The kernel's parameters: both buffers, and `n` for kernels that take one. */
struct params {
	uint64_t in, out;
	uint32_t n, unused;
};

static int machine_run(struct machine *m, struct bf_ptx_launch *launch, uint32_t n, size_t param_bytes,
		       struct bf_error *err)
{
	const struct params params = { .in = m->in->va, .out = m->out->va, .n = n };
	int rc;

	launch->params = &params;
	launch->param_bytes = param_bytes;
	rc = bf_ptx_device_launch(m->device, m->library, launch);
	if (rc)
		return bf_fail(err, rc, "%s", m->sim->error.text);
	if (bf_sim_run(m->sim, BF_NEVER) != BF_RUN_IDLE)
		return bf_fail(err, m->sim->error.code == -ENOMEM ? -ENOMEM : -EDEADLK, "%s", m->sim->error.text);
	if (bf_ptx_device_fault(m->device))
		return bf_fail(err, -EIO, "%s", bf_ptx_device_fault(m->device)->text);
	return 0;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint32_t crc(uint32_t before, const void *data, size_t len)
{
	return ~bf_crc32(~before, data, len);
}

/* Fails: the line's field `name` is wrong in the way that `what` says, or not there. */
static int wrong_field(struct bf_json_line *l, const char *name, const char *what)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	return m ? bf_json_line_fail(l, m, name, what)
		 : bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": field \"%s\" is missing", l->number, name);
}

/* ---- rows of registers ---- */

enum column_kind { INTEGER, FLOAT32, FLOAT64 };

struct columns {
	const char *name; /* without a number */
	uint32_t count;
	uint32_t bytes;
	enum column_kind kind;
};
static const struct columns row_columns[] = {
	{ "r", 8, 4, INTEGER },  { "rd", 4, 8, INTEGER }, { "f", 4, 4, FLOAT32 },
	{ "fd", 3, 8, FLOAT64 }, { "h", 4, 2, INTEGER },
};
#define ROW_MIN (8u * 4 + 4 * 8 + 4 * 4 + 3 * 8 + 4 * 2 + 4)

/* Special numbers, of which one in eight inputs is one. */
static const uint32_t special32[16] = {
	0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0xbf800000, 1,
	0x007fffff, 0x00800000, 0x7f7fffff, 0x3f7fffff, 0x4f000000, 0xcf000000, 0x5f000000, 0x3f000000,
};
static const uint64_t special64[16] = {
	0,
	1ull << 63,
	0x7ff0ull << 48,
	0xfff0ull << 48,
	0x7ff8ull << 48,
	0x3ff0ull << 48,
	0xbff0ull << 48,
	1,
	(1ull << 52) - 1,
	1ull << 52,
	0x7fefffffffffffffull,
	0x3fefffffffffffffull,
	0x41e0ull << 48,
	0xc1e0ull << 48,
	0x43e0ull << 48,
	0x3fe0ull << 48,
};
static const uint64_t special_integer[8] = {
	0, 1, 2, ~0ull, 1ull << 31, (1ull << 31) - 1, 1ull << 63, (1ull << 63) - 1,
};

/* What column `column` of `thread` holds at the start. */
static uint64_t column_value(uint64_t seed, uint64_t thread, uint64_t column, enum column_kind kind)
{
	const uint64_t v = mix(seed * 0x10001 + thread * 64 + column), pick = v & 7, w = v >> 3;

	if (kind == FLOAT32) {
		if (pick == 0)
			return special32[w & 15];
		return pick <= 5 ? (v >> 32 & 0x807fffff) | (120 + (w & 15)) << 23 : v >> 32;
	}
	if (kind == FLOAT64) {
		if (pick == 0)
			return special64[w & 15];
		return pick <= 5 ? (mix(v) & 0x800fffffffffffffull) | (1015 + (w & 15)) << 52 : mix(v);
	}
	return pick == 0 ? special_integer[w & 7] : pick == 1 ? w & 255 : mix(v);
}

/* All NaNs count as one. */
static uint64_t column_result(const uint8_t *at, const struct columns *c)
{
	uint64_t value = 0;

	memcpy(&value, at, c->bytes);
	if (c->kind == FLOAT32 && (value & 0x7fffffff) > 0x7f800000)
		return 0x7fffffff;
	if (c->kind == FLOAT64 && (value & ~(1ull << 63)) > 0x7ff0000000000000ull)
		return 0x7fffffffffffffffull;
	return value;
}

static void fill_rows(uint8_t *rows, uint64_t seed, uint32_t threads, uint32_t row)
{
	for (uint32_t thread = 0; thread < threads; thread++) {
		uint8_t *at = rows + (size_t)thread * row;
		uint32_t column = 0;

		for (size_t k = 0; k < BF_ARRAY_LEN(row_columns); k++)
			for (uint32_t i = 0; i < row_columns[k].count; i++, column++) {
				const uint64_t value = column_value(seed, thread, column, row_columns[k].kind);

				memcpy(at, &value, row_columns[k].bytes);
				at += row_columns[k].bytes;
			}
	}
}

/* The member as a hexadecimal number without 0x; false: there is none, or it is none. */
static bool checksum(const char *text, size_t len, uint32_t *out)
{
	char copy[9], *end;

	if (len == 0 || len > 8)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*out = (uint32_t)strtoul(copy, &end, 16);
	return *end == '\0';
}

/* Compares the column at `offset` of each row with the checksum of that name; its name goes to `wrong` if it differs.
 */
static int compare_column(struct tally *t, struct bf_json_line *l, const struct bf_json_line *sums, const char *name,
			  const uint8_t *rows, uint32_t threads, uint32_t row, const struct columns *c, uint32_t offset,
			  char wrong[128])
{
	const struct bf_json_member *m = bf_json_line_find(sums, name);
	uint32_t want, got = 0;

	if (!m || !checksum(m->value, m->value_len, &want))
		return bf_fail(l->err, -EBADMSG,
			       "line %" PRIu32 ": \"%s\" in \"crc\" is not a checksum of up to eight digits", l->number,
			       name);
	for (uint32_t thread = 0; thread < threads; thread++) {
		const uint64_t value = column_result(rows + (size_t)thread * row + offset, c);

		got = crc(got, &value, c->bytes);
	}
	t->columns++;
	if (got != want)
		snprintf(wrong + strlen(wrong), 128 - strlen(wrong), " %s", name);
	return 0;
}

static int compare_rows(struct tally *t, struct bf_json_line *l, const uint8_t *rows, uint32_t threads, uint32_t row,
			char wrong[128])
{
	static const struct columns predicates = { "p", 1, 4, INTEGER };
	const struct bf_json_member *m = bf_json_line_find(l, "crc");
	struct bf_json_line sums = { .number = l->number, .err = l->err };
	uint32_t offset = 0;
	char name[16];
	int rc;

	if (!m || m->token != BF_JSON_OTHER)
		return wrong_field(l, "crc", "is not an object");
	sums.start = sums.p = m->value;
	sums.end = m->value + m->value_len;
	rc = bf_json_line_scan(&sums);
	for (size_t k = 0; !rc && k < BF_ARRAY_LEN(row_columns); k++)
		for (uint32_t i = 0; !rc && i < row_columns[k].count; i++) {
			snprintf(name, sizeof(name), "%s%u", row_columns[k].name, i);
			rc = compare_column(t, l, &sums, name, rows, threads, row, &row_columns[k], offset, wrong);
			offset += row_columns[k].bytes;
		}
	if (!rc)
		rc = compare_column(t, l, &sums, "p", rows, threads, row, &predicates, row - 4, wrong);
	return rc;
}

/* ---- what is told of a line ---- */

static void tell(struct tally *t, const char *label, const char *wrong)
{
	t->base.taken++;
	t->base.bad += *wrong != '\0';
	if (t->base.json) {
		bf_json_open(t->base.json, NULL, '{');
		bf_json_text(t->base.json, "case", label);
		bf_json_bool(t->base.json, "ok", *wrong == '\0');
		bf_json_text(t->base.json, "result", *wrong ? wrong : "exact");
		bf_json_close(t->base.json, '}');
	} else if (*wrong) {
		printf("MISMATCH  %s: %s\n", label, wrong);
	}
}

static int integer(struct bf_json_line *l, const char *name, uint64_t max, uint64_t *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);

	if (!m)
		return wrong_field(l, name, "");
	return bf_json_line_integer(l, m, name, BF_JSON_DECIMAL, max, out);
}

static int run_rows(struct tally *t, struct bf_json_line *l, const struct bf_ptx_source *source, const char *label)
{
	uint64_t threads = 0, row = 0, seed = 0;
	char wrong[128] = "";
	struct bf_error err = { 0 };
	struct machine m;
	int rc;

	if (integer(l, "block", 1024, &threads) || integer(l, "row", 1u << 16, &row) ||
	    integer(l, "input_seed", UINT64_MAX, &seed))
		return -EBADMSG;
	if (threads == 0 || row < ROW_MIN || row % 8 != 0)
		return wrong_field(l, "row", "is too small for the registers, or not a multiple of 8");
	rc = machine_open(&m, source, threads * row, threads * row, &err);
	if (!rc) {
		struct bf_ptx_launch launch = { .kernel = "k", .block = { (uint32_t)threads, 1, 1 } };

		fill_rows(m.in->bytes, seed, (uint32_t)threads, (uint32_t)row);
		rc = machine_run(&m, &launch, 0, offsetof(struct params, n), &err);
		t->instructions += bf_ptx_device_counts(m.device)->instructions;
	}
	if (rc == -ENOMEM) {
		bf_fail(l->err, rc, "%s", err.text);
	} else if (rc) {
		tell(t, label, err.text);
		rc = 0;
	} else {
		rc = compare_rows(t, l, m.out->bytes, (uint32_t)threads, (uint32_t)row, wrong);
		if (!rc)
			tell(t, label, wrong[0] ? wrong + 1 : "");
	}
	machine_close(&m);
	return rc;
}

static int take_rows(struct tally *t, struct bf_json_line *l, const struct bf_json_member *m)
{
	struct bf_ptx_source source = { .name = "ptx" };
	char *text = m->value_len < TEXT_MAX ? malloc(m->value_len + 1) : NULL;
	char label[40];
	uint64_t id = 0;
	int64_t len;
	int rc;

	if (!text)
		return bf_json_line_fail(l, m, "ptx", "is too long");
	len = bf_json_line_text(l, m, "ptx", text, m->value_len + 1);
	rc = len < 0 ? (int)len : integer(l, "id", UINT64_MAX, &id);
	if (!rc) {
		source.text = text;
		source.len = (size_t)len;
		snprintf(label, sizeof(label), "kernel %" PRIu64, id);
		rc = run_rows(t, l, &source, label);
	}
	free(text);
	return rc;
}

/* ---- kernels of a module ---- */

/* The module beside the file: its name with .ptx in place of what stands behind the last dot. */
static int read_module(struct tally *t, struct bf_error *err)
{
	const char *dot = strrchr(t->base.path, '.');
	char path[4096];
	FILE *f;
	int rc = 0;

	if (t->module)
		return 0;
	if (snprintf(path, sizeof(path), "%.*s.ptx", dot ? (int)(dot - t->base.path) : INT_MAX, t->base.path) >=
	    (int)sizeof(path))
		return bf_fail(err, -ENAMETOOLONG, "the name of these kernels' module is too long");
	f = fopen(path, "r");
	if (!f)
		return bf_fail(err, -ENOENT, "%s, the module of these kernels, cannot be opened: %s", path,
			       strerror(errno));
	t->module = calloc(1, TEXT_MAX);
	if (!t->module)
		rc = bf_fail(err, -ENOMEM, "out of memory");
	else
		t->module_len = fread(t->module, 1, TEXT_MAX, f);
	if (!rc && ferror(f))
		rc = bf_fail(err, -EIO, "%s cannot be read: %s", path, strerror(errno));
	else if (t->module_len == TEXT_MAX)
		rc = bf_fail(err, -EFBIG, "%s has %u MiB or more", path, TEXT_MAX >> 20);
	fclose(f);
	return rc;
}

/* Element `index` of an array of numbers or strings: its first character, or NULL. */
static const char *element(const struct bf_json_member *m, uint32_t index)
{
	const char *p, *end;

	if (!m || m->value_len < 2 || *m->value != '[')
		return NULL;
	for (p = m->value + 1, end = m->value + m->value_len; index > 0 && p < end; p++)
		index -= *p == ',';
	while (p < end && (*p == ' ' || *p == '"'))
		p++;
	return p < end && *p != ']' ? p : NULL;
}

static int number(struct bf_json_line *l, const char *name, uint32_t index, int base, uint64_t *out)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);
	const char *p = element(m, index);
	char *end;

	if (!p)
		return -ENOENT;
	*out = strtoull(p, &end, base);
	return end == p ? bf_json_line_fail(l, m, name, "has something else than numbers") : 0;
}

struct shape {
	uint64_t grid, block, shared, n, in_words, out_words, from, to;
};

static int run_kernel(struct tally *t, const struct shape *s, const char *name, uint64_t seed, uint32_t want,
		      const char *label, struct bf_error *lack)
{
	const struct bf_ptx_source source = { "module", t->module, t->module_len, &t->strays };
	struct bf_ptx_launch launch = { .kernel = name,
					.grid = { (uint32_t)s->grid, 1, 1 },
					.block = { (uint32_t)s->block, 1, 1 },
					.shared_bytes = (uint32_t)s->shared };
	struct bf_error err = { 0 };
	struct machine m;
	int rc;

	t->strays = (struct bf_ptx_strays){ 0 };
	rc = machine_open(&m, &source, s->in_words * 4, s->out_words * 4, &err);

	if (!rc) {
		for (uint64_t i = 0; i < s->in_words; i++) {
			const uint32_t word = (uint32_t)mix(seed << 32 | i);

			memcpy(m.in->bytes + i * 4, &word, 4);
		}
		rc = machine_run(&m, &launch, (uint32_t)s->n, offsetof(struct params, unused), &err);
		t->instructions += bf_ptx_device_counts(m.device)->instructions;
	}
	if (!rc && crc(0, m.out->bytes + s->from * 4, (s->to - s->from) * 4) != want)
		bf_fail(&err, -EBADMSG, "other words than on silicon");
	machine_close(&m);
	if (rc == -ENOMEM) /* says nothing of the kernel */
		return bf_fail(lack, rc, "%s", err.text);
	tell(t, label, err.text);
	t->columns++;
	return 0;
}

static int take_kernel(struct tally *t, struct bf_json_line *l, const struct bf_json_member *m)
{
	char name[512], label[600];
	struct shape s = { 0 };
	uint64_t seed, want;
	int rc = read_module(t, l->err);

	if (rc)
		return rc;
	if (bf_json_line_text(l, m, "kernel", name, sizeof(name)) < 0 || integer(l, "grid", 1u << 16, &s.grid) ||
	    integer(l, "block", 1024, &s.block) || integer(l, "shared", 1u << 20, &s.shared) ||
	    integer(l, "n", UINT32_MAX, &s.n) || integer(l, "in_words", WORDS_MAX, &s.in_words) ||
	    integer(l, "out_words", WORDS_MAX, &s.out_words))
		return -EBADMSG;
	if (number(l, "compare", 0, 10, &s.from) || number(l, "compare", 1, 10, &s.to) || s.from > s.to ||
	    s.to > s.out_words)
		return wrong_field(l, "compare", "is not [from, to] of the words");
	for (uint32_t i = 0; i < SEEDS_MAX && number(l, "seeds", i, 10, &seed) == 0; i++) {
		if (number(l, "crc", i, 16, &want))
			return wrong_field(l, "crc", "has fewer entries than seeds");
		snprintf(label, sizeof(label), "%s, seed %" PRIu64, name, seed);
		rc = run_kernel(t, &s, name, seed, (uint32_t)want, label, l->err);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the form ---- */

static int take(void *tally, struct bf_json_line *l)
{
	const struct bf_json_member *ptx = bf_json_line_find(l, "ptx"), *kernel = bf_json_line_find(l, "kernel");

	if (ptx)
		return take_rows(tally, l, ptx);
	return kernel ? take_kernel(tally, l, kernel)
		      : bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": it has neither \"ptx\" nor \"kernel\"", l->number);
}

static void end(void *tally)
{
	struct tally *t = tally;

	free(t->module);
}

static void print(const void *tally)
{
	const struct tally *t = tally;

	printf("%" PRIu64 " launches, %" PRIu64 " instructions of threads: %" PRIu64 " exact, %" PRIu64 " not; %" PRIu64
	       " checksums compared\n",
	       t->base.taken, t->instructions, t->base.taken - t->base.bad, t->base.bad, t->columns);
	if (t->strays.count)
		printf("the module has %" PRIu32 " bodies without a head, %" PRIu32 " lines from line %" PRIu32
		       " on: passed over\n",
		       t->strays.count, t->strays.lines, t->strays.line);
}

static void summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "launches", t->base.taken);
	bf_json_u64(j, "exact", t->base.taken - t->base.bad);
	bf_json_u64(j, "checksums", t->columns);
	bf_json_u64(j, "instructions", t->instructions);
	bf_json_u64(j, "stray_lines", t->strays.lines);
}

const struct bf_check_form bf_check_ptx = {
	.form = { .name = "ptx",
		  .details = "FILE is JSON Lines with PTX kernels that a GPU ran. Each runs on the model, and "
			     "checksums of its registers or of its output are compared. A line that names a \"kernel\" "
			     "means one of the module beside FILE, whose name ends in .ptx in place of .jsonl." },
	.each = "kernel",
	.list = "cases",
	.tally_bytes = sizeof(struct tally),
	.take = take,
	.end = end,
	.print = print,
	.summary = summary
};
