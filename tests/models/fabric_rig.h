/*
 * Fabrics for tests: one simulation, or several that exchange messages as ranks of one run do, with the same traffic.
 * What arrives is kept by port, so that runs can be compared whoever simulated whom.
 */
#ifndef BELFRY_TESTS_MODELS_FABRIC_RIG_H
#define BELFRY_TESTS_MODELS_FABRIC_RIG_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"
#include "models/fabric/topology.h"

#define RIG_RANKS 4u
#define RIG_HOSTS 64u

/* One frame as it arrived: chain of everything that must agree, and counts. */
struct rig_port {
	struct rig *rig;
	struct bf_port *port;
	uint64_t chain, frames, marked;
	uint64_t last_seq[RIG_HOSTS]; /* of each sender and flow 0: frames of a flow must stay in order */
	bool disordered;
	uint32_t downs, ups; /* of the link, as the owner was told */
};

struct rig_message {
	struct rig_message *next;
	uint32_t rank;
	size_t len;
	uint8_t bytes[];
};

struct rig {
	uint32_t ranks, hosts;
	struct bf_sim *sim[RIG_RANKS];
	struct bf_fabric *fabric[RIG_RANKS];
	struct bf_fault_plan *plan[RIG_RANKS];
	struct bf_event tick[RIG_RANKS]; /* keeps clocks together when a rank has nothing to do */
	struct rig_port ports[RIG_HOSTS];
	struct rig_message *messages, **tail;
	uint64_t window, messages_sent, at_least;
};

static inline uint32_t rig_ip(uint32_t host)
{
	return 0x0a000001 + host;
}

static inline uint32_t rig_rank(const struct rig *r, uint32_t host)
{
	return host * r->ranks / r->hosts;
}

static inline void rig_rx(void *owner, struct bf_packet *pkt)
{
	struct rig_port *p = owner;
	struct bf_sim *sim = p->rig->sim[rig_rank(p->rig, (uint32_t)(p - p->rig->ports))];
	uint32_t from = bf_get_be32(pkt->data + 26) - rig_ip(0), seq = bf_get_le32(pkt->data + 60);
	uint32_t flow = bf_get_be16(pkt->data + 34);
	uint64_t what[4] = { sim->now_ps, pkt->id, pkt->len, pkt->data[15] };

	p->chain = bf_hash_bytes(what, sizeof(what)) ^ (p->chain * 31 + 1);
	p->frames++;
	p->marked += (pkt->data[15] & 3) == 3;
	if (flow == 0xc000) {
		p->disordered |= seq <= p->last_seq[from] && p->last_seq[from];
		p->last_seq[from] = seq;
	}
	bf_packet_free(pkt);
}

/* Queue pairs are numbered by the host at their other end. */
static inline uint32_t rig_peer(void *owner, uint32_t qpn)
{
	struct rig_port *p = owner;

	return qpn >= 0x100 ? 0x100 + (uint32_t)(p - p->rig->ports) : 0;
}

static inline void rig_link(void *owner, bool up)
{
	struct rig_port *p = owner;

	p->ups += up;
	p->downs += !up;
}

static inline void rig_out(void *owner, uint32_t rank, uint64_t at_ps, const void *bytes, size_t len)
{
	struct rig *r = owner;
	struct rig_message *m = malloc(sizeof(*m) + len);

	ck_assert_ptr_nonnull(m);
	ck_assert_uint_le(len, BF_FABRIC_MESSAGE_MAX);
	ck_assert_uint_ge(at_ps, r->at_least);
	m->next = NULL;
	m->rank = rank;
	m->len = len;
	memcpy(m->bytes, bytes, len);
	*r->tail = m;
	r->tail = &m->next;
	r->messages_sent++;
}

static inline void rig_attach(struct rig *r, uint32_t rank, uint32_t host, const struct bf_topology *t)
{
	uint32_t rails = t->kind == BF_TOPOLOGY_RAIL ? (uint32_t)t->rails : 1;
	char name[16];
	struct bf_port_opts opts = {
		.name = name,
		.ipv4 = rig_ip(host),
		.latency_ps = 150 * BF_NS,
		.ps_per_kib = 20480,
		.rx = rig_rx,
		.link = rig_link,
		.peer = rig_peer,
		.owner = &r->ports[host],
		.host = host / rails,
		.rail = host % rails,
	};
	int rc;

	snprintf(name, sizeof(name), "nic%u.p1", host);
	r->ports[host].rig = r;
	if (rig_rank(r, host) == rank)
		rc = bf_fabric_attach(r->fabric[rank], &opts, &r->ports[host].port);
	else
		rc = bf_fabric_attach_remote_at(r->fabric[rank], opts.ipv4, rig_rank(r, host), opts.host, opts.rail);
	ck_assert_msg(!rc, "%s", r->sim[rank]->error.text);
}

static inline void rig_tick(struct bf_event *ev)
{
	(void)ev;
}

static inline struct rig *rig_new(const char *topology, uint32_t hosts, uint32_t ranks, const char *faults)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct bf_topology t;
	struct bf_error err = { 0 };

	ck_assert(r && hosts <= RIG_HOSTS && ranks <= RIG_RANKS);
	ck_assert_msg(!bf_topology_parse(topology, &t, &err), "%s", err.text);
	r->ranks = ranks;
	r->hosts = hosts;
	r->tail = &r->messages;
	for (uint32_t k = 0; k < ranks; k++) {
		ck_assert_int_eq(bf_sim_create(7, &r->sim[k]), 0);
		bf_event_init(&r->tick[k], rig_tick);
		ck_assert_int_eq(bf_fabric_create(r->sim[k], &r->fabric[k]), 0);
		if (ranks > 1)
			bf_fabric_set_gateway(r->fabric[k], k, rig_out, r);
		ck_assert_int_eq(bf_fabric_set_topology(r->fabric[k], &t), 0);
		for (uint32_t h = 0; h < hosts; h++)
			rig_attach(r, k, h, &t);
		if (faults) {
			ck_assert_msg(!bf_fault_plan_parse(faults, 3, &err, &r->plan[k]), "%s", err.text);
			r->sim[k]->faults = r->plan[k];
		}
		r->window = bf_fabric_lookahead_ps(r->fabric[k]);
	}
	return r;
}

static inline void rig_free(struct rig *r)
{
	for (uint32_t k = 0; k < r->ranks; k++) {
		bf_fabric_destroy(r->fabric[k]);
		bf_sim_destroy(r->sim[k]);
		bf_fault_plan_destroy(r->plan[k]);
	}
	ck_assert_ptr_null(r->messages);
	free(r);
}

/* `flow` goes into the UDP source port, `tos` is DSCP and ECN. */
static inline void rig_send(struct rig *r, uint32_t from, uint32_t to, uint32_t flow, uint32_t len, uint8_t tos,
			    uint32_t seq)
{
	struct bf_packet *pkt = bf_packet_alloc(r->fabric[rig_rank(r, from)]);
	struct bf_roce_path_opts opts = { .src_ipv4 = rig_ip(from),
					  .dst_ipv4 = rig_ip(to),
					  .ttl = 64,
					  .udp_src_port = (uint16_t)(0xc000 + flow),
					  .dscp = tos >> 2,
					  .ecn = tos & 3 };
	struct bf_roce q = { .opcode = BF_RC_WRITE_ONLY, .payload_len = len, .psn = seq, .dest_qp = 0x100 + from };
	struct bf_roce_path path;
	uint32_t at;

	ck_assert_ptr_nonnull(pkt);
	bf_roce_path_init(&path, &opts);
	at = bf_roce_build(pkt->data, &path, &q);
	memset(pkt->data + at, 0, len);
	bf_put_le32(pkt->data + 60, seq);
	pkt->len = bf_roce_finish(pkt->data, &q, at, true);
	bf_port_send(r->ports[from].port, pkt);
}

static inline void rig_exchange(struct rig *r)
{
	while (r->messages) {
		struct rig_message *m = r->messages;

		ck_assert_msg(!bf_fabric_deliver(r->fabric[m->rank], m->bytes, m->len), "%s",
			      r->sim[m->rank]->error.text);
		r->messages = m->next;
		free(m);
	}
	r->tail = &r->messages;
}

/* All ranks up to `until_ps`, in windows of the look-ahead; true when nothing is left. */
static inline bool rig_run(struct rig *r, uint64_t until_ps)
{
	for (uint32_t k = 0; k < r->ranks && until_ps != BF_NEVER; k++)
		bf_sim_at(r->sim[k], &r->tick[k], until_ps);
	for (;;) {
		uint64_t next = BF_NEVER;

		rig_exchange(r);
		for (uint32_t k = 0; k < r->ranks; k++) {
			uint64_t n = bf_sim_next(r->sim[k]);

			next = n < next ? n : next;
		}
		if (next == BF_NEVER)
			return true;
		if (next > until_ps)
			break;
		/* Up to, not including, next + window. */
		next = r->ranks == 1 ? until_ps : next + r->window - 1;
		next = next < until_ps ? next : until_ps;
		r->at_least = next + 1;
		for (uint32_t k = 0; k < r->ranks; k++)
			bf_sim_run(r->sim[k], next);
	}
	return false;
}

static inline struct bf_port_info rig_info(const struct rig *r, uint32_t host)
{
	struct bf_port_info info;

	bf_port_info(r->ports[host].port, &info);
	return info;
}

#endif
