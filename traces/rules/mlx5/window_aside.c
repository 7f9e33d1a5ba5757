#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/mem.h"
#include "traces/rules/mlx5/mlx5.h"

#define RUNNING 64u /* entries that the rule follows at a time */
#define MANY 3u
#define FAR (64 * (int64_t)BF_PAGE)

/* Entries that run, with the addresses at which the driver has their bytes. */
struct run {
	struct entry {
		struct bf_rule_queue *queue; /* NULL: free */
		uint64_t index, at, len;
		int64_t aside; /* a read of a place just as far within its page was so far from there */
		bool right, wrong;
	} entries[RUNNING];
	uint32_t count; /* in use: mostly none, and then nothing is looked for */
};

struct state {
	uint64_t window, lkey, index;
	bool known;
	/* Entries whose bytes the device read elsewhere, one as far as the other; and of none right. */
	uint64_t times, at_ps, record;
	int64_t aside;
	bool right;
};

static struct entry *entry_of(struct run *run, const struct bf_rule_queue *queue)
{
	struct entry *spare = NULL;

	for (uint32_t i = 0; i < RUNNING; i++) {
		if (run->entries[i].queue == queue)
			return &run->entries[i];
		if (!run->entries[i].queue)
			spare = &run->entries[i];
	}
	return spare;
}

static void begin(struct run *run, const struct state *s, const struct bf_seen *e)
{
	struct entry *n;

	if (!s->known || s->right || e->wqe_start.opcode != BF_MLX5_OP_RDMA_WRITE || e->wqe_start.nsge != 1 ||
	    e->wqe_start.lkey != s->lkey)
		return;
	n = entry_of(run, e->queue);
	if (n && !n->queue) {
		run->count++;
		*n = (struct entry){ .queue = e->queue,
				     .index = e->wqe_start.index,
				     .at = s->window + e->wqe_start.va,
				     .len = e->wqe_start.length };
	}
}

static void see(struct run *run, const struct bf_seen *e)
{
	for (uint32_t i = 0; run->count && i < RUNNING; i++) {
		struct entry *n = &run->entries[i];
		const int64_t aside = (int64_t)(e->dma_read.va - n->at);

		if (!n->queue || n->queue->pe != e->pe || e->dma_read.len > n->len)
			continue;
		n->right |= !aside;
		if (aside && !(aside % (int64_t)BF_PAGE) && aside < FAR && aside > -FAR && !n->wrong) {
			n->wrong = true;
			n->aside = aside;
		}
	}
}

static void finish(struct bf_rule_run *r, struct state *s, const struct bf_seen *e)
{
	struct run *run = r->state;
	struct entry *n = run->count ? entry_of(run, e->queue) : NULL;

	if (!n || !n->queue || n->index != e->wqe_done.index)
		return;
	s->right |= n->right;
	if (!n->right && n->wrong && (!s->times || s->aside == n->aside)) {
		if (!s->times++) {
			s->at_ps = e->time_ps;
			s->record = e->number;
			s->index = n->index;
		}
		s->aside = n->aside;
	}
	n->queue = NULL;
	run->count--;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = e->queue ? bf_rule_queue_state(r, e->queue) : NULL;

	if (e->kind == BF_SEEN_dma_read)
		see(r->state, e);
	else if (e->kind == BF_SEEN_wqe_start)
		begin(r->state, s, e);
	else if (e->kind == BF_SEEN_wqe_done)
		finish(r, s, e);
	else
		*s = (struct state){ .window = e->gin_window.va, .lkey = e->gin_window.lkey, .known = true };
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct state *s = bf_rule_queue_state(r, queue);
	struct bf_finding *f = s->times >= MANY && !s->right ? bf_rule_find(r, NULL, queue) : NULL;

	(void)complete;
	if (!f)
		return;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, s->index);
	bf_finding_say(f,
		       "threads of PE %" PRIu32 " have what entries of QP 0x%" PRIx64 " call 0 under key 0x%" PRIx64
		       " at 0x%" PRIx64 ", and the device reads %" PRId64
		       " bytes %s: its memory was registered from another place on",
		       queue->pe, queue->number, s->lkey, s->window, s->aside < 0 ? -s->aside : s->aside,
		       s->aside < 0 ? "before that" : "behind that");
}

const struct bf_rule bf_rule_mlx5_window_aside = {
	.about = {
		.id = "MLX5-WINDOW-ASIDE",
		.family = "mlx5",
		.title = "a key covers other memory than the driver's",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "If entries contain offsets instead of addresses, only the registration says which memory "
			    "they are offsets into.",
		.wrong = "The buffer begins inside an allocation (of cudaMalloc, of a dma-buf), and the allocation was "
			 "registered from its beginning. Each transfer is shifted by that distance, at both ends, "
			 "without an error.",
		.fix = "Ask for the allocation's base (cuMemGetAddressRange) and pass the buffer's offset in it to the "
		       "registration, or add it to each address.",
		.sources = "openucx/ucx#11374; mlx5dv_devx_umem_reg_ex",
		.example = "run gin-put --bug gin-umem-offset",
		.twin = "run gin-put",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(dma_read, wqe_start, wqe_done, gin_window),
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.needs = BF_SEES(wqe_start, dma_read),
	.on = on,
	.end_queue = end_queue,
};
