/* What host code needs of the NVSHMEM-style kernels: shapes, sources, and the check. */
#include "drivers/ibgda/shmem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern bf_kernel_fn bf_shmem_kernel_sim, bf_shmem_kernel_native;

const struct bf_shmem_shape bf_shmem_shape_default = {
	.blocks = 1,
	.warps = 1,
	.rounds = 4,
	.bytes = 64,
	.min_bytes = 4,
	.max_bytes = 65536,
	.step = 2,
};

const struct bf_ibgda_bug bf_shmem_bugs[] = {
	{ BF_SHMEM_BUG_NO_FENCE, "shmem-no-fence", "there is no fence between the data and the flag" },
	{ BF_SHMEM_BUG_NO_QUIET, "shmem-no-quiet", "the source is overwritten without a quiet" },
	{ BF_SHMEM_BUG_SIGNAL_FIRST, "shmem-signal-first", "the signal is sent before the put, by another queue pair" },
	{ BF_SHMEM_BUG_SYNC_ONLY, "shmem-sync-only", "the barrier synchronises without a quiet first" },
	{ BF_SHMEM_BUG_ROUND_LESS, "shmem-round-less", "the barrier leaves out its last round" },
	{ BF_SHMEM_BUG_WAIT_SHORT, "shmem-wait-short", "a wait ends one value before the one that announces the data" },
	{ 0, NULL, NULL },
};

bf_kernel_fn *bf_shmem_kernel(enum bf_platform_id platform)
{
	switch (platform) {
	case BF_PLATFORM_SIM:
		return bf_shmem_kernel_sim;
	case BF_PLATFORM_NATIVE:
		return bf_shmem_kernel_native;
	case BF_PLATFORM_CUDA:
	case BF_PLATFORM_HIP:
		break;
	}
	return NULL;
}

static bool power_of_two(uint32_t v)
{
	return v && (v & (v - 1)) == 0;
}

int bf_shmem_shape_check(const struct bf_shmem_shape *s, uint32_t npes, struct bf_error *err)
{
	if (npes < 2 || npes > 1u << BF_SHMEM_TREE_MAX)
		return bf_fail(err, -EINVAL, "%" PRIu32 " PEs: 2 to %u", npes, 1u << BF_SHMEM_TREE_MAX);
	if (!s->blocks || !s->warps || s->warps > 32 || !s->rounds || s->work >= BF_SHMEM_WORKS)
		return bf_fail(err, -EINVAL, "blocks, warps (at most 32) and rounds must not be 0");
	if (!bf_shmem_measures(s->work) && (!s->bytes || s->bytes % 16 || s->bytes > 1u << 28))
		return bf_fail(err, -EINVAL, "blocks of %" PRIu32 " bytes: a multiple of 16, at most 2^28", s->bytes);
	if (!bf_shmem_measures(s->work))
		return 0;
	if (!power_of_two(s->min_bytes) || !power_of_two(s->max_bytes) || !power_of_two(s->step) || s->step < 2 ||
	    s->min_bytes < 4 || s->max_bytes < s->min_bytes || s->max_bytes > 1u << 30)
		return bf_fail(err, -EINVAL,
			       "sizes %" PRIu32 " to %" PRIu32 ", each times %" PRIu32 ": powers of two from 4 to 2^30",
			       s->min_bytes, s->max_bytes, s->step);
	return 0;
}

static uint64_t take(uint64_t *at, uint64_t bytes)
{
	const uint64_t here = *at;

	*at += (bytes + 127) / 128 * 128;
	return here;
}

void bf_shmem_layout(const struct bf_shmem_shape *s, uint32_t npes, struct bf_shmem_layout *out)
{
	const uint64_t warps = (uint64_t)s->blocks * s->warps, slots = npes * warps;
	const bool measures = bf_shmem_measures(s->work);
	uint64_t at = 0, area;

	out->stride = ((uint64_t)s->bytes + 63) / 64 * 64;
	area = measures ? s->max_bytes : slots * out->stride;
	out->src = take(&at, area);
	out->dst = take(&at, area);
	out->out = take(&at, measures ? 0 : area);
	out->signal = take(&at, 2 * slots * 8);
	out->value = take(&at, (slots > s->rounds * warps ? slots : s->rounds * warps) * 8);
	out->counter = take(&at, 2 * 8);
	out->sync = take(&at, BF_SHMEM_TREE_MAX * 8);
	out->meet = take(&at, 8);
	out->times = take(&at, BF_SHMEM_SIZES_MAX * 8);
	out->end = at;
}

static uint64_t word_of(uint32_t pe, uint32_t warp, uint32_t peer, uint32_t i)
{
	return bf_ibgda_pattern_word(bf_ibgda_pattern_key(pe, warp, peer), i);
}

void bf_shmem_prepare(const struct bf_shmem_shape *s, uint32_t npes, void *const *heaps)
{
	const uint32_t warps = s->blocks * s->warps;
	struct bf_shmem_layout at;

	bf_shmem_layout(s, npes, &at);
	for (uint32_t pe = 0; pe < npes; pe++) {
		uint8_t *src = (uint8_t *)heaps[pe] + at.src;

		for (uint32_t i = 0; bf_shmem_measures(s->work) && i < s->max_bytes / 4; i++)
			bf_put_le32(src + i * 4ull, (uint32_t)(word_of(pe, 0, 0, i) >> 32));
		for (uint32_t slot = 0; !bf_shmem_measures(s->work) && slot < npes * warps; slot++)
			for (uint32_t i = 0; i < s->bytes / 8; i++)
				bf_put_le64(src + slot * at.stride + i * 8ull,
					    word_of(pe, slot % warps, slot / warps, i));
	}
}

/* ---- the check ---- */

struct verify {
	const struct bf_shmem_shape *s;
	struct bf_shmem_layout at;
	uint32_t npes, warps;
	void *const *heaps;
	struct bf_ibgda_mismatch *bad;
	uint64_t *bytes;
};

static void wrong(struct verify *v, uint32_t pe, uint64_t offset, const char *fmt, ...) BF_PRINTF(4, 5);
static void wrong(struct verify *v, uint32_t pe, uint64_t offset, const char *fmt, ...)
{
	va_list args;

	if (v->bad->count++)
		return;
	v->bad->pe = pe;
	v->bad->offset = offset;
	va_start(args, fmt);
	vsnprintf(v->bad->text, sizeof(v->bad->text), fmt, args);
	va_end(args);
}

static uint64_t word_at(const struct verify *v, uint32_t pe, uint64_t offset)
{
	return bf_get_le64((const uint8_t *)v->heaps[pe] + offset);
}

/* The block of slot (peer, warp) in `area` of `pe` must be what `from` had in its source for (to, warp). */
static void check_block(struct verify *v, uint32_t pe, uint64_t area, uint32_t peer, uint32_t warp, uint32_t from,
			uint32_t to)
{
	const uint64_t at = area + ((uint64_t)peer * v->warps + warp) * v->at.stride;

	*v->bytes += v->s->bytes;
	for (uint32_t i = 0; i < v->s->bytes / 8; i++) {
		const uint64_t found = word_at(v, pe, at + i * 8ull), want = word_of(from, warp, to, i);

		if (found == want)
			continue;
		wrong(v, pe, at + i * 8ull,
		      "block of PE %" PRIu32 ", warp %" PRIu32 ": word %" PRIu32 " is 0x%" PRIx64 ", not 0x%" PRIx64,
		      from, warp, i, found, want);
		return;
	}
}

static void check_sum(struct verify *v, uint32_t pe, uint32_t chunk, uint32_t warp)
{
	const uint64_t at = v->at.out + ((uint64_t)chunk * v->warps + warp) * v->at.stride;

	*v->bytes += v->s->bytes;
	for (uint32_t i = 0; i < v->s->bytes / 8; i++) {
		uint64_t want = 0;

		for (uint32_t from = 0; from < v->npes; from++)
			want += word_of(from, warp, chunk, i);
		if (word_at(v, pe, at + i * 8ull) == want)
			continue;
		wrong(v, pe, at + i * 8ull,
		      "sum of chunk %" PRIu32 ", warp %" PRIu32 ": word %" PRIu32 " is 0x%" PRIx64 ", not 0x%" PRIx64,
		      chunk, warp, i, word_at(v, pe, at + i * 8ull), want);
		return;
	}
}

/* What the readers of fenced, quiet and barriered blocks counted. */
static void check_violations(struct verify *v, uint32_t pe, uint32_t warp)
{
	const uint64_t at = v->at.value + warp * 8ull, n = word_at(v, pe, at);
	static const char *const promises[] = {
		[BF_SHMEM_FENCE] = "the flag was there and the data before it were not",
		[BF_SHMEM_QUIET] = "what was put changed when its source was written over",
		[BF_SHMEM_BARRIER] = "the barrier was left and what was put before it was not there",
	};

	*v->bytes += (uint64_t)v->s->bytes * v->s->rounds;
	if (n)
		wrong(v, pe, at, "warp %" PRIu32 " found %" PRIu64 " old words: %s", warp, n, promises[v->s->work]);
}

/* Tickets of all who counted on `pe`: each number once; and the sum of the others. */
static int check_counters(struct verify *v, uint32_t pe)
{
	const uint32_t from = (pe + v->npes - 1) % v->npes, adder = (pe + 1) % v->npes, n = v->warps * v->s->rounds;
	uint8_t *seen = calloc(n, 1);
	uint64_t sum = 0;

	if (!seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t ticket = word_at(v, from, v->at.value + i * 8ull);

		if (ticket >= n || seen[ticket]++)
			wrong(v, from, v->at.value + i * 8ull, "ticket %" PRIu64 " of PE %" PRIu32 "'s %" PRIu32 ": %s",
			      ticket, pe, n, ticket < n ? "given twice" : "more than there are");
		sum += i / v->warps + i % v->warps;
	}
	free(seen);
	if (word_at(v, pe, v->at.counter) != n)
		wrong(v, pe, v->at.counter, "counter after %" PRIu32 " increments: %" PRIu64, n,
		      word_at(v, pe, v->at.counter));
	if (word_at(v, pe, v->at.counter + 8) != sum)
		wrong(v, pe, v->at.counter + 8, "sum of PE %" PRIu32 "'s adds: %" PRIu64 ", not %" PRIu64, adder,
		      word_at(v, pe, v->at.counter + 8), sum);
	*v->bytes += n * 8ull + 16;
	return 0;
}

static void check_warp(struct verify *v, uint32_t pe, uint32_t warp)
{
	for (uint32_t peer = 0; peer < v->npes; peer++)
		switch (v->s->work) {
		case BF_SHMEM_PUT:
			check_block(v, pe, v->at.dst, peer, warp, peer, pe);
			break;
		case BF_SHMEM_GET:
			check_block(v, pe, v->at.dst, peer, warp, peer, pe);
			break;
		case BF_SHMEM_PUT_SIGNAL:
			check_block(v, pe, v->at.out, peer, warp, peer, pe);
			break;
		case BF_SHMEM_ALLTOALL:
			if (warp == 0)
				check_block(v, pe, v->at.dst, peer, 0, peer, pe);
			break;
		case BF_SHMEM_BROADCAST:
			if (peer == 0)
				check_block(v, pe, v->at.out, 0, warp, 0, 0);
			break;
		case BF_SHMEM_RING:
			check_sum(v, pe, peer, warp);
			break;
		default:
			if (peer == 0)
				check_violations(v, pe, warp);
			break;
		}
}

/* The largest block of a measurement, at the end that it went to. */
static void check_measured(struct verify *v)
{
	const bool gets =
	    v->s->work == BF_SHMEM_GET_LATENCY || v->s->work == BF_SHMEM_G_LATENCY || v->s->work == BF_SHMEM_GET_BW;
	const uint32_t pe = gets ? 0 : 1, sizes = bf_shmem_sizes(v->s);
	const uint64_t count = (uint64_t)sizes * (v->s->rounds + 1);

	if (v->s->work == BF_SHMEM_AMO_LATENCY) {
		if (word_at(v, 1, v->at.counter) != count)
			wrong(v, 1, v->at.counter, "counter after %" PRIu64 " increments: %" PRIu64, count,
			      word_at(v, 1, v->at.counter));
		*v->bytes += 8;
		return;
	}
	*v->bytes += bf_shmem_size(v->s, sizes - 1);
	for (uint32_t i = 0; i < bf_shmem_size(v->s, sizes - 1) / 4; i++) {
		const uint64_t at = v->at.dst + i * 4ull;
		const uint32_t found = bf_get_le32((const uint8_t *)v->heaps[pe] + at);
		const uint32_t want = (uint32_t)(word_of(pe ^ 1u, 0, 0, i) >> 32);

		if (found == want)
			continue;
		wrong(v, pe, at, "word %" PRIu32 " is 0x%" PRIx32 ", not 0x%" PRIx32, i, found, want);
		return;
	}
}

int bf_shmem_verify(const struct bf_shmem_shape *s, uint32_t npes, void *const *heaps, struct bf_ibgda_mismatch *bad,
		    uint64_t *bytes)
{
	struct verify v = {
		.s = s, .npes = npes, .warps = s->blocks * s->warps, .heaps = heaps, .bad = bad, .bytes = bytes
	};
	int rc = 0;

	*bad = (struct bf_ibgda_mismatch){ 0 };
	bf_shmem_layout(s, npes, &v.at);
	if (bf_shmem_measures(s->work))
		check_measured(&v);
	for (uint32_t pe = 0; !rc && !bf_shmem_measures(s->work) && pe < npes; pe++) {
		if (s->work == BF_SHMEM_AMO)
			rc = check_counters(&v, pe);
		else
			for (uint32_t warp = 0; warp < v.warps; warp++)
				check_warp(&v, pe, warp);
	}
	return rc ? rc : bad->count ? -EBADMSG : 0;
}
