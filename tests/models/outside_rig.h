/*
 * Ends of a network for tests: each a simulation, a fabric with one port and its outside, as a process has them. All
 * have one address, as programs that share a NIC; what arrives is checked to be what was sent, in order for each flow.
 */
#ifndef BELFRY_TESTS_MODELS_OUTSIDE_RIG_H
#define BELFRY_TESTS_MODELS_OUTSIDE_RIG_H

#include <check.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "models/fabric/outside.h"
#include "models/fabric/roce.h"
#include "sim/stats.h"

#define END_IPV4 0x0a000001u
#define END_FLOWS 8u

struct end {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_port *port;
	struct bf_outside *outside;
	struct bf_fault_plan *plan;
	uint32_t ipv4;
	bool icrc; /* of what is sent, and to be checked */
	uint64_t frames, broken;
	uint32_t sent[END_FLOWS];    /* last number sent in each flow ... */
	uint32_t arrived[END_FLOWS]; /* ... and arrived */
	uint64_t skipped, disordered;
	uint32_t last_flow;
	uint8_t last_headers[BF_ROCE_BTH_OFFSET];
};

static inline void end_rx(void *owner, struct bf_packet *pkt)
{
	struct end *e = owner;
	struct bf_roce r;
	uint32_t seq, flow;

	e->frames++;
	if (bf_roce_parse(pkt->data, pkt->len, e->icrc, &r, NULL) || r.payload_len < 8) {
		e->broken++;
		bf_packet_free(pkt);
		return;
	}
	memcpy(e->last_headers, pkt->data, sizeof(e->last_headers));
	seq = bf_get_le32(pkt->data + r.payload_offset);
	flow = bf_get_le32(pkt->data + r.payload_offset + 4) % END_FLOWS;
	for (uint32_t i = 8; i < r.payload_len; i++)
		if (pkt->data[r.payload_offset + i] != (uint8_t)(seq + i)) {
			e->broken++;
			break;
		}
	if (seq <= e->arrived[flow])
		e->disordered++;
	else
		e->skipped += seq - e->arrived[flow] - 1;
	e->arrived[flow] = seq;
	e->last_flow = flow;
	bf_packet_free(pkt);
}

/* A network of this test's own: tests run at the same time. */
static inline const char *end_network(void)
{
	static char name[32];

	snprintf(name, sizeof(name), "test-%d", (int)getppid());
	return name;
}

static inline void end_open_with(struct end *e, const struct bf_outside_opts *opts, const char *faults)
{
	struct bf_error err = { 0 };
	struct bf_port_opts port = { .name = "p1", .latency_ps = 0, .ps_per_kib = 0, .rx = end_rx, .owner = e };

	memset(e, 0, sizeof(*e));
	e->ipv4 = opts->udp_ipv4 ? opts->udp_ipv4 : END_IPV4;
	e->icrc = true;
	port.ipv4 = e->ipv4;
	ck_assert_int_eq(bf_sim_create(1, &e->sim), 0);
	ck_assert_int_eq(bf_fabric_create(e->sim, &e->fabric), 0);
	ck_assert_int_eq(bf_fabric_attach(e->fabric, &port, &e->port), 0);
	if (faults) {
		ck_assert_msg(!bf_fault_plan_parse(faults, 3, &err, &e->plan), "%s", err.text);
		e->sim->faults = e->plan;
	}
	ck_assert_msg(!bf_outside_open(e->sim, e->fabric, opts, &e->outside), "%s", e->sim->error.text);
}

static inline void end_open(struct end *e, uint32_t ring_bytes)
{
	const struct bf_outside_opts opts = { .network = end_network(), .ring_bytes = ring_bytes };

	end_open_with(e, &opts, NULL);
}

static inline void end_close(struct end *e)
{
	bf_outside_close(e->outside);
	bf_fabric_destroy(e->fabric);
	bf_sim_destroy(e->sim);
	bf_fault_plan_destroy(e->plan);
}

/* The number of a queue pair of the process in `slot`. */
static inline uint32_t end_qpn(uint32_t slot, uint32_t index)
{
	return slot * BF_OUTSIDE_QPNS + 0x40 + index;
}

/* A frame of `len` (8 and up) bytes of payload, the next of `flow`. */
static inline struct bf_packet *end_frame(struct end *e, uint32_t ipv4, uint32_t qpn, uint32_t flow, uint32_t len)
{
	struct bf_packet *pkt = bf_packet_alloc(e->fabric);
	struct bf_roce_path_opts opts = {
		.src_ipv4 = e->ipv4, .dst_ipv4 = ipv4, .ttl = 64, .udp_src_port = (uint16_t)(0xc000 + flow)
	};
	struct bf_roce q = { .opcode = BF_RC_WRITE_ONLY, .payload_len = len, .dest_qp = qpn, .pkey = 0xffff };
	struct bf_roce_path path;
	uint32_t at, seq = ++e->sent[flow % END_FLOWS];

	ck_assert_ptr_nonnull(pkt);
	bf_roce_path_init(&path, &opts);
	at = bf_roce_build(pkt->data, &path, &q);
	bf_put_le32(pkt->data + at, seq);
	bf_put_le32(pkt->data + at + 4, flow);
	for (uint32_t i = 8; i < len; i++)
		pkt->data[at + i] = (uint8_t)(seq + i);
	pkt->len = bf_roce_finish(pkt->data, &q, at, e->icrc);
	return pkt;
}

static inline void end_send_to(struct end *e, uint32_t ipv4, uint32_t qpn, uint32_t flow, uint32_t len)
{
	bf_port_send(e->port, end_frame(e, ipv4, qpn, flow, len));
	bf_sim_run(e->sim, BF_NEVER);
}

static inline void end_send(struct end *e, const struct end *to, uint32_t flow, uint32_t len)
{
	end_send_to(e, to->ipv4, end_qpn(bf_outside_slot(to->outside), flow), flow, len);
}

static inline void end_pump(struct end *e, uint32_t budget)
{
	bf_outside_poll(e->outside, budget);
	bf_sim_run(e->sim, BF_NEVER);
	bf_outside_flush(e->outside);
}

/* As a thread that has nothing else to do: sleeps, for ten seconds at most, until there is something, and takes it. */
static inline void end_wait(struct end *e)
{
	const struct timespec limit = { .tv_sec = 10 };
	uint32_t *word, value;

	if (bf_outside_sleep(e->outside, &word, &value))
		syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
	bf_outside_awake(e->outside);
	end_pump(e, 1000);
}

/* Until `frames` have arrived in all. */
static inline void end_receive(struct end *e, uint64_t frames)
{
	for (int i = 0; e->frames < frames && i < 1000; i++)
		end_wait(e);
	ck_assert_uint_eq(e->frames, frames);
}

struct end_wanted {
	const char *name;
	uint64_t value;
};

static inline void end_match(void *arg, const char *name, const char *unit, const uint64_t *counter,
			     const struct bf_hist *hist)
{
	struct end_wanted *w = arg;

	(void)unit;
	(void)hist;
	if (counter && !strcmp(name, w->name))
		w->value = *counter;
}

static inline uint64_t end_stat(const struct end *e, const char *name)
{
	struct end_wanted w = { .name = name };

	bf_stats_each(e->sim, end_match, &w);
	return w.value;
}

#endif
