/* Completions of two devices: what must be the same, what may differ, and what each difference is called. */
#include <check.h>
#include <stdlib.h>

#include "models/mlx5/records.h"
#include "tools/replay/mlx5_completion_diff.c"
#include "tools/report/json.c"
#include "tools/replay/mlx5_queue_steps.c"

#define STEPS 6u
#define WRITE 8u
#define READ 16u

/* One entry and its completion. */
struct step {
	uint8_t opcode, flags;
	uint32_t length;
	uint16_t index;
	struct bf_rec_cqe cqe;
	uint8_t op_own;
	bool silent; /* no completion */
};

/* What one PE's NIC did, on one connected queue pair. */
struct device {
	const char *name;
	uint32_t qpn, cqn, pd, cqes;
	struct step step[STEPS];
	uint32_t n;
	uint32_t other_feeder; /* number of a second queue pair, which has the CQ as well; 0: none */
};

struct story {
	struct device device[2];
	uint32_t n;
	uint64_t later; /* time between records */
};

static struct step step(uint16_t index, uint8_t opcode, uint32_t length)
{
	struct step s = { .opcode = opcode, .flags = 8, .length = length, .index = index };

	s.cqe = (struct bf_rec_cqe){ .index = index, .wqe_opcode = opcode, .byte_cnt = length };
	return s;
}

static struct story usual(void)
{
	struct story s = { .n = 2, .later = 1000 };

	for (uint32_t d = 0; d < 2; d++) {
		struct device *dev = &s.device[d];

		*dev = (struct device){
			.name = d ? "nic1" : "nic0", .qpn = 0x100, .cqn = 0x40, .pd = 1, .cqes = 4, .n = STEPS
		};
		for (uint16_t i = 0; i < STEPS; i++) {
			dev->step[i] = step(i, i % 2 ? READ : WRITE, 64u * (i + 1 + d));
			dev->step[i].op_own = i / 4 % 2;
		}
	}
	return s;
}

/* ---- into a trace ---- */

struct writing {
	struct bf_stream st;
	uint64_t now, later;
};

static void emit(struct writing *w, const struct bf_rec_schema *type, uint32_t actor, const void *rec, const void *tail,
		 uint32_t len)
{
	w->now += w->later;
	bf_record(&w->st, type, actor, rec, tail, len);
}

static uint32_t queue_actor(struct writing *w, const struct device *d, const char *kind, uint32_t number)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s0x%x", d->name, kind, number);
	return bf_stream_actor(&w->st, "queue", name);
}

static void make_queues(struct writing *w, const struct device *d)
{
	const struct bf_rec_cq_config cq = { .cqn = d->cqn, .cqes = d->cqes };
	const uint32_t numbers[] = { d->qpn, d->other_feeder };

	emit(w, &bf_rec_cq_config_schema, queue_actor(w, d, "cq", d->cqn), &cq, NULL, 0);
	for (size_t i = 0; i < 2 && numbers[i]; i++) {
		const struct bf_rec_qp_config qp = {
			.qpn = numbers[i], .send_cqn = d->cqn, .recv_cqn = d->cqn, .pd = d->pd
		};
		const struct bf_rec_qp_path path = { .qpn = numbers[i], .remote_ipv4 = 0x0a000001 };

		emit(w, &bf_rec_qp_config_schema, queue_actor(w, d, "qp", numbers[i]), &qp, NULL, 0);
		emit(w, &bf_rec_qp_path_schema, queue_actor(w, d, "qp", numbers[i]), &path, NULL, 0);
	}
}

static void do_step(struct writing *w, const struct device *d, const struct step *s, uint32_t qpn)
{
	const struct bf_rec_wqe_fetch fetch = {
		.qpn = qpn, .index = s->index, .opcode = s->opcode, .length = s->length, .fm_ce_se = s->flags
	};
	struct bf_rec_cqe cqe = s->cqe;
	uint8_t bytes[64] = { 0 };

	emit(w, &bf_rec_wqe_fetch_schema, queue_actor(w, d, "qp", qpn), &fetch, bytes, sizeof(bytes));
	if (s->silent)
		return;
	cqe.qpn = qpn;
	cqe.cqn = d->cqn;
	bytes[63] = s->op_own;
	emit(w, &bf_rec_cqe_schema, queue_actor(w, d, "cq", d->cqn), &cqe, bytes, sizeof(bytes));
}

static struct bf_trace *trace_of(const struct story *s, char **bytes)
{
	struct writing w = { .later = s->later };
	struct bf_trace_writer *writer;
	struct bf_error err = { 0 };
	struct bf_trace *t;
	size_t size;
	FILE *f = open_memstream(bytes, &size);
	const struct bf_trace_options opts = { 0 };

	ck_assert_int_eq(bf_trace_writer_open(NULL, f, &opts, &writer, &err), 0);
	ck_assert_int_eq(bf_stream_open(&w.st, &w.now, BF_CLASS_ALL, bf_trace_sink(writer)), 0);
	for (uint32_t d = 0; d < s->n; d++)
		make_queues(&w, &s->device[d]);
	for (uint32_t i = 0; i < STEPS; i++)
		for (uint32_t d = 0; d < s->n; d++) {
			const struct device *dev = &s->device[d];

			if (i < dev->n)
				do_step(&w, dev, &dev->step[i], dev->qpn);
			if (dev->other_feeder && i % 2)
				do_step(&w, dev, &dev->step[i], dev->other_feeder);
		}
	ck_assert_int_eq(bf_stream_close(&w.st), 0);
	bf_stream_fini(&w.st);
	ck_assert_int_eq(bf_trace_writer_close(writer), 0);
	fclose(f);
	ck_assert_int_eq(bf_trace_open_memory(*bytes, size, &t, &err), 0);
	return t;
}

/* The comparison's result, its figures in `r` and its words in `said`. */
static char said[8192];

static int compare(const struct story *a, const struct story *b, struct bf_completion_diff *r)
{
	char *bytes_a, *bytes_b;
	struct bf_trace *x = trace_of(a, &bytes_a), *y = trace_of(b, &bytes_b);
	FILE *out = fmemopen(said, sizeof(said), "w");
	struct bf_error err = { 0 };
	int rc = bf_completion_diff(x, y, out, NULL, r, &err);

	fclose(out);
	bf_trace_close(x);
	bf_trace_close(y);
	free(bytes_a);
	free(bytes_b);
	return rc;
}

START_TEST(times_and_numbers_mean_nothing)
{
	struct story a = usual(), b = usual();
	struct bf_completion_diff r;

	b.later = 77;
	for (uint32_t d = 0; d < 2; d++) {
		b.device[d].qpn = 0x700 + d;
		b.device[d].cqn = 5 + d;
		b.device[d].pd = 9;
		for (uint32_t i = 0; i < STEPS; i++) {
			b.device[d].step[i].cqe.vendor = 0x99;
			b.device[d].step[i].cqe.iova = 0x1000;
		}
	}
	ck_assert_int_eq(compare(&a, &b, &r), 0);
	ck_assert_uint_eq(r.queues, 2);
	ck_assert_uint_eq(r.completions, 2 * STEPS);
	ck_assert_uint_eq(r.unmatched + r.reordered + r.other_work + r.different, 0);
}
END_TEST

/* One field of one completion is another one. */
START_TEST(every_field_counts)
{
	struct story a = usual(), b = usual();
	struct step *s = &b.device[1].step[3];
	struct bf_completion_diff r;

	switch (_i) {
	case 0:
		s->cqe.byte_cnt++;
		break;
	case 1:
		s->cqe.syndrome = 5;
		break;
	case 2:
		s->cqe.opcode = BF_MLX5_CQE_REQ_ERR;
		break;
	case 3:
		s->cqe.index++;
		break;
	case 4:
		s->cqe.wqe_opcode = WRITE;
		break;
	case 5:
		s->op_own ^= 1;
		break;
	default:
		s->silent = true;
		break;
	}
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.different, 1);
	ck_assert_uint_eq(r.queues, 2);
	ck_assert_ptr_nonnull(strstr(said, "nic1 to 10.0.0.1 #0: 6 completions DIFFERENT"));
	ck_assert_ptr_nonnull(strstr(said, "after 3 alike"));
}
END_TEST

/* The device took two of one kind in the wrong order: the entries say so. */
START_TEST(order_counts)
{
	struct story a = usual(), b = usual();
	struct bf_rec_cqe held = b.device[0].step[2].cqe;
	struct bf_completion_diff r;

	b.device[0].step[2].cqe = b.device[0].step[4].cqe;
	b.device[0].step[4].cqe = held;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.different, 1);
}
END_TEST

/* Threads filled the ring in another order, and the completions followed. */
START_TEST(other_order_of_the_driver)
{
	struct story a = usual(), b = usual();
	struct step *s = b.device[0].step;
	struct bf_completion_diff r;

	s[2] = step(2, READ, 64 * 4);
	s[3] = step(3, WRITE, 64 * 3);
	ck_assert_int_eq(compare(&a, &b, &r), 0);
	ck_assert_uint_eq(r.reordered, 1);
	s[3].cqe.byte_cnt++;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.different, 1);
}
END_TEST

/* The driver had less to do: not the same, but no fault of the device unless it answers in another way. */
START_TEST(other_work_of_the_driver)
{
	struct story a = usual(), b = usual();
	struct bf_completion_diff r;

	b.device[0].n--;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.other_work, 1);
	ck_assert_uint_eq(r.different, 0);
	b.device[0].step[1].cqe.byte_cnt++;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.different, 1);
}
END_TEST

/* Owner bits depend on the others who have the CQ, and on its size. */
START_TEST(owner_bits_of_shared_queues)
{
	struct story a = usual(), b = usual();
	struct bf_completion_diff r;

	b.device[0].step[3].op_own ^= 1;
	b.device[0].cqes = 8;
	ck_assert_int_eq(compare(&a, &b, &r), 0);
	b.device[0].cqes = 4;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	a.device[0].other_feeder = b.device[0].other_feeder = 0x101;
	ck_assert_int_eq(compare(&a, &b, &r), 0);
	ck_assert_uint_eq(r.queues, 3);
}
END_TEST

/* All PEs on one device, whose contexts were opened in another order: they are told apart by what they did. */
START_TEST(contexts_of_one_device)
{
	struct story a = usual(), b = usual();
	struct device first = b.device[0];
	struct bf_completion_diff r;

	b.device[0] = b.device[1];
	b.device[1] = first;
	for (uint32_t d = 0; d < 2; d++) {
		b.device[d].name = "mlx5_0";
		b.device[d].qpn = 0x100 + d;
		b.device[d].cqn = 0x40 + d;
		b.device[d].pd = 1 + d;
	}
	ck_assert_int_eq(compare(&a, &b, &r), 0);
	ck_assert_uint_eq(r.queues, 2);
	b.device[0].step[5].cqe.byte_cnt++;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.different, 1);
}
END_TEST

START_TEST(queues_without_a_match)
{
	struct story a = usual(), b = usual();
	struct bf_completion_diff r;

	b.n = 1;
	ck_assert_int_eq(compare(&a, &b, &r), 1);
	ck_assert_uint_eq(r.unmatched, 1);
	ck_assert_int_eq(compare(&b, &a, &r), 1);
	ck_assert_uint_eq(r.unmatched, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("completion_diff");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, times_and_numbers_mean_nothing);
	tcase_add_loop_test(t, every_field_counts, 0, 7);
	tcase_add_test(t, order_counts);
	tcase_add_test(t, other_order_of_the_driver);
	tcase_add_test(t, other_work_of_the_driver);
	tcase_add_test(t, owner_bits_of_shared_queues);
	tcase_add_test(t, contexts_of_one_device);
	tcase_add_test(t, queues_without_a_match);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
