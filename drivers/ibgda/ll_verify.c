/* The check of a low-latency run against a plain computation of the same routing. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/ibgda/ll_host_internal.h"

struct verify {
	const struct bf_ll_shape *s;
	struct bf_ll_router router;
	struct bf_ll_tensors at;
	uint32_t npes, local, round;
	uint8_t *const *tensors;
	uint32_t *choice, *weight; /* [npes][tokens][topk] of the round */
	uint8_t *message;          /* [tokens] of one source */
	uint32_t *seen;            /* [tokens]: rows with it; beside it the rows of an expert */
	uint8_t *taken;            /* [rows] of an expert: whose they are said to be */
	struct bf_ibgda_mismatch *bad;
	struct bf_ll_checked *checked;
};

static void wrong(struct verify *v, uint32_t pe, uint64_t offset, const char *fmt, ...) BF_PRINTF(4, 5);
static void wrong(struct verify *v, uint32_t pe, uint64_t offset, const char *fmt, ...)
{
	va_list args;
	int used;

	if (v->bad->count++)
		return;
	v->bad->pe = pe;
	v->bad->offset = offset;
	used = snprintf(v->bad->text, sizeof(v->bad->text), "round %" PRIu32 ": ", v->round);
	va_start(args, fmt);
	vsnprintf(v->bad->text + used, sizeof(v->bad->text) - (size_t)used, fmt, args);
	va_end(args);
}

static const uint8_t *output(const struct verify *v, uint32_t pe, uint64_t offset)
{
	return v->tensors[pe] + v->round * v->at.out_step + offset;
}

static const uint32_t *choice_of(const struct verify *v, uint32_t pe, uint32_t token)
{
	return v->choice + ((uint64_t)pe * v->s->tokens + token) * v->s->topk;
}

static bool goes_to(const struct verify *v, uint32_t src, uint32_t token, uint32_t expert)
{
	const uint32_t *c = choice_of(v, src, token);

	for (uint32_t k = 0; k < v->s->topk; k++)
		if (c[k] == expert)
			return true;
	return false;
}

/* ---- what a message must hold ---- */

static float amax_of(const struct verify *v, uint32_t src, uint32_t token, uint32_t group)
{
	float amax = BF_LL_AMAX_LEAST;

	for (uint32_t i = group * BF_LL_CHANNELS; i < (group + 1) * BF_LL_CHANNELS; i++) {
		const float f = bf_ll_from_bf16(bf_ll_x(v->round, src, token, i) & 0x7fffu);

		amax = f > amax ? f : amax;
	}
	return amax;
}

/* Hidden bytes, then scales as floats; without the 16 bytes of a header. */
static void build_message(const struct verify *v, uint32_t src, uint32_t token, uint8_t *m)
{
	const uint32_t hidden = v->s->hidden;

	for (uint32_t g = 0; g < hidden / BF_LL_CHANNELS; g++) {
		const bool fp8 = v->s->dtype == BF_LL_FP8;
		const struct bf_ll_scale scale =
		    bf_ll_scale_of(fp8 ? amax_of(v, src, token, g) : 1, v->s->scales != BF_LL_SCALES_F32);

		for (uint32_t i = g * BF_LL_CHANNELS; i < (g + 1) * BF_LL_CHANNELS; i++) {
			const uint16_t x = bf_ll_x(v->round, src, token, i);

			if (fp8)
				m[i] = bf_ll_to_e4m3(bf_ll_from_bf16(x) * scale.scale);
			else
				bf_put_le16(m + i * 2ull, x);
		}
		if (fp8)
			bf_put_le32(m + hidden + g * 4ull, bf_ll_bits(scale.inverse));
	}
}

static float element(const struct verify *v, const uint8_t *m, uint32_t i)
{
	if (v->s->dtype == BF_LL_BF16)
		return bf_ll_from_bf16(bf_get_le16(m + i * 2ull));
	return bf_ll_from_e4m3(m[i]) * bf_ll_float(bf_get_le32(m + v->s->hidden + i / BF_LL_CHANNELS * 4ull));
}

static uint64_t message_step(const struct verify *v)
{
	return bf_ll_dispatch_bytes(v->s) - 16;
}

/* ---- dispatch ---- */

static void check_scales(struct verify *v, uint32_t pe, uint32_t id, uint32_t row, uint32_t src, uint32_t token,
			 const uint8_t *m)
{
	const uint32_t scales = bf_ll_scales_per_token(v->s);
	const uint64_t base = v->at.packed_scales + (uint64_t)id * v->at.rows * scales * 4;

	for (uint32_t c = 0; c < scales; c++) {
		const uint32_t want = bf_get_le32(m + v->s->hidden + c * 4ull);
		const bool bytes = v->s->scales == BF_LL_SCALES_UE8M0;
		const uint64_t at = bytes ? base + ((uint64_t)(c / 4) * v->at.rows + row) * 4 + c % 4
					  : base + ((uint64_t)c * v->at.rows + row) * 4;
		const uint32_t found = bytes ? *output(v, pe, at) : bf_get_le32(output(v, pe, at));

		if (found == (bytes ? want >> 23 : want))
			continue;
		wrong(v, pe, at,
		      "scale %" PRIu32 " of token %" PRIu32 " of PE %" PRIu32 " is 0x%" PRIx32 ", not 0x%" PRIx32, c,
		      token, src, found, bytes ? want >> 23 : want);
		return;
	}
}

static void check_row(struct verify *v, uint32_t pe, uint32_t id, uint32_t row, uint32_t src)
{
	const uint64_t index = (uint64_t)id * v->at.rows + row;
	const uint32_t token = bf_get_le32(output(v, pe, v->at.src_info + index * 4));
	const uint32_t expert = pe * v->local + id, bytes = bf_ll_hidden_bytes(v->s);
	const uint8_t *found = output(v, pe, v->at.packed_x + index * bytes), *want;

	if (token >= v->s->tokens || !goes_to(v, src, token, expert) || v->seen[token]++) {
		wrong(v, pe, v->at.src_info + index * 4,
		      "row %" PRIu32 " of expert %" PRIu32 " says token %" PRIu32 " of PE %" PRIu32 ", %s", row, expert,
		      token, src,
		      token < v->s->tokens && v->seen[token] > 1 ? "once too often" : "which was not sent there");
		return;
	}
	want = v->message + token * message_step(v);
	v->checked->messages++;
	v->checked->bytes += message_step(v);
	if (memcmp(found, want, bytes) != 0) {
		uint32_t i = 0;

		while (found[i] == want[i])
			i++;
		wrong(v, pe, v->at.packed_x + index * bytes + i,
		      "token %" PRIu32 " of PE %" PRIu32 " at expert %" PRIu32 ": byte %" PRIu32
		      " is 0x%02x, not 0x%02x",
		      token, src, expert, i, found[i], want[i]);
	}
	if (v->s->dtype == BF_LL_FP8)
		check_scales(v, pe, id, row, src, token, want);
}

/* What one source sent to one expert: the range it got, and each row of it. */
static void check_source(struct verify *v, uint32_t pe, uint32_t id, uint32_t src, uint32_t *total)
{
	const uint64_t at = v->at.layout_range + ((uint64_t)id * v->npes + src) * 8;
	const uint64_t range = bf_get_le64(output(v, pe, at));
	const uint32_t n = (uint32_t)(range >> 32), first = (uint32_t)range;
	uint32_t want = 0;

	for (uint32_t token = 0; token < v->s->tokens; token++)
		want += goes_to(v, src, token, pe * v->local + id);
	*total += want;
	if (n != want || (uint64_t)first + n > v->at.rows) {
		wrong(v, pe, at,
		      "PE %" PRIu32 " sent %" PRIu32 " tokens to expert %" PRIu32 ", the range is %" PRIu32
		      " from row %" PRIu32,
		      src, want, pe * v->local + id, n, first);
		return;
	}
	memset(v->seen, 0, v->s->tokens * sizeof(*v->seen));
	for (uint32_t i = 0; i < n; i++) {
		if (v->taken[(uint64_t)id * v->at.rows + first + i]++)
			wrong(v, pe, at, "row %" PRIu32 " of expert %" PRIu32 " belongs to two sources", first + i,
			      pe * v->local + id);
		check_row(v, pe, id, first + i, src);
	}
}

static void check_count(struct verify *v, uint32_t pe, uint32_t id, uint32_t want)
{
	const uint32_t found = bf_get_le32(output(v, pe, v->at.packed_count + id * 4ull));

	if (found != want)
		wrong(v, pe, v->at.packed_count + id * 4ull,
		      "expert %" PRIu32 " counts %" PRIu32 " tokens, not %" PRIu32, pe * v->local + id, found, want);
	if (want < v->checked->least)
		v->checked->least = want;
	if (want > v->checked->most)
		v->checked->most = want;
}

/* One PE's rows come from all sources; a source's messages are built once for all PEs, so sources are outside. */
static void check_dispatch(struct verify *v, uint32_t *totals)
{
	const uint64_t per_pe = (uint64_t)v->local * v->at.rows;
	uint8_t *all = v->taken;

	memset(all, 0, v->npes * per_pe);
	memset(totals, 0, v->s->experts * sizeof(*totals));
	for (uint32_t src = 0; src < v->npes; src++) {
		for (uint32_t token = 0; token < v->s->tokens; token++)
			build_message(v, src, token, v->message + token * message_step(v));
		for (uint32_t pe = 0; pe < v->npes; pe++) {
			v->taken = all + pe * per_pe;
			for (uint32_t id = 0; id < v->local; id++)
				check_source(v, pe, id, src, &totals[pe * v->local + id]);
		}
	}
	v->taken = all;
	for (uint32_t e = 0; e < v->s->experts; e++)
		check_count(v, e / v->local, e % v->local, totals[e]);
}

/* ---- combine ---- */

/* The answer of an expert to element i: the same two products, the same rounding. */
static float answer(const struct verify *v, const uint8_t *m, uint32_t i, uint32_t expert)
{
	return bf_ll_from_bf16(bf_ll_to_bf16(element(v, m, i) * bf_ll_expert_factor(expert)));
}

static void check_combined(struct verify *v, uint32_t pe, uint32_t token)
{
	const uint64_t at = v->at.combined + (uint64_t)token * v->s->hidden * 2, n = v->s->topk;
	const uint32_t *choice = choice_of(v, pe, token);
	const uint32_t *weight = v->weight + ((uint64_t)pe * v->s->tokens + token) * n;
	const uint8_t *found = output(v, pe, at);

	build_message(v, pe, token, v->message);
	for (uint32_t i = 0; i < v->s->hidden; i++) {
		float sum = 0;
		uint16_t want;

		for (uint32_t k = 0; k < n; k++)
			sum = bf_ll_fma(sum, answer(v, v->message, i, choice[k]), bf_ll_float(weight[k]));
		want = bf_ll_to_bf16(sum);
		if (bf_get_le16(found + i * 2ull) == want)
			continue;
		wrong(v, pe, at + i * 2ull, "sum of token %" PRIu32 ", element %" PRIu32 ": 0x%04x, not 0x%04x", token,
		      i, bf_get_le16(found + i * 2ull), want);
		break;
	}
	v->checked->messages += n;
	v->checked->bytes += (uint64_t)v->s->hidden * 2;
}

static void check_round(struct verify *v, enum bf_ll_work work, uint32_t *totals)
{
	for (uint32_t pe = 0; pe < v->npes; pe++)
		for (uint32_t token = 0; token < v->s->tokens; token++) {
			const uint64_t at = ((uint64_t)pe * v->s->tokens + token) * v->s->topk;

			bf_ll_route(&v->router, v->round, pe, token, v->choice + at, v->weight + at);
		}
	check_dispatch(v, totals);
	for (uint32_t pe = 0; work == BF_LL_COMBINE && pe < v->npes; pe++)
		for (uint32_t token = 0; token < v->s->tokens; token++)
			check_combined(v, pe, token);
}

int bf_ll_verify(enum bf_ll_work work, const struct bf_ll_shape *s, uint32_t npes, uint8_t *const *tensors,
		 struct bf_ibgda_mismatch *bad, struct bf_ll_checked *checked)
{
	struct verify v = { .s = s, .npes = npes, .local = s->experts / npes, .tensors = tensors, .bad = bad };
	const size_t choices = (size_t)npes * s->tokens * s->topk;
	uint32_t *totals = malloc(s->experts * sizeof(*totals));
	int rc;

	*bad = (struct bf_ibgda_mismatch){ 0 };
	*checked = (struct bf_ll_checked){ .least = UINT32_MAX };
	v.checked = checked;
	bf_ll_tensor_layout(s, npes, &v.at);
	rc = bf_ll_router_init(&v.router, s, NULL);
	v.choice = malloc(choices * sizeof(*v.choice));
	v.weight = malloc(choices * sizeof(*v.weight));
	v.message = malloc(s->tokens * (bf_ll_dispatch_bytes(s) - 16ull));
	v.seen = malloc(s->tokens * sizeof(*v.seen));
	v.taken = malloc((size_t)s->experts * v.at.rows);
	if (!rc && (!totals || !v.choice || !v.weight || !v.message || !v.seen || !v.taken))
		rc = -ENOMEM;
	for (; !rc && v.round < s->rounds; v.round++)
		check_round(&v, work, totals);
	free(totals);
	free(v.choice);
	free(v.weight);
	free(v.message);
	free(v.seen);
	free(v.taken);
	bf_ll_router_free(&v.router);
	return rc ? rc : bad->count ? -EBADMSG : 0;
}
