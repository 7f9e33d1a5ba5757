/* The IBGDA driver against the models, end to end: every byte and every counter is where it must be. */
#include "tests/drivers/rig.h"

#include <errno.h>

#define ORDERINGS 4

/* Every workload under every ordering and both flavours, by warps and by lanes. */
START_TEST(workloads)
{
	for (uint32_t i = 0; i < BF_IBGDA_WORKS * ORDERINGS * 2 * 2; i++) {
		struct rig r = rig_default((enum bf_ibgda_work)(i % BF_IBGDA_WORKS));

		r.world.ordering = (enum bf_ordering)(i / BF_IBGDA_WORKS % ORDERINGS);
		r.host.flavour = (enum bf_ibgda_flavour)(i / BF_IBGDA_WORKS / ORDERINGS % 2);
		r.shape.per_lane = i / BF_IBGDA_WORKS / ORDERINGS / 2;
		r.shape.lanes = 7;
		r.shape.warps = 3;
		r.shape.messages = 9;
		r.shape.bytes = 101;
		r.shape.fill = true;
		r.shape.seed = i;
		RIG_GOOD(&r);
	}
}
END_TEST

START_TEST(routes_and_queue_choices)
{
	for (uint32_t i = 0; i < 9; i++) {
		struct rig r = rig_default(BF_IBGDA_MIXED);

		r.world.npes = 4;
		r.world.ordering = BF_ORDER_GPU;
		r.shape.route = (enum bf_ibgda_route)(i % 3);
		r.shape.choice = (enum bf_ibgda_qp_choice)(i / 3);
		r.shape.blocks = 2;
		r.shape.messages = 12;
		r.host.num_rc_per_pe = 3;
		RIG_GOOD(&r);
	}
}
END_TEST

/* Every atomic, both sizes, fetched or not, many lanes on two counters. */
START_TEST(atomics)
{
	for (uint32_t i = 0; i < BF_IBGDA_AMO_OPS * 4; i++) {
		struct rig r = rig_default(BF_IBGDA_AMO);

		r.shape.amo = (enum bf_ibgda_amo_op)(i % BF_IBGDA_AMO_OPS);
		r.shape.amo_bytes = i / BF_IBGDA_AMO_OPS % 2 ? 4 : 8;
		r.shape.amo_fetch = i / BF_IBGDA_AMO_OPS / 2;
		if (!r.shape.amo_fetch && (r.shape.amo == BF_IBGDA_AMO_CAS || r.shape.amo == BF_IBGDA_AMO_FETCH))
			continue;
		r.shape.per_lane = true;
		r.shape.lanes = 10;
		r.shape.messages = 4;
		r.shape.counters = 2;
		r.host.ibuf_slots = 32;
		RIG_GOOD(&r);
	}
}
END_TEST

/* Messages over many registrations at both ends, more pieces than a warp has lanes. */
START_TEST(pieces)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct rig r = rig_default(i % 2 ? BF_IBGDA_GET : BF_IBGDA_PUT);

		r.world.ordering = BF_ORDER_ADVERSARIAL;
		r.host.log2_granularity = 12;
		r.host.granules_per_mr = 1;
		r.host.system_scope = i % 2;
		r.shape.per_lane = i / 2;
		r.shape.lanes = 3;
		r.shape.messages = 3;
		r.shape.bytes = 150001;
		r.shape.stride = 150008;
		RIG_GOOD(&r);
	}
}
END_TEST

/* Rings of sixteen blocks that thirty-two warps fight for. */
START_TEST(tiny_rings)
{
	for (uint32_t i = 0; i < ORDERINGS * 2; i++) {
		struct rig r = rig_default(i % 2 ? BF_IBGDA_MIXED : BF_IBGDA_PUT);

		r.world.ordering = (enum bf_ordering)(i / 2);
		r.host.num_rc_per_pe = 1;
		r.host.qp_depth = 16;
		r.shape.blocks = 4;
		r.shape.warps = 4;
		r.shape.messages = 20;
		RIG_GOOD(&r);
	}
}
END_TEST

/* A message of forty pieces through a ring of sixteen blocks, from several warps at once. */
START_TEST(pieces_through_a_tiny_ring)
{
	for (uint32_t i = 0; i < ORDERINGS; i++) {
		struct rig r = rig_default(BF_IBGDA_MIXED);

		r.world.ordering = (enum bf_ordering)i;
		r.host.num_rc_per_pe = 1;
		r.host.qp_depth = 16;
		r.host.log2_granularity = 12;
		r.host.granules_per_mr = 1;
		r.shape.warps = 3;
		r.shape.messages = 6;
		r.shape.bytes = 160000;
		RIG_GOOD(&r);
	}
}
END_TEST

/* The wire's 16-bit index wraps twice; the collapsed CQ and the plain one. */
START_TEST(index_wraps)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct rig r = rig_default(BF_IBGDA_PUT);

		r.host.plain_cq = i;
		r.host.num_rc_per_pe = 1;
		r.host.qp_depth = 512;
		r.shape.per_lane = true;
		r.shape.lanes = 4;
		r.shape.messages = 34000;
		r.shape.window = 16;
		r.shape.bytes = 8;
		RIG_GOOD(&r);
		ck_assert_uint_gt(r.shape.messages * r.shape.lanes, 0x20000);
	}
}
END_TEST

/* Same seed, same records; and the seed matters. */
START_TEST(deterministic)
{
	uint64_t hash[3];

	for (uint32_t i = 0; i < 3; i++) {
		struct rig r = rig_default(BF_IBGDA_MIXED);

		r.world.ordering = BF_ORDER_ADVERSARIAL;
		r.world.seed = i < 2 ? 7 : 8;
		r.world.record_mask = BF_CLASS_ALL;
		r.shape.warps = 2;
		r.shape.messages = 15;
		RIG_GOOD(&r);
		ck_assert_uint_gt(r.result.records, 1000);
		hash[i] = r.result.hash;
	}
	ck_assert_uint_eq(hash[0], hash[1]);
	ck_assert_uint_ne(hash[0], hash[2]);
}
END_TEST

/* Recording changes nothing but the hash. */
START_TEST(recording_disturbs_nothing)
{
	uint64_t time[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct rig r = rig_default(BF_IBGDA_MIXED);

		r.world.ordering = BF_ORDER_GPU;
		r.world.record_mask = i ? BF_CLASS_ALL : 0;
		r.shape.warps = 2;
		r.shape.messages = 15;
		RIG_GOOD(&r);
		time[i] = r.result.time_ps;
	}
	ck_assert_uint_eq(time[0], time[1]);
}
END_TEST

/* Packets get lost; retries repair it. */
START_TEST(survives_loss)
{
	struct rig r = rig_default(BF_IBGDA_MIXED);

	r.world.faults = "drop prob=0.05";
	r.host.ack_timeout = 4; /* 65 us */
	r.shape.warps = 2;
	r.shape.messages = 40;
	RIG_GOOD(&r);
}
END_TEST

/* A second run in the same world goes on where the first one stood. */
START_TEST(runs_again)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.shape.messages = 5;
	rig_open(&r);
	for (int i = 0; i < 3; i++) {
		bf_ibgda_prepare(r.work, &r.shape, 2, r.heap);
		rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		ck_assert_int_eq(bf_ibgda_verify(r.work, &r.shape, 2, r.heap, &r.bad), 0);
		ck_assert_uint_eq(bf_ibgda_host_qp(r.h, 0, 1, 0)->mvars.cons_idx, 5u * (unsigned)(i + 1));
	}
	rig_close(&r);
}
END_TEST

/* The checker sees what it is there to see. */
START_TEST(verify_finds_damage)
{
	struct rig r = rig_default(BF_IBGDA_MIXED);

	r.shape.messages = 30;
	rig_open(&r);
	rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
	ck_assert_int_eq(bf_ibgda_verify(r.work, &r.shape, 2, r.heap, &r.bad), 0);
	for (uint32_t i = 0; i < 7; i++) {
		const uint64_t areas[] = { r.at.put_dst + 5,      r.at.get_dst + 100, r.at.word,
					   r.at.signal,           r.at.counter,       r.at.done,
					   r.at.put_dst + 29 * 64 };
		uint8_t *p = (uint8_t *)r.heap[1] + areas[i];

		*p ^= 0x40;
		ck_assert_int_eq(bf_ibgda_verify(r.work, &r.shape, 2, r.heap, &r.bad), -EBADMSG);
		ck_assert_uint_eq(r.bad.pe, 1);
		*p ^= 0x40;
	}
	rig_close(&r);
}
END_TEST

/* A key that covers too little: the driver learns of the error, stops, and the syndrome is kept. */
START_TEST(error_completion_stops_the_kernel)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.host.log2_granularity = 12;
	r.host.granules_per_mr = 1;
	r.host.bugs = BF_IBGDA_BUG_NO_CHUNK;
	r.shape.bytes = 9000;
	r.shape.messages = 10;
	r.shape.quiet_every = 2;
	rig_open(&r);
	rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
	ck_assert_int_eq(r.result.end, BF_END_DONE);
	ck_assert_uint_eq(*(uint64_t *)(void *)((uint8_t *)r.heap[0] + r.at.done), 0);
	ck_assert_uint_ne(bf_ibgda_host_qp(r.h, 0, 1, 0)->mvars.status, 0);
	rig_close(&r);
}
END_TEST

START_TEST(bad_options)
{
	const struct bf_backend *be = bf_backend_find("sim");
	static const struct bf_ibgda_host_opts bad[] = {
		{ .heap_bytes = 0 },
		{ .heap_bytes = 1 << 20, .qp_depth = 100 },
		{ .heap_bytes = 1 << 20, .qp_depth = 65536 },
		{ .heap_bytes = 1 << 20, .qp_depth = 64, .batch = 64 },
		{ .heap_bytes = 1 << 20, .ibuf_slots = 33 },
		{ .heap_bytes = 1 << 20, .num_rc_per_pe = 65 },
		{ .heap_bytes = 1 << 20, .log2_granularity = 8 },
	};
	struct bf_world_opts wo = { .npes = 2 };
	struct bf_ibgda_host *h;
	struct bf_error err = { 0 };
	struct bf_world *w;

	ck_assert_int_eq(be->open(&wo, &err, &w), 0);
	for (size_t i = 0; i < BF_ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(bf_ibgda_host_open(be, w, 2, &bad[i], &err, &h), -EINVAL);
		ck_assert_ptr_null(h);
		ck_assert_uint_gt(strlen(err.text), 5);
	}
	be->close(w);
	wo.npes = 4097;
	ck_assert_int_eq(be->open(&wo, &err, &w), -EINVAL);
	wo = (struct bf_world_opts){ .npes = 2, .faults = "nonsense" };
	ck_assert_int_eq(be->open(&wo, &err, &w), -EINVAL);
}
END_TEST

/* The names of commands and states are in the text when the device refuses. */
START_TEST(failed_command_is_named)
{
	const struct bf_backend *be = bf_backend_find("sim");
	struct bf_mlx5_profile small = bf_mlx5_cx7;
	struct bf_ibgda_host_opts ho = { .heap_bytes = 1 << 20, .num_rc_per_pe = 16 };
	struct bf_world_opts wo = { .npes = 2, .device_opts[BF_DEVICE_AT_MLX5] = &small };
	struct bf_ibgda_host *h;
	struct bf_error err = { 0 };
	struct bf_world *w;

	small.log_max_qp = 3;
	ck_assert_int_eq(be->open(&wo, &err, &w), 0);
	ck_assert_int_eq(bf_ibgda_host_open(be, w, 2, &ho, &err, &h), -EIO);
	ck_assert_msg(strstr(err.text, "CREATE_QP") && strstr(err.text, "PE 0"), "%s", err.text);
	/* Everything was undone: the same device now takes what fits. */
	ho.num_rc_per_pe = 2;
	ck_assert_msg(!bf_ibgda_host_open(be, w, 2, &ho, &err, &h), "%s", err.text);
	bf_ibgda_host_close(h);
	be->close(w);
}
END_TEST

START_TEST(shapes_are_checked)
{
	struct bf_ibgda_shape s = bf_ibgda_shape_default;
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_ibgda_shape_check(&s, BF_IBGDA_PUT, 1, BF_IBGDA_NVSHMEM, 2, 1024, &err), -EINVAL);
	s.route = BF_IBGDA_PAIR;
	ck_assert_int_eq(bf_ibgda_shape_check(&s, BF_IBGDA_PUT, 3, BF_IBGDA_NVSHMEM, 2, 1024, &err), -EINVAL);
	s = bf_ibgda_shape_default;
	s.amo = BF_IBGDA_AMO_CAS;
	ck_assert_int_eq(bf_ibgda_shape_check(&s, BF_IBGDA_AMO, 2, BF_IBGDA_NVSHMEM, 2, 1024, &err), -EINVAL);
	s = bf_ibgda_shape_default;
	s.messages = 1000;
	s.quiet_every = 500;
	ck_assert_int_eq(bf_ibgda_shape_check(&s, BF_IBGDA_PUT, 2, BF_IBGDA_DEEPEP, 2, 128, &err), -EINVAL);
	s.quiet_every = 0;
	ck_assert_int_eq(bf_ibgda_shape_check(&s, BF_IBGDA_PUT, 2, BF_IBGDA_DEEPEP, 2, 128, &err), 0);
	ck_assert_uint_eq(s.quiet_every, 128);
	s.per_lane = true;
	ck_assert_int_eq(bf_ibgda_shape_check(&s, BF_IBGDA_GET, 2, BF_IBGDA_NVSHMEM, 2, 16, &err), -EINVAL);
}
END_TEST

RIG_MAIN("ibgda_run", workloads, routes_and_queue_choices, atomics, pieces, tiny_rings, pieces_through_a_tiny_ring,
	 index_wraps, deterministic, recording_disturbs_nothing, survives_loss, runs_again, verify_finds_damage,
	 error_completion_stops_the_kernel, bad_options, failed_command_is_named, shapes_are_checked)
