/*
 * Fits the constants of the Hopper unit's waking (models/hopper/profile.c) to rows measured on a GPU, and says how well
 * rows are met that it did not see.
 *
 * usage: fit_hopper FILE [JUDGE]
 *
 * Data: rows of FILE, as `belfry check hopper-timing` reads them. One row in FIVE, by a hash of its text, takes no part
 * when the constants are chosen. Rows of JUDGE take none at all. Objective: the sum over rows of the error of the value
 * that is furthest off, in units of its bound (5 % or 3 cycles), MOST at most: a row that silicon itself does not
 * repeat shall not pull more than others. Method: one constant after the other is tried at a few values around where it
 * is, the best one is kept, and the steps are halved where none was better, until they are below 100 milli-cycles.
 *
 * Prints objective and rows within bounds of each part, before and after, and the constants; "unconstrained" where no
 * value of a constant moves the objective. It changes no file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/record.h"
#include "tools/calibrate/hopper_rows.h"
#include "traces/container/text.h"

#define FIVE 5u
#define MOST 3000u /* thousandths of the bound */
#define STEP_FIRST 1600
#define STEP_LAST 100

static const char *const names[] = {
	"wake_begin_mc", "wake_scan_mc", "wake_again_mc", "wake_found_mc", "wake_join_mc", "wake_next_mc",
	"wake_part_mc",  "wake_op_mc",   "refuse_op_mc",  "crowd",         "fetch", /* the last two: of the rows' own
										       code */
};

/* Kinds of rows that speak of waits. */
static const char *const kinds[] = { "wake",  "wake_order", "evict_parked", "pool",      "wait62",
				     "noise", "timeout_bg", "limit_many",   "limit_pair" };

enum part { CHOSEN, HELD, JUDGE, PARTS };

struct line {
	char *text;
	size_t len;
	enum part part;
};

struct fit {
	struct line *line;
	size_t lines, cap;
	struct bf_hopper_profile profile;
	struct bf_row_code code;
	uint64_t badness[PARTS];
	uint32_t rows[PARTS], good[PARTS];
};

static bool speaks(const char *text)
{
	char kind[40];

	for (size_t i = 0; i < BF_ARRAY_LEN(kinds); i++) {
		snprintf(kind, sizeof(kind), "\"exp\":\"%s\"", kinds[i]);
		if (strstr(text, kind))
			return true;
	}
	return false;
}

static int read_lines(struct fit *f, const char *path, bool judge)
{
	struct bf_error err = { 0 };
	struct bf_text_lines in = { .f = fopen(path, "r") };
	int more = -ENOENT;

	while (in.f && (more = bf_text_line(&in, &err)) > 0) {
		const bool held = bf_hash_bytes(in.text, in.len) % FIVE == 0;
		struct line l = { .text = strndup(in.text, in.len), .len = in.len };

		l.part = judge ? JUDGE : held ? HELD : CHOSEN;
		if (l.text && !speaks(l.text)) {
			free(l.text);
			continue;
		}
		if (!l.text || BF_GROW(f->line, f->cap, f->lines + 1)) {
			free(l.text);
			more = bf_fail(&err, -ENOMEM, "out of memory");
			break;
		}
		f->line[f->lines++] = l;
	}
	if (more < 0)
		fprintf(stderr, "fit_hopper: %s: %s\n", path, in.f ? err.text : strerror(errno));
	free(in.text);
	if (in.f)
		fclose(in.f);
	return more;
}

/* Runs the rows of `parts`, a set of bits. */
static int run(struct fit *f, unsigned parts)
{
	for (unsigned p = 0; p < PARTS; p++)
		if (parts >> p & 1)
			f->badness[p] = f->rows[p] = f->good[p] = 0;
	for (size_t i = 0; i < f->lines; i++) {
		const struct line *t = &f->line[i];
		struct bf_error err = { 0 };
		struct bf_json_line l = {
			.start = t->text, .p = t->text, .end = t->text + t->len, .number = (uint32_t)i + 1, .err = &err
		};
		struct bf_row row = { .line = &l, .profile = &f->profile, .code = &f->code };
		char kind[40];
		size_t number;
		bool good;

		if (!(parts >> t->part & 1) || bf_json_line_blank(&l))
			continue;
		row.rc = bf_json_line_scan(&l);
		good = !row.rc && bf_row_run(&row, kind, sizeof(kind), &number);
		free(row.value);
		if (row.rc) {
			fprintf(stderr, "fit_hopper: %s\n", err.text);
			return row.rc;
		}
		f->rows[t->part]++;
		f->good[t->part] += good;
		f->badness[t->part] += (row.problem || row.badness > MOST ? MOST : row.badness);
	}
	return 0;
}

/* The constant called `name`, one of `names`. */
static uint32_t *field(struct fit *f, const char *name)
{
	for (size_t i = 0; i < bf_hopper_fields_count; i++)
		if (strcmp(bf_hopper_fields[i].name, name) == 0)
			return (uint32_t *)((char *)&f->profile + bf_hopper_fields[i].offset);
	return strcmp(name, "crowd") == 0 ? &f->code.crowd : &f->code.fetch;
}

/* Tries `v` for the field: whether it is better than `*best`, which becomes the better of both. */
static bool better(struct fit *f, uint32_t *at, int64_t v, uint64_t *best, bool *moves)
{
	const uint32_t was = *at;
	struct bf_error err;

	if (v < 0 || v > UINT32_MAX)
		return false;
	*at = (uint32_t)v;
	if (bf_hopper_profile_check(&f->profile, &err) || run(f, 1u << CHOSEN)) {
		*at = was;
		return false;
	}
	*moves |= f->badness[CHOSEN] != *best;
	if (f->badness[CHOSEN] >= *best) {
		*at = was;
		return false;
	}
	*best = f->badness[CHOSEN];
	return true;
}

static void choose(struct fit *f, bool *moves)
{
	int64_t step[BF_ARRAY_LEN(names)];
	uint64_t best = f->badness[CHOSEN];
	bool open = true;

	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++)
		step[i] = STEP_FIRST;
	while (open) {
		open = false;
		for (size_t i = 0; i < BF_ARRAY_LEN(names); i++) {
			uint32_t *at = field(f, names[i]);
			const int64_t from = *at;

			if (step[i] < STEP_LAST)
				continue;
			open = true;
			if (!better(f, at, from + step[i], &best, &moves[i]) &&
			    !better(f, at, from - step[i], &best, &moves[i]))
				step[i] /= 2;
		}
	}
}

static void tell(const struct fit *f, const char *when)
{
	static const char *const parts[PARTS] = { "chosen by", "left out by hash", "of the second file" };

	for (unsigned p = 0; p < PARTS; p++)
		if (f->rows[p])
			printf("%-10s %-20s %5" PRIu32 " rows, %5" PRIu32 " within bounds (%" PRIu32
			       " %%), error %.2f bounds in the mean\n",
			       when, parts[p], f->rows[p], f->good[p], f->good[p] * 100 / f->rows[p],
			       (double)f->badness[p] / 1000 / f->rows[p]);
}

int main(int argc, char **argv)
{
	struct fit f = { .profile = bf_hopper_h200, .code = bf_row_code };
	struct fit was = f;
	bool moves[BF_ARRAY_LEN(names)] = { false };

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: fit_hopper FILE [JUDGE]: both have rows, as belfry check hopper-timing reads "
				"them; the second takes no part\n");
		return 2;
	}
	if (read_lines(&f, argv[1], false) || (argc == 3 && read_lines(&f, argv[2], true)) || run(&f, 7))
		return 2;
	tell(&f, "as it is");
	choose(&f, moves);
	if (run(&f, 7))
		return 2;
	tell(&f, "fitted");
	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++)
		printf("%-15s %6" PRIu32 " (was %" PRIu32 ")%s\n", names[i], *field(&f, names[i]),
		       *field(&was, names[i]), moves[i] ? "" : ", unconstrained");
	for (size_t i = 0; i < f.lines; i++)
		free(f.line[i].text);
	free(f.line);
	return 0;
}
