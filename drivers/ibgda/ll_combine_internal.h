/* The stand-in for the experts, and the combine kernel: copy, send, flag; then wait for all flags and add up. */
#ifndef BELFRY_DRIVERS_IBGDA_LL_COMBINE_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_COMBINE_INTERNAL_H

#include "drivers/ibgda/ll_dispatch_internal.h"

BF_DEVICE struct bf_vec128 bf_ll_pack_bf16(const float *values)
{
	struct bf_vec128 v;

	for (uint32_t j = 0; j < 4; j++)
		v.w[j] = (uint32_t)bf_ll_to_bf16(values[j * 2 + 1]) << 16 | bf_ll_to_bf16(values[j * 2]);
	return v;
}

/* The scale of a group of 128 of row `row`, from an expert's part of the packed tensor: the word that has it, and it.
 */
BF_DEVICE const uint8_t *bf_ll_scale_word(const struct bf_ll_lane *l, const uint8_t *scales, uint32_t row, uint32_t c)
{
	const uint64_t column = l->s->scales != BF_LL_SCALES_UE8M0 ? c : c / 4;

	return scales + (column * l->job->at.rows + row) * 4;
}
BF_DEVICE float bf_ll_scale_in(const struct bf_ll_lane *l, uint32_t word, uint32_t c)
{
	return bf_ll_float(l->s->scales != BF_LL_SCALES_UE8M0 ? word : (word >> c % 4 * 8 & 0xffu) << 23);
}
BF_DEVICE float bf_ll_scale_at(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t id, uint32_t row, uint32_t c)
{
	const struct bf_ll_tensors *at = &l->job->at;
	const uint64_t base = (uint64_t)id * at->rows * bf_ll_scales_per_token(l->s) * 4;

	return bf_ll_scale_in(l, bf_ld_weak32(t, bf_ll_scale_word(l, l->out + at->packed_scales + base, row, c)), c);
}
BF_DEVICE float bf_ll_scale_of_row(const struct bf_ll_lane *l, const uint8_t *scales, uint32_t row, uint32_t c)
{
	uint32_t word;

	memcpy(&word, bf_ll_scale_word(l, scales, row, c), 4);
	return bf_ll_scale_in(l, word, c);
}

/* Row `index` of the buffer that answers are sent from. */
BF_DEVICE uint8_t *bf_ll_answer_row(const struct bf_ll_lane *l, uint64_t index)
{
	return l->heap + l->job->heap.send[l->set] + index * bf_ll_combine_slot(l->s);
}

/* Where an expert leaves its answer. */
BF_DEVICE uint8_t *bf_ll_expert_out(const struct bf_ll_lane *l, uint64_t index)
{
	return l->s->zero_copy ? bf_ll_answer_row(l, index) : l->out + l->job->at.expert_out + index * l->s->hidden * 2;
}

/*
 * What an expert makes of one row, by one lane for all. The processor computes it where it is first read: into the
 * buffer that it is sent from, not into a tensor that is then copied, which nobody else looks at.
 */
BF_DEVICE void bf_ll_expert_values(const struct bf_ll_lane *l, uint32_t id, uint32_t row, uint8_t *to)
{
	const struct bf_ll_tensors *at = &l->job->at;
	const uint8_t *x = l->out + at->packed_x + ((uint64_t)id * at->rows + row) * bf_ll_hidden_bytes(l->s);
	const uint8_t *scales = l->out + at->packed_scales + (uint64_t)id * at->rows * bf_ll_scales_per_token(l->s) * 4;
	const float factor = bf_ll_expert_factor(l->mype * l->local + id);

	if (l->s->dtype == BF_LL_FP8)
		for (uint32_t c = 0; c < bf_ll_scales_per_token(l->s); c++)
			l->math->expert_fp8(x + c * 128ull, bf_ll_scale_of_row(l, scales, row, c), factor,
					    to + c * 256ull);
	else
		l->math->expert_bf16(x, l->s->hidden, factor, to);
}

/* The row below by one lane for all. */
BF_DEVICE void bf_ll_expert_acted(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t id, uint32_t row,
				  uint8_t *to)
{
	const uint32_t rounds = l->s->hidden / 8 / BF_LANES, loads = l->s->dtype == BF_LL_FP8 ? 2 : 1;

	if (l->s->zero_copy)
		bf_ll_expert_values(l, id, row, to);
	bf_act_stored(t, to, l->s->hidden * 2ull, l->s->hidden / 8);
	bf_act_pay(t, loads * rounds, rounds, loads * rounds, rounds);
}

/* A warp computes what an expert makes of one row. */
BF_DEVICE void bf_ll_expert_row(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t id, uint32_t row)
{
	const struct bf_ll_tensors *at = &l->job->at;
	const uint64_t index = (uint64_t)id * at->rows + row;
	const uint8_t *x = l->out + at->packed_x + index * bf_ll_hidden_bytes(l->s);
	const float factor = bf_ll_expert_factor(l->mype * l->local + id);
	uint8_t *to = bf_ll_expert_out(l, index);

	if (bf_acts(t)) {
		bf_ll_expert_acted(t, l, id, row, to);
		return;
	}
	for (uint32_t i = l->lane; i < l->s->hidden / 8; i += BF_LANES) {
		float y[8];

		if (l->s->dtype == BF_LL_FP8) {
			const uint64_t fp8 = bf_ld_weak64(t, x + i * 8ull);
			const float scale = bf_ll_scale_at(t, l, id, row, i / 16);

			for (uint32_t j = 0; j < 8; j++)
				y[j] = bf_ll_from_e4m3((uint8_t)(fp8 >> j * 8)) * scale * factor;
		} else {
			const struct bf_vec128 v = bf_ld_weak128(t, x + i * 16ull);

			for (uint32_t j = 0; j < 8; j++)
				y[j] = bf_ll_from_bf16(bf_ll_element(v, j)) * factor;
		}
		bf_st_weak128(t, to + i * 16ull, bf_ll_pack_bf16(y));
	}
}

BF_DEVICE void bf_ll_experts(struct bf_thread *t, const struct bf_ll_lane *l)
{
	const uint32_t mine = l->block * l->warps + l->warp, all = l->warps * l->s->blocks;

	for (uint32_t id = 0; id < l->local; id++) {
		const uint32_t n = bf_ld_warp32(t, l->out + l->job->at.packed_count + id * 4ull);

		for (uint32_t row = mine; row < n && row < l->job->at.rows; row += all)
			bf_ll_expert_row(t, l, id, row);
	}
	bf_ll_meet_grid(t, l);
}

/* Where the answer of an expert to token `token` lies on the token's PE. */
BF_DEVICE uint8_t *bf_ll_answer(const struct bf_ll_lane *l, uint32_t expert, uint32_t token)
{
	return l->heap + l->job->heap.recv[l->set] +
	       ((uint64_t)expert * l->s->tokens + token) * bf_ll_combine_slot(l->s);
}

/* A warp copies an expert's answer to where it is sent from, or read. */
BF_DEVICE void bf_ll_copy_answer(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t id, uint32_t row,
				 uint8_t *to)
{
	const uint32_t bytes = l->s->hidden * 2;

	if (bf_acts(t) && !l->s->zero_copy) {
		bf_ll_expert_values(l, id, row, to);
		bf_ibgda_copied_acted(t, to, bytes);
		return;
	}
	bf_ibgda_copy_warp(t, to, bf_ll_expert_out(l, (uint64_t)id * l->job->at.rows + row), bytes);
}

/* A warp sends one row of an expert back to where its token came from; `nth` counts the rows of that source. */
BF_DEVICE void bf_ll_send_back(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t id, uint32_t dst, uint32_t row,
			       uint32_t nth)
{
	const struct bf_ll_tensors *at = &l->job->at;
	const uint64_t index = (uint64_t)id * at->rows + row;
	const uint32_t token = bf_ld_warp32(t, l->out + at->src_info + index * 4), bytes = l->s->hidden * 2;
	const uint32_t expert = l->mype * l->local + id;
	uint8_t *buffer = bf_ll_answer_row(l, index);
	struct bf_ibgda_qp *qp = dst == l->mype ? 0 : bf_ll_qp(l, dst, id);

	if (token >= l->s->tokens)
		return;
	if (!qp || !l->s->zero_copy)
		bf_ll_copy_answer(t, l, id, row, qp ? buffer : bf_ll_answer(l, expert, token));
	bf_warp_sync(t, BF_FULL_WARP);
	if (l->lane == 0)
		BF_DRIVER_RECORD(t, ll_send, .round = l->round, .phase = 1, .expert = expert, .dst = dst, .slot = nth,
				 .token = token, .qpn = qp ? qp->qpn : 0);
	if (qp)
		bf_ibgda_put_nbi_warp(t, l->state, qp, bf_ll_answer(l, expert, token), buffer, bytes, nth);
}

/* The flag of one of this PE's experts at a source of its tokens, when the whole group has sent. One lane. */
BF_DEVICE void bf_ll_flag(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t id, uint32_t dst)
{
	const uint32_t expert = l->mype * l->local + id;
	uint8_t *clean = l->work + l->area.clean_flag;

	bf_ll_wait_change(t, clean, BF_AT_GPU, "the other buffers' flags to be cleared");
	bf_ll_send_count(t, l, l->heap + l->job->heap.count[l->set] + expert * 4ull, 1, dst, id, 1, expert);
	bf_ll_add_release(t, clean, 0u - 1u);
}

BF_DEVICE void bf_ll_combine_send(struct bf_thread *t, const struct bf_ll_lane *l)
{
	const int early = (l->s->bugs & (BF_LL_BUG_COUNT_EARLY | BF_LL_BUG_NO_BARRIER)) != 0;

	if (l->block == 0 && l->warp == 0) {
		bf_ll_clean_next(t, l);
		if (l->lane == 0)
			bf_ll_add_release(t, l->work + l->area.clean_flag, l->s->experts);
	}
	for (uint32_t e = l->first; e < l->s->experts; e += l->step) {
		const uint32_t dst = e / l->local, id = e % l->local;
		const uint64_t range =
		    bf_ld_warp64(t, l->out + l->job->at.layout_range + ((uint64_t)id * l->npes + dst) * 8);
		const uint32_t n = (uint32_t)(range >> 32), first = (uint32_t)range;
		const int flags = l->sub == l->s->group_warps - 1 && l->lane == 0;

		if (early && flags)
			bf_ll_flag(t, l, id, dst);
		for (uint32_t i = l->sub; i < n; i += l->s->group_warps)
			if (first + i < l->job->at.rows)
				bf_ll_send_back(t, l, id, dst, first + i, i);
		bf_ll_meet_group(t, l);
		if (!early && flags)
			bf_ll_flag(t, l, id, dst);
	}
	bf_warp_sync(t, BF_FULL_WARP);
}

/* Eight elements of one token: the answers of its experts, in the order of its choices. */
BF_DEVICE void bf_ll_reduce(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t token, uint32_t i,
			    const int64_t *choice, const float *weight)
{
	float sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	for (uint32_t k = 0; k < l->s->topk; k++) {
		const uint8_t *p;
		struct bf_vec128 v;

		if (choice[k] < 0)
			continue;
		p = bf_ll_answer(l, (uint32_t)choice[k], token) + i * 16ull;
		v = k ? bf_ld_beside128(t, p) : bf_ld_weak128(t, p);
		for (uint32_t j = 0; j < 8; j++)
			sum[j] = bf_ll_fma(sum[j], bf_ll_from_bf16(bf_ll_element(v, j)), weight[k]);
	}
	bf_st_weak128(t, l->out + l->job->at.combined + ((uint64_t)token * l->s->hidden + i * 8) * 2,
		      bf_ll_pack_bf16(sum));
}

#define BF_LL_TOPK_MAX 16u

/* What the lanes of a warp have of a token's choices and weights; each lane that has some has loaded one of both. */
BF_DEVICE void bf_ll_choices_acted(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t token, int64_t *choice,
				   float *weight)
{
	const uint64_t at = (uint64_t)token * l->s->topk;

	bf_act_pay(t, 2, 0, l->s->topk > 1 ? 2 : 0, 0);
	for (uint32_t k = 0; k < l->s->topk; k++) {
		memcpy(&choice[k], l->in + l->job->at.topk_idx + (at + k) * 8, 8);
		memcpy(&weight[k], l->in + l->job->at.weights + (at + k) * 4, 4);
		bf_shfl64(t, BF_FULL_WARP, 0, k);
		bf_shfl32(t, BF_FULL_WARP, 0, k);
	}
}

/* The warp's share of a token's sum, by one lane for all. */
BF_DEVICE void bf_ll_reduce_acted(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t token,
				  const int64_t *choice, const float *weight)
{
	uint8_t *to = l->out + l->job->at.combined + (uint64_t)token * l->s->hidden * 2;
	const uint8_t *answer[BF_LL_TOPK_MAX];
	float by[BF_LL_TOPK_MAX];
	uint32_t n = 0;

	for (uint32_t k = 0; k < l->s->topk; k++)
		if (choice[k] >= 0) {
			answer[n] = bf_ll_answer(l, (uint32_t)choice[k], token);
			by[n++] = weight[k];
		}
	for (uint32_t i = l->warp * BF_LANES; i < l->s->hidden / 8; i += l->warps * BF_LANES) {
		const uint32_t waits = choice[0] >= 0;

		l->math->reduce(answer, by, n, i * 16ull, BF_LANES * 8, to + i * 16ull);
		bf_act_stored(t, to + i * 16ull, BF_LANES * 16, BF_LANES);
		bf_act_pay(t, waits, n - waits + 1, waits, n - waits + 1);
	}
}

BF_DEVICE void bf_ll_combine_recv(struct bf_thread *t, const struct bf_ll_lane *l)
{
	for (uint32_t e = l->first; e < l->s->experts && l->sub == 0 && l->lane == 0; e += l->step) {
		const uint32_t value = bf_ll_wait_change(t, l->heap + l->job->heap.count[l->set] + e * 4ull, BF_AT_SYS,
							 "the flag of an expert");

		BF_DRIVER_RECORD(t, ll_recv, .round = l->round, .phase = 1, .expert = e, .src = e / l->local,
				 .value = (int32_t)value, .reserved = 0);
	}
	bf_ll_meet_grid(t, l);
	for (uint32_t token = l->block; token < l->s->tokens; token += l->s->blocks) {
		int64_t mine = -1, choice[BF_LL_TOPK_MAX];
		float weight[BF_LL_TOPK_MAX];
		uint32_t w = 0;

		if (bf_acts(t)) {
			bf_ll_choices_acted(t, l, token, choice, weight);
			bf_ll_reduce_acted(t, l, token, choice, weight);
			continue;
		}
		if (l->lane < l->s->topk) {
			mine = bf_ll_choice(t, l, token, l->lane);
			w = bf_ld_weak32(t, l->in + l->job->at.weights + ((uint64_t)token * l->s->topk + l->lane) * 4);
		}
		for (uint32_t k = 0; k < l->s->topk; k++) {
			choice[k] = (int64_t)bf_shfl64(t, BF_FULL_WARP, (uint64_t)mine, k);
			weight[k] = bf_ll_float(bf_shfl32(t, BF_FULL_WARP, w, k));
		}
		for (uint32_t i = l->warp * BF_LANES + l->lane; i < l->s->hidden / 8; i += l->warps * BF_LANES)
			bf_ll_reduce(t, l, token, i, choice, weight);
	}
}

BF_DEVICE void bf_ll_combine(struct bf_thread *t, const struct bf_ll_lane *l)
{
	bf_ll_combine_send(t, l);
	bf_ll_combine_recv(t, l);
	bf_ll_meet_grid(t, l);
}

#endif
