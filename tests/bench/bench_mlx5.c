/*
 * RDMA WRITE through two model NICs, doorbell to CQE, records off: real packets, real DMA, no driver code. A minimal
 * poster keeps a window of WQEs in flight and rings one doorbell for many.
 *
 * The peer in the same run is what the bytes cost at least: each payload copied as often as the path must (memory to
 * packet, packet to memory) and, with ICRC on, put through the CRC on both sides. soft-RoCE in a small VM does 0.02 to
 * 0.04 M operations a second.
 *
 * Then the same with the profile in which nothing takes time (what foreign programs on the wall clock get), for many
 * queue pairs served in turn (a mesh seen from one PE), and for one DC initiator that goes from target to target.
 *
 * bench_mlx5 [million operations]
 */
#include <time.h>

#include "models/fabric/roce.h"
#include "tests/bench/limit.h"
#include "tests/models/mlx5_dc.h"

#define WINDOW 256u
#define BATCH 32u

/* Processor time: other programs on the machine do not count. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct bench {
	struct rig rig;
	struct rig_cq cq[2];
	struct rig_qp q[2];
	struct bf_event poll;
	uint32_t size, every;
	uint64_t total, posted, done;
};

/* Posts up to `n` WRITEs and rings once. */
static void post(struct bench *b, uint64_t n)
{
	struct rig_node *peer = &b->rig.node[1];

	for (uint64_t i = 0; i < n; i++) {
		bool signal = (b->posted + 1) % b->every == 0 || b->posted + 1 == b->total;
		uint64_t slot = b->posted % WINDOW * b->size % (RIG_DATA - 4096);

		rig_rdma(&b->q[0], BF_MLX5_OP_RDMA_WRITE, slot, peer->data_va + slot, peer->key, b->size,
			 signal ? RIG_CQE : 0);
		b->posted++;
	}
	rig_db(&b->q[0]);
}

/* Looks at the collapsed CQ every so often, as a polling thread does, and refills the window. */
static void on_poll(struct bf_event *ev)
{
	struct bench *b = BF_CONTAINER_OF(ev, struct bench, poll);
	const struct bf_mlx5_cqe *c = (const void *)b->cq[0].ring;
	uint64_t room;

	if (c->op_own >> 4 == BF_MLX5_CQE_REQ)
		b->done += (uint16_t)(bf_be16(c->wqe_counter) + 1 - b->done);
	if (b->done == b->total)
		return;
	RIG_MUST(c->op_own >> 4 != BF_MLX5_CQE_REQ_ERR);
	room = WINDOW - (b->posted - b->done);
	if (room > b->total - b->posted)
		room = b->total - b->posted;
	if (room >= BATCH || (room && b->posted + room == b->total))
		post(b, room);
	bf_sim_after(b->rig.sim, ev, 200 * BF_NS);
}

static double run_model(const struct bf_mlx5_profile *profile, uint32_t size, uint32_t every, uint64_t total)
{
	struct rig_qp_opts opts = { .log_sq = 9, .no_rq = true, .mtu = 5, .log_rd = 4 };
	struct bench b = { .size = size, .every = every, .total = total };
	double start, took;

	rig_open(&b.rig, 1, profile);
	for (uint32_t i = 0; i < 2; i++) {
		rig_cq_open(&b.rig.node[i], &b.cq[i], 9, 1);
		rig_qp_open(&b.rig.node[i], &b.q[i], &b.cq[i], &b.cq[i], &opts);
	}
	rig_connect(&b.q[0], &b.q[1], &opts);
	rig_connect(&b.q[1], &b.q[0], &opts);
	memset(b.rig.node[0].data, 0x5a, RIG_DATA);
	bf_event_init(&b.poll, on_poll);
	bf_sim_at(b.rig.sim, &b.poll, 0);
	start = now_s();
	rig_run(&b.rig);
	took = now_s() - start;
	RIG_MUST(b.done == total);
	RIG_MUST(!memcmp(b.rig.node[0].data, b.rig.node[1].data, size));
	rig_close(&b.rig);
	return took / (double)total * 1e9;
}

static double run_floor(uint32_t size, bool icrc, uint64_t total)
{
	static uint8_t from[1 << 16], via[1 << 16], to[1 << 16];
	const uint32_t headers = 54;
	uint32_t crc = 0;
	double start = now_s();

	for (uint64_t i = 0; i < total; i++) {
		uint32_t at = (uint32_t)(i * 64 % (sizeof(from) - 4096 - 64));

		memcpy(via + at, from + at, size);
		if (icrc)
			crc += bf_crc32(bf_crc32(0, via + at, size + headers), via + at, size + headers);
		memcpy(to + at, via + at, size);
		__asm__ volatile("" ::"r"(to), "r"(crc) : "memory");
	}
	return (now_s() - start) / (double)total * 1e9;
}

#define PEERS_MAX 512u
#define MANY_BATCH 8u
#define MANY_WINDOW 64u /* batches under way, over all peers */
#define MANY_SIZE 64u

/* Queue pairs to as many peers, or one DC initiator to as many targets, served in turn. */
struct many {
	struct rig rig;
	struct rig_cq cq[2];
	struct rig_qp q[2][PEERS_MAX];
	struct dc_target target[PEERS_MAX];
	struct bf_event poll;
	uint32_t peers, next;
	bool dc;
	uint64_t total, posted, done;
};

static void post_batch(struct many *m)
{
	struct rig_node *peer = &m->rig.node[1];
	uint32_t to = m->next++ % m->peers;
	struct rig_qp *q = &m->q[0][m->dc ? 0 : to];

	for (uint32_t i = 0; i < MANY_BATCH; i++) {
		uint64_t slot = m->posted++ % 4096 * MANY_SIZE;
		uint8_t flags = i == MANY_BATCH - 1 ? RIG_CQE : 0;

		if (m->dc)
			dc_rdma(q, &m->target[to], DC_FULL, BF_MLX5_OP_RDMA_WRITE, slot, slot, MANY_SIZE, flags);
		else
			rig_rdma(q, BF_MLX5_OP_RDMA_WRITE, slot, peer->data_va + slot, peer->key, MANY_SIZE, flags);
	}
	rig_db(q);
}

static void on_many(struct bf_event *ev)
{
	struct many *m = BF_CONTAINER_OF(ev, struct many, poll);
	const struct bf_mlx5_cqe *c;

	while ((c = rig_poll(&m->cq[0]))) {
		RIG_MUST(c->op_own >> 4 == BF_MLX5_CQE_REQ);
		m->done += MANY_BATCH;
		if (m->posted < m->total)
			post_batch(m);
	}
	if (m->done < m->total)
		bf_sim_after(m->rig.sim, ev, 200 * BF_NS);
}

static double run_many(uint32_t peers, bool dc, uint64_t total)
{
	struct rig_qp_opts opts = { .log_sq = dc ? 11 : 7, .no_rq = true, .mtu = 5, .log_rd = 4 };
	struct many *m = calloc(1, sizeof(*m));
	double start, took;

	RIG_MUST(m);
	m->peers = peers;
	m->dc = dc;
	m->total = total / MANY_BATCH * MANY_BATCH;
	rig_open(&m->rig, 1, NULL);
	for (uint32_t i = 0; i < 2; i++)
		rig_cq_open(&m->rig.node[i], &m->cq[i], 12, 4);
	for (uint32_t i = 0; i < peers && dc; i++)
		dc_target_open(&m->rig.node[1], &m->target[i], &m->cq[1], DC_KEY, &(struct dc_target_opts){ 0 });
	for (uint32_t i = 0; i < peers && !dc; i++)
		for (uint32_t k = 0; k < 2; k++)
			rig_qp_open(&m->rig.node[k], &m->q[k][i], &m->cq[k], &m->cq[k], &opts);
	for (uint32_t i = 0; i < peers && !dc; i++) {
		rig_connect(&m->q[0][i], &m->q[1][i], &opts);
		rig_connect(&m->q[1][i], &m->q[0][i], &opts);
	}
	if (dc)
		dc_initiator_open(&m->rig.node[0], &m->q[0][0], &m->cq[0], &opts);
	bf_event_init(&m->poll, on_many);
	bf_sim_at(m->rig.sim, &m->poll, BF_US);
	start = now_s();
	for (uint32_t i = 0; i < MANY_WINDOW && m->posted < m->total; i++)
		post_batch(m);
	rig_run(&m->rig);
	took = now_s() - start;
	RIG_MUST(m->done == m->total);
	rig_close(&m->rig);
	took = took / (double)m->total * 1e9;
	free(m);
	return took;
}

static void instant_rows(uint64_t total)
{
	static const uint32_t sizes[] = { 8, 64, 4096 }, every[] = { 1, 16, 64 };

	printf("\n%6s %8s %10s %9s   nothing takes time\n", "bytes", "signal", "Mop/s", "ns/op");
	for (size_t i = 0; i < BF_ARRAY_LEN(sizes) * BF_ARRAY_LEN(every); i++) {
		uint32_t size = sizes[i / BF_ARRAY_LEN(every)], n = every[i % BF_ARRAY_LEN(every)];
		double ns = run_model(&bf_mlx5_instant, size, n, total);

		printf("%6u %8u %10.2f %9.0f\n", size, n, 1e3 / ns, ns);
	}
}

static void many_rows(uint64_t total)
{
	static const uint32_t peers[] = { 8, 64, 512 };
	double first = 0;

	printf("\n%6s %8s %10s %9s %14s\n", "peers", "kind", "Mop/s", "ns/op", "of 8 peers");
	for (int dc = 0; dc < 2; dc++) {
		for (size_t i = 0; i < BF_ARRAY_LEN(peers); i++) {
			double ns = run_many(peers[i], dc, total);

			first = i ? first : ns;
			printf("%6u %8s %10.2f %9.0f %14.2f\n", peers[i], dc ? "DC" : "RC", 1e3 / ns, ns, ns / first);
		}
	}
	printf("%6u %8s %10.2f\n", 1, "DC", 1e3 / run_many(1, true, total));
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 8, 64, 256, 1024, 4096 };
	uint64_t total = (uint64_t)((argc > 1 ? atof(argv[1]) : 1.0) * 1e6);
	bool met = true;

	printf("%6s %5s %8s %10s %9s %14s %7s\n", "bytes", "icrc", "signal", "Mop/s", "ns/op", "copy+crc ns/op",
	       "ratio");
	for (int icrc = 1; icrc >= 0; icrc--) {
		struct bf_mlx5_profile profile = bf_mlx5_cx7;

		profile.icrc = icrc;
		for (size_t i = 0; i < BF_ARRAY_LEN(sizes); i++) {
			for (uint32_t every = 1; every <= 16; every += 15) {
				double ns = run_model(&profile, sizes[i], every, total);
				double floor = run_floor(sizes[i], icrc, total);

				printf("%6u %5s %8u %10.2f %9.0f %14.0f %7.1f\n", sizes[i], icrc ? "on" : "off", every,
				       1e3 / ns, ns, floor, ns / floor);
				if (sizes[i] == 64 && every > 1)
					met &= bench_at_least(icrc ? "WRITE of 64 bytes, with ICRC"
								   : "WRITE of 64 bytes, without",
							      1e3 / ns, icrc ? 1.5 : 4, "M/s");
				/* Both ends in one guest whose processor is emulated. */
				if (sizes[i] == 64 && icrc && every > 1)
					bench_peer("WRITE of 64 bytes, with ICRC", 1e6 / ns, 61, "k/s",
						   "soft-RoCE (lab_rxe_rate.sh, not measured here)");
			}
		}
	}
	instant_rows(total);
	many_rows(total);
	return met ? 0 : 1;
}
