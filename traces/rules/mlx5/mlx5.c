/* Facts of a run with mlx5 devices, and the list of their rules. queue.c has those of each queue pair. */
#include "traces/rules/mlx5/mlx5.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"
#include "sim/mem.h"
#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/far.h"
#include "traces/rules/mlx5/polls.h"
#include "traces/rules/mlx5/queue.h"
#include "traces/rules/mlx5/ring.h"

#define FENCES 1024u

/* A thread's last fence; the table forgets threads that share a place. */
struct fence {
	uint32_t actor;
	uint64_t record;
};

struct run {
	struct bf_mlx5_rule_reads reads;
	struct fence fences[FENCES];
	uint64_t started, ended; /* threads */
	struct bf_mlx5_rule_polls polls;
	uint32_t widest; /* scope of all fences: threads that leave the posting to others fence for their block only */
};

struct bf_mlx5_rule_name bf_mlx5_rule_entry(const struct bf_rule_queue *q, uint64_t index)
{
	struct bf_mlx5_rule_name n;

	snprintf(n.text, sizeof(n.text), "WQE %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32, index, q->number, q->pe);
	return n;
}

void bf_mlx5_rule_failed_with(struct bf_rule_run *r, const struct bf_seen *e, uint32_t syndrome, const char *more)
{
	struct bf_finding *f;
	char why[40];

	if (e->qp_error.syndrome != syndrome || e->qp_error.side != BF_MLX5_REQUESTER)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->qp_error.index);
	bf_seen_text(e, "why", why, sizeof(why));
	bf_finding_say(f, "WQE %" PRIu64 " on %s failed with syndrome %02" PRIx32 ", vendor %02" PRIx64 ": %s%s%s%s",
		       e->qp_error.index, bf_rule_actor(r->rules, e->actor), syndrome, e->qp_error.vendor,
		       bf_mlx5_rule_syndrome(syndrome), why[0] ? ", " : "", why, more);
	if (e->qp_error.syndrome >= BF_MLX5_SYND_REM_INV_REQ)
		bf_mlx5_rule_say_far(r->rules, f, e->queue);
}

const char *bf_mlx5_rule_syndrome(uint64_t syndrome)
{
	return bf_mlx5_syndrome_text((uint8_t)syndrome);
}

bool bf_mlx5_rule_fences_in_block(struct bf_rules *r, uint32_t actor, uint64_t record)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_mlx5);
	const struct fence *f = &run->fences[actor % FENCES];

	return run->widest == 0 && f->actor == actor && f->record > record;
}

const struct bf_mlx5_rule_polls *bf_mlx5_rule_polls_of(struct bf_rules *r)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_mlx5);

	return &run->polls;
}

bool bf_mlx5_rule_all_ended(struct bf_rules *r)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_mlx5);

	return run->started && run->started == run->ended;
}

bool bf_mlx5_rule_is_completion(const char *what)
{
	return strstr(what, "completion") || strstr(what, "CQE");
}

const struct bf_machine_thread *bf_mlx5_rule_completion_awaited(struct bf_rules *r, uint32_t pe)
{
	const struct bf_machine *m = bf_rule_run_facts(r, &bf_rules_machine);
	const struct bf_machine_thread *first = NULL;

	for (uint32_t i = 0; m && i < BF_MACHINE_THREADS; i++) {
		const struct bf_machine_thread *t = &m->thread[i];

		if (t->runs && t->waits && t->pe == pe && bf_mlx5_rule_is_completion(t->what) &&
		    (!first || t->since_ps < first->since_ps))
			first = t;
	}
	return first;
}

/* Once some thread fences for more than its block, it is no longer asked who does not. */
static void note_fence(struct bf_rules *r, struct run *run, const struct bf_seen *e)
{
	run->fences[e->actor % FENCES] = (struct fence){ e->actor, e->number };
	if (e->fence.scope > run->widest)
		run->widest = (uint32_t)e->fence.scope;
	if (run->widest)
		bf_rule_enough(r, &bf_rules_mlx5, BF_SEEN_fence);
}

/* Its traffic goes by another queue pair from now on: nobody waits here for what this one was given. */
static void note_move(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_rule_queue *from = bf_rule_queue(r, &bf_rules_mlx5, e->pe, e->ibgda_move.from_qpn, false);
	struct bf_rule_queue *to = bf_rule_queue(r, &bf_rules_mlx5, e->pe, e->ibgda_move.to_qpn, false);

	if (from) {
		struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(from);

		/* Who has a slot there and has not published gives it up; the next one to come gets it again. */
		for (uint32_t i = 0; q->slots && i < q->depth; i++)
			if (q->slots[i].reserved > q->published.upto)
				q->slots[i].reserved = 0;
		q->moved = true;
	}
	if (to)
		bf_mlx5_rule_of(to)->moved = false;
}

/* A doorbell carries the number of its queue pair in bytes 4-6, like a control segment. */
static void note_rung(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;

	if (e->tail_len != 8 || e->mmio_store.va % BF_PAGE != BF_MLX5_UAR_BF)
		return;
	queue = bf_rule_queue(r, &bf_rules_mlx5, e->pe, bf_get_be24(e->tail + 4), false);
	if (queue)
		bf_mlx5_rule_of(queue)->rung = true;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct run *run = facts;

	switch (e->kind) {
	case BF_SEEN_mmio_store:
		note_rung(r, e);
		break;
	case BF_SEEN_store:
		if (e->store.len == 4)
			bf_mlx5_rule_note_polls(r, &run->polls, e);
		bf_mlx5_rule_note_store(r, e);
		break;
	case BF_SEEN_store_visible:
		bf_mlx5_rule_note_visible(r, e);
		break;
	case BF_SEEN_cq_config:
	case BF_SEEN_load:
	case BF_SEEN_agent_wait:
	case BF_SEEN_agent_wake:
		bf_mlx5_rule_note_polls(r, &run->polls, e);
		break;
	case BF_SEEN_fence:
		note_fence(r, run, e);
		break;
	case BF_SEEN_agent_start:
		run->started++;
		break;
	case BF_SEEN_agent_end:
		run->ended++;
		bf_mlx5_rule_note_polls(r, &run->polls, e);
		break;
	case BF_SEEN_dma_read:
		bf_mlx5_rule_note_read(&run->reads, e);
		break;
	case BF_SEEN_ibgda_move:
		note_move(r, e);
		break;
	case BF_SEEN_cmd:
		bf_mlx5_rule_note_command(r, e);
		break;
	default:
		if (e->queue)
			bf_mlx5_rule_note_queue(r, &run->reads, e);
		if (e->kind == BF_SEEN_cqe)
			bf_mlx5_rule_note_polls(r, &run->polls, e);
		break;
	}
}

static bool left(const void *facts)
{
	return ((const struct bf_mlx5_rule_queue *)facts)->moved;
}

static void forget(void *facts)
{
	free(((struct bf_mlx5_rule_queue *)facts)->slots);
}

static void forget_run(void *facts)
{
	bf_mlx5_rule_forget_polls(&((struct run *)facts)->polls);
}

/* clang-format off */
#define BF_MLX5_RULES(R)                                                                                               \
	R(entry_order) R(fence_scope) R(entry_early) R(publish_order) R(ring_overrun) R(dbrec_index)                   \
	R(dbrec_order) R(doorbell_first) R(dbrec_lock) R(not_rung) R(key_bounds) R(key_unknown) R(key_access)          \
	R(poll_early) R(poll_window) R(completion_lost) R(data_order) R(retry_exceeded) R(rnr_exceeded)                \
	R(remote_access) R(local_length) R(local_qp) R(local_protection) R(flushed) R(error_ignored)                   \
	R(quiet_early) R(doorbell_refused) R(doorbell_lost) R(wrong_peer) R(read_depth) R(rnr_finite)                  \
	R(cq_overrun) R(cq_config) R(entry_index) R(entry_qpn) R(capture_error) R(doorbell_each)                       \
	R(retransmits) R(read_zero) R(shared_queue) R(cq_too_small) R(cq_entry0) R(cq_not_cleared)                     \
	R(poll_back) R(astray) R(proxy_idle) R(dbrec_still) R(leak) R(dc_key) R(dc_unknown) R(dc_contexts)             \
	R(slot_shared) R(publish_count) R(not_published) R(entry_shape) R(get_early) R(ibuf_shared)                    \
	R(no_quiet) R(dbrec_unfenced) R(remote_invalid) R(remote_operation) R(peer_state)                         \
	R(peer_psn) R(peer_gone) R(error_completion) R(timeout_pending) R(command_refused) R(no_timeout) R(request_refused)                           \
	R(ring_overlap) R(ring_view) R(dbrec_view)                                                                    \
	R(sharing) R(cqe_not_asked) R(signal_passes) R(entry_unseen) R(dbrec_endian) R(cqe_owner) R(weak_poll)          \
	R(rnr_endless) R(error_unseen) R(unsignalled) R(key_elsewhere) R(cq_view) R(wait_unmet) R(wrong_bytes) R(descriptor_lost)      \
	R(ring_unrung) R(no_grh) R(cqe_compressed) R(poll_lapped) R(sport_shared) R(read_serial)         \
	R(descriptor_torn) R(window_aside) R(descriptor_slot) R(no_interrupt) R(signal_zero) R(bf_shared)        \
	R(backup_self) R(room) R(path_mac)
/* clang-format on */

#define DECLARE(name) extern const struct bf_rule bf_rule_mlx5_##name;
BF_MLX5_RULES(DECLARE)
#define LIST(name) &bf_rule_mlx5_##name,
static const struct bf_rule *const rules[] = { BF_MLX5_RULES(LIST) NULL };

static const uint16_t signs[] = { BF_SEEN_wqe_fetch, BF_SEEN_qp_config, BF_SEEN_ibgda_build, BF_SEEN_capture_wqe, 0 };

static const uint16_t records[] = {
	BF_SEEN_agent_start,
	BF_SEEN_agent_end,
	BF_SEEN_store,
	BF_SEEN_store_visible,
	BF_SEEN_fence,
	BF_SEEN_dma_read,
	BF_SEEN_doorbell,
	BF_SEEN_wqe_fetch,
	BF_SEEN_wqe_start,
	BF_SEEN_wqe_done,
	BF_SEEN_cqe,
	BF_SEEN_qp_state,
	BF_SEEN_mkey_error,
	BF_SEEN_qp_error,
	BF_SEEN_retransmit,
	BF_SEEN_dbrec,
	BF_SEEN_rx_drop,
	BF_SEEN_request_done,
	BF_SEEN_nak_sent,
	BF_SEEN_qp_config,
	BF_SEEN_qp_path,
	BF_SEEN_ibgda_reserve,
	BF_SEEN_ibgda_build,
	BF_SEEN_ibgda_publish,
	BF_SEEN_ibgda_post,
	BF_SEEN_ibgda_poll,
	BF_SEEN_ibgda_quiet,
	BF_SEEN_ibgda_handoff,
	BF_SEEN_ibgda_consume,
	BF_SEEN_ibgda_astray,
	BF_SEEN_ibgda_result,
	BF_SEEN_ibgda_ibuf,
	BF_SEEN_ibgda_mismatch,
	BF_SEEN_dc_wqe,
	BF_SEEN_ibgda_move,
	BF_SEEN_mmio_store,
	BF_SEEN_capture_qp,
	BF_SEEN_capture_doorbell,
	BF_SEEN_capture_wqe,
	BF_SEEN_gin_queue,
	BF_SEEN_gin_taken,
	BF_SEEN_gin_descriptor,
	BF_SEEN_d2p_descriptor,
	BF_SEEN_d2p_taken,
	BF_SEEN_gin_window,
	BF_SEEN_load,
	BF_SEEN_agent_wait,
	BF_SEEN_agent_wake,
	BF_SEEN_cq_config,
	BF_SEEN_cmd,
	0,
};

/* Where an entry and the record that announces it lie, by what was stored there. */
static bool memory(const struct bf_rule_queue *queue, uint64_t index, uint64_t bytes, unsigned n,
		   struct bf_rule_memory *out)
{
	const struct bf_mlx5_rule_queue *q = bf_rule_facts(queue);

	*out = (struct bf_rule_memory){ .name = "the entry" };
	if (n == 0 && q->ring && q->ring->entries) {
		out->va = q->ring->va + index % q->ring->entries * BF_MLX5_WQEBB;
		out->len = bytes >= BF_MLX5_WQEBB && bytes <= 16ull * BF_MLX5_WQEBB ? bytes : BF_MLX5_WQEBB;
	} else if (n == 1 && q->dbrec_ring) {
		*out = (struct bf_rule_memory){
			.name = "the doorbell record", .va = q->dbrec_ring->va + 4, .len = 4, .value = true
		};
	}
	return n < 2;
}

static const char *const memory_rules[] = { "MLX5-ENTRY-ORDER", "MLX5-DBREC-ORDER", NULL };

const struct bf_rule_family bf_rules_mlx5 = {
	.name = "mlx5",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_MMIO | BF_CLASS_DMA | BF_CLASS_QUEUE | BF_CLASS_FAULT |
		   BF_CLASS_DRIVER,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct bf_mlx5_rule_queue),
	.on = on,
	.left = left,
	.forget = forget,
	.forget_run = forget_run,
	.memory = memory,
	.memory_rules = memory_rules,
};
