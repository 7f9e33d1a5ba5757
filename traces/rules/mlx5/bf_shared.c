#include <inttypes.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "sim/mem.h"
#include "traces/rules/mlx5/mlx5.h"

#define REGISTERS 1024u /* by address; of two that share a place the later counts */
#define PIECE 64u       /* the device takes BlueFlame's bytes in pieces of an entry's block */

/* A thread that stores an entry to a register, from its beginning on. */
struct writer {
	uint32_t actor, intruder;
	uint32_t next; /* the offset where it goes on; 0: it has not begun */
	uint64_t at_ps, record;
	bool set, broken; /* somebody stored there before it was through */
};

struct state {
	struct {
		uint64_t va;
		struct writer writer[2];
	} reg[REGISTERS];
};

static void found(struct bf_rule_run *r, const struct bf_seen *e, const struct writer *w, uint64_t va)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (!f)
		return;
	bf_finding_since(f, w->at_ps, w->record);
	bf_finding_say(f,
		       "%s stored to the doorbell register at 0x%" PRIx64
		       " while %s was copying an entry there, and that one went on at byte %" PRIu32
		       ": the device gets bytes of both as one entry",
		       bf_rule_actor(r->rules, w->intruder), va, bf_rule_actor(r->rules, w->actor), w->next);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const uint64_t va = e->mmio_store.va & ~(uint64_t)(PIECE - 1), in_page = va % BF_PAGE;
	const uint32_t at = (uint32_t)(e->mmio_store.va % PIECE);
	struct writer *mine, *other;
	const uint32_t place = (uint32_t)(va / PIECE % REGISTERS);

	if (in_page < BF_MLX5_UAR_BF || in_page >= BF_MLX5_UAR_BF + 2 * 256)
		return;
	if (s->reg[place].va != va)
		memset(&s->reg[place], 0, sizeof(s->reg[place]));
	s->reg[place].va = va;
	mine = &s->reg[place].writer[0];
	other = &s->reg[place].writer[1];
	if (!mine->set || mine->actor != e->actor) {
		struct writer last = *mine;

		/* Who stored last stands first. */
		*mine = other->set && other->actor == e->actor ? *other : (struct writer){ .actor = e->actor };
		*other = last;
	}
	if (other->set && other->next) {
		other->broken = true;
		other->intruder = e->actor;
	}
	if (at && mine->set && mine->next == at) {
		if (mine->broken)
			found(r, e, mine, va);
	} else {
		mine->at_ps = e->time_ps;
		mine->record = e->number;
		mine->broken = false;
	}
	mine->set = true;
	mine->next = (at + (uint32_t)e->mmio_store.len) % PIECE;
}

const struct bf_rule bf_rule_mlx5_bf_shared = {
	.about = {
		.id = "MLX5-BF-SHARED",
		.family = "mlx5",
		.title = "two threads copy entries to one doorbell register at the same time",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "With BlueFlame, a driver copies an entry's bytes to a doorbell register, and the device "
			    "executes them as that entry. The register is one place for all threads and queues that "
			    "use it.",
		.wrong = "Stores of two threads mix in it, because two queues share the register and each has its own "
			 "lock, or none. The device executes an entry that nobody built.",
		.fix = "Give each queue that copies entries its own register, or use one lock for all users of a "
		       "register, or doorbells of 8 bytes.",
		.sources = "mlx5 PRM, BlueFlame; NVIDIA-DOCA/gpunetio doca_gpunetio_dev_verbs_qp.cuh submit_db_multi_qps",
		.example = "run gin-counter --warps 2 --messages 8 --handler bf --depth 8 --limit 20ms --bug gin-bf-shared",
		.twin = "run gin-counter --warps 2 --messages 8 --handler bf --depth 8 --limit 20ms",
	},
	.rank = BF_RANK_ENTRY - 1,
	.records = BF_SEES(mmio_store),
	.needs = BF_SEES(mmio_store),
	.state_bytes = sizeof(struct state),
	.on = on,
};
