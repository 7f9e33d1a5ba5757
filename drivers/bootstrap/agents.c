#include "drivers/bootstrap/agents.h"

#include <errno.h>
#include <stdlib.h>

#include "drivers/bootstrap/meet_internal.h"
#include "traces/records/bootstrap.h"

const struct bf_boot_cost bf_boot_cost_tcp = { .step_ps = 25 * BF_US, .ps_per_kib = 819200 };

struct agent_pe {
	struct bf_boot boot;
	struct bf_boot_agents *group;
	struct bf_agent *agent; /* NULL: nobody is this PE yet */
	uint64_t until_ps;      /* when the call that was answered last is over */
	bool parked;
};

struct bf_boot_agents {
	struct bf_sim *sim;
	struct bf_boot_cost cost;
	struct bf_meet meet;
	struct agent_pe *pe;
};

static struct agent_pe *agent_of(struct bf_boot *b)
{
	return BF_CONTAINER_OF(b, struct agent_pe, boot);
}

static uint64_t cost_of(const struct bf_boot_agents *g, enum bf_boot_op op, size_t bytes)
{
	const bf_u128 all = op == BF_BOOT_BARRIER ? 0 : (bf_u128)bytes * g->meet.npes;
	uint64_t steps = 0;

	while (1ull << steps < g->meet.npes)
		steps++;
	return steps * g->cost.step_ps + (uint64_t)(all * g->cost.ps_per_kib / 1024);
}

/* Whoever waited was answered just now. */
static void wake_all(struct bf_boot_agents *g, uint64_t until_ps)
{
	for (uint32_t i = 0; i < g->meet.npes; i++) {
		struct agent_pe *p = &g->pe[i];

		if (!p->parked || g->meet.pe[i].op != BF_BOOT_NONE)
			continue;
		p->parked = false;
		p->until_ps = until_ps;
		bf_agent_unpark(p->agent);
	}
}

static void record_call(const struct agent_pe *p, enum bf_boot_op op, size_t bytes, uint64_t since_ps, int rc)
{
	BF_EMIT(p->group->sim, p->agent->actor, boot_call, .waited = bf_agent_now(p->agent) - since_ps, .bytes = bytes,
		.pe = p->boot.pe, .npes = p->boot.npes, .result = rc, .op = op);
}

static int call(struct bf_boot *b, enum bf_boot_op op, const void *in, void *out, size_t bytes)
{
	static const char *const what[BF_BOOT_OPS] = { "", "all PEs in an allgather", "all PEs in an alltoall",
						       "all PEs at a barrier" };
	struct agent_pe *p = agent_of(b);
	struct bf_boot_agents *g = p->group;
	struct bf_meet_pe *m = &g->meet.pe[b->pe];
	uint64_t since_ps;

	/* In order of time, not of who runs ahead: buffers are read when the last one comes. */
	bf_agent_sync(p->agent);
	since_ps = bf_agent_now(p->agent);
	if (bf_meet_arrive(&g->meet, b->pe, op, in, out, bytes)) {
		p->until_ps = since_ps + (m->rc ? 0 : cost_of(g, op, bytes));
		wake_all(g, p->until_ps);
	} else {
		p->parked = true;
		bf_agent_park(p->agent, what[op]);
	}
	if (p->until_ps > bf_agent_now(p->agent))
		bf_agent_delay(p->agent, p->until_ps - bf_agent_now(p->agent));
	record_call(p, op, bytes, since_ps, m->rc);
	return m->rc;
}

static int agent_allgather(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return call(b, BF_BOOT_ALLGATHER, in, out, bytes);
}

static int agent_alltoall(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	return call(b, BF_BOOT_ALLTOALL, in, out, bytes);
}

static int agent_barrier(struct bf_boot *b)
{
	return call(b, BF_BOOT_BARRIER, NULL, NULL, 0);
}

static void agent_abort(struct bf_boot *b)
{
	struct bf_boot_agents *g = agent_of(b)->group;

	bf_meet_leave(&g->meet, b->pe, -ECANCELED);
	wake_all(g, 0);
}

int bf_boot_agents_create(struct bf_sim *sim, uint32_t npes, const struct bf_boot_cost *cost, struct bf_error *err,
			  struct bf_boot_agents **out)
{
	struct bf_boot_agents *g = calloc(1, sizeof(*g));
	int rc = g ? 0 : -ENOMEM;

	*out = NULL;
	if (!npes) {
		free(g);
		return bf_fail(err, -EINVAL, "bootstrap: no PEs");
	}
	if (g) {
		g->sim = sim;
		g->cost = cost ? *cost : bf_boot_cost_tcp;
		g->pe = calloc(npes, sizeof(*g->pe));
		rc = g->pe ? bf_meet_init(&g->meet, npes, 0, err) : -ENOMEM;
	}
	if (rc) {
		free(g ? g->pe : NULL);
		free(g);
		return bf_fail(err, rc, "bootstrap: no memory for %u agents", npes);
	}
	*out = g;
	return 0;
}

void bf_boot_agents_destroy(struct bf_boot_agents *g)
{
	if (!g)
		return;
	bf_meet_fini(&g->meet);
	free(g->pe);
	free(g);
}

struct bf_boot *bf_boot_agents_join(struct bf_boot_agents *g, uint32_t pe, struct bf_agent *self)
{
	struct agent_pe *p = &g->pe[pe];

	p->group = g;
	p->agent = self;
	p->boot = (struct bf_boot){ .pe = pe,
				    .npes = g->meet.npes,
				    .allgather = agent_allgather,
				    .alltoall = agent_alltoall,
				    .barrier = agent_barrier,
				    .abort = agent_abort };
	return &p->boot;
}
