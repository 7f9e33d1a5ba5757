#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static bool overlaps(const struct bf_sdma_rule_piece *reader, const struct bf_sdma_rule_piece *writer)
{
	return writer->rec.dst < reader->rec.src + bf_sdma_rule_extent(reader->rec.src_pitch, reader) &&
	       reader->rec.src < writer->rec.dst + bf_sdma_rule_extent(writer->rec.dst_pitch, writer);
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_sdma_rule_piece *reader,
		  const struct bf_sdma_rule_piece *writer)
{
	const struct bf_sdma_rule_begun *from = bf_sdma_rule_packet_of(reader), *to = bf_sdma_rule_packet_of(writer);
	struct bf_finding *f;

	if (!from || !to || !reader->rec.src || reader->queue != writer->queue || to->index >= from->index ||
	    writer->record < reader->record || writer->at_ps < reader->at_ps || !overlaps(reader, writer))
		return;
	f = bf_rule_find(r, e, reader->queue);
	if (!f)
		return;
	f->found.at_ps = reader->at_ps;
	bf_finding_since(f, from->at_ps, from->record);
	bf_finding_index(f, from->index);
	bf_finding_say(
	    f,
	    "%s at byte %" PRIu64 " of %s read 0x%" PRIx64 " %s before %s at byte %" PRIu64
	    " had written it: consecutive copies overlap in time, and nothing between these two waits (FENCE, ATOMIC, "
	    "TRAP and NOP do)",
	    from->name, from->index, bf_rule_queue_name(r->rules, reader->queue), reader->rec.src,
	    bf_span_of(writer->at_ps - reader->at_ps).text, to->name, to->index);
}

/* The copy that is done now against those that were under way with it. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_sdma_rule_run *run = bf_sdma_rule_run(r);
	const struct bf_sdma_rule_begun *now = run->copied;
	const struct bf_sdma_rule_piece *mine, *other;

	for (uint64_t i = 0; now && (mine = bf_sdma_rule_piece_back(run, i)) != NULL && mine->at_ps >= now->at_ps;
	     i++) {
		if (bf_sdma_rule_packet_of(mine) != now)
			continue;
		for (uint64_t k = 0; (other = bf_sdma_rule_piece_back(run, k)) != NULL && other->at_ps >= now->at_ps;
		     k++)
			if (other->record != mine->record && other->done) {
				judge(r, e, mine, other);
				judge(r, e, other, mine);
			}
	}
}

const struct bf_rule bf_rule_sdma_copy_order = {
	.about = {
		.id = "SDMA-COPY-ORDER",
		.family = "sdma",
		.title = "a copy directly follows the copy that it depends on",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Consecutive copies overlap in time: the engine begins the next one while the last "
			    "bytes of the one before are still on their way.",
		.wrong = "A copy read memory before the copy in front of it, on the same queue, had written it.",
		.fix = "Between copies that depend on each other put a packet that waits (FENCE, ATOMIC, TRAP, or a "
		       "NOP that does).",
		.sources = "docs/hardware/sdma.md#copy-5; ROCR-Runtime amd_blit_sdma.cpp",
		.example = "run sdma-copy --hops 2 --limit 10ms --bug no-copy-order",
		.twin = "run sdma-copy --hops 2 --limit 10ms",
	},
	.rank = BF_RANK_EFFECT - 9,
	.records = BF_SEES(sdma_copied),
	.on = on,
};
