/* Replays of captures made for one question each; the samples are replayed by tests/tools/test_replay.sh. */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "traces/life/explain.h"
#include "traces/replay/mlx5.h"

#define QPN 0x101001u
#define PEER 0x100001u
#define KEY 0x1000u
#define MEMORY 0x560000000000ull
#define REMOTE 0x570000000000ull
#define WRAP_ENTRIES 4200u /* of 16 blocks: past 2^16 */

/* A capture under construction. */
struct script {
	char text[65536];
	size_t used;
	uint32_t cqes; /* of CQ 1 */
};

static void add(struct script *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	s->used += (size_t)vsnprintf(s->text + s->used, sizeof(s->text) - s->used, fmt, ap);
	va_end(ap);
	if (s->used >= sizeof(s->text))
		ck_abort_msg("the script is too long");
}

static void add_key(struct script *s, uint64_t t, uint64_t addr, uint64_t length, uint32_t access)
{
	add(s, "{\"t_ns\":%llu,\"ev\":\"mkey\",\"key\":\"0x%x\",\"addr\":\"0x%llx\",\"length\":%llu,\"access\":%u}\n",
	    (unsigned long long)t, KEY, (unsigned long long)addr, (unsigned long long)length, access);
}

static void begin_with(struct script *s, uint32_t rq_wqes)
{
	*s = (struct script){ 0 };
	add_key(s, 0, MEMORY, 65536, 15);
	add(s,
	    "{\"t_ns\":0,\"ev\":\"qp\",\"qpn\":\"0x%x\",\"dest_qpn\":\"0x%x\",\"sq_wqebbs\":16,\"rq_wqes\":%u,"
	    "\"rq_stride_log2\":4,\"user_index\":0,\"send_cqn\":\"0x1\",\"send_cqes\":16,\"recv_cqn\":\"0x1\","
	    "\"recv_cqes\":16,\"state\":3}\n",
	    QPN, PEER, rq_wqes);
}

static void begin(struct script *s)
{
	begin_with(s, 8);
}

static void add_bytes(struct script *s, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		add(s, "%02x", ((const uint8_t *)bytes)[i]);
	add(s, "\"}\n");
}

struct entry {
	struct bf_mlx5_ctrl ctrl;
	struct bf_mlx5_data seg[3];
};

static struct bf_mlx5_data data(uint32_t len, uint64_t va)
{
	return (struct bf_mlx5_data){ bf_to_be32(len), bf_to_be32(KEY), bf_to_be64(va) };
}

static void add_entry(struct script *s, uint64_t t, uint32_t index, uint8_t opcode, uint64_t remote, uint32_t len,
		      uint64_t va)
{
	struct entry e = { 0 };
	struct bf_mlx5_raddr raddr = { bf_to_be64(remote), bf_to_be32(0x2200), { { 0 } } };
	unsigned n = 0;

	if (remote)
		memcpy(&e.seg[n++], &raddr, sizeof(raddr));
	e.seg[n++] = data(len, va);
	e.ctrl.opmod_idx_opcode = bf_to_be32((index & 0xffff) << 8 | opcode);
	e.ctrl.qpn_ds = bf_to_be32(QPN << 8 | (n + 1));
	e.ctrl.fm_ce_se = BF_MLX5_CTRL_CQ_UPDATE;
	add(s, "{\"t_ns\":%llu,\"ev\":\"sq_doorbell\",\"qpn\":\"0x%x\",\"dbrec\":%u}\n", (unsigned long long)t, QPN,
	    (index + 1) & 0xffff);
	add(s, "{\"t_ns\":%llu,\"ev\":\"wqe\",\"qpn\":\"0x%x\",\"index\":%u,\"bytes\":\"", (unsigned long long)t, QPN,
	    index);
	add_bytes(s, &e, sizeof(e));
}

static void add_cqe(struct script *s, uint64_t t, uint8_t opcode, uint8_t sop, uint16_t counter, uint32_t bytes,
		    uint8_t syndrome, uint8_t vendor)
{
	struct bf_mlx5_cqe c = { 0 };

	c.byte_cnt = bf_to_be32(bytes);
	c.imm_inval_pkey = bf_to_be32(opcode == BF_MLX5_CQE_RESP_WRITE_IMM ? 0xabcd : 0);
	c.timestamp = bf_to_be64((uint64_t)vendor << 8 | syndrome);
	c.sop_drop_qpn = bf_to_be32((uint32_t)sop << 24 | QPN);
	c.wqe_counter = bf_to_be16(counter);
	c.op_own = (uint8_t)(opcode << 4);
	add(s, "{\"t_ns\":%llu,\"ev\":\"cqe\",\"cqn\":\"0x1\",\"index\":%u,\"bytes\":\"", (unsigned long long)t,
	    s->cqes++);
	add_bytes(s, &c, sizeof(c));
}

static void add_recv(struct script *s, uint64_t t, uint32_t index, uint32_t len, uint64_t va)
{
	struct bf_mlx5_data d = data(len, va);

	add(s, "{\"t_ns\":%llu,\"ev\":\"recv_wqe\",\"qpn\":\"0x%x\",\"index\":%u,\"bytes\":\"", (unsigned long long)t,
	    QPN, index);
	add_bytes(s, &d, sizeof(d));
}

static int run(const struct script *s, const struct bf_replay_opts *opts, struct bf_replay_result **out,
	       struct bf_error *err)
{
	struct bf_capture *c;
	int rc;

	*err = (struct bf_error){ 0 };
	ck_assert_msg(bf_capture_parse(s->text, s->used, &c, err) == 0, "%s", err->text);
	rc = bf_replay_run(c, opts, out, err);
	bf_capture_free(c);
	return rc;
}

static void agrees(const struct script *s)
{
	const struct bf_replay_opts opts = { .seed = 1 };
	struct bf_replay_result *r;
	struct bf_error err;

	ck_assert_msg(run(s, &opts, &r, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(r->captured, s->cqes);
	ck_assert_uint_eq(r->simulated, s->cqes);
	ck_assert_msg(r->ndivergences == 0, "%s: %s", bf_replay_verdict_name(r->divergences[0].verdict),
		      r->divergences[0].text);
	bf_replay_free(r);
}

/* An entry of 16 blocks, all of them inline data but for the first two segments. */
static void add_long_entry(struct script *s, uint64_t t, uint32_t index)
{
	uint8_t e[1024] = { 0 };
	struct bf_mlx5_ctrl ctrl = {
		.opmod_idx_opcode = bf_to_be32((index & 0xffff) << 8 | BF_MLX5_OP_RDMA_WRITE),
		.qpn_ds = bf_to_be32(QPN << 8 | 63),
		.fm_ce_se = BF_MLX5_CTRL_CQ_UPDATE,
	};
	struct bf_mlx5_raddr raddr = { bf_to_be64(REMOTE), bf_to_be32(0x2200), { { 0 } } };

	memcpy(e, &ctrl, sizeof(ctrl));
	memcpy(e + 16, &raddr, sizeof(raddr));
	bf_put_be32(e + 32, BF_MLX5_INLINE_FLAG | 970);
	add(s, "{\"t_ns\":%llu,\"ev\":\"sq_doorbell\",\"qpn\":\"0x%x\",\"dbrec\":%u}\n", (unsigned long long)t, QPN,
	    (index + 16) & 0xffff);
	add(s, "{\"t_ns\":%llu,\"ev\":\"wqe\",\"qpn\":\"0x%x\",\"index\":%u,\"bytes\":\"", (unsigned long long)t, QPN,
	    index);
	add_bytes(s, e, sizeof(e));
}

/* Counters go round: more than 2^16 blocks through a ring of 16, in entries that fill the ring. */
START_TEST(test_counters_wrap)
{
	const struct bf_replay_opts opts = { .seed = 1 };
	struct script *s = malloc(sizeof(*s));
	struct bf_capture *c;
	struct bf_error err = { 0 };
	struct bf_replay_result *r;
	char *text = malloc(WRAP_ENTRIES * 4096u);
	size_t size;

	begin(s);
	size = s->used;
	memcpy(text, s->text, size);
	for (uint32_t i = 0; i < WRAP_ENTRIES; i++) {
		s->used = 0;
		s->cqes = i;
		add_long_entry(s, i, i * 16);
		add_cqe(s, i, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, (uint16_t)(i * 16), 970, 0, 0);
		memcpy(text + size, s->text, s->used);
		size += s->used;
	}
	ck_assert_int_eq(bf_capture_parse(text, size, &c, &err), 0);
	ck_assert_msg(bf_replay_run(c, &opts, &r, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(r->ndivergences, 0);
	ck_assert_uint_eq(r->simulated, WRAP_ENTRIES);
	bf_replay_free(r);
	bf_capture_free(c);
	free(text);
	free(s);
}
END_TEST

/* The peer sends what captured receive completions say: SEND of some and of no bytes, WRITE with immediate. */
START_TEST(test_peer_sends)
{
	struct script s;

	begin(&s);
	add_recv(&s, 10, 0, 4096, MEMORY);
	add_cqe(&s, 20, BF_MLX5_CQE_RESP_SEND, 0, 0, 3000, 0, 0);
	add_recv(&s, 30, 1, 4096, MEMORY);
	add_cqe(&s, 40, BF_MLX5_CQE_RESP_SEND, 0, 1, 0, 0, 0);
	add_cqe(&s, 50, BF_MLX5_CQE_RESP_WRITE_IMM, 0, 2, 5000, 0, 0);
	for (uint16_t i = 3; i < 20; i++) { /* round the ring of 8 */
		add_recv(&s, 60u + i, i, 64, MEMORY + 64 * i);
		add_cqe(&s, 60u + i, BF_MLX5_CQE_RESP_SEND, 0, i, 64, 0, 0);
	}
	agrees(&s);
}
END_TEST

/* A capture that begins at entry 817 and receive 300: what came before is unknown, not wrong. */
START_TEST(test_in_the_middle)
{
	struct script s;

	begin(&s);
	for (uint16_t i = 0; i < 40; i++) {
		add_entry(&s, 10 + i * 100u, 817u + i, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
		add_cqe(&s, 50 + i * 100u, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, (uint16_t)(817u + i), 64, 0, 0);
		add_recv(&s, 60 + i * 100u, 300u + i, 64, MEMORY);
		add_cqe(&s, 70 + i * 100u, BF_MLX5_CQE_RESP_SEND, 0, (uint16_t)(300u + i), 64, 0, 0);
	}
	agrees(&s);
}
END_TEST

/* A completion of what was posted before the capture began is not compared. */
START_TEST(test_earlier_completion)
{
	const struct bf_replay_opts opts = { .seed = 1 };
	struct bf_replay_result *r;
	struct bf_error err;
	struct script s;

	begin(&s);
	add_cqe(&s, 5, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 99, 64, 0, 0);
	add_entry(&s, 10, 100, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
	add_cqe(&s, 50, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 100, 64, 0, 0);
	ck_assert_msg(run(&s, &opts, &r, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(r->captured, 1);
	ck_assert_uint_eq(r->ndivergences, 0);
	bf_replay_free(r);
}
END_TEST

/*
 * Sends and receives in one completion queue: the peer's message may come in front of what an entry of ours completes,
 * or behind it. A receive that the capture lacks is told all the same.
 */
START_TEST(test_no_order_with_a_made_up_peer)
{
	const struct bf_replay_opts opts = { .seed = 1 };
	struct bf_replay_result *r;
	struct bf_error err;
	struct script s;

	for (int first = 0; first < 2; first++) {
		begin(&s);
		add_recv(&s, 5, 0, 64, MEMORY);
		add_entry(&s, 10, 0, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
		if (first)
			add_cqe(&s, 11, BF_MLX5_CQE_RESP_SEND, 0, 0, 64, 0, 0);
		add_cqe(&s, 50, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 0, 64, 0, 0);
		if (!first)
			add_cqe(&s, 51, BF_MLX5_CQE_RESP_SEND, 0, 0, 64, 0, 0);
		agrees(&s);
	}
	begin(&s);
	add_entry(&s, 10, 0, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
	add_entry(&s, 20, 1, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
	add_cqe(&s, 50, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 1, 64, 0, 0);
	add_cqe(&s, 51, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 0, 64, 0, 0);
	ck_assert_msg(run(&s, &opts, &r, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(r->ndivergences, 1);
	ck_assert_int_eq(r->divergences[0].verdict, BF_REPLAY_SWAPPED);
	bf_replay_free(r);
}
END_TEST

/* No receive entry at the peer, when the capture says that retries ran out; one, when it says nothing of the kind. */
START_TEST(test_receiver_not_ready)
{
	struct script s;

	begin(&s);
	add_entry(&s, 10, 0, BF_MLX5_OP_SEND, 0, 64, MEMORY);
	add_cqe(&s, 20, BF_MLX5_CQE_REQ, BF_MLX5_OP_SEND, 0, 64, 0, 0);
	add_entry(&s, 30, 1, BF_MLX5_OP_SEND, 0, 64, MEMORY);
	add_cqe(&s, 40, BF_MLX5_CQE_REQ_ERR, BF_MLX5_OP_SEND, 1, 0, BF_MLX5_SYND_RNR_EXC, 0x87);
	agrees(&s);
}
END_TEST

static void add_srq(struct script *s, uint32_t wqes)
{
	add(s, "{\"t_ns\":1,\"ev\":\"srq\",\"srqn\":\"0x77\",\"qpn\":\"0x%x\",\"wqes\":%u,\"stride_log2\":5}\n", QPN,
	    wqes);
}

static void add_srq_entry(struct script *s, uint64_t t, uint32_t index, uint16_t next, uint64_t va)
{
	struct {
		struct bf_mlx5_srq_next next;
		struct bf_mlx5_data data;
	} w = { .next.next_wqe_index = bf_to_be16(next), .data = data(64, va) };

	add(s, "{\"t_ns\":%llu,\"ev\":\"srq_wqe\",\"srqn\":\"0x77\",\"index\":%u,\"bytes\":\"", (unsigned long long)t,
	    index);
	add_bytes(s, &w, sizeof(w));
}

/* Entries of a shared receive queue are taken in the order of their list. */
START_TEST(test_shared_receives)
{
	static const uint16_t order[] = { 0, 3, 1, 2, 3, 0, 2, 1 };
	const struct bf_replay_opts opts = { .seed = 1 };
	struct bf_replay_result *r;
	struct bf_error err;
	struct script s;

	begin_with(&s, 0);
	add_srq(&s, 4);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(order); i++) {
		add_srq_entry(&s, 10 + i, order[i], order[(i + 1) % BF_ARRAY_LEN(order)], MEMORY + 64 * i);
		if (i % 2) {
			add_cqe(&s, 10 + i, BF_MLX5_CQE_RESP_SEND, 0, order[i - 1], 64, 0, 0);
			add_cqe(&s, 10 + i, BF_MLX5_CQE_RESP_SEND, 0, order[i], 60, 0, 0);
		}
	}
	agrees(&s);

	begin_with(&s, 0);
	add_srq(&s, 4);
	add_srq_entry(&s, 10, 4, 1, MEMORY);
	ck_assert_int_eq(run(&s, &opts, &r, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "does not fit into the ring of SRQ 0x77"));

	begin(&s);
	add_srq(&s, 4);
	ck_assert_int_eq(run(&s, &opts, &r, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "has receives of its own"));

	begin_with(&s, 0);
	add_srq(&s, 4);
	add_srq(&s, 8);
	ck_assert_int_eq(run(&s, &opts, &r, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "is another one than before"));
}
END_TEST

/* Listed keys are checked: a payload outside of its key fails locally, a target that the peer refused fails there. */
START_TEST(test_keys)
{
	struct script s;

	begin(&s);
	add_entry(&s, 10, 0, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY + 65536 - 63);
	add_cqe(&s, 20, BF_MLX5_CQE_REQ_ERR, BF_MLX5_OP_RDMA_WRITE, 0, 0, BF_MLX5_SYND_LOCAL_PROT, 0x53);
	agrees(&s);

	begin(&s);
	add_entry(&s, 10, 0, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
	add_cqe(&s, 20, BF_MLX5_CQE_REQ_ERR, BF_MLX5_OP_RDMA_WRITE, 0, 0, BF_MLX5_SYND_REM_ACCESS, 0x88);
	/* The device that failed fetched no more: two flushed entries have no line of their own. */
	add_cqe(&s, 30, BF_MLX5_CQE_REQ_ERR, BF_MLX5_OP_SEND, 1, 0, BF_MLX5_SYND_WR_FLUSH, 0xf9);
	add_cqe(&s, 40, BF_MLX5_CQE_REQ_ERR, BF_MLX5_OP_RDMA_READ, 2, 0, BF_MLX5_SYND_WR_FLUSH, 0xf9);
	agrees(&s);
}
END_TEST

/* A key that is listed again with another range means that from there on. */
START_TEST(test_key_moves)
{
	struct script s;

	begin(&s);
	add_entry(&s, 10, 0, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
	add_cqe(&s, 20, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 0, 64, 0, 0);
	add_key(&s, 30, MEMORY + (1 << 20), 4096, 1);
	add_entry(&s, 40, 1, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY + (1 << 20));
	add_cqe(&s, 50, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 1, 64, 0, 0);
	add_entry(&s, 60, 2, BF_MLX5_OP_RDMA_WRITE, REMOTE, 64, MEMORY);
	add_cqe(&s, 70, BF_MLX5_CQE_REQ_ERR, BF_MLX5_OP_RDMA_WRITE, 2, 0, BF_MLX5_SYND_LOCAL_PROT, 0x53);
	agrees(&s);
}
END_TEST

static void refused(const struct script *s, int rc, const char *says)
{
	const struct bf_replay_opts opts = { .seed = 1 };
	struct bf_replay_result *r;
	struct bf_error err;

	ck_assert_int_eq(run(s, &opts, &r, &err), rc);
	ck_assert_ptr_null(r);
	ck_assert_msg(strstr(err.text, says), "'%s' does not say '%s'", err.text, says);
}

START_TEST(test_refused)
{
	struct script s;

	begin(&s);
	add_key(&s, 5, 0, 1ull << 40, 1);
	for (uint32_t i = 0; i < 2; i++)
		add_entry(&s, 10, i, BF_MLX5_OP_RDMA_WRITE, REMOTE + i * (1ull << 31), 0x7fffffff, MEMORY);
	refused(&s, -E2BIG, "more than 1024 MiB");

	begin(&s);
	add_key(&s, 5, UINT64_MAX - 10, 100, 1);
	refused(&s, -EBADMSG, "line 3: key 0x1000 covers no valid range");

	s = (struct script){ 0 };
	add_key(&s, 0, MEMORY, 4096, 1);
	refused(&s, -EBADMSG, "lists no queue pair");
}
END_TEST

/* The same seed gives the same records; the story is in them. */
START_TEST(test_records)
{
	struct bf_replay_opts opts = { .seed = 7, .record_mask = BF_CLASS_ALL };
	struct bf_replay_result *a, *b;
	struct bf_error err;
	struct bf_explain *life;
	struct script s;
	size_t n;

	begin(&s);
	add_entry(&s, 10, 0, BF_MLX5_OP_RDMA_WRITE, REMOTE, 3000, MEMORY);
	add_cqe(&s, 20, BF_MLX5_CQE_REQ, BF_MLX5_OP_RDMA_WRITE, 0, 64, 0, 0);
	ck_assert_int_eq(run(&s, &opts, &a, &err), 0);
	ck_assert_int_eq(bf_explain_create("nic0", QPN, 0, &life), 0);
	opts.sink = bf_explain_sink(life);
	ck_assert_int_eq(run(&s, &opts, &b, &err), 0);
	ck_assert_uint_eq(a->hash, b->hash);
	ck_assert_uint_eq(a->records, b->records);
	ck_assert_uint_gt(a->records, 20);

	/* Written, rung, fetched, three packets of at most 1024 bytes, acknowledged, completed, as captured. */
	static const char *const story[] = {
		"writes entry 0",
		"sets the doorbell record to 1",
		"the doorbell arrives",
		"reads the doorbell record: producer 1",
		"has the entry",
		"RDMA_WRITE, entry 0",
		"starts it as PSN 0 to 2",
		"WRITE_FIRST PSN 0",
		"WRITE_MIDDLE PSN 1",
		"WRITE_LAST PSN 2",
		"rkey 0x2200 is good, 3000 bytes",
		"ACK PSN 2",
		"retires the entry",
		"writes CQE 0",
		"has completion 0",
	};
	const struct bf_explain_step *step = bf_explain_steps(life, &n);
	size_t at = 0;
	for (size_t i = 0; i < n && at < BF_ARRAY_LEN(story); i++) {
		ck_assert(i == 0 || step[i].time_ps >= step[i - 1].time_ps);
		at += strstr(step[i].text, story[at]) != NULL;
	}
	ck_assert_msg(at == BF_ARRAY_LEN(story), "the story lacks '%s'", at < BF_ARRAY_LEN(story) ? story[at] : "");
	bf_explain_free(life);
	bf_replay_free(a);
	bf_replay_free(b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay");
	TCase *t = tcase_create("replay");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_counters_wrap);
	tcase_add_test(t, test_peer_sends);
	tcase_add_test(t, test_in_the_middle);
	tcase_add_test(t, test_earlier_completion);
	tcase_add_test(t, test_no_order_with_a_made_up_peer);
	tcase_add_test(t, test_receiver_not_ready);
	tcase_add_test(t, test_shared_receives);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_key_moves);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_records);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
