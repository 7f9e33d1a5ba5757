#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define PLACES 256u /* what shares a place is forgotten */
#define MANY 4u

/* Connections of a NIC to one address with one source port. */
struct run {
	struct flow {
		uint32_t pe, unit, to, port, count;
		struct bf_rule_queue *first;
	} flows[PLACES];
};

struct state {
	bool told;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct run *run = r->state;
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint32_t to = bf_mlx5_rule_of(e->queue)->remote_ipv4, port = (uint32_t)e->gin_window.udp_sport;
	struct flow *w = &run->flows[(to * 31 + port + e->pe * 7) % PLACES];

	/* Each thread that uses the queue pair says it. */
	if (!port || s->told)
		return;
	s->told = true;
	if (w->count && w->pe == e->pe && w->unit == e->unit && w->to == to && w->port == port)
		w->count++;
	else
		*w = (struct flow){
			.pe = e->pe, .unit = e->unit, .to = to, .port = port, .count = 1, .first = e->queue
		};
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct run *run = r->state;

	(void)complete;
	for (uint32_t i = 0; i < PLACES; i++) {
		const struct flow *w = &run->flows[i];
		struct bf_finding *f = w->count >= MANY ? bf_rule_find(r, NULL, w->first) : NULL;

		if (f)
			bf_finding_say(f,
				       "%" PRIu32 " connections of PE %" PRIu32
				       " to one address have UDP source port %" PRIu32
				       ", which their driver chose: what balances by it sends them all one way",
				       w->count, w->pe, w->port);
	}
}

const struct bf_rule bf_rule_mlx5_sport_shared = {
	.about = {
		.id = "MLX5-SPORT-SHARED",
		.family = "mlx5",
		.title = "connections to one peer share a UDP source port",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "Switches choose among equal paths by a hash of addresses and ports. RoCE's destination port is always "
			    "4791, so that between two NICs the source port alone tells flows apart.",
		.wrong = "It works, on one of the paths: the ports of connections that were made together are the same, for instance "
			 "from rand() after an srand(time) for each of them.",
		.fix = "Leave the port to the device (0), or compute it from the queue pair numbers of both ends.",
		.sources = "NVIDIA-DOCA/gpunetio src/doca_verbs_qp.cpp; InfiniBand Architecture, annex A17",
		.example = "run gin-put --contexts 4 --warps 4 --bug gin-one-sport",
		.twin = "run gin-put --contexts 4 --warps 4",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(gin_window),
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
