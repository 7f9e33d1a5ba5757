/* The dispatch kernel, in the order a token travels: cast, send, count; then receive and pack. */
#ifndef BELFRY_DRIVERS_IBGDA_LL_DISPATCH_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_DISPATCH_INTERNAL_H

#include "drivers/ibgda/ll_meet_internal.h"

BF_DEVICE uint8_t *bf_ll_send_row(const struct bf_ll_lane *l, uint32_t token)
{
	return l->heap + l->job->heap.send[l->set] + (uint64_t)token * bf_ll_dispatch_bytes(l->s);
}

/* Where message `slot` of PE `src` for an expert lies on that expert's PE. */
BF_DEVICE uint8_t *bf_ll_recv_slot(const struct bf_ll_lane *l, uint32_t local_expert, uint32_t src, uint32_t slot)
{
	const uint64_t row = ((uint64_t)local_expert * l->npes + src) * l->s->tokens + slot;

	return l->heap + l->job->heap.recv[l->set] + row * bf_ll_dispatch_bytes(l->s);
}

BF_DEVICE uint16_t bf_ll_element(struct bf_vec128 v, uint32_t j)
{
	return (uint16_t)(v.w[j / 2] >> j % 2 * 16);
}

/* The largest magnitude among the 128 elements that 16 lanes hold, the caller's 8 among them. */
BF_DEVICE float bf_ll_amax(struct bf_thread *t, const struct bf_ll_lane *l, struct bf_vec128 v)
{
	float amax = BF_LL_AMAX_LEAST;

	for (uint32_t j = 0; j < 8; j++) {
		const float f = bf_ll_from_bf16(bf_ll_element(v, j) & 0x7fffu);

		amax = f > amax ? f : amax;
	}
	for (uint32_t d = 8; d; d >>= 1) {
		const float f = bf_ll_float(bf_shfl32(t, BF_FULL_WARP, bf_ll_bits(amax), l->lane ^ d));

		amax = f > amax ? f : amax;
	}
	return amax;
}

/* Eight elements of a token, into the send buffer. All lanes call: 16 of them share a scale. */
BF_DEVICE void bf_ll_cast(struct bf_thread *t, const struct bf_ll_lane *l, const uint8_t *x, uint8_t *row, uint32_t i)
{
	const struct bf_vec128 v = bf_ld_weak128(t, x + i * 16ull);
	struct bf_ll_scale scale;
	uint64_t fp8 = 0;

	if (l->s->dtype == BF_LL_BF16) {
		bf_st_weak128(t, row + 16 + i * 16ull, v);
		return;
	}
	scale = bf_ll_scale_of(bf_ll_amax(t, l, v), l->s->scales != BF_LL_SCALES_F32);
	for (uint32_t j = 0; j < 8; j++)
		fp8 |= (uint64_t)bf_ll_to_e4m3(bf_ll_from_bf16(bf_ll_element(v, j)) * scale.scale) << j * 8;
	bf_st_weak64(t, row + 16 + i * 8ull, fp8);
	if (l->lane % 16 == 0)
		bf_st_weak32(t, row + 16 + l->s->hidden + i / 16 * 4, bf_ll_bits(scale.inverse));
}

/* The warp's share of a token's vectors, by one lane for all; the four shuffles of bf_ll_amax() are meetings. */
BF_DEVICE void bf_ll_cast_acted(struct bf_thread *t, const struct bf_ll_lane *l, const uint8_t *x, uint8_t *row)
{
	const uint32_t casters = l->warps - 1, vectors = l->s->hidden / 8;
	const int power = l->s->scales != BF_LL_SCALES_F32;

	for (uint32_t i = l->warp * BF_LANES; i < vectors; i += casters * BF_LANES) {
		uint8_t *to = row + 16 + (uint64_t)i * bf_ll_hidden_bytes(l->s) / vectors;
		uint8_t *scale = row + 16 + l->s->hidden + i / 16 * 4;
		const uint8_t *from = x + i * 16ull;
		uint32_t inverse[2];

		bf_act_pay(t, 1, 0, 1, 0);
		if (l->s->dtype == BF_LL_BF16) {
			memcpy(to, from, BF_LANES * 16);
		} else {
			for (uint32_t d = 8; d; d >>= 1)
				bf_shfl32(t, BF_FULL_WARP, 0, l->lane ^ d);
			l->math->cast(from, power, to, &inverse[0]);
			l->math->cast(from + 256, power, to + 128, &inverse[1]);
			bf_st_weak32(t, scale, inverse[0]);
			memcpy(scale + 4, &inverse[1], 4);
			bf_act_stored_by(t, 16, scale + 4, 4);
			bf_act_pay(t, 0, 0, 0, 1);
		}
		bf_act_stored(t, to, (uint64_t)BF_LANES * bf_ll_hidden_bytes(l->s) / vectors, BF_LANES);
		bf_act_pay(t, 0, 1, 0, 1);
	}
}

/* Index of the expert that token's choice `k` names; negative: none. */
BF_DEVICE int64_t bf_ll_choice(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t token, uint32_t k)
{
	const uint8_t *idx = l->in + l->job->at.topk_idx;

	return (int64_t)bf_ld_warp64(t, idx + ((uint64_t)token * l->s->topk + k) * 8);
}

/* A warp sends a token that was cast to one expert. */
BF_DEVICE void bf_ll_send(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t token, uint32_t expert)
{
	const uint32_t dst = expert / l->local, id = expert % l->local;
	uint8_t *row = bf_ll_send_row(l, token), *to;
	struct bf_ibgda_qp *qp = 0;
	uint32_t slot = 0;

	if (l->lane == 0)
		slot = bf_atomic_add32(t, bf_ll_word(l, l->area.slots, expert), 1, BF_AT_GPU);
	slot = bf_shfl32(t, BF_FULL_WARP, slot, 0);
	to = bf_ll_recv_slot(l, id, l->mype, slot);
	if (dst != l->mype)
		qp = bf_ll_qp(l, dst, id);
	if (l->lane == 0)
		BF_DRIVER_RECORD(t, ll_send, .round = l->round, .phase = 0, .expert = expert, .dst = dst, .slot = slot,
				 .token = token, .qpn = qp ? qp->qpn : 0);
	if (qp)
		bf_ibgda_put_nbi_warp(t, l->state, qp, to, row, bf_ll_dispatch_bytes(l->s), slot);
	else
		bf_ibgda_copy_warp(t, to, row, bf_ll_dispatch_bytes(l->s));
	bf_warp_sync(t, BF_FULL_WARP);
	if (l->lane == 0)
		bf_ll_add_release(t, bf_ll_word(l, l->area.finished, expert), 1);
}

/* All warps of a block but the last: each casts its share of a token, then sends it to every choice that is its own. */
BF_DEVICE void bf_ll_cast_and_send(struct bf_thread *t, const struct bf_ll_lane *l)
{
	const uint32_t casters = l->warps - 1, vectors = l->s->hidden / 8;

	for (uint32_t token = l->block; token < l->s->tokens; token += l->s->blocks) {
		const uint8_t *x = l->in + l->job->at.x + (uint64_t)token * l->s->hidden * 2;
		uint8_t *row = bf_ll_send_row(l, token);

		if (l->warp == 0 && l->lane == 0)
			bf_st_weak32(t, row, token);
		if (bf_acts(t))
			bf_ll_cast_acted(t, l, x, row);
		else
			for (uint32_t i = l->warp * BF_LANES + l->lane; i < vectors; i += casters * BF_LANES)
				bf_ll_cast(t, l, x, row, i);
		if (l->lane == 0)
			BF_DRIVER_RECORD(t, ll_cast, .round = l->round, .token = token);
		if (!(l->s->bugs & BF_LL_BUG_NO_BARRIER))
			bf_ll_meet_casters(t, l);
		for (uint32_t k = l->warp; k < l->s->topk; k += casters) {
			const int64_t expert = bf_ll_choice(t, l, token, k);

			if (expert >= 0)
				bf_ll_send(t, l, token, (uint32_t)expert);
		}
	}
}

/* The last warp of the first block: counts of the next kernel's buffers are zero before anybody is told of this one. */
BF_DEVICE void bf_ll_clean_next(struct bf_thread *t, const struct bf_ll_lane *l)
{
	uint8_t *next = l->heap + l->job->heap.count[l->set ^ 1u];

	if (bf_acts(t)) {
		memset(next, 0, l->s->experts * 4ull);
		bf_act_stored(t, next, l->s->experts * 4ull, l->s->experts);
		bf_act_pay(t, 0, bf_ibgda_rounds(l->s->experts, 0), 0, bf_ibgda_rounds(l->s->experts, 1));
	} else if (!(l->s->bugs & BF_LL_BUG_NO_CLEAN))
		for (uint32_t i = l->lane; i < l->s->experts; i += BF_LANES)
			bf_st_weak32(t, next + i * 4ull, 0);
	bf_warp_sync(t, BF_FULL_WARP);
}

/* Adds one lane's choices to its counts of this block's experts, which are every `step`th from each group's first. */
BF_DEVICE void bf_ll_count_choice(const struct bf_ll_lane *l, int64_t choice, uint32_t *count)
{
	const uint32_t expert = (uint32_t)choice, from = l->block * l->s->groups;
	const uint32_t at = expert % l->step;

	if (choice >= 0 && at >= from && at < from + l->s->groups)
		count[expert / l->step * l->s->groups + (at - from)]++;
}

/* The last warp of each block: how many tokens go to each of the experts that the block's groups look after. */
BF_DEVICE void bf_ll_count(struct bf_thread *t, const struct bf_ll_lane *l)
{
	const uint8_t *idx = l->in + l->job->at.topk_idx;
	const uint32_t pairs = l->s->tokens * l->s->topk / 2, odd = l->s->tokens * l->s->topk % 2;
	const uint32_t each = (l->s->experts + l->step - 1) / l->step;
	uint32_t count[BF_LL_BLOCK_EXPERTS_MAX] = { 0 };

	if (l->block == 0) {
		bf_ll_clean_next(t, l);
		bf_fence_gpu(t);
		for (uint32_t e = l->lane; e < l->s->experts; e += BF_LANES)
			bf_atomic_add32(t, bf_ll_word(l, l->area.finished, e), BF_LL_DONE, BF_AT_GPU);
	}
	for (uint32_t i = l->lane; i < pairs; i += BF_LANES) {
		const uint8_t *p = idx + i * 16ull;
		const struct bf_vec128 v =
		    i / BF_LANES % BF_IBGDA_COPY_UNROLL ? bf_ld_beside128(t, p) : bf_ld_weak128(t, p);

		bf_ll_count_choice(l, (int64_t)((uint64_t)v.w[1] << 32 | v.w[0]), count);
		bf_ll_count_choice(l, (int64_t)((uint64_t)v.w[3] << 32 | v.w[2]), count);
	}
	if (odd && l->lane == 0)
		bf_ll_count_choice(l, (int64_t)bf_ld_weak64(t, idx + pairs * 16ull), count);
	for (uint32_t i = 0; i < each * l->s->groups; i++) {
		const uint32_t expert = i / l->s->groups * l->step + l->block * l->s->groups + i % l->s->groups;
		uint32_t sum = count[i];

		for (uint32_t d = 16; d; d >>= 1)
			sum += bf_shfl32(t, BF_FULL_WARP, sum, l->lane ^ d);
		if (l->lane != 0 || expert >= l->s->experts)
			continue;
		bf_st_weak32(t, bf_ll_word(l, l->area.sent, expert), sum);
		bf_ll_add_release(t, bf_ll_word(l, l->area.finished, expert), BF_LL_DONE - sum);
	}
}

/* The first warp of each group: the count of each of its experts, behind the messages. One lane. */
BF_DEVICE void bf_ll_dispatch_count(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t expert)
{
	const uint32_t dst = expert / l->local, id = expert % l->local;
	const uint32_t sent = bf_ld_weak32(t, bf_ll_word(l, l->area.sent, expert));
	const uint32_t value = 0u - sent - ((l->s->bugs & BF_LL_BUG_SENTINEL) ? 0u : 1u);
	const int early = (l->s->bugs & BF_LL_BUG_COUNT_EARLY) != 0;
	const uint32_t set = l->s->bugs & BF_LL_BUG_COUNT_SET ? l->set ^ 1 : l->set;
	uint8_t *finished = bf_ll_word(l, l->area.finished, expert);
	uint8_t *at = l->heap + l->job->heap.count[set] + ((uint64_t)id * l->npes + l->mype) * 4;

	if (early)
		bf_ll_send_count(t, l, at, value, dst, id, 0, expert);
	bf_ll_wait_for(t, finished, BF_LL_DONE * 2, "messages to an expert to be published");
	if (!early)
		bf_ll_send_count(t, l, at, value, dst, id, 0, expert);
	bf_st_relaxed32(t, bf_ll_word(l, l->area.slots, expert), 0, BF_AT_GPU);
	bf_st_relaxed32(t, finished, 0, BF_AT_GPU);
	if (dst == 0)
		bf_st_relaxed32(t, l->out + l->job->at.packed_count + id * 4ull, 0, BF_AT_GPU);
}

/* One lane waits for the count of one source, and takes rows for its messages. */
BF_DEVICE void bf_ll_take_count(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t expert)
{
	const uint32_t src = expert / l->local, id = expert % l->local;
	const uint8_t *at = l->heap + l->job->heap.count[l->set] + ((uint64_t)id * l->npes + src) * 4;
	uint8_t *range = l->out + l->job->at.layout_range + ((uint64_t)id * l->npes + src) * 8;
	uint8_t *got = l->work + l->area.got + expert * 8ull;
	const uint32_t value = bf_ll_wait_change(t, at, BF_AT_SYS, "the count of a source");
	uint32_t n = 0u - value - 1, first;

	BF_DRIVER_RECORD(t, ll_recv, .round = l->round, .phase = 0, .expert = l->mype * l->local + id, .src = src,
			 .value = (int32_t)value, .reserved = 0);
	/* A wrong count must not lead out of the buffer: whoever checks finds it. */
	if (n > l->s->tokens)
		n = l->s->tokens;
	first = bf_atomic_add32(t, l->out + l->job->at.packed_count + id * 4ull, n, BF_AT_GPU);
	bf_st_weak32(t, got, n);
	bf_st_weak32(t, got + 4, first);
	bf_st_weak64(t, range, (uint64_t)n << 32 | first);
}

/* The scales of one message, by one lane for all: a column of the packed tensor. */
BF_DEVICE void bf_ll_pack_scales(struct bf_thread *t, const struct bf_ll_lane *l, const uint8_t *from, uint8_t *column)
{
	const uint32_t scales = bf_ll_scales_per_token(l->s);
	const uint64_t step = l->job->at.rows * 4ull;

	for (uint32_t c = 0; c < scales; c++, from += 4) {
		uint8_t *to = l->s->scales == BF_LL_SCALES_UE8M0 ? column + c / 4 * step + c % 4 : column + c * step;
		uint32_t scale;

		memcpy(&scale, from, 4);
		if (l->s->scales == BF_LL_SCALES_UE8M0)
			*to = (uint8_t)(scale >> 23);
		else
			memcpy(to, &scale, 4);
	}
	bf_act_stored(t, column, 1, scales);
	bf_act_pay(t, bf_ibgda_rounds(scales, 0), bf_ibgda_rounds(scales, 0), bf_ibgda_rounds(scales, 1),
		   bf_ibgda_rounds(scales, 1));
}

/* A warp's copy of one message into the packed tensors. */
BF_DEVICE void bf_ll_pack(struct bf_thread *t, const struct bf_ll_lane *l, const uint8_t *message, uint32_t id,
			  uint32_t row)
{
	const struct bf_ll_tensors *at = &l->job->at;
	const uint32_t hidden = bf_ll_hidden_bytes(l->s), scales = bf_ll_scales_per_token(l->s);
	const uint64_t index = (uint64_t)id * at->rows + row;
	uint8_t *to = l->out + at->packed_scales + (uint64_t)id * at->rows * scales * 4;

	if (l->lane == 0)
		bf_st_weak32(t, l->out + at->src_info + index * 4, bf_ld_weak32(t, message));
	bf_ibgda_copy_warp(t, l->out + at->packed_x + index * hidden, message + 16, hidden);
	if (l->s->dtype != BF_LL_FP8)
		return;
	if (bf_acts(t)) {
		bf_ll_pack_scales(t, l, message + 16 + hidden, to + row * 4ull);
		return;
	}
	for (uint32_t c = l->lane; c < scales; c += BF_LANES) {
		const uint32_t scale = bf_ld_weak32(t, message + 16 + hidden + c * 4);

		if (l->s->scales == BF_LL_SCALES_UE8M0)
			bf_st_weak8(t, to + ((uint64_t)(c / 4) * at->rows + row) * 4 + c % 4, (uint8_t)(scale >> 23));
		else
			bf_st_weak32(t, to + ((uint64_t)c * at->rows + row) * 4, scale);
	}
}

BF_DEVICE void bf_ll_dispatch_recv(struct bf_thread *t, const struct bf_ll_lane *l)
{
	for (uint32_t e = l->first; e < l->s->experts; e += l->step) {
		const uint8_t *got = l->work + l->area.got + e * 8ull;
		const uint32_t src = e / l->local, id = e % l->local;
		uint32_t n, first;

		if (l->sub == l->s->group_warps - 1 && l->lane == 0)
			bf_ll_take_count(t, l, e);
		bf_ll_meet_group(t, l);
		n = bf_ld_warp32(t, got);
		first = bf_ld_warp32(t, got + 4);
		for (uint32_t i = l->sub; i < n; i += l->s->group_warps)
			if (first + i < l->job->at.rows)
				bf_ll_pack(t, l, bf_ll_recv_slot(l, id, src, i), id, first + i);
	}
}

/* The last warp of each block comes when it has counted. */
BF_DEVICE void bf_ll_dispatch(struct bf_thread *t, const struct bf_ll_lane *l)
{
	if (l->warp + 1 < l->warps)
		bf_ll_cast_and_send(t, l);
	bf_ll_meet_block(t, l);
	if (l->sub == 0 && l->lane == 0)
		for (uint32_t e = l->first; e < l->s->experts; e += l->step)
			bf_ll_dispatch_count(t, l, e);
	bf_ll_meet_grid(t, l);
	bf_ll_dispatch_recv(t, l);
	bf_ll_meet_grid(t, l);
}

#endif
