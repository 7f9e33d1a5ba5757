/* Worlds of many PEs and NICs: names, addresses, memory, reports. */
#include "tests/drivers/rig.h"

#include <errno.h>
#include <stdio.h>

#include "drivers/platform/platform_sim.h"
#include "sim/bytes.h"
#include "sim/stats.h"

static const struct bf_backend *sim(void)
{
	return bf_backend_find("sim");
}

static struct bf_world *open_world(const struct bf_world_opts *opts)
{
	static struct bf_error err; /* as long as the world */
	struct bf_world *w;

	err = (struct bf_error){ 0 };
	ck_assert_msg(!sim()->open(opts, &err, &w), "%s", err.text);
	return w;
}

static uint32_t ipv4_of(struct bf_world *w, uint32_t pe, uint32_t nic, uint32_t port)
{
	uint8_t gid[16], mac[6], expect[6] = { 2, 0 };

	ck_assert_int_eq(sim()->address(w, pe, nic, port, gid, mac), 0);
	memcpy(expect + 2, gid + 12, 4);
	ck_assert_mem_eq(mac, expect, 6);
	return bf_get_be32(gid + 12);
}

/* The rule for addresses, where its parts meet. */
START_TEST(addresses)
{
	const struct bf_world_opts opts = { .npes = 600, .nics = 3, .ports = 2 };
	struct bf_error err = { 0 };
	struct bf_world *w;
	uint8_t gid[16], mac[6];

	ck_assert_int_eq(sim()->open(&opts, &err, &w), 0);
	ck_assert_uint_eq(ipv4_of(w, 0, 0, 0), 0x0a000001);
	ck_assert_uint_eq(ipv4_of(w, 0, 0, 1), 0x0a010001);
	ck_assert_uint_eq(ipv4_of(w, 255, 0, 0), 0x0a000100);
	ck_assert_uint_eq(ipv4_of(w, 599, 2, 1), 0x0a050258);
	ck_assert_int_eq(sim()->address(w, 0, 0, 2, gid, mac), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "no port 2"));
	ck_assert_int_eq(sim()->address(w, 0, 3, 0, gid, mac), -ENODEV);
	ck_assert_ptr_nonnull(strstr(err.text, "no NIC 3"));
	ck_assert_int_eq(sim()->address(w, 600, 0, 0, gid, mac), -EINVAL);
	sim()->close(w);
}
END_TEST

static void find_counter(void *arg, const char *name, const char *unit, const uint64_t *counter,
			 const struct bf_hist *hist)
{
	uint32_t *found = arg;

	(void)unit;
	(void)hist;
	*found += counter && (!strcmp(name, "nic1.1.p2.tx_packets") || !strcmp(name, "nic1.0.pcie.up_bytes"));
}

/* Each NIC is a device of its own: name, PCI function, link, numbers. */
START_TEST(nics_of_a_pe)
{
	const struct bf_world_opts opts = { .npes = 2, .nics = 2, .ports = 2 };
	struct bf_world *w = open_world(&opts);
	struct bf_nic_info a, b;
	struct bf_uar first, other;
	uint32_t found = 0;

	ck_assert_int_eq(sim()->nic_info(w, 1, 0, &a), 0);
	ck_assert_int_eq(sim()->nic_info(w, 1, 1, &b), 0);
	ck_assert_str_eq(a.name, "mlx5_0");
	ck_assert_str_eq(b.name, "mlx5_1");
	ck_assert_str_ne(a.pcie, b.pcie);
	ck_assert_uint_eq(a.ports, 2);
	ck_assert(a.atomics);
	ck_assert_uint_eq(a.max_qp_depth, 32768);
	ck_assert_int_ne(sim()->nic_info(w, 1, 2, &b), 0);
	ck_assert_int_eq(sim()->map_uar(w, 1, 0, &first), 0);
	ck_assert_int_eq(sim()->map_uar(w, 1, 1, &other), 0);
	ck_assert_uint_eq(first.index, other.index);
	ck_assert_ptr_ne(first.page, other.page);
	bf_stats_each(sim()->sim(w), find_counter, &found);
	ck_assert_uint_eq(found, 2);
	sim()->close(w);
}
END_TEST

/* A page that was given back is the next one handed out; the highest page is the last. */
START_TEST(uar_pages)
{
	const struct bf_world_opts opts = { .npes = 2 };
	struct bf_world *w = open_world(&opts);
	uint8_t in[16] = { 0 }, out[16];
	struct bf_uar uar;
	uint32_t count;

	for (uint32_t i = 0; i < 20; i++) {
		ck_assert_int_eq(sim()->map_uar(w, 0, 0, &uar), 0);
		ck_assert_uint_eq(uar.index, i);
	}
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_DEALLOC_UAR);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, 7);
	ck_assert_int_eq(sim()->command(w, 0, 0, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_CMD_OUT_STATUS), BF_MLX5_CMD_OK);
	ck_assert_int_eq(sim()->map_uar(w, 0, 0, &uar), 0);
	ck_assert_uint_eq(uar.index, 7);
	ck_assert_int_eq(sim()->map_uar(w, 0, 0, &uar), 0);
	ck_assert_uint_eq(uar.index, 20);
	for (count = 21; !sim()->map_uar(w, 0, 0, &uar); count++)
		ck_assert_uint_eq(uar.index, count);
	ck_assert_uint_eq(count, 64 + 64);
	sim()->close(w);
}
END_TEST

START_TEST(limits)
{
	static const struct {
		const char *backend;
		struct bf_world_opts opts;
		const char *says;
	} bad[] = {
		{ "sim", { .npes = 4097 }, "4097 PEs" },           { "sim", { .npes = 0 }, "0 PEs" },
		{ "sim", { .npes = 1, .nics = 9 }, "9 NICs" },     { "sim", { .npes = 1, .ports = 3 }, "3 ports" },
		{ "sim", { .npes = 1, .lanes = 33 }, "33 lanes" }, { "live", { .npes = 65 }, "65 PEs" },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(bad); i++) {
		struct bf_error err = { 0 };
		struct bf_world *w;

		ck_assert_int_eq(bf_backend_find(bad[i].backend)->open(&bad[i].opts, &err, &w), -EINVAL);
		ck_assert_ptr_null(w);
		ck_assert_msg(strstr(err.text, bad[i].says), "%s", err.text);
	}
}
END_TEST

/* What the lanes of a world of 4096 PEs do here: count, and wait forever if they are told to. */
struct count {
	uint64_t ran;
	uint64_t *never; /* NULL: do not wait */
};

static void count_kernel(struct bf_thread *t, void *arg)
{
	struct count *c = arg;

	c->ran++;
	while (c->never && !bf_ld_relaxed64(t, c->never, BF_AT_SYS))
		bf_spin(t, c->never, "what never comes");
}

START_TEST(one_lane_of_4096_pes)
{
	const struct bf_world_opts opts = { .npes = 4096, .lanes = 1 };
	struct bf_world *w = open_world(&opts);
	struct bf_world_result result;
	struct count c = { 0 };

	for (uint32_t pe = 0; pe < 4096; pe++)
		ck_assert_int_eq(sim()->launch(w, pe, 1, 1, count_kernel, &c), 0);
	ck_assert_int_eq(sim()->run(w, &result), 0);
	ck_assert_int_eq(result.end, BF_END_DONE);
	ck_assert_uint_eq(c.ran, 4096);
	sim()->close(w);
}
END_TEST

/* A report of thousands has the first ones in whole lines, and says how many more there are. */
START_TEST(report_is_capped)
{
	const struct bf_world_opts opts = { .npes = 300, .lanes = 1 };
	struct bf_world *w = open_world(&opts);
	struct bf_world_result result;
	struct bf_memory m;
	struct count c = { 0 };
	unsigned more = 0, lines = 0;
	const char *end;

	ck_assert_int_eq(sim()->alloc(w, 5, BF_PLACE_HOST, 4096, "word", &m), 0);
	c.never = m.ptr;
	ck_assert_int_eq(sim()->launch(w, 5, 300, 1, count_kernel, &c), 0);
	ck_assert_int_eq(sim()->run(w, &result), 0);
	ck_assert_int_eq(result.end, BF_END_DEADLOCK);
	end = strstr(result.report, "(and ");
	ck_assert_msg(end && sscanf(end, "(and %u more that wait)", &more) == 1, "%s", result.report);
	for (const char *p = result.report; p < end; p = strchr(p, '\n') + 1)
		lines++;
	ck_assert_uint_eq(lines + more, 300);
	ck_assert_uint_gt(lines, 10);
	sim()->close(w);
}
END_TEST

RIG_MAIN("backend_scale", addresses, nics_of_a_pe, uar_pages, limits, one_lane_of_4096_pes, report_is_capped)
