/*
 * Matchers and flows by mlx5dv, table 0 of mlx5dv_dr, and counters, queues and hashes by DEVX, for test_exec.sh. The
 * first thing that is not as on hardware ends the program with exit code 1.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WQES 16u
#define LEN 100u
#define NEED(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			printf("FAILED line %d: %s (%s)\n", __LINE__, #x, strerror(errno));                            \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* What a frame is matched by: 8 bytes, of which the first six are the source address. */
struct match {
	size_t size;
	uint64_t words[1];
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t memory[(WQES + 1) * LEN];
static uint8_t mac[6];

/* ---- frames ---- */

static void open_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = WQES, .max_recv_wr = WQES, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	NEED(pd = ibv_alloc_pd(context));
	NEED(mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	NEED(cq = ibv_create_cq(context, 4 * WQES, NULL, NULL, 0));
	init.send_cq = init.recv_cq = cq;
	NEED(qp = ibv_create_qp(pd, &init));
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

/* An entry of `of`, or (`wait` false) that there is none. */
static void poll_one(struct ibv_cq *of, enum ibv_wc_opcode opcode, int wait)
{
	const time_t end = time(NULL) + 20;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	int n;

	do
		n = ibv_poll_cq(of, 1, &wc);
	while (!n && wait && time(NULL) < end);
	NEED(n == wait && wc.status == IBV_WC_SUCCESS && (!n || wc.opcode == opcode));
}

static void send_frame(uint8_t source)
{
	uint8_t *p = memory + (size_t)WQES * LEN;
	struct ibv_sge sge = { (uintptr_t)p, LEN, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_send_wr *bad;

	memset(p, 0x5a, LEN);
	memcpy(p, mac, 6);
	memset(p + 6, source, 6);
	memcpy(p + 12, "\x88\xb5", 2);
	NEED(!ibv_post_send(qp, &wr, &bad));
	poll_one(cq, IBV_WC_SEND, 1);
}

static void offer(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, LEN, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(!ibv_post_recv(qp, &wr, &bad));
}

/* ---- DEVX ---- */

static void put(uint8_t *block, uint32_t at, uint32_t value)
{
	value = htobe32(value);
	memcpy(block + at, &value, sizeof(value));
}

static uint64_t get64(const uint8_t *block, uint32_t at)
{
	uint64_t value;

	memcpy(&value, block + at, sizeof(value));
	return be64toh(value);
}

static struct mlx5dv_devx_obj *make(uint32_t opcode, uint8_t *in, size_t len, uint32_t *number)
{
	uint8_t out[16] = { 0 };
	struct mlx5dv_devx_obj *o;

	put(in, 0, opcode << 16);
	o = mlx5dv_devx_obj_create(context, in, len, out, sizeof(out));
	NEED(o);
	*number = (uint32_t)get64(out, 4) & 0xffffff;
	return o;
}

/* How many frames a counter has seen, of LEN bytes each. */
static uint64_t counted(struct mlx5dv_devx_obj *counter, uint32_t number)
{
	uint8_t in[0x20] = { 0 }, out[0x20] = { 0 };

	put(in, 0, 0x93b << 16); /* QUERY_FLOW_COUNTER */
	put(in, 0x1c, number);
	NEED(!mlx5dv_devx_obj_query(counter, in, sizeof(in), out, sizeof(out)));
	NEED(get64(out, 0x18) == LEN * get64(out, 0x10));
	return get64(out, 0x10);
}

/* ---- flows ---- */

static struct mlx5dv_flow_matcher *by_source(uint16_t priority)
{
	struct match mask = { .size = 8, .words = { htobe64(0xffffffffffff0000) } };
	struct mlx5dv_flow_matcher_attr attr = { .type = IBV_FLOW_ATTR_NORMAL,
						 .priority = priority,
						 .match_criteria_enable = 1,
						 .match_mask = (struct mlx5dv_flow_match_parameters *)&mask };

	return mlx5dv_create_flow_matcher(context, &attr);
}

static struct ibv_flow *add(struct mlx5dv_flow_matcher *m, uint8_t source, size_t n,
			    struct mlx5dv_flow_action_attr *actions)
{
	struct match value = { .size = 8 };

	memset(value.words, source, 6);
	return mlx5dv_create_flow(m, (struct mlx5dv_flow_match_parameters *)&value, n, actions);
}

static void test_matchers(void)
{
	struct mlx5dv_flow_action_attr to_qp = { .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP, .qp = qp };
	struct mlx5dv_flow_action_attr drop[2] = { { .type = MLX5DV_FLOW_ACTION_DROP },
						   { .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX } };
	struct mlx5dv_flow_action_attr tag = { .type = MLX5DV_FLOW_ACTION_TAG, .tag_value = 1 };
	struct mlx5dv_flow_matcher *first, *second;
	struct ibv_flow *wanted, *dropped;
	uint8_t in[16] = { 0 };
	uint32_t number;

	NEED(first = by_source(0));
	NEED(second = by_source(5));
	NEED(!by_source(16) && errno == EINVAL);
	drop[1].obj = make(0x939, in, sizeof(in), &number); /* ALLOC_FLOW_COUNTER */
	NEED(!add(first, 2, 1, &tag) && errno == EINVAL);   /* and where to? */
	NEED(dropped = add(first, 2, 2, drop));
	NEED(wanted = add(second, 4, 1, &to_qp));
	NEED(mlx5dv_destroy_flow_matcher(first) == EBUSY && mlx5dv_devx_obj_destroy(drop[1].obj) == EBUSY);
	offer();
	offer();
	send_frame(2);
	send_frame(2);
	send_frame(4);
	poll_one(cq, IBV_WC_RECV, 1);
	send_frame(6); /* nobody's */
	send_frame(4);
	poll_one(cq, IBV_WC_RECV, 1);
	poll_one(cq, IBV_WC_RECV, 0);
	NEED(counted(drop[1].obj, number) == 2);
	NEED(!ibv_destroy_flow(dropped) && !ibv_destroy_flow(wanted));
	NEED(!mlx5dv_destroy_flow_matcher(first) && !mlx5dv_destroy_flow_matcher(second));
	NEED(!mlx5dv_devx_obj_destroy(drop[1].obj));
}

/* A table of DEVX's own behind table 0, with one entry that drops and counts. */
static void test_tables(void)
{
	struct mlx5dv_flow_action_attr go = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX };
	const time_t end = time(NULL) + 20;
	uint32_t table, group, counter, index;
	struct mlx5dv_devx_obj *made[4];
	struct mlx5dv_flow_matcher *m;
	struct ibv_flow *flow;
	uint8_t in[0x400];

	memset(in, 0, sizeof(in));
	put(in, 0x18, 40u << 16); /* CREATE_FLOW_TABLE of level 40 with one entry */
	made[0] = make(0x930, in, 0x40, &table);
	memset(in, 0, sizeof(in));
	put(in, 0x14, table); /* CREATE_FLOW_GROUP: no bit of the mask counts */
	made[1] = make(0x933, in, sizeof(in), &group);
	memset(in, 0, sizeof(in));
	made[2] = make(0x939, in, 16, &counter);
	put(in, 0x14, table); /* SET_FLOW_TABLE_ENTRY 0: drop and count */
	put(in, 0x44, group);
	put(in, 0x4c, 2 | 8);
	put(in, 0x54, 1);
	put(in, 0x340, counter);
	made[3] = make(0x936, in, 0x348, &index);
	NEED(m = by_source(0));
	go.obj = made[0];
	NEED(flow = add(m, 10, 1, &go));
	send_frame(10);
	send_frame(12);
	while (!counted(made[2], counter)) /* what was sent may still be under way */
		NEED(time(NULL) < end);
	NEED(counted(made[2], counter) == 1);
	NEED(!ibv_destroy_flow(flow) && !mlx5dv_destroy_flow_matcher(m));
	NEED(mlx5dv_devx_obj_destroy(made[1]) && mlx5dv_devx_obj_destroy(made[2])); /* the entry has them */
	NEED(!mlx5dv_devx_obj_destroy(made[3]) && !mlx5dv_devx_obj_destroy(made[1]));
	NEED(!mlx5dv_devx_obj_destroy(made[2]) && !mlx5dv_devx_obj_destroy(made[0]));
}

/* DPDK asks for the domain of the queue pair's own TIS. */
static void test_domain(void)
{
	struct mlx5dv_qp parts = { .comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &parts } };
	uint8_t in[0x10] = { 0 }, out[0xb0] = { 0 };

	NEED(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) && parts.tisn && parts.sqn);
	put(in, 0, 0x915 << 16); /* QUERY_TIS */
	put(in, 8, parts.tisn);
	NEED(!mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)));
	NEED(get64(out, 0x30) & 0xffffff);
	put(in, 8, parts.tisn + 1);
	NEED(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)) == EINVAL);
}

/* Programs try what there is by making matchers: what the tables do not have is refused there. */
static void test_refusals(void)
{
	struct match none = { .size = 8 };
	struct mlx5dv_flow_matcher_attr sent = { .type = IBV_FLOW_ATTR_NORMAL,
						 .comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
						 .ft_type = MLX5DV_FLOW_TABLE_TYPE_NIC_TX,
						 .match_mask = (struct mlx5dv_flow_match_parameters *)&none };
	struct mlx5dv_flow_matcher_attr misc = { .type = IBV_FLOW_ATTR_NORMAL,
						 .match_criteria_enable = 2,
						 .match_mask = (struct mlx5dv_flow_match_parameters *)&none };
	struct mlx5dv_dr_domain *domain;

	NEED(!mlx5dv_create_flow_matcher(context, &sent) && errno == EOPNOTSUPP);
	NEED(!mlx5dv_create_flow_matcher(context, &misc) && errno == EOPNOTSUPP);
	NEED(domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX));
	NEED(!mlx5dv_dr_table_create(domain, 1) && errno == EOPNOTSUPP);
	NEED(!mlx5dv_dr_domain_destroy(domain));
}

/* Table 0 of a domain, whose rule leads to a hash that DEVX made over a queue that the verbs made. */
static void test_rules(void)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd };
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct match value = { .size = 8, .words = { htobe64(0x0808080808080000) } },
		     mask = { .size = 8, .words = { htobe64(0xffffffffffff0000) } };
	struct ibv_sge sge = { (uintptr_t)memory, LEN, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	uint8_t in[0x110] = { 0 }, query[0x10] = { 0 }, answer[0x110] = { 0 };
	struct mlx5dv_dr_action *actions[1];
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_table *table;
	struct mlx5dv_devx_obj *tir;
	struct mlx5dv_dr_rule *rule;
	struct ibv_wq *wq;
	uint32_t number;

	NEED(init.cq = ibv_create_cq(context, 16, NULL, NULL, 0));
	NEED(wq = ibv_create_wq(context, &init));
	NEED(!ibv_modify_wq(wq, &ready) && !ibv_post_wq_recv(wq, &wr, &bad));
	put(query, 0, 0x90b << 16); /* QUERY_RQ, of the verbs' queue */
	put(query, 8, wq->wq_num);
	NEED(!mlx5dv_devx_wq_query(wq, query, sizeof(query), answer, sizeof(answer)));
	put(in, 0x20 + 0x1c, wq->wq_num);
	tir = make(0x900, in, sizeof(in), &number); /* CREATE_TIR, of no transport domain */
	NEED(domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX));
	NEED(table = mlx5dv_dr_table_create(domain, 0));
	NEED(matcher = mlx5dv_dr_matcher_create(table, 3, 1, (struct mlx5dv_flow_match_parameters *)&mask));
	NEED(actions[0] = mlx5dv_dr_action_create_dest_devx_tir(tir));
	NEED(rule = mlx5dv_dr_rule_create(matcher, (struct mlx5dv_flow_match_parameters *)&value, 1, actions));
	NEED(mlx5dv_devx_obj_destroy(tir) == EBUSY);
	send_frame(8);
	poll_one(init.cq, IBV_WC_RECV, 1);
	NEED(!mlx5dv_dr_rule_destroy(rule) && !mlx5dv_dr_action_destroy(actions[0]));
	NEED(!mlx5dv_dr_matcher_destroy(matcher) && !mlx5dv_dr_table_destroy(table));
	NEED(!mlx5dv_dr_domain_destroy(domain) && !mlx5dv_devx_obj_destroy(tir));
	NEED(!ibv_destroy_wq(wq) && !ibv_destroy_cq(init.cq));
}

int main(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list && list[0] && (context = mlx5dv_open_device(list[0], &attr)));
	memset(mac, 0x01, sizeof(mac)); /* a group: the sender itself receives, too */
	open_queues();
	test_matchers();
	test_tables();
	test_domain();
	test_refusals();
	test_rules();
	NEED(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	NEED(!ibv_close_device(context));
	ibv_free_device_list(list);
	printf("ok steering\n");
	return 0;
}
