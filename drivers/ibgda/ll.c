/* What host code needs of the low-latency kernels: shapes, layouts, inputs. The check is in ll_verify.c. */
#include "drivers/ibgda/ll.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/ibgda/ll_area_internal.h"
#include "drivers/ibgda/ll_host_internal.h"
#include "sim/rng.h"

extern const struct bf_ll_kernels bf_ll_kernels_sim, bf_ll_kernels_native;

const struct bf_ll_shape bf_ll_shape_default = {
	.tokens = 8,
	.hidden = 512,
	.topk = 2,
	.experts = 8,
	.zipf_milli = 1000,
	.seed = 1,
	.rounds = 1,
	.blocks = 1,
	.groups = 2,
	.group_warps = 2,
};

const struct bf_ibgda_bug bf_ll_bugs[] = {
	{ BF_LL_BUG_NO_FINAL_POST, "ll-no-final-post",
	  "the count after the messages waits for a full batch, without DeepEP's always-post" },
	{ BF_LL_BUG_COUNT_EARLY, "ll-count-early", "the count is sent before all messages are published" },
	{ BF_LL_BUG_COUNT_QP, "ll-count-qp", "the count travels on another queue pair than the messages" },
	{ BF_LL_BUG_SENTINEL, "ll-sentinel", "the count is sent as -count instead of -count - 1" },
	{ BF_LL_BUG_NO_CLEAN, "ll-no-clean", "counts of the next buffers are not cleared" },
	{ BF_LL_BUG_NO_BARRIER, "ll-no-barrier", "messages are sent while other warps still write them" },
	{ BF_LL_BUG_COUNT_SET, "ll-count-set", "the count is sent into the other set of buffers" },
	{ 0, NULL, NULL },
};

const struct bf_ll_kernels *bf_ll_kernels(enum bf_platform_id platform)
{
	switch (platform) {
	case BF_PLATFORM_SIM:
		return &bf_ll_kernels_sim;
	case BF_PLATFORM_NATIVE:
		return &bf_ll_kernels_native;
	case BF_PLATFORM_CUDA:
	case BF_PLATFORM_HIP:
		break;
	}
	return NULL;
}

static int check_queues(const struct bf_ll_shape *s, uint32_t npes, uint32_t num_rc_per_pe, uint32_t nwqes,
			struct bf_error *err)
{
	const uint32_t local = s->experts / npes;
	const uint64_t sharing = (local + num_rc_per_pe - 1) / num_rc_per_pe;
	const uint64_t need = sharing * (s->tokens + 1) * 2;

	if (nwqes < need)
		return bf_fail(
		    err, -EINVAL,
		    "nothing waits for room: %u tokens to each of %llu experts of a queue pair, there and back, "
		    "need a ring of %llu WQEBBs, not %u",
		    s->tokens, (unsigned long long)sharing, (unsigned long long)need, nwqes);
	if ((s->bugs & BF_LL_BUG_COUNT_QP) && num_rc_per_pe < 2)
		return bf_fail(err, -EINVAL, "a count on another queue pair needs two of them");
	return 0;
}

int bf_ll_shape_check(const struct bf_ll_shape *s, uint32_t npes, uint32_t num_rc_per_pe, uint32_t nwqes,
		      struct bf_error *err)
{
	if (npes < 2 || !num_rc_per_pe || !nwqes)
		return bf_fail(err, -EINVAL,
			       "%u PEs, %u queue pairs, %u WQEBBs: at least two PEs and some of the others", npes,
			       num_rc_per_pe, nwqes);
	if (s->tokens < 1 || s->tokens > BF_LL_DONE)
		return bf_fail(err, -EINVAL, "%u tokens: 1 to %u", s->tokens, BF_LL_DONE);
	if (s->hidden < 512 || s->hidden > 8192 || s->hidden % 512)
		return bf_fail(err, -EINVAL, "hidden %u: a multiple of 512, at most 8192", s->hidden);
	if (s->experts % npes || s->experts < npes || s->experts > 4096)
		return bf_fail(err, -EINVAL, "%u experts: a multiple of the %u PEs, at most 4096", s->experts, npes);
	if (s->topk < 1 || s->topk > 16 || s->topk > s->experts)
		return bf_fail(err, -EINVAL, "top %u of %u experts: 1 to 16 and no more than there are", s->topk,
			       s->experts);
	if (!s->rounds || !s->blocks || !s->groups || !s->group_warps)
		return bf_fail(err, -EINVAL, "rounds, blocks, groups and warps must not be 0");
	if (s->groups * s->group_warps < 2 || s->groups * s->group_warps > 32)
		return bf_fail(err, -EINVAL, "%u groups of %u warps: 2 to 32 warps in a block", s->groups,
			       s->group_warps);
	if ((uint64_t)(s->experts + s->blocks * s->groups - 1) / (s->blocks * s->groups) * s->groups >
	    BF_LL_BLOCK_EXPERTS_MAX)
		return bf_fail(err, -EINVAL, "%u experts in %u blocks: more than %u for the counting warp of each",
			       s->experts, s->blocks, BF_LL_BLOCK_EXPERTS_MAX);
	return check_queues(s, npes, num_rc_per_pe, nwqes, err);
}

static uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* LowLatencyLayout: counts, send buffers, receive buffers, two of each; here with the words of the barrier in front. */
void bf_ll_heap_layout(const struct bf_ll_shape *s, uint32_t npes, struct bf_ll_heap *out)
{
	const uint64_t counts = align_up((uint64_t)s->experts * 4, 128);
	const uint64_t slot = bf_ll_combine_slot(s), message = 16 + (uint64_t)s->hidden * 2;
	const uint64_t answers = (uint64_t)s->experts * s->tokens * slot;
	const uint64_t messages = (uint64_t)s->experts * s->tokens * message;
	const uint64_t send = answers > s->tokens * message ? answers : s->tokens * message;
	const uint64_t recv = answers > messages ? answers : messages;

	out->sync = 0;
	out->count[0] = align_up((uint64_t)npes * 4, 128);
	out->count[1] = out->count[0] + counts;
	out->send[0] = out->count[1] + counts;
	out->send[1] = out->send[0] + align_up(send, 128);
	out->recv[0] = out->send[1] + align_up(send, 128);
	out->recv[1] = out->recv[0] + align_up(recv, 128);
	out->end = out->recv[1] + align_up(recv, 128);
}

static uint64_t take(uint64_t *at, uint64_t bytes)
{
	const uint64_t here = *at;

	*at += align_up(bytes, 128);
	return here;
}

void bf_ll_tensor_layout(const struct bf_ll_shape *s, uint32_t npes, struct bf_ll_tensors *out)
{
	const uint64_t local = s->experts / npes, scales = bf_ll_scales_per_token(s);
	uint64_t at = 0, inputs, outputs;

	out->rows = npes * s->tokens;
	out->work = take(&at, bf_ll_work_area(s).end);
	inputs = at;
	out->x = take(&at, (uint64_t)s->tokens * s->hidden * 2);
	out->topk_idx = take(&at, (uint64_t)s->tokens * s->topk * 8);
	out->weights = take(&at, (uint64_t)s->tokens * s->topk * 4);
	out->in_step = at - inputs;
	at = inputs + out->in_step * s->rounds;
	outputs = at;
	out->packed_x = take(&at, local * out->rows * bf_ll_hidden_bytes(s));
	out->packed_scales = take(&at, local * out->rows * scales * 4);
	out->src_info = take(&at, local * out->rows * 4);
	out->layout_range = take(&at, local * npes * 8);
	out->packed_count = take(&at, local * 4);
	out->expert_out = take(&at, local * out->rows * s->hidden * 2);
	out->combined = take(&at, (uint64_t)s->tokens * s->hidden * 2);
	out->times = take(&at, 4 * 8);
	out->out_step = at - outputs;
	out->end = outputs + out->out_step * s->rounds;
}

/* ---- routing ---- */

/* floor(sqrt(v * 2^32)): the root of a 32.32 number. */
static uint64_t root_of(uint64_t v)
{
	const bf_u128 square = (bf_u128)v << 32;
	uint64_t root = 0;

	for (int bit = 48; bit >= 0; bit--) {
		const uint64_t next = root | 1ull << bit;

		if ((bf_u128)next * next <= square)
			root = next;
	}
	return root;
}

/*
 * 1 / (k + 1)^s in units of 2^-32, by integers alone so that all machines route alike: 2^(-s * log2(k + 1)), both by
 * squaring; the error, some 2^-28, makes no router.
 */
static uint64_t zipf_weight(uint32_t k, uint32_t milli)
{
	uint64_t x = (uint64_t)(k + 1) << 32, log = 0, power, result = 1ull << 32, root;
	uint32_t whole = 0;

	while (x >= 2ull << 32) {
		x >>= 1;
		whole++;
	}
	for (int bit = 31; bit >= 0; bit--) {
		x = (uint64_t)((bf_u128)x * x >> 32);
		if (x >= 2ull << 32) {
			x >>= 1;
			log |= 1ull << bit;
		}
	}
	power = (uint64_t)((bf_u128)((uint64_t)whole << 32 | log) * milli / 1000);
	root = 0xb504f333ull; /* 2^-1/2, then its square roots */
	for (int bit = 31; bit >= 0; bit--) {
		if (power >> bit & 1)
			result = (uint64_t)((bf_u128)result * root >> 32);
		root = root_of(root);
	}
	return power >> 32 >= 32 ? 1 : (result >> (power >> 32)) + 1;
}

int bf_ll_router_init(struct bf_ll_router *r, const struct bf_ll_shape *s, struct bf_error *err)
{
	r->shape = s;
	r->below = malloc((s->experts + 1ull) * sizeof(*r->below));
	if (!r->below)
		return bf_fail(err, -ENOMEM, "no memory for a router");
	r->below[0] = 0;
	for (uint32_t e = 0; e < s->experts; e++)
		r->below[e + 1] = r->below[e] + (s->routing == BF_LL_ZIPF ? zipf_weight(e, s->zipf_milli) : 1);
	return 0;
}

void bf_ll_router_free(struct bf_ll_router *r)
{
	free(r->below);
}

static uint32_t draw(const struct bf_ll_router *r, struct bf_rng *rng)
{
	const uint64_t v = bf_rng_below(rng, r->below[r->shape->experts]);
	uint32_t lo = 0, hi = r->shape->experts;

	while (hi - lo > 1) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (r->below[mid] <= v)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static bool chosen(const uint32_t *choice, uint32_t n, uint32_t e)
{
	for (uint32_t i = 0; i < n; i++)
		if (choice[i] == e)
			return true;
	return false;
}

/* Distinct experts in the order drawn; a strongly skewed draw that finds nothing new takes the next that is free. */
void bf_ll_route(const struct bf_ll_router *r, uint32_t round, uint32_t pe, uint32_t token, uint32_t *choice,
		 uint32_t *weight)
{
	const struct bf_ll_shape *s = r->shape;
	struct bf_rng rng;
	char name[64];

	snprintf(name, sizeof(name), "route/%u/%u/%u", round, pe, token);
	bf_rng_init(&rng, s->seed, name);
	for (uint32_t k = 0; k < s->topk; k++) {
		uint32_t e = s->routing == BF_LL_HOT && k == 0 ? 0 : draw(r, &rng);

		for (uint32_t tries = 0; chosen(choice, k, e) && tries < 8; tries++)
			e = draw(r, &rng);
		while (chosen(choice, k, e))
			e = (e + 1) % s->experts;
		choice[k] = e;
		/* 2^-3 times a number of [1, 2): a weight like those of a softmax. */
		weight[k] = 124u << 23 | (uint32_t)bf_rng_below(&rng, 1u << 23);
	}
}

/* ---- inputs ---- */

uint16_t bf_ll_x(uint32_t round, uint32_t pe, uint32_t token, uint32_t i)
{
	return bf_ll_input(bf_ibgda_pattern_word(bf_ibgda_pattern_key(pe, round, token), i / 4), i);
}

int bf_ll_prepare(const struct bf_ll_shape *s, uint32_t npes, uint32_t pe, uint8_t *tensors, struct bf_error *err)
{
	uint32_t choice[16], weight[16];
	struct bf_ll_router router;
	struct bf_ll_tensors at;
	int rc = bf_ll_router_init(&router, s, err);

	if (rc)
		return rc;
	bf_ll_tensor_layout(s, npes, &at);
	memset(tensors + at.work, 0, bf_ll_work_area(s).end);
	for (uint32_t n = 0; n < s->rounds * s->tokens; n++) {
		const uint32_t round = n / s->tokens, token = n % s->tokens;
		uint8_t *in = tensors + round * at.in_step;

		for (uint32_t i = 0; i < s->hidden; i++)
			bf_put_le16(in + at.x + ((uint64_t)token * s->hidden + i) * 2, bf_ll_x(round, pe, token, i));
		bf_ll_route(&router, round, pe, token, choice, weight);
		for (uint32_t k = 0; k < s->topk; k++) {
			bf_put_le64(in + at.topk_idx + ((uint64_t)token * s->topk + k) * 8, choice[k]);
			bf_put_le32(in + at.weights + ((uint64_t)token * s->topk + k) * 4, weight[k]);
		}
	}
	bf_ll_router_free(&router);
	return 0;
}
