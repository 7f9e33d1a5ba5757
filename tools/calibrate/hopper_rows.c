/* Reading rows, comparing values, running warps. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "sim/record.h"
#include "tools/calibrate/hopper_rows.h"

/* No experiment takes longer. */
#define RUN_MAX_PS (10 * BF_MS)

/* ---- what a row says ---- */

static void fail(struct bf_row *row, const char *name, const char *what)
{
	if (!row->rc)
		row->rc = bf_fail(row->line->err, -EBADMSG, "line %" PRIu32 ": %s %s", row->line->number, name, what);
}

bool bf_row_has(const struct bf_row *row, const char *name)
{
	const struct bf_json_member *m = bf_json_line_find(row->line, name);

	return m && !(m->value_len == 4 && memcmp(m->value, "null", 4) == 0);
}

/* A decimal number at `*p` in thousandths; what follows the third digit is dropped. False: there is none. */
static bool parse_number(const char **p, const char *end, int64_t *out)
{
	const bool minus = *p < end && **p == '-';
	int64_t v = 0, unit = 1000;
	bool digits = false, fraction = false;

	for (*p += minus; *p < end; ++*p) {
		if (**p == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (**p < '0' || **p > '9')
			break;
		digits = true;
		if (v > INT64_MAX / 10000)
			return false;
		if (fraction)
			unit /= 10;
		v = fraction ? v + (**p - '0') * unit : v * 10 + (**p - '0') * 1000;
	}
	*out = minus ? -v : v;
	return digits;
}

int64_t bf_row_number(struct bf_row *row, const char *name)
{
	const struct bf_json_member *m = bf_json_line_find(row->line, name);
	const char *p;
	int64_t v = 0;

	if (!m || m->token != BF_JSON_NUMBER) {
		fail(row, name, "must be a number");
		return 0;
	}
	p = m->value;
	if (!parse_number(&p, m->value + m->value_len, &v) || p != m->value + m->value_len)
		fail(row, name, "must be a plain decimal number");
	return v;
}

uint32_t bf_row_u32(struct bf_row *row, const char *name)
{
	const int64_t v = bf_row_number(row, name);

	if (v < 0 || v % 1000 || v / 1000 > UINT32_MAX) {
		fail(row, name, "must be an integer, not negative");
		return 0;
	}
	return (uint32_t)(v / 1000);
}

uint32_t bf_row_list(struct bf_row *row, const char *name, int64_t *out)
{
	const struct bf_json_member *m = bf_json_line_find(row->line, name);
	uint32_t n = 0;
	const char *p, *end;

	if (!m || m->value_len < 2 || m->value[0] != '[') {
		fail(row, name, "must be a list");
		return 0;
	}
	end = m->value + m->value_len;
	for (p = m->value; p < end;) {
		if (*p != '-' && (*p < '0' || *p > '9')) {
			p++;
			continue;
		}
		if (n == BF_ROW_LIST || !parse_number(&p, end, &out[n])) {
			fail(row, name, "has too many numbers, or one too large");
			return 0;
		}
		n++;
	}
	return n;
}

uint32_t bf_row_text(struct bf_row *row, const char *name, char *out, uint32_t cap)
{
	const struct bf_json_member *m = bf_json_line_find(row->line, name);
	int64_t n;

	out[0] = '\0';
	if (!m || m->token != BF_JSON_STRING) {
		fail(row, name, "must be a text");
		return 0;
	}
	n = bf_json_line_text(row->line, m, name, out, cap);
	if (n < 0 && !row->rc)
		row->rc = (int)n;
	return n < 0 ? 0 : (uint32_t)n;
}

bool bf_row_is(struct bf_row *row, const char *name, const char *text)
{
	char buf[128];

	bf_row_text(row, name, buf, sizeof(buf));
	return strcmp(buf, text) == 0;
}

uint32_t bf_row_words(struct bf_row *row, const char *name, uint64_t *out, uint32_t cap)
{
	const struct bf_json_member *m = bf_json_line_find(row->line, name);
	uint32_t n = 0, digits = 0;

	if (!m || m->value_len < 2) {
		fail(row, name, "must be a word or a list of words");
		return 0;
	}
	for (size_t i = 0; i <= m->value_len; i++) {
		const int d = i < m->value_len ? bf_hex_digit(m->value[i]) : -1;

		if (d >= 0 && n < cap) {
			out[n] = (digits++ ? out[n] << 4 : 0) | (uint64_t)d;
			continue;
		}
		n += digits > 0;
		digits = 0;
	}
	return n;
}

/* ---- comparing ---- */

static uint64_t badness_of(int64_t silicon, int64_t other, uint64_t bound)
{
	const uint64_t error = (uint64_t)llabs(other - silicon);

	return error == 0 ? 0 : bound == 0 ? UINT64_MAX : error * 1000 / bound;
}

bool bf_row_value_near(const struct bf_row_value *value, const struct bf_row_value *other)
{
	return badness_of(value->silicon, other->silicon, value->bound) <= 1000;
}

static void judge(struct bf_row *row, const char *field, int64_t silicon, int64_t model, uint64_t bound)
{
	const uint64_t badness = badness_of(silicon, model, bound);

	if (BF_GROW(row->value, row->value_cap, row->values + 1)) {
		row->rc = row->rc ? row->rc : bf_fail(row->line->err, -ENOMEM, "out of memory");
		return;
	}
	row->value[row->values] = (struct bf_row_value){ silicon, bound };
	row->out += badness > 1000;
	if (row->values++ && badness <= row->badness)
		return;
	snprintf(row->field, sizeof(row->field), "%.63s", field);
	row->silicon = silicon;
	row->model = model;
	row->badness = badness;
}

static uint64_t bound_of(int64_t silicon, uint32_t percent)
{
	const uint64_t part = (uint64_t)llabs(silicon) * percent / 100;

	return part > 3000 ? part : 3000;
}

void bf_row_compare(struct bf_row *row, const char *field, int64_t silicon, int64_t model)
{
	judge(row, field, silicon, model, bound_of(silicon, 5));
}

void bf_row_within(struct bf_row *row, const char *field, int64_t silicon, int64_t model, uint32_t percent)
{
	judge(row, field, silicon, model, (uint64_t)llabs(silicon) * percent / 100);
}

void bf_row_exact(struct bf_row *row, const char *field, int64_t silicon, int64_t model)
{
	judge(row, field, silicon, model, 0);
}

void bf_row_exact_text(struct bf_row *row, const char *field, const char *silicon, const char *model)
{
	const bool same = strcmp(silicon, model) == 0;

	judge(row, field, 1000, same ? 1000 : 0, 0);
	if (row->values) /* another row's text is the same one if its hash is */
		row->value[row->values - 1].silicon = (int64_t)(bf_hash_bytes(silicon, strlen(silicon)) >> 1);
	if (!same)
		snprintf(row->text, sizeof(row->text), "%.60s, here %.60s", silicon, model);
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void bf_row_ranks(struct bf_row *row, const char *field, int64_t *silicon, int64_t *model, uint32_t n)
{
	qsort(silicon, n, sizeof(*silicon), by_value);
	qsort(model, n, sizeof(*model), by_value);
	for (uint32_t i = 0; i < n; i++)
		bf_row_compare(row, field, silicon[i], model[i]);
}

static int64_t mean(const int64_t *v, uint32_t n)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

void bf_row_spread(struct bf_row *row, const char *field, int64_t *silicon, uint32_t n, int64_t *model, uint32_t m)
{
	static const char *const names[] = { "quarter", "half", "three quarters" };
	char name[64];

	if (!n || !m) {
		bf_row_exact(row, field, n * 1000, m * 1000);
		return;
	}
	snprintf(name, sizeof(name), "%.40s, mean", field);
	bf_row_compare(row, name, mean(silicon, n), mean(model, m));
	qsort(silicon, n, sizeof(*silicon), by_value);
	qsort(model, m, sizeof(*model), by_value);
	for (uint32_t q = 1; q <= 3; q++) {
		snprintf(name, sizeof(name), "%.40s, %s", field, names[q - 1]);
		judge(row, name, silicon[(uint64_t)(n - 1) * q / 4], model[(uint64_t)(m - 1) * q / 4],
		      bound_of(silicon[(uint64_t)(n - 1) * q / 4], 10));
	}
	snprintf(name, sizeof(name), "%.40s, last", field);
	judge(row, name, silicon[n - 1], model[m - 1], bound_of(silicon[n - 1], 15));
}

/* ---- running ---- */

static void give_up(struct bf_lab *lab)
{
	static const char *const why[] = { "out of memory" };

	if (!lab->row->problem)
		lab->row->problem = why[0];
}

bool bf_lab_open(struct bf_lab *lab, struct bf_row *row, uint32_t ctas, uint32_t warps)
{
	struct bf_hopper_launch l = { .ctas = ctas, .warps = warps, .shared_bytes = 65536 };

	*lab = (struct bf_lab){ .row = row };
	if (row->rc)
		return false;
	if (bf_sim_create(1, &lab->sim) ||
	    bf_hopper_create(lab->sim, &(struct bf_hopper_opts){ .name = "gpu0", .profile = row->profile },
			     &lab->gpu) ||
	    bf_hopper_launch(lab->gpu, &l, lab->cta)) {
		row->problem = lab->sim && lab->sim->error.code != -ENOMEM ? "the row's numbers do not fit an SM"
									   : "out of memory";
		return false;
	}
	return true;
}

struct bf_hopper_cta *bf_lab_block(struct bf_lab *lab, uint32_t sm, uint32_t warps)
{
	struct bf_hopper_launch l = { .sm = sm, .warps = warps, .shared_bytes = 65536 };
	struct bf_hopper_cta *cta = NULL;

	if (bf_hopper_launch(lab->gpu, &l, &cta))
		lab->row->problem = "a second block does not fit on the SM";
	return cta;
}

void bf_lab_close(struct bf_lab *lab)
{
	bf_hopper_destroy(lab->gpu);
	bf_sim_destroy(lab->sim);
	for (uint32_t i = 0; i < lab->warps; i++)
		bf_warp_destroy(lab->warp[i]);
}

struct bf_warp *bf_lab_warp(struct bf_lab *lab, struct bf_hopper_cta *cta, uint32_t warp, uint32_t lanes,
			    bf_warp_fn *main, void *arg)
{
	const struct bf_warp_opts opts = { .cta = cta, .warp = warp, .active = lanes, .main = main, .arg = arg };
	struct bf_warp *w = NULL;

	if (lab->warps == BF_ARRAY_LEN(lab->warp) || bf_warp_create(&opts, &w)) {
		give_up(lab);
		return NULL;
	}
	lab->warp[lab->warps++] = w;
	return w;
}

void bf_lab_alone(struct bf_warp *w)
{
	if (w)
		w->exited = ~w->active;
}

void bf_lab_run(struct bf_lab *lab)
{
	enum bf_run_end end;

	if (lab->row->problem)
		return;
	end = bf_sim_run(lab->sim, RUN_MAX_PS);
	if (bf_hopper_fault(lab->gpu))
		lab->row->problem = "the experiment faults on the model";
	else if (end != BF_RUN_IDLE)
		lab->row->problem = "the experiment does not end on the model";
}

void bf_lab_spend(struct bf_warp *w, int64_t mc)
{
	bf_agent_delay(w->agent, (uint64_t)mc * bf_hopper_profile(w->gpu)->cycle_ps / 1000);
}

struct bf_sync_instr *bf_lab_instr(struct bf_warp *w, enum bf_sync_op op, uint32_t address, uint32_t count)
{
	w->instr.op = (uint8_t)op;
	w->instr.active = w->active;
	for (uint32_t left = w->active; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		w->instr.address[lane] = address;
		w->instr.count[lane] = count;
		w->instr.tx[lane] = 0;
	}
	return &w->instr;
}

/*
 * The first probe's loop of completing arrives, unrolled by four: GROUP between two of a group, GROUPS to the next
 * group; REST between those that are left over, REST_FIRST to the first of them when that code has not run before.
 * What the waits' lengths say, in rows with several barriers against the row with one.
 */
#define GROUP 16000
#define GROUPS 45000
#define REST 31500
#define REST_FIRST 108000

int64_t bf_lab_between(uint32_t b, uint32_t barriers)
{
	const uint32_t whole = barriers / 4 * 4;

	if (b + 1 < whole)
		return b % 4 == 3 ? GROUPS : GROUP;
	return b + 1 == whole ? REST_FIRST : REST;
}

int64_t bf_lab_clock(const struct bf_warp *w)
{
	return (int64_t)(bf_agent_now(w->agent) * 1000 / bf_hopper_profile(w->gpu)->cycle_ps);
}

uint32_t bf_lab_barrier(const struct bf_hopper_cta *cta, uint32_t i, uint32_t stride)
{
	return bf_hopper_map(i * stride, bf_hopper_cta_rank(cta));
}
