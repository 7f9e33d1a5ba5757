#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

#define PES 4096u

/* Kinds of objects in the order in which they must go, and the commands that make and end them. */
static const struct kind {
	uint16_t create, destroy;
	const char *name;
} kinds[] = {
	{ BF_MLX5_CMD_CREATE_QP, BF_MLX5_CMD_DESTROY_QP, "queue pair" },
	{ BF_MLX5_CMD_CREATE_DCT, BF_MLX5_CMD_DESTROY_DCT, "DC target" },
	{ BF_MLX5_CMD_CREATE_CQ, BF_MLX5_CMD_DESTROY_CQ, "completion queue" },
	{ BF_MLX5_CMD_CREATE_MKEY, BF_MLX5_CMD_DESTROY_MKEY, "memory key" },
	{ BF_MLX5_CMD_CREATE_UMEM, BF_MLX5_CMD_DESTROY_UMEM, "memory region" },
	{ BF_MLX5_CMD_ALLOC_PD, BF_MLX5_CMD_DEALLOC_PD, "protection domain" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct state {
	struct {
		uint32_t live[KINDS], refused;
		bool clearing; /* its last protection domain is being given back: nothing may be left */
	} nic[PES];
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->actor >= PES)
		return;
	for (size_t k = 0; k < KINDS; k++) {
		if (e->cmd.opcode == kinds[k].create && !e->cmd.status)
			s->nic[e->actor].live[k]++;
		if (e->cmd.opcode != kinds[k].destroy)
			continue;
		s->nic[e->actor].live[k] -= !e->cmd.status && s->nic[e->actor].live[k];
		s->nic[e->actor].refused += e->cmd.status != 0;
		if (k == KINDS - 1)
			s->nic[e->actor].clearing = e->cmd.status || !s->nic[e->actor].live[k];
	}
}

/* The first kind in the order in which they must go is what holds the others. */
static void judge(struct bf_rule_run *r, uint32_t actor)
{
	const struct state *s = r->state;
	size_t k = 0;
	struct bf_seen e = { .actor = actor, .time_ps = bf_rule_now(r->rules) };
	struct bf_finding *f;

	while (k < KINDS && !s->nic[actor].live[k])
		k++;
	f = k < KINDS ? bf_rule_find(r, &e, NULL) : NULL;
	if (!f)
		return;
	bf_finding_say(f, "%" PRIu32 " %s%s of %s were not destroyed when their protection domain was given back",
		       s->nic[actor].live[k], kinds[k].name, s->nic[actor].live[k] == 1 ? "" : "s",
		       bf_rule_actor(r->rules, actor));
	if (s->nic[actor].refused)
		bf_finding_say(f, ", so that %" PRIu32 " more commands to destroy what they use were refused",
			       s->nic[actor].refused);
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;

	for (uint32_t i = 0; complete && i < PES; i++)
		if (s->nic[i].clearing)
			judge(r, i);
}

const struct bf_rule bf_rule_mlx5_leak = {
	.about = {
		.id = "MLX5-LEAK",
		.family = "mlx5",
		.title = "objects still exist when their protection domain is freed",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Queue pairs hold their CQs, CQs and queue pairs hold the memory of their rings, and all "
			    "of them a protection domain. The NIC refuses to destroy what is in use.",
		.wrong = "Something was not destroyed, or in the wrong order. The memory stays pinned, and numbers "
			    "and contexts run out in a process that does this often.",
		.fix = "Destroy queue pairs and DC targets, then CQs, then registered memory, then keys, then the "
			    "domain; look at the status of each command.",
		.sources = "NVIDIA/nvshmem ibgda.cpp nvshmemt_ibgda_finalize; mlx5 PRM, command status BAD_RES_STATE",
		.example = "run ibgda-put --bug qp-leak",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_LUCK + 1,
	.records = BF_SEES(cmd),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
