#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

#define THREADS 32u
#define DUMPS 8u
#define PES 256u

/* Indices are plus one, records are places in the stream. */
struct state {
	/* What threads have asked for and waited for; the table forgets threads that share a place. */
	struct {
		uint32_t actor;
		uint64_t read, read_done; /* its last READ; the record of its completion, 0: it is under way */
		uint64_t quiet;           /* below this its last quiet waited */
	} own[THREADS];
	/* The last DUMPs: when they were fetched; and below which READs one that waits for them is complete. */
	uint64_t fetched[DUMPS];
	bool fenced[DUMPS];
	uint64_t covered;
};

/* Of a PE, whatever the queue pair: the latest DUMP that is complete was fetched then. PEs that share a place share it.
 */
struct run {
	uint64_t fetched[PES];
};

static void note_fetch(struct state *s, const struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_fetch *w = &q->fetch;

	if (e->wqe_fetch.opcode == BF_MLX5_OP_RDMA_READ && w->own.index == w->index + 1) {
		const uint32_t place = w->own.actor % THREADS;

		if (s->own[place].actor != w->own.actor)
			s->own[place].quiet = 0;
		s->own[place].actor = w->own.actor;
		s->own[place].read = w->index + 1;
		s->own[place].read_done = 0;
	} else if (e->wqe_fetch.opcode == BF_MLX5_OP_DUMP) {
		s->fetched[w->index % DUMPS] = e->number;
		s->fenced[w->index % DUMPS] = e->wqe_fetch.fm_ce_se >> 5 == BF_MLX5_FM_FENCE;
	}
}

static void note_done(struct run *run, struct state *s, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const uint64_t index = q->done.upto - (uint16_t)(e->wqe_done.next - e->wqe_done.index);

	if (e->wqe_done.opcode == BF_MLX5_OP_RDMA_READ) {
		for (uint32_t i = 0; i < THREADS; i++)
			if (s->own[i].read == index + 1)
				s->own[i].read_done = e->number;
	} else if (e->wqe_done.opcode == BF_MLX5_OP_DUMP) {
		if (s->fetched[index % DUMPS] > run->fetched[e->pe % PES])
			run->fetched[e->pe % PES] = s->fetched[index % DUMPS];
		if (s->fenced[index % DUMPS])
			s->covered = index;
	}
}

static void tell_early(struct bf_rule_run *r, const struct bf_seen *e, uint64_t index, const char *why)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_index(f, index);
	bf_finding_say(
	    f, "%s takes the result of %s for there when the device has completed the entries below %" PRIu64 "%s",
	    bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(e->queue, index).text, q->done.upto, why);
}

/* Of gets: a DUMP that was fetched when the READ was complete, or waited for it behind it, is complete itself. */
static void judge_got(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct run *run = r->state;
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint32_t place = e->actor % THREADS;
	const uint64_t read = s->own[place].actor == e->actor ? s->own[place].read : 0;
	const uint64_t done = s->own[place].read_done;

	if (!read || read > s->own[place].quiet || e->ibgda_result.consistent)
		return;
	s->own[place].read = 0;
	if (!done)
		tell_early(r, e, read - 1, "");
	else if (run->fetched[e->pe % PES] <= done && read > s->covered)
		tell_early(r, e, read - 1, ", and no DUMP after it has made sure that its data have reached memory");
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct state *s = bf_rule_queue_state(r, e->queue);

	if (e->kind == BF_SEEN_wqe_fetch) {
		note_fetch(s, q, e);
	} else if (e->kind == BF_SEEN_wqe_done) {
		note_done(r->state, s, e);
	} else if (e->kind == BF_SEEN_ibgda_quiet) {
		if (s->own[e->actor % THREADS].actor == e->actor && !e->ibgda_quiet.status)
			s->own[e->actor % THREADS].quiet = e->ibgda_quiet.upto;
	} else if (e->ibgda_result.kind) {
		judge_got(r, e);
	} else if (e->ibgda_result.upto > q->done.upto) {
		tell_early(r, e, e->ibgda_result.upto - 1, ": it has not waited for the completion");
	}
}

const struct bf_rule bf_rule_mlx5_get_early = {
	.about = {
		.id = "MLX5-GET-EARLY",
		.family = "mlx5",
		.title = "a result is read before it is guaranteed to have arrived",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An atomic's old value and a READ's data are there when the completion is. In GPU memory "
			    "even that is not enough for READs: the completion may overtake the data, and only a later read by the NIC (a DUMP that waits for earlier READs) pushes them in.",
		.wrong = "The thread did not wait for the completion, or left the consistency step out or did not wait "
			 "for it: it reads what was there before.",
		.fix = "Wait for the entry's own completion; after gets into GPU memory post a DUMP with fence mode 2 "
		       "(or when the READs are complete) and wait for that.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_quiet_with_cst, ibgda_cst; PCI Express Base "
			   "Specification, 2.4 Transaction Ordering",
		.example = "run ibgda-get --messages 2 --bug no-cst",
		.twin = "run ibgda-get --messages 2",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(wqe_fetch, wqe_done, ibgda_quiet, ibgda_result),
	.needs = BF_SEES(wqe_fetch, ibgda_build),
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
