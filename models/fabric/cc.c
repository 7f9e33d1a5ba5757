/*
 * Congestion control of ports: DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
 *
 * The receiver's port answers frames with an ECN mark by CNPs, at most one a flow and interval; the sender's port cuts
 * the rate of the flow that a CNP names and raises it again by time and by bytes. Frames of a flow that is held below
 * the line rate wait here, behind them only their own flow. A flow is what goes to one queue pair of one address. Flows
 * at line rate have no state, so the cost of it all is one branch a frame until there is congestion.
 *
 * All numbers are integers: rates in kilobits a second, alpha in parts of 2^20. Time passes when somebody asks.
 */
#include "models/fabric/cc_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/records.h"
#include "models/fabric/roce.h"

#define FLOW_BUCKETS 64u
#define NOTED 256u
#define ONE (1ull << 20)
#define GAIN_SHIFT 8u /* g = 1/256 */
#define CNP_INTERVAL_PS (50 * BF_US)
#define ALPHA_PS (55 * BF_US)
#define INCREASE_PS (55 * BF_US)
#define INCREASE_BYTES 10000000u
#define FAST_STEPS 5u
#define ADD_PARTS 1000u /* additive step: 40 Mb/s at 40 Gb/s, scaled with the line */
#define HYPER 10u       /* times that, when time and bytes both went on long enough: 400 Mb/s there */
#define MIN_PARTS 1000u /* no flow gets less than this part of the line */

/* RoCEv2 congestion notification packet (annex A17): BTH with BECN, 16 reserved bytes, ICRC. */
#define CNP_OPCODE 0x81u
#define CNP_PAYLOAD 16u
#define CNP_DSCP 48u /* docs/hardware/roce.md#switches-7 */
#define BTH_BECN 0x40u

struct flow {
	struct bf_event due;
	struct flow *next;
	struct bf_port *port;
	uint32_t ipv4, qp;
	uint64_t rate, target, alpha;
	uint64_t alpha_ps, increase_ps; /* when these last stepped */
	uint64_t bytes;                 /* since the last step by bytes */
	uint32_t time_steps, byte_steps;
	uint64_t free_ps; /* when the next frame may go */
	struct bf_packet *first, *last;
};

/* When a flow was last told of; a newer one may take the place of another. */
struct noted {
	uint32_t ipv4, qp;
	uint64_t at_ps;
	bool used;
};

struct bf_cc {
	struct flow *flows[FLOW_BUCKETS];
	struct flow *unused;
	uint64_t held; /* bytes that wait */
	uint64_t line; /* rate of the port */
	struct noted noted[NOTED];
};

static uint32_t mix(uint32_t ipv4, uint32_t qp)
{
	uint64_t state = (uint64_t)ipv4 << 32 | qp;

	return (uint32_t)bf_splitmix64(&state);
}

static struct bf_cc *cc_of(struct bf_port *p)
{
	if (!p->cc) {
		p->cc = calloc(1, sizeof(*p->cc));
		if (p->cc)
			p->cc->line = p->fabric->net->t.host_gbps * 1000000;
	}
	return p->cc;
}

static struct flow **find(struct bf_cc *cc, uint32_t ipv4, uint32_t qp)
{
	struct flow **at = &cc->flows[mix(ipv4, qp) % FLOW_BUCKETS];

	while (*at && ((*at)->ipv4 != ipv4 || (*at)->qp != qp))
		at = &(*at)->next;
	return at;
}

/* ---- the rate of a flow ---- */

static void increase(struct flow *f)
{
	const uint64_t line = f->port->cc->line, step = line / ADD_PARTS;
	uint32_t most = f->time_steps > f->byte_steps ? f->time_steps : f->byte_steps;
	uint32_t least = f->time_steps < f->byte_steps ? f->time_steps : f->byte_steps;

	if (least > FAST_STEPS)
		f->target += HYPER * step;
	else if (most > FAST_STEPS)
		f->target += step;
	f->target = f->target < line ? f->target : line;
	f->rate = (f->rate + f->target + 1) / 2;
	if (f->rate + step >= line && f->target == line)
		f->rate = line;
}

static void catch_up(struct flow *f, uint64_t now)
{
	const uint64_t line = f->port->cc->line;

	for (; now - f->alpha_ps >= ALPHA_PS && f->alpha >> GAIN_SHIFT; f->alpha_ps += ALPHA_PS)
		f->alpha -= f->alpha >> GAIN_SHIFT;
	for (; now - f->increase_ps >= INCREASE_PS && f->rate < line; f->increase_ps += INCREASE_PS) {
		f->time_steps++;
		increase(f);
	}
}

static void cut(struct flow *f, uint64_t now)
{
	const uint64_t least = f->port->cc->line / MIN_PARTS;

	catch_up(f, now);
	f->target = f->rate;
	f->rate -= (f->rate * f->alpha) >> 21; /* alpha / 2 */
	f->rate = f->rate > least ? f->rate : least;
	f->alpha += (ONE - f->alpha) >> GAIN_SHIFT;
	f->alpha_ps = f->increase_ps = now;
	f->bytes = f->time_steps = f->byte_steps = 0;
}

/* ---- frames that wait ---- */

static void retire(struct flow *f)
{
	struct bf_cc *cc = f->port->cc;

	*find(cc, f->ipv4, f->qp) = f->next;
	f->next = cc->unused;
	cc->unused = f;
}

static void send_first(struct flow *f, uint64_t now)
{
	struct bf_packet *pkt = f->first;

	f->first = pkt->next;
	f->port->cc->held -= pkt->len;
	f->bytes += pkt->len;
	/* kilobits a second are bits a millisecond */
	f->free_ps = now + (uint64_t)((bf_u128)pkt->len * 8 * BF_MS / f->rate);
	if (f->bytes >= INCREASE_BYTES) {
		f->bytes -= INCREASE_BYTES;
		f->byte_steps++;
		increase(f);
	}
	bf_hop_queue(f->port->up_hop, pkt);
}

static void on_due(struct bf_event *ev)
{
	struct flow *f = BF_CONTAINER_OF(ev, struct flow, due);
	struct bf_sim *sim = f->port->fabric->sim;

	catch_up(f, sim->now_ps);
	if (f->first)
		send_first(f, sim->now_ps);
	if (f->first)
		bf_sim_at(sim, &f->due, f->free_ps);
	else if (f->rate >= f->port->cc->line)
		retire(f);
}

bool bf_cc_hold(struct bf_port *p, struct bf_packet *pkt)
{
	uint64_t now = p->fabric->sim->now_ps;
	struct flow *f = *find(p->cc, pkt->to->info.ipv4, bf_frame_queue(pkt));

	if (!f)
		return false;
	pkt->next = NULL;
	if (f->first)
		f->last->next = pkt;
	else
		f->first = pkt;
	f->last = pkt;
	p->cc->held += pkt->len;
	if (!bf_event_pending(&f->due))
		bf_sim_at(p->fabric->sim, &f->due, f->free_ps > now ? f->free_ps : now);
	return true;
}

uint64_t bf_cc_held(const struct bf_port *p)
{
	return p->cc ? p->cc->held : 0;
}

/* ---- CNPs ---- */

static struct flow *new_flow(struct bf_port *p, struct flow **at, uint32_t ipv4, uint32_t qp)
{
	struct bf_cc *cc = p->cc;
	struct flow *f = cc->unused ? cc->unused : malloc(sizeof(*f));
	uint64_t now = p->fabric->sim->now_ps;

	if (!f) {
		bf_fail(&p->fabric->sim->error, -ENOMEM, "no memory for a flow");
		return NULL;
	}
	cc->unused = cc->unused ? cc->unused->next : NULL;
	*f = (struct flow){ .port = p, .ipv4 = ipv4, .qp = qp, .rate = cc->line, .target = cc->line, .alpha = ONE };
	f->alpha_ps = f->increase_ps = f->free_ps = now;
	bf_event_init(&f->due, on_due);
	*at = f;
	return f;
}

/* For this port's queue pair `qpn`: whatever it sends to that address slows down. */
static void take_cnp(struct bf_port *p, const struct bf_packet *pkt)
{
	uint32_t peer = p->peer ? p->peer(p->owner, bf_frame_queue(pkt)) : 0;
	uint32_t ipv4 = pkt->from->info.ipv4;
	struct bf_cc *cc = peer ? cc_of(p) : NULL;
	struct bf_sim *sim = p->fabric->sim;
	struct flow **at, *f;

	if (!cc)
		return;
	at = find(cc, ipv4, peer);
	f = *at ? *at : new_flow(p, at, ipv4, peer);
	if (!f)
		return;
	cut(f, sim->now_ps);
	BF_EMIT(sim, p->info.actor, rate, .peer = ipv4, .qp = peer, .mbps = f->rate / 1000);
}

/* True when it is time to tell the sender of this flow. */
static bool may_tell(struct bf_cc *cc, uint32_t ipv4, uint32_t qp, uint64_t now)
{
	struct noted *n = &cc->noted[mix(ipv4, qp) % NOTED];

	if (n->used && n->ipv4 == ipv4 && n->qp == qp && now - n->at_ps < CNP_INTERVAL_PS)
		return false;
	*n = (struct noted){ ipv4, qp, now, true };
	return true;
}

static void send_cnp(struct bf_port *p, const struct bf_packet *marked, uint32_t qp)
{
	struct bf_packet *pkt = bf_packet_alloc_for(p->fabric, CNP_PAYLOAD);
	struct bf_roce_path_opts opts = {
		.src_ipv4 = p->info.ipv4,
		.dst_ipv4 = marked->from->info.ipv4,
		.udp_src_port = (uint16_t)(0xc000 | (qp & 0x3fff)),
		.dscp = CNP_DSCP,
		.ttl = 64,
	};
	struct bf_roce r = { .opcode = CNP_OPCODE, .pkey = 0xffff, .dest_qp = qp, .payload_len = CNP_PAYLOAD };
	struct bf_roce_path path;
	uint32_t at;

	if (!pkt)
		return; /* the next mark tries again after the interval */
	memcpy(opts.src_mac, p->info.mac, sizeof(opts.src_mac));
	memcpy(opts.dst_mac, marked->from->info.mac, sizeof(opts.dst_mac));
	bf_roce_path_init(&path, &opts);
	at = bf_roce_build(pkt->data, &path, &r);
	memset(pkt->data + at, 0, CNP_PAYLOAD);
	pkt->data[BF_ROCE_BTH_OFFSET + 4] |= BTH_BECN;
	pkt->len = bf_roce_finish(pkt->data, &r, at, true);
	bf_port_send(p, pkt);
}

bool bf_cc_receive(struct bf_port *p, struct bf_packet *pkt)
{
	uint32_t qp = bf_frame_queue(pkt), sender;
	struct bf_cc *cc;

	if (!qp)
		return false;
	if (pkt->data[BF_ROCE_BTH_OFFSET] == CNP_OPCODE) {
		take_cnp(p, pkt);
		return true;
	}
	if ((pkt->data[BF_ROCE_TOS_OFFSET] & 3) != 3 || !p->peer)
		return false;
	sender = p->peer(p->owner, qp);
	cc = sender ? cc_of(p) : NULL;
	if (cc && may_tell(cc, pkt->from->info.ipv4, qp, p->fabric->sim->now_ps))
		send_cnp(p, pkt, sender);
	return false;
}

/* ---- the end ---- */

void bf_cc_lose(struct bf_port *p)
{
	for (uint32_t i = 0; p->cc && i < FLOW_BUCKETS; i++)
		for (struct flow *f = p->cc->flows[i]; f; f = f->next) {
			bf_sim_cancel(p->fabric->sim, &f->due);
			while (f->first) {
				struct bf_packet *pkt = f->first;

				f->first = pkt->next;
				p->cc->held -= pkt->len;
				bf_frame_lose(p->info.actor, pkt, BF_DIR_RX, BF_FRAME_LINK_DOWN);
			}
		}
}

static void free_flows(struct bf_sim *sim, struct flow *f)
{
	while (f) {
		struct flow *next = f->next;

		bf_sim_cancel(sim, &f->due);
		free(f);
		f = next;
	}
}

void bf_cc_destroy(struct bf_port *p)
{
	if (!p->cc)
		return;
	for (uint32_t i = 0; i < FLOW_BUCKETS; i++)
		free_flows(p->fabric->sim, p->cc->flows[i]);
	free_flows(p->fabric->sim, p->cc->unused);
	free(p->cc);
}
