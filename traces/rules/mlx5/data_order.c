#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

/* DMA reads on behalf of an entry: those that overlap what the last entries to start on this PE send. */
#define STARTED 64u

struct state {
	struct {
		uint64_t va, end;
		struct bf_rule_queue *queue;
		uint64_t index;
		uint32_t pe;
	} started[STARTED];
	uint32_t n;
};

static void judge(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue, uint64_t index)
{
	const struct bf_store *late = bf_stores_late(bf_rule_stores(r->rules), e->dma_read.va, e->dma_read.len);
	struct bf_finding *f = late ? bf_rule_find(r, e, queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, index);
	bf_finding_watch(r->rules, f, late);
	f->n[0] = e->time_ps;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->kind == BF_SEEN_wqe_start) {
		if (e->wqe_start.nsge && e->wqe_start.length && e->wqe_start.opcode != BF_MLX5_OP_RDMA_READ) {
			const uint32_t i = s->n++ % STARTED;

			s->started[i].va = e->wqe_start.va;
			s->started[i].end = e->wqe_start.va + e->wqe_start.length;
			s->started[i].queue = e->queue;
			s->started[i].index = e->wqe_start.index;
			s->started[i].pe = e->pe;
		}
		return;
	}
	if (e->dma_read.status || e->dma_read.len == BF_MLX5_DBR_BYTES ||
	    !bf_stores_late(bf_rule_stores(r->rules), e->dma_read.va, e->dma_read.len))
		return;
	for (uint32_t i = 0; i < STARTED; i++)
		if (s->started[i].queue && s->started[i].pe == e->pe && e->dma_read.va >= s->started[i].va &&
		    e->dma_read.va + e->dma_read.len <= s->started[i].end) {
			judge(r, e, s->started[i].queue, s->started[i].index);
			return;
		}
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	bf_finding_say(f,
		       "store of %" PRIu32 " bytes at 0x%" PRIx64 " by %s became visible %s after the device had read "
		       "them: no fence that reaches it stands between the data and the entry that sends them",
		       f->late.len, f->late.va, bf_rule_actor(r->rules, f->late.actor),
		       bf_store_lateness(&f->late, f->n[0]).text);
}

const struct bf_rule bf_rule_mlx5_data_order = {
	.about = {
		.id = "MLX5-DATA-ORDER",
		.family = "mlx5",
		.title = "the device read data before a thread's stores were visible",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC reads a message's payload from memory when it executes the entry, past the "
			    "caches and buffers of the threads that wrote it.",
		.wrong = "The payload was still in a buffer, so the old bytes went out; the entry itself was right.",
		.fix = "Between writing the data and posting the entry put a fence that reaches the NIC, executed "
		       "by (or ordered after) each thread that wrote.",
		.sources = "PTX ISA, Memory Consistency Model; deepseek-ai/DeepEP#74, #137",
		.test = "tests/traces/test_rules_mlx5.c",
		.why = "What delays a payload also delays its entry: a variant without the fence is found by its entries first.",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(dma_read, wqe_start),
	.needs = BF_SEES(store, dma_read, wqe_start),
	.state_bytes = sizeof(struct state),
	.on = on,
	.tell = tell,
};
