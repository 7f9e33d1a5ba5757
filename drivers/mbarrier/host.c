#include "drivers/mbarrier/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "models/hopper/prm.h"

#define SHARED_MAX 232448u /* dynamic shared memory of a block (CUDA C++ Programming Guide, compute capability 9.0) */

static const char *const works[] = {
	[BF_MBAR_PIPELINE] = "pipeline", [BF_MBAR_RING] = "ring",     [BF_MBAR_PINGPONG] = "pingpong",
	[BF_MBAR_CLUSTER] = "cluster",   [BF_MBAR_AMPERE] = "ampere", [BF_MBAR_STRESS] = "stress",
};

const char *bf_mbar_work_name(enum bf_mbar_work work)
{
	return (uint32_t)work < BF_MBAR_WORKS ? works[work] : NULL;
}

static void or_else(uint32_t *v, uint32_t own)
{
	*v = *v ? *v : own;
}

void bf_mbar_defaults(struct bf_mbar_job *job, uint32_t *ranks, uint32_t *blocks)
{
	bool guide;

	if (job->bugs & (BF_MBAR_BUG_ELECTED_WAIT | BF_MBAR_BUG_READ_AGAIN | BF_MBAR_BUG_SPLIT_ARRIVE))
		job->style = BF_MBAR_STYLE_GUIDE;
	guide = job->work == BF_MBAR_PIPELINE && job->style == BF_MBAR_STYLE_GUIDE;
	or_else(ranks, job->work == BF_MBAR_CLUSTER ? 2 : 1);
	or_else(blocks, *ranks);
	or_else(&job->stages, guide ? 1 : job->work == BF_MBAR_AMPERE ? 3 : 4);
	or_else(&job->producers, job->work == BF_MBAR_RING ? 2 : 1);
	or_else(&job->consumers, job->work == BF_MBAR_PINGPONG ? 2 : 4);
	or_else(&job->bytes, 4096);
	or_else(&job->iterations, 16);
	or_else(&job->barriers, job->work == BF_MBAR_STRESS ? 24 : 1);
	if (job->bugs & BF_MBAR_BUG_TRY_ONCE) /* the data come later than the time limit of a wait */
		or_else(&job->pace_ns, 9000);
	if (job->bugs & BF_MBAR_BUG_NO_EMPTY_WAIT && job->work == BF_MBAR_RING)
		or_else(&job->lag, 4);
	if (job->bugs & BF_MBAR_BUG_ASYNC_INC)
		job->by_barrier = 1;
}

int bf_mbar_check(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, struct bf_error *err)
{
	const uint32_t warps = bf_mbar_warps(job);
	const uint32_t shares = job->work == BF_MBAR_PINGPONG ? job->consumers
				: warps > job->consumers      ? job->consumers
							      : warps;

	if (job->stages < 1 || job->stages > BF_MBAR_STAGES_MAX)
		return bf_fail(err, -EINVAL, "%u stages: there are 1 to %u", job->stages, BF_MBAR_STAGES_MAX);
	if (job->work == BF_MBAR_AMPERE && (job->stages < 2 || job->stages > 9))
		return bf_fail(err, -EINVAL, "%u stages: this workload has 2 to 9", job->stages);
	if (job->work == BF_MBAR_PIPELINE && job->style == BF_MBAR_STYLE_GUIDE && job->stages != 1)
		return bf_fail(err, -EINVAL, "--style guide has one stage");
	if (warps < 1 || warps > 31)
		return bf_fail(err, -EINVAL, "%u warps in a block: 31 at most", warps);
	if (ranks < 1 || ranks > BF_MBAR_RANKS_MAX || blocks % ranks)
		return bf_fail(err, -EINVAL, "%u blocks do not make clusters of %u", blocks, ranks);
	if (ranks > 1 && job->work != BF_MBAR_CLUSTER)
		return bf_fail(err, -EINVAL, "--cluster does not apply to this workload");
	if (blocks > 132)
		return bf_fail(err, -EINVAL, "%u blocks: one for each of 132 SMs at most", blocks);
	if (job->bytes % (16 * shares) || job->bytes % (16 * job->producers) || job->bytes % (16 * ranks))
		return bf_fail(err, -EINVAL, "tiles of %u bytes cannot be shared out in pieces of 16 bytes",
			       job->bytes);
	if (job->work == BF_MBAR_CLUSTER && job->bytes < 128 * job->consumers)
		return bf_fail(err, -EINVAL, "tiles of %u bytes: this workload needs 128 for each consumer",
			       job->bytes);
	if (bf_mbar_shared_bytes(job) > SHARED_MAX)
		return bf_fail(err, -EINVAL,
			       "%u stages of %u bytes and a store buffer exceed %u bytes of shared memory", job->stages,
			       job->bytes, SHARED_MAX);
	if (bf_mbar_barriers(job) > BF_MBAR_BARRIERS_MAX)
		return bf_fail(err, -EINVAL, "%u barriers in a block: %u at most", bf_mbar_barriers(job),
			       BF_MBAR_BARRIERS_MAX);
	if ((uint64_t)job->iterations * job->bytes * blocks > 1u << 30)
		return bf_fail(err, -EINVAL, "more than 1 GiB of tiles");
	return 0;
}

uint64_t bf_mbar_data_bytes(const struct bf_mbar_job *job, uint32_t blocks)
{
	return (uint64_t)job->iterations * job->bytes * blocks;
}

void bf_mbar_fill(const struct bf_mbar_job *job, uint32_t blocks, uint8_t *in)
{
	const uint64_t bytes = bf_mbar_data_bytes(job, blocks);
	uint32_t state = bf_mbar_random_seed(job->seed, 12345, 0);

	for (uint64_t at = 0; at + 4 <= bytes; at += 4)
		bf_put_le32(in + at, bf_mbar_random(&state));
}

/* ---- what must come out ---- */

static void wrong(struct bf_mbar_verdict *v, const char *fmt, ...) BF_PRINTF(2, 3);
static void wrong(struct bf_mbar_verdict *v, const char *fmt, ...)
{
	va_list ap;

	if (v->wrong++)
		return;
	va_start(ap, fmt);
	vsnprintf(v->text, sizeof(v->text), fmt, ap);
	va_end(ap);
}

static uint32_t word_due(const struct bf_mbar_job *job, uint32_t ranks, uint32_t block, uint32_t tile, uint32_t at,
			 const uint8_t *in)
{
	const uint32_t rank = block % ranks, source = job->work == BF_MBAR_CLUSTER ? block - rank : block;
	const uint32_t word = bf_get_le32(in + ((uint64_t)source * job->iterations + tile) * job->bytes + at);

	if (job->work != BF_MBAR_CLUSTER)
		return bf_mbar_transform(word, tile);
	if (at < 128) /* the halo: from the block before */
		return word + (rank ? rank - 1 : ranks - 1);
	return bf_mbar_transform(word, tile) + rank;
}

static void verify_data(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, const uint8_t *in,
			const uint8_t *out, struct bf_mbar_verdict *v)
{
	for (uint32_t block = 0; block < blocks; block++)
		for (uint32_t tile = 0; tile < job->iterations; tile++)
			for (uint32_t at = 0; at < job->bytes; at += 4) {
				const uint64_t from = ((uint64_t)block * job->iterations + tile) * job->bytes + at;
				const uint32_t due = word_due(job, ranks, block, tile, at, in),
					       is = bf_get_le32(out + from);

				if (is != due)
					wrong(v,
					      "block %" PRIu32 ", tile %" PRIu32 ", byte %" PRIu32 ": is 0x%08" PRIx32
					      ", should be 0x%08" PRIx32,
					      block, tile, at, is, due);
				v->bytes += 4;
			}
}

/* The word of a barrier that has completed `phases` and stands at the start of the next. */
static uint64_t resting(uint64_t phases, uint64_t count)
{
	return (phases & 1) << 63 | ((0 - count) & 0xfffff) << 43 | ((0 - count) & 0xfffff) << 1;
}

/* How often stage `s` was filled. */
static uint64_t fills(const struct bf_mbar_job *job, uint32_t s)
{
	return job->iterations / job->stages + (s < job->iterations % job->stages);
}

/* What barrier `i` of a block must be left at; false: that varies with the order of things, or is not known here. */
static bool word_left(const struct bf_mbar_job *job, uint32_t ranks, uint32_t i, uint64_t *word)
{
	const uint32_t stage = i % job->stages, warps = bf_mbar_warps(job);
	const bool full = i < job->stages, guide = job->work == BF_MBAR_PIPELINE && job->style == BF_MBAR_STYLE_GUIDE;
	uint64_t count = full ? 1 : job->consumers;

	if (job->work == BF_MBAR_STRESS) {
		*word = resting(job->iterations, warps * 32);
		return i < job->barriers;
	}
	if (i >= 2 * job->stages && job->work == BF_MBAR_CLUSTER) {
		*word = resting(job->iterations, 1);
		return true;
	}
	if (i >= 2 * job->stages) { /* PINGPONG: one group's turns end the other's phases */
		const uint32_t other = (i - 2 * job->stages) & 1 ? 0 : 1;

		*word = resting(job->iterations / 2 + (other == 0 && job->iterations % 2), job->consumers);
		return true;
	}
	if (job->work == BF_MBAR_RING && full)
		count = job->producers;
	if (job->work == BF_MBAR_CLUSTER && !full)
		count *= ranks;
	if ((job->work == BF_MBAR_AMPERE || guide) && full)
		count = warps * 32;
	*word = resting(
	    (job->work == BF_MBAR_AMPERE && (!job->by_barrier || !full)) || (guide && !full) ? 0 : fills(job, stage),
	    count);
	return true;
}

/* Arrivals for one tile on one barrier saw its phase, and pending counts that are all different. */
static void verify_tokens(const struct bf_mbar_job *job, const struct bf_mbar_note *notes, uint32_t n, uint32_t block,
			  struct bf_mbar_verdict *v)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t pending = (0 - (notes[i].word >> 43)) & 0xfffff;
		uint64_t same = 0;

		if (notes[i].kind != BF_MBAR_NOTE_TOKEN)
			continue;
		v->tokens++;
		for (uint32_t k = 0; k < n; k++)
			same += notes[k].kind == BF_MBAR_NOTE_TOKEN && notes[k].bar == notes[i].bar &&
				notes[k].word >> 43 == notes[i].word >> 43;
		if (notes[i].word >> 63 != (notes[i].order / job->stages & 1) || pending == 0 || same != 1)
			wrong(v,
			      "block %" PRIu32 ", tile %" PRIu32 ": an arrival on barrier %" PRIu32
			      " returned 0x%016" PRIx64,
			      block, notes[i].order, notes[i].bar, notes[i].word);
	}
}

static void verify_turns(const struct bf_mbar_job *job, const struct bf_mbar_note *notes, uint32_t block,
			 struct bf_mbar_verdict *v)
{
	for (uint32_t section = 0; section < 2; section++)
		for (uint32_t i = 0; i < job->iterations; i++) {
			const struct bf_mbar_note *at = &notes[section * job->iterations + i];

			if (at->kind != BF_MBAR_NOTE_TURN || at->value != i % 2 || at->word != i)
				wrong(v,
				      "block %" PRIu32 ": turn %" PRIu32 " of section %" PRIu32 " was group %" PRIu32
				      "'s, for tile %" PRIu64,
				      block, i, section, at->value, at->word);
			v->words++;
		}
}

static void verify_block(const struct bf_mbar_job *job, uint32_t ranks, uint32_t block,
			 const struct bf_mbar_note *notes, struct bf_mbar_verdict *v)
{
	const uint32_t barriers = bf_mbar_barriers(job), slots = 1 + bf_mbar_warps(job);
	const struct bf_mbar_note *rest = notes + barriers;
	uint64_t due;

	for (uint32_t i = 0; i < barriers; i++) {
		if (!word_left(job, ranks, i, &due))
			continue;
		v->words++;
		if (notes[i].kind != BF_MBAR_NOTE_WORD || notes[i].word != due)
			wrong(v,
			      "block %" PRIu32 ": barrier %" PRIu32 " was left at 0x%016" PRIx64
			      ", should be 0x%016" PRIx64,
			      block, i, notes[i].word, due);
	}
	if (job->work == BF_MBAR_PINGPONG) {
		verify_turns(job, rest, block, v);
	} else if (job->work == BF_MBAR_STRESS) {
		for (uint32_t i = 0; i < job->iterations * job->barriers; i++, v->words++)
			if (rest[i].word != resting(i / job->barriers + 1, bf_mbar_warps(job) * 32))
				wrong(v, "block %" PRIu32 ", round %" PRIu32 ": barrier %" PRIu32 " was 0x%016" PRIx64,
				      block, i / job->barriers, i % job->barriers, rest[i].word);
	} else {
		for (uint32_t tile = 0; tile < job->iterations; tile++)
			verify_tokens(job, rest + tile * slots, slots, block, v);
	}
	if (job->work == BF_MBAR_PIPELINE && notes[bf_mbar_notes(job) - 1].word != BF_MBAR_REUSE_DATA)
		wrong(v,
		      "block %" PRIu32 ": data where a barrier was turned into 0x%016" PRIx64
		      ", should be 0x%016" PRIx64,
		      block, notes[bf_mbar_notes(job) - 1].word, BF_MBAR_REUSE_DATA);
}

void bf_mbar_verify(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, const uint8_t *in,
		    const uint8_t *out, const struct bf_mbar_note *notes, struct bf_mbar_verdict *v)
{
	memset(v, 0, sizeof(*v));
	if (job->work != BF_MBAR_STRESS)
		verify_data(job, ranks, blocks, in, out, v);
	for (uint32_t block = 0; block < blocks; block++)
		verify_block(job, ranks, block, notes + (uint64_t)block * bf_mbar_notes(job), v);
}

/* ---- two runs against each other ---- */

/* What of a note is defined. */
static uint64_t defined(const struct bf_mbar_job *job, const struct bf_mbar_note *n)
{
	if (n->kind != BF_MBAR_NOTE_TOKEN)
		return n->word;
	/* Bytes from peers may come before a block has armed its barrier: there the transaction count varies. */
	return job->work == BF_MBAR_CLUSTER ? n->word >> 43 : n->word >> 32;
}

static uint32_t count_like(const struct bf_mbar_job *job, const struct bf_mbar_note *notes, uint32_t n,
			   const struct bf_mbar_note *like)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < n; i++)
		same += notes[i].kind == like->kind && notes[i].bar == like->bar && notes[i].order == like->order &&
			notes[i].value == like->value && defined(job, &notes[i]) == defined(job, like);
	return same;
}

uint64_t bf_mbar_compare(const struct bf_mbar_job *job, uint32_t blocks, const struct bf_mbar_note *a,
			 const struct bf_mbar_note *b, struct bf_mbar_verdict *v)
{
	const uint32_t n = bf_mbar_notes(job), barriers = bf_mbar_barriers(job), slots = 1 + bf_mbar_warps(job);
	const bool sets = job->work != BF_MBAR_STRESS && job->work != BF_MBAR_PINGPONG;

	memset(v, 0, sizeof(*v));
	for (uint32_t block = 0; block < blocks; block++) {
		const struct bf_mbar_note *left = a + (uint64_t)block * n, *right = b + (uint64_t)block * n;

		for (uint32_t i = 0; i < n; i++) {
			const bool one = !sets || i < barriers || i == n - 1;
			const uint32_t first = one ? i : barriers + (i - barriers) / slots * slots;

			if (left[i].kind == BF_MBAR_NOTE_TOKEN)
				v->tokens++;
			else if (left[i].kind != BF_MBAR_NOTE_NONE)
				v->words++;
			if (count_like(job, left + first, one ? 1 : slots, &left[i]) !=
			    count_like(job, right + first, one ? 1 : slots, &left[i]))
				wrong(v,
				      "block %" PRIu32 ", note %" PRIu32 " (kind %" PRIu32 ", barrier %" PRIu32
				      ", order %" PRIu32 "): %" PRIu32 " 0x%016" PRIx64 " against %" PRIu32
				      " 0x%016" PRIx64,
				      block, i, left[i].kind, left[i].bar, left[i].order, left[i].value, left[i].word,
				      right[i].value, right[i].word);
		}
	}
	return v->wrong;
}
