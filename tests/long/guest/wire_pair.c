/*
 * Two programs that know nothing of Belfry, one on each end of a RoCE wire: each kind of operation in both directions,
 * sizes from one byte to three packets, and every byte compared. What each operation has to bring follows from its
 * number, so that both ends know it without telling each other.
 *
 *	wire_pair DEVICE GID-INDEX MTU OPERATIONS SOCKET	the server: listens on SOCKET, a file's name
 *	wire_pair DEVICE GID-INDEX MTU OPERATIONS SOCKET KIND...	the client: what to do of write, imm, send,
 *read, atomic
 *
 * DEVICE may be "-", the first one. The ends agree on each round by SOCKET, which no lost packet touches.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ROUND 128u /* operations between two comparisons */
#define CHAIN 16u  /* operations posted at a time */
#define PACKETS 3u /* of the longest operation */
#define UNTOUCHED 0xa5
#define WAIT_S 60 /* without any completion */

enum kind { WRITE, IMM, SEND, READ, ATOMIC, KINDS };

static const char *const kind_names[KINDS] = { "write", "imm", "send", "read", "atomic" };

/* What an end tells the other at the start. */
struct address {
	uint64_t memory;
	uint32_t rkey, qpn, psn;
	union ibv_gid gid;
};

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* a slot for each operation of a round: what others reach, then what goes out or comes in */
	uint32_t mtu, slot, max_reads;
	uint32_t operations;
	int socket, gid_index;
	struct address own, other;
};

/* Of one direction of one kind. */
struct course {
	struct end *e;
	enum kind kind;
	uint32_t salt;
	bool acts;             /* this end posts the operations */
	uint64_t words[ROUND]; /* as atomic operations leave them */
};

static void need(bool good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return;
	va_start(ap, fmt);
	printf("FAILED ");
	vprintf(fmt, ap);
	printf(" (errno %d, %s)\n", errno, strerror(errno));
	va_end(ap);
	exit(1);
}

/* ---- what an operation has to bring ---- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t draw(const struct course *c, uint32_t op, uint32_t what)
{
	return mix((uint64_t)c->salt << 48 ^ (uint64_t)what << 40 ^ (op + 1u) * 0x9e3779b97f4a7c15u);
}

/* One in four is a whole number of packets, where an off-by-one would show. */
static uint32_t size_of(const struct course *c, uint32_t op)
{
	const uint64_t r = draw(c, op, 0);

	if (c->kind == ATOMIC)
		return 8;
	return r % 4 ? 1 + (uint32_t)(r >> 8) % (PACKETS * c->e->mtu) : c->e->mtu * (1 + (uint32_t)(r >> 8) % PACKETS);
}

/* Within its slot, with some bytes to spare on both sides. */
static uint32_t offset_of(const struct course *c, uint32_t op)
{
	return c->kind == ATOMIC ? 0 : (uint32_t)draw(c, op, 1) % 64;
}

static uint8_t *slot(const struct course *c, uint32_t op, bool shown)
{
	return c->e->memory + (op % ROUND + (shown ? 0 : ROUND)) * (size_t)c->e->slot;
}

static void fill(const struct course *c, uint32_t op, uint8_t *to)
{
	const uint32_t size = size_of(c, op);

	for (uint32_t i = 0; i < size; i += 8) {
		const uint64_t bytes = mix(draw(c, op, 2) + i);

		memcpy(to + i, &bytes, size - i < 8 ? size - i : 8);
	}
}

/* The slot has the operation's bytes at their place, and around them what was there before. */
static void compare(const struct course *c, uint32_t op, bool shown)
{
	static uint8_t expected[PACKETS * 4096 + 128];
	const uint8_t *found = slot(c, op, shown);

	memset(expected, UNTOUCHED, c->e->slot);
	fill(c, op, expected + offset_of(c, op));
	for (uint32_t i = 0; i < c->e->slot; i++)
		need(found[i] == expected[i], "%s %u of %u bytes at %u: byte %u is %02x, not %02x", kind_names[c->kind],
		     op, size_of(c, op), offset_of(c, op), i, found[i], expected[i]);
}

/* ---- both ends ---- */

static struct ibv_context *open_device(const char *name)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *context = NULL;

	for (int i = 0; list && i < n && !context; i++)
		if (!strcmp(name, "-") || !strcmp(name, ibv_get_device_name(list[i])))
			context = ibv_open_device(list[i]);
	need(context != NULL, "no device %s", name);
	ibv_free_device_list(list);
	return context;
}

static void open_end(struct end *e, const char *device)
{
	const size_t bytes = 2 * ROUND * (size_t)e->slot;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = ROUND, .max_recv_wr = ROUND, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_device_attr device_attr;

	e->context = open_device(device);
	e->pd = ibv_alloc_pd(e->context);
	e->cq = ibv_create_cq(e->context, 4 * ROUND, NULL, NULL, 0);
	e->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	need(e->pd && e->cq && e->memory, "no domain, queue or memory");
	e->mr = ibv_reg_mr(e->pd, e->memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			       IBV_ACCESS_REMOTE_ATOMIC);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	need(e->mr && e->qp && !ibv_query_device(e->context, &device_attr), "no memory region or queue pair");
	e->max_reads = device_attr.max_qp_rd_atom < 16 ? (uint32_t)device_attr.max_qp_rd_atom : 16;
	e->own = (struct address){
		.memory = (uintptr_t)e->memory, .rkey = e->mr->rkey, .qpn = e->qp->qp_num, .psn = 0xffffc0
	}; /* which soon begins anew */
	need(!ibv_query_gid(e->context, 1, e->gid_index, &e->own.gid), "no GID %d", e->gid_index);
}

static void connect_end(struct end *e)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
				 .port_num = 1,
				 .qp_access_flags =
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

	need(!ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)(__builtin_ctz(e->mtu) - 7),
		.dest_qp_num = e->other.qpn,
		.rq_psn = e->other.psn,
		.max_dest_rd_atomic = (uint8_t)e->max_reads,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = e->other.gid, .sgid_index = (uint8_t)e->gid_index, .hop_limit = 64 } },
	};
	need(!ibv_modify_qp(e->qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "to RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .sq_psn = e->own.psn,
				  .max_rd_atomic = (uint8_t)e->max_reads };
	need(!ibv_modify_qp(e->qp, &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				IBV_QP_MAX_QP_RD_ATOMIC),
	     "to RTS");
}

static void tell(const struct end *e, const void *what, size_t len)
{
	need(send(e->socket, what, len, MSG_NOSIGNAL) == (ssize_t)len, "the other end is gone");
}

static void hear(const struct end *e, void *what, size_t len)
{
	need(recv(e->socket, what, len, MSG_WAITALL) == (ssize_t)len, "the other end is gone");
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct ibv_wc next_completion(const struct end *e, enum kind kind)
{
	const uint64_t end = now_ms() + WAIT_S * 1000;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(e->cq, 1, &wc))) {
		need(now_ms() < end, "%s: no completion in %d seconds", kind_names[kind], WAIT_S);
		usleep(100); /* both ends share few processors with what they wait for */
	}
	need(n == 1, "%s: the completion queue fails", kind_names[kind]);
	need(!wc.status, "%s %u: %s, vendor %x", kind_names[kind], (uint32_t)wc.wr_id, ibv_wc_status_str(wc.status),
	     wc.vendor_err);
	return wc;
}

/* ---- the end that acts ---- */

static enum ibv_wr_opcode opcode_of(const struct course *c, uint32_t op)
{
	static const enum ibv_wr_opcode opcodes[] = { [WRITE] = IBV_WR_RDMA_WRITE,
						      [IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
						      [SEND] = IBV_WR_SEND,
						      [READ] = IBV_WR_RDMA_READ };

	if (c->kind == SEND && op % 2)
		return IBV_WR_SEND_WITH_IMM;
	if (c->kind == ATOMIC)
		return op % 2 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
	return opcodes[c->kind];
}

/* What it adds; or what it compares with, every other time something else than is there, and what it puts there. */
static uint64_t operand(const struct course *c, uint32_t op, uint64_t before)
{
	return op % 4 == 1 ? before : draw(c, op, 3);
}

static uint64_t after(const struct course *c, uint32_t op, uint64_t before)
{
	if (op % 2 == 0)
		return before + operand(c, op, before);
	return before == operand(c, op, before) ? draw(c, op, 4) : before;
}

static void set_up(struct course *c, uint32_t op, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	const struct end *e = c->e;
	uint8_t *own = slot(c, op, false) + offset_of(c, op);
	const uint64_t there = e->other.memory + (uint64_t)(slot(c, op, true) - e->memory) + offset_of(c, op);
	uint64_t *word = &c->words[op % ROUND];

	*sge = (struct ibv_sge){ .addr = (uintptr_t)own, .length = size_of(c, op), .lkey = e->mr->lkey };
	/*
	 * Not by sq_sig_all: such queue pairs have small answers put into their CQEs (Linux mlx5 qp.c), where old
	 * values are big-endian (UCX rc_mlx5_iface.c) and libmlx5's qp.c copies them as they are.
	 */
	*wr = (struct ibv_send_wr){ .wr_id = op,
				    .sg_list = sge,
				    .num_sge = 1,
				    .opcode = opcode_of(c, op),
				    .send_flags = IBV_SEND_SIGNALED,
				    .imm_data = htobe32(op) };
	if (c->kind == ATOMIC) {
		wr->wr.atomic.remote_addr = there;
		wr->wr.atomic.rkey = e->other.rkey;
		wr->wr.atomic.compare_add = operand(c, op, *word);
		wr->wr.atomic.swap = draw(c, op, 4);
		return;
	}
	wr->wr.rdma.remote_addr = there;
	wr->wr.rdma.rkey = e->other.rkey;
	if (c->kind != READ)
		fill(c, op, own);
}

static void post(struct course *c, uint32_t from, uint32_t n)
{
	struct ibv_send_wr wr[CHAIN], *bad;
	struct ibv_sge sge[CHAIN];

	for (uint32_t i = 0; i < n; i++) {
		set_up(c, from + i, &wr[i], &sge[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	need(!ibv_post_send(c->e->qp, wr, &bad), "%s %u: cannot be posted", kind_names[c->kind], from);
}

static void check_result(struct course *c, uint32_t op)
{
	uint64_t *word = &c->words[op % ROUND], found;

	if (c->kind == READ)
		compare(c, op, false);
	if (c->kind != ATOMIC)
		return;
	memcpy(&found, slot(c, op, false), 8);
	need(found == *word, "atomic %u brought %016" PRIx64 ", not %016" PRIx64, op, found, *word);
	*word = after(c, op, *word);
}

static void act(struct course *c, uint32_t from, uint32_t n)
{
	const struct end *e = c->e;

	memset(slot(c, 0, false), UNTOUCHED, ROUND * (size_t)e->slot);
	for (uint32_t i = 0; i < n; i += CHAIN)
		post(c, from + i, n - i < CHAIN ? n - i : CHAIN);
	for (uint32_t i = 0; i < n; i++) {
		const struct ibv_wc wc = next_completion(e, c->kind);

		need(wc.wr_id == from + i, "%s: completion of %u instead of %u", kind_names[c->kind],
		     (uint32_t)wc.wr_id, from + i);
	}
	for (uint32_t i = 0; i < n; i++)
		check_result(c, from + i);
}

/* ---- the other ---- */

static bool takes_receives(enum kind kind)
{
	return kind == SEND || kind == IMM;
}

static void prepare(struct course *c, uint32_t from, uint32_t n)
{
	const struct end *e = c->e;

	if (c->kind != ATOMIC)
		memset(slot(c, 0, true), UNTOUCHED, ROUND * (size_t)e->slot);
	for (uint32_t op = from; op < from + n; op++) {
		struct ibv_sge sge = { .addr = (uintptr_t)(slot(c, op, true) + offset_of(c, op)),
				       .length = PACKETS * e->mtu,
				       .lkey = e->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = op, .sg_list = &sge, .num_sge = c->kind == SEND }, *bad;

		if (c->kind == READ)
			fill(c, op, slot(c, op, true) + offset_of(c, op));
		if (takes_receives(c->kind))
			need(!ibv_post_recv(e->qp, &wr, &bad), "receive %u: cannot be posted", op);
	}
}

static void check_receive(const struct course *c, uint32_t op)
{
	const struct ibv_wc wc = next_completion(c->e, c->kind);

	need(wc.wr_id == op && wc.byte_len == size_of(c, op), "receive %u: %u bytes for %u, not %u", op, wc.byte_len,
	     (uint32_t)wc.wr_id, size_of(c, op));
	if (c->kind == IMM || op % 2)
		need((wc.wc_flags & IBV_WC_WITH_IMM) && be32toh(wc.imm_data) == op, "receive %u: wrong immediate data",
		     op);
}

static void check_round(struct course *c, uint32_t from, uint32_t n)
{
	for (uint32_t op = from; op < from + n; op++) {
		uint64_t *word = &c->words[op % ROUND];

		if (takes_receives(c->kind))
			check_receive(c, op);
		if (c->kind != ATOMIC) {
			compare(c, op, true);
			continue;
		}
		*word = after(c, op, *word);
		need(!memcmp(slot(c, op, true), word, 8), "atomic %u left a wrong word", op);
	}
}

/* ---- rounds ---- */

static void run(struct end *e, enum kind kind, bool acts, uint32_t direction)
{
	struct course c = { .e = e, .kind = kind, .acts = acts, .salt = kind * 2 + direction };
	const uint64_t begin = now_ms();
	uint64_t bytes = 0;
	char go = 'x';

	if (kind == ATOMIC && !acts)
		memset(slot(&c, 0, true), 0, ROUND * (size_t)e->slot);
	for (uint32_t from = 0; from < e->operations; from += ROUND) {
		const uint32_t n = e->operations - from < ROUND ? e->operations - from : ROUND;

		if (acts) {
			hear(e, &go, 1);
			act(&c, from, n);
			tell(e, &go, 1);
		} else {
			prepare(&c, from, n);
			tell(e, &go, 1);
			hear(e, &go, 1);
			check_round(&c, from, n);
		}
		for (uint32_t op = from; op < from + n; op++)
			bytes += size_of(&c, op);
	}
	if (acts)
		printf("%s by the %s: %u operations, %" PRIu64 " bytes, %" PRIu64 " ms\n", kind_names[kind],
		       direction ? "server" : "client", e->operations, bytes, now_ms() - begin);
	fflush(stdout);
}

static int meet(const char *path, bool listens)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	need(fd >= 0 && strlen(path) < sizeof(at.sun_path), "no socket %s", path);
	memcpy(at.sun_path, path, strlen(path));
	if (listens) {
		unlink(path);
		need(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1), "%s", path);
		return accept(fd, NULL, NULL);
	}
	for (int i = 0; connect(fd, (struct sockaddr *)&at, sizeof(at)); i++) {
		need(i < WAIT_S * 10, "%s", path);
		usleep(100000);
	}
	return fd;
}

static enum kind find_kind(const char *name)
{
	unsigned kind = 0;

	while (kind < KINDS && strcmp(name, kind_names[kind]))
		kind++;
	need(kind < KINDS, "%s is no kind of operation", name);
	return (enum kind)kind;
}

int main(int argc, char **argv)
{
	struct end e = { 0 };
	bool client = argc > 6;
	unsigned char kind;

	need(argc > 5, "usage: wire_pair DEVICE GID-INDEX MTU OPERATIONS SOCKET [KIND...]");
	e.gid_index = atoi(argv[2]);
	e.mtu = (uint32_t)atoi(argv[3]);
	e.operations = (uint32_t)atoi(argv[4]);
	need(e.mtu >= 256 && e.mtu <= 4096 && !(e.mtu & (e.mtu - 1)), "MTU %u", e.mtu);
	e.slot = PACKETS * e.mtu + 128;
	open_end(&e, argv[1]);
	e.socket = meet(argv[5], !client);
	tell(&e, &e.own, sizeof(e.own));
	hear(&e, &e.other, sizeof(e.other));
	connect_end(&e);
	for (int i = 6; i < argc; i++) {
		kind = (unsigned char)find_kind(argv[i]);
		tell(&e, &kind, 1);
		run(&e, (enum kind)kind, true, 0);
		run(&e, (enum kind)kind, false, 1);
	}
	kind = KINDS;
	if (client)
		tell(&e, &kind, 1);
	while (!client) {
		hear(&e, &kind, 1);
		if (kind >= KINDS)
			break;
		run(&e, (enum kind)kind, false, 0);
		run(&e, (enum kind)kind, true, 1);
	}
	ibv_destroy_qp(e.qp);
	ibv_dereg_mr(e.mr);
	ibv_destroy_cq(e.cq);
	ibv_dealloc_pd(e.pd);
	ibv_close_device(e.context);
	return 0;
}
