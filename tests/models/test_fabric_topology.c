/* Topologies as text. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "models/fabric/fabric.h"
#include "models/fabric/topology.h"

START_TEST(nothing_is_one_switch)
{
	static const char *const texts[] = { NULL, "", "  ", "switch" };
	struct bf_topology t;
	char text[64];

	ck_assert_int_eq(bf_topology_parse(texts[_i], &t, NULL), 0);
	ck_assert_int_eq(t.kind, BF_TOPOLOGY_SWITCH);
	ck_assert_uint_eq(bf_topology_hosts(&t), UINT32_MAX);
	ck_assert_uint_eq(bf_topology_describe(&t, text, sizeof(text)), 6);
	ck_assert_str_eq(text, "switch");
}
END_TEST

START_TEST(options_are_read)
{
	struct bf_topology t;

	ck_assert_int_eq(
	    bf_topology_parse("leaf-spine leaves=4 spines=0x10 hosts-per-leaf=8 uplink=800G host-link=200G "
			      "latency=0.5us\tbuffer=16M queue=1M pfc=off xoff=64K xon=9 ecn=off kmin=1 "
			      "kmax=2K pmax=100 detect=1ms",
			      &t, NULL),
	    0);
	ck_assert_int_eq(t.kind, BF_TOPOLOGY_LEAF_SPINE);
	ck_assert_uint_eq(t.leaves, 4);
	ck_assert_uint_eq(t.rails, 1);
	ck_assert_uint_eq(t.spines, 16);
	ck_assert_uint_eq(t.hosts_per_leaf, 8);
	ck_assert_uint_eq(t.up_gbps, 800);
	ck_assert_uint_eq(t.host_gbps, 200);
	ck_assert_uint_eq(t.latency_ps, 500000);
	ck_assert_uint_eq(t.buffer, 16u << 20);
	ck_assert_uint_eq(t.queue, 1u << 20);
	ck_assert(!t.pfc && !t.ecn);
	ck_assert_uint_eq(t.xoff, 65536);
	ck_assert_uint_eq(t.xon, 9);
	ck_assert_uint_eq(t.kmin, 1);
	ck_assert_uint_eq(t.kmax, 2048);
	ck_assert_uint_eq(t.pmax, 100);
	ck_assert_uint_eq(t.detect_ps, 1000000000);
	ck_assert_uint_eq(bf_topology_hosts(&t), 32);
}
END_TEST

START_TEST(defaults_and_back)
{
	static const char *const texts[] = { "leaf-spine", "rail", "rail rails=16 leaves=64", "leaf-spine buffer=1M" };
	struct bf_topology t, again;
	char text[1024], small[10];
	size_t len;

	ck_assert_int_eq(bf_topology_parse(texts[_i], &t, NULL), 0);
	ck_assert(t.pfc && t.ecn);
	ck_assert_uint_eq(t.queue, t.buffer / 4);
	ck_assert_uint_eq(t.leaves, _i == 2 ? 64 : _i == 1 ? 1 : 2);
	len = bf_topology_describe(&t, text, sizeof(text));
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_uint_eq(bf_topology_describe(&t, small, sizeof(small)), len);
	ck_assert_uint_eq(strlen(small), 9);
	ck_assert_int_eq(bf_topology_parse(text, &again, NULL), 0);
	ck_assert_mem_eq(&t, &again, sizeof(t));
}
END_TEST

START_TEST(mistakes_are_named)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "star", "column 1: 'star' is not a topology" },
		{ "switch leaves=2", "column 8: 'leaves' is not a known option of 'switch'" },
		{ "leaf-spine rails=2", "column 12: 'rails' is not a known option of 'leaf-spine'; there are leaves, "
					"spines, hosts-per-leaf" },
		{ "leaf-spine rails=2", "pmax, cc, detect" },
		{ "leaf-spine leaves", "column 18: option 'leaves' needs '='" },
		{ "leaf-spine leaves=", "column 19: expected a number" },
		{ "leaf-spine leaves=0", "column 19: 'leaves' is out of range (1 to 1024)" },
		{ "leaf-spine leaves=2 leaves=2", "column 21: option 'leaves' is given twice" },
		{ "leaf-spine leaves=2x", "column 19: expected a number" },
		{ "leaf-spine uplink=400", "column 19: expected gigabits" },
		{ "leaf-spine uplink=0G", "out of range" },
		{ "leaf-spine latency=5", "column 21: expected a unit" },
		{ "leaf-spine buffer=5T", "column 20: a size ends in" },
		{ "leaf-spine buffer=99999999999999999999", "expected a size" },
		{ "leaf-spine buffer=18446744073709551615G", "size is out of range" },
		{ "leaf-spine pfc=yes", "column 16: expected on or off" },
		{ "leaf-spine xoff=64K xon=65K", "xon is above xoff" },
		{ "leaf-spine kmin=64K kmax=63K", "kmin is above kmax" },
		{ "leaf-spine buffer=1M queue=2M", "queue is larger than buffer" },
		{ "leaf-spine buffer=128K", "xoff is larger than buffer" },
		{ "leaf-spine spines=0", "nothing joins the leaves" },
		{ "rail rails=16 leaves=65", "more than 1024 leaves" },
		{ "leaf-spine detect=100ns", "detect is below latency" },
		{ "leaf-spine leaves=2\nspines=2", "column 20: a topology is one line" },
		{ "leaf-spine; rail", "column 11: a topology is one line" },
	};
	struct bf_error err = { 0 };
	struct bf_topology t = { .leaves = 9 };

	ck_assert_int_eq(bf_topology_parse(cases[_i].text, &t, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, cases[_i].error) != NULL, "'%s': %s", cases[_i].text, err.text);
	ck_assert_uint_eq(t.leaves, 0);
}
END_TEST

START_TEST(values_that_no_text_gives)
{
	struct bf_fabric *f;
	struct bf_topology t;
	struct bf_sim *sim;

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_fabric_create(sim, &f), 0);
	ck_assert_int_eq(bf_topology_parse("leaf-spine", &t, NULL), 0);
	t.host_gbps = 0;
	ck_assert_int_eq(bf_fabric_set_topology(f, &t), -EINVAL);
	t.host_gbps = 400;
	t.leaves = 1u << 20;
	ck_assert_int_eq(bf_fabric_set_topology(f, &t), -EINVAL);
	t.leaves = 2;
	ck_assert_int_eq(bf_fabric_set_topology(f, &t), 0);
	ck_assert_int_eq(bf_fabric_set_topology(f, &t), -EBUSY);
	bf_fabric_destroy(f);
	bf_sim_destroy(sim);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fabric_topology");
	TCase *t = tcase_create("fabric_topology");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_loop_test(t, nothing_is_one_switch, 0, 4);
	tcase_add_test(t, options_are_read);
	tcase_add_loop_test(t, defaults_and_back, 0, 4);
	tcase_add_loop_test(t, mistakes_are_named, 0, 24);
	tcase_add_test(t, values_that_no_text_gives);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
