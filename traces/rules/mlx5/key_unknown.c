#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/key.h"

#define KEYS 4096u

/* Indices that CREATE_MKEY gave out, of any device, plus one; by hash, later ones replace earlier ones. */
struct state {
	uint32_t index[KEYS];
};

static uint32_t *place_of(struct state *s, uint64_t index)
{
	return &s->index[(uint32_t)(index * 0x9e3779b97f4a7c15ull >> 40) % KEYS];
}

/* That the bytes of a key were swapped is said only if the swapped one exists and the key itself does not. */
static void say_swapped(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint32_t swapped = __builtin_bswap32((uint32_t)e->mkey_error.key), index = swapped >> 8;
	struct bf_finding *f = bf_rule_found(r, e->queue);

	if (f && !f->found.more && e->mkey_error.key >> 8 != index && *place_of(r->state, index) == index + 1)
		bf_finding_say(f, "; 0x%" PRIx32 " is this key with its bytes swapped, and that one was created",
			       swapped);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_cmd) {
		if (e->cmd.opcode == BF_MLX5_CMD_CREATE_MKEY && !e->cmd.status)
			*place_of(r->state, e->cmd.number) = (uint32_t)e->cmd.number + 1;
		return;
	}
	if (e->mkey_error.why >= BF_MLX5_KEY_UNKNOWN && e->mkey_error.why <= BF_MLX5_KEY_FREE) {
		bf_mlx5_rule_key_finding(r, e);
		say_swapped(r, e);
	}
}

const struct bf_rule bf_rule_mlx5_key_unknown = {
	.about = {
		.id = "MLX5-KEY-UNKNOWN",
		.family = "mlx5",
		.title = "an access with a memory key that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A key is an index into the NIC's table and a variant byte that changes with each "
			    "registration.",
		.wrong = "The key was never created, was freed, or belongs to an earlier registration of that memory.",
		.fix = "Exchange keys after registration, in the byte order that the entry wants, and exchange them "
		       "anew after registering again.",
		.sources = "mlx5 PRM, Memory Key; NVIDIA/nccl#523, #928; openucx/ucx#3564",
		.example = "run ibgda-put --bug lkey-swapped",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(mkey_error, cmd),
	.state_bytes = sizeof(struct state),
	.on = on,
};
