/*
 * Raw packets by libibverbs alone, for test_exec.sh: two queue pairs of a process, flows that say which gets what, and
 * what is refused. The first thing that is not as on hardware ends it with exit code 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROOM 2048u
#define WQES 16u
#define NEED(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			printf("FAILED line %d: %s (%s)\n", __LINE__, #x, strerror(errno));                            \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

struct side {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static uint8_t mac[6];
static uint8_t memory[(2 * WQES + 1) * ROOM];
static struct ibv_mr *mr;

static void open_side(struct ibv_context *context, struct ibv_pd *pd, struct side *s, uint32_t first)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = WQES, .max_recv_wr = WQES, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	s->cq = ibv_create_cq(context, 4 * WQES, NULL, NULL, 0);
	NEED(s->cq);
	init.send_cq = init.recv_cq = s->cq;
	s->qp = ibv_create_qp(pd, &init);
	NEED(s->qp);
	NEED(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE));
	for (uint32_t i = 0; i < WQES; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + (uint64_t)(first + i) * ROOM, ROOM, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = first + i, .sg_list = &sge, .num_sge = 1 }, *bad;

		NEED(!ibv_post_recv(s->qp, &wr, &bad));
	}
}

/* An entry of the queue, or (`wait` false) whether there is one after the other side's has come. */
static int poll_one(struct side *s, struct ibv_wc *wc, int wait)
{
	time_t end = time(NULL) + 20;
	int n;

	do
		n = ibv_poll_cq(s->cq, 1, wc);
	while (!n && wait && time(NULL) < end);
	NEED(n >= 0 && (n || !wait));
	NEED(!n || wc->status == IBV_WC_SUCCESS);
	return n;
}

/* UDP to `port`, from `s`, which gets its completion. */
static void send_udp(struct side *s, uint16_t port)
{
	uint8_t *p = memory + (size_t)2 * WQES * ROOM;
	struct ibv_sge sge = { (uintptr_t)p, 100, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	memset(p, 0x5a, 100);
	memcpy(p, mac, 6);
	memcpy(p + 6, mac, 6);
	memcpy(p + 12, "\x08\x00\x45\x00\x00\x56\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02", 22);
	memcpy(p + 34, "\x10\x00\x00\x00\x00\x42\x00\x00", 8);
	p[36] = (uint8_t)(port >> 8);
	p[37] = (uint8_t)port;
	NEED(!ibv_post_send(s->qp, &wr, &bad));
	poll_one(s, &wc, 1);
	NEED(wc.opcode == IBV_WC_SEND);
}

/* Frames for our MAC and that UDP port (0: any). */
static struct ibv_flow *add_flow(struct side *s, uint16_t priority, uint16_t port)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_tcp_udp udp;
	} f = { .attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(f),
			  .priority = priority,
			  .num_of_specs = 2,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(f.eth) },
		.udp = { .type = IBV_FLOW_SPEC_UDP, .size = sizeof(f.udp) } };

	memcpy(f.eth.val.dst_mac, mac, 6);
	memset(f.eth.mask.dst_mac, 0xff, 6);
	f.udp.val.dst_port = htons(port);
	f.udp.mask.dst_port = port ? 0xffff : 0;
	return ibv_create_flow(s->qp, &f.attr);
}

static void receives(struct side *s, uint32_t id)
{
	struct ibv_wc wc;

	poll_one(s, &wc, 1);
	/* Where libmlx5 looks for the queue pair's number there is the flow's tag: 0. */
	NEED(wc.opcode == IBV_WC_RECV && wc.byte_len == 100 && wc.wr_id == id && !wc.qp_num);
	NEED(!memcmp(memory + (size_t)id * ROOM, memory + (size_t)2 * WQES * ROOM, 100));
}

/* ---- receive queues apart, and a hash over a table of them ---- */

#define QUEUES 4u
#define FRAMES 12u

struct spread {
	struct ibv_cq *cq[QUEUES];
	struct ibv_wq *wq[QUEUES];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t memory[QUEUES * FRAMES * 128];
};

static struct ibv_qp *make_hash(struct ibv_context *context, struct ibv_pd *pd, struct ibv_rwq_ind_table *table,
				uint64_t fields)
{
	static uint8_t key[40] = { 0x2c, 0xc6, 0x81, 0xd1, 0x5b, 0xdb, 0xf4, 0xf7, 0xfc, 0xa2, 0x83, 0x19, 0xdb, 0x1a };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = fields },
	};

	return ibv_create_qp_ex(context, &init);
}

static void open_queue(struct ibv_context *context, struct ibv_pd *pd, struct spread *s, uint32_t i)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = pd };
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };

	NEED(s->cq[i] = ibv_create_cq(context, 32, NULL, NULL, 0));
	init.cq = s->cq[i];
	NEED(s->wq[i] = ibv_create_wq(context, &init));
	NEED(!ibv_modify_wq(s->wq[i], &attr));
	for (uint32_t k = 0; k < FRAMES; k++) {
		struct ibv_sge sge = { (uintptr_t)s->memory + (uint64_t)(i * FRAMES + k) * 128, 128, s->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = k, .sg_list = &sge, .num_sge = 1 }, *bad;

		NEED(!ibv_post_wq_recv(s->wq[i], &wr, &bad));
	}
}

/* Frames of several flows reach the hash's queues, the same flow always the same one, and no other queue pair. */
static void test_hash(struct ibv_context *context, struct ibv_pd *pd, struct side *sender)
{
	static struct spread s;
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 2, .ind_tbl = s.wq };
	const uint64_t fields =
	    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
	struct side hash = { 0 };
	struct ibv_flow *flow;
	uint32_t got = 0, used = 0, of_queue[QUEUES] = { 0 };
	const time_t end = time(NULL) + 20;
	struct ibv_wc wc;

	NEED(s.mr = ibv_reg_mr(pd, s.memory, sizeof(s.memory), IBV_ACCESS_LOCAL_WRITE));
	for (uint32_t i = 0; i < QUEUES; i++)
		open_queue(context, pd, &s, i);
	NEED(s.table = ibv_create_rwq_ind_table(context, &init));
	NEED(ibv_destroy_wq(s.wq[0]) == EBUSY); /* the table has it */
	NEED(!make_hash(context, pd, s.table, fields | IBV_RX_HASH_SRC_PORT_TCP) && errno == EINVAL);
	NEED(!make_hash(context, pd, s.table, fields | IBV_RX_HASH_INNER) && errno == EOPNOTSUPP);
	NEED(hash.qp = make_hash(context, pd, s.table, fields));
	NEED(ibv_destroy_rwq_ind_table(s.table) == EBUSY);
	NEED(flow = add_flow(&hash, 0, 0));
	for (uint16_t k = 0; k < FRAMES; k++)
		send_udp(sender, (uint16_t)(5000 + k / 2)); /* each flow twice */
	/* What was sent may still be under way. */
	for (uint32_t i = 0; got < FRAMES; i = (i + 1) % QUEUES) {
		NEED(time(NULL) < end);
		while (ibv_poll_cq(s.cq[i], 1, &wc) == 1) {
			NEED(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV && wc.byte_len == 100);
			NEED(wc.wr_id == of_queue[i]);
			of_queue[i]++;
			got++;
		}
	}
	for (uint32_t i = 0; i < QUEUES; i++) {
		NEED(!(of_queue[i] & 1));
		used += of_queue[i] != 0;
	}
	NEED(got == FRAMES && used > 1);
	NEED(!ibv_destroy_flow(flow) && !ibv_destroy_qp(hash.qp) && !ibv_destroy_rwq_ind_table(s.table));
	for (uint32_t i = 0; i < QUEUES; i++)
		NEED(!ibv_destroy_wq(s.wq[i]) && !ibv_destroy_cq(s.cq[i]));
	NEED(!ibv_dereg_mr(s.mr));
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_flow_attr sniffer = { .type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(sniffer), .port = 1 };
	struct ibv_flow *all, *one;
	struct ibv_context *context;
	struct side a, b;
	struct ibv_wc wc;
	struct ibv_pd *pd;
	union ibv_gid gid;

	NEED(list && list[0]);
	context = ibv_open_device(list[0]);
	NEED(context);
	pd = ibv_alloc_pd(context);
	NEED(pd && !ibv_query_gid(context, 1, 0, &gid));
	memcpy(mac, gid.raw + 8, 3); /* the address that the link-local GID is made of */
	memcpy(mac + 3, gid.raw + 13, 3);
	mac[0] ^= 2;
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	NEED(mr);
	open_side(context, pd, &a, 0);
	open_side(context, pd, &b, WQES);

	send_udp(&a, 7); /* nobody wants it */
	all = add_flow(&a, 3, 0);
	one = add_flow(&b, 1, 4000);
	NEED(all && one);
	send_udp(&a, 4000);
	receives(&b, WQES);
	send_udp(&b, 4001);
	receives(&a, 0);
	NEED(!poll_one(&a, &wc, 0) && !poll_one(&b, &wc, 0));
	NEED(ibv_destroy_qp(b.qp) == EBUSY); /* a flow leads to it */
	NEED(!ibv_destroy_flow(one));
	send_udp(&b, 4000);
	receives(&a, 1);
	test_hash(context, pd, &b);
	NEED(!ibv_create_flow(a.qp, &sniffer) && errno == EOPNOTSUPP);
	NEED(!add_flow(&a, 16, 0) && errno == EINVAL);
	NEED(!ibv_destroy_flow(all) && !ibv_destroy_qp(a.qp) && !ibv_destroy_qp(b.qp));
	NEED(!ibv_destroy_cq(a.cq) && !ibv_destroy_cq(b.cq) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	NEED(!ibv_close_device(context));
	ibv_free_device_list(list);
	printf("ok raw\n");
	return 0;
}
