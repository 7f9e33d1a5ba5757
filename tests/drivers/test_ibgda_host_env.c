/* Options by NVSHMEM's names: each is read, rounded, limited and written as it should be. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/env.h"
#include "sim/compiler.h"

static int parse(struct bf_ibgda_env *env, const char *text, struct bf_error *err)
{
	bf_ibgda_env_init(env);
	*err = (struct bf_error){ 0 };
	return bf_ibgda_env_parse(env, text, strlen(text), err);
}

START_TEST(defaults_are_nvshmems)
{
	struct bf_ibgda_env e;

	bf_ibgda_env_init(&e);
	ck_assert_int_eq(e.ib_enable_ibgda, 0);
	ck_assert_int_eq(e.ibgda_num_dct, 2);
	ck_assert_int_eq(e.ibgda_num_dci, 1);
	ck_assert_int_eq(e.ibgda_num_shared_dci, 1);
	ck_assert_int_eq(e.ibgda_num_rc_per_pe, 2);
	ck_assert_int_eq(e.ibgda_num_requests_in_batch, 32);
	ck_assert_int_eq(e.ibgda_num_fetch_slots_per_dci, 1024);
	ck_assert_int_eq(e.ibgda_num_fetch_slots_per_rc, 1024);
	ck_assert_int_eq(e.qp_depth, 1024);
	ck_assert_int_eq(e.srq_depth, 16384);
	ck_assert_int_eq(e.ib_gid_index, -1);
	ck_assert_int_eq(e.ib_enable_relaxed_ordering, 1);
	ck_assert_int_eq(e.ibgda_dci_map_by, BF_IBGDA_MAP_BY_CTA);
	ck_assert_int_eq(e.ibgda_force_nic_buf_memtype, BF_IBGDA_MEMTYPE_GPU);
	ck_assert_int_eq(e.ibgda_nic_handler, BF_IBGDA_HANDLER_AUTO);
	ck_assert_str_eq(e.hca_prefix, "^smi");
	ck_assert_uint_eq(e.set, 0);
}
END_TEST

/* A job script as it stands. */
START_TEST(a_job_script)
{
	static const char text[] = "# cluster B\n"
				   "export NVSHMEM_IB_ENABLE_IBGDA=true NVSHMEM_DEBUG=INFO\n"
				   "\tNVSHMEM_IBGDA_NUM_RC_PER_PE=8\n"
				   "IBGDA_NUM_DCI=-1 IBGDA_DCI_MAP_BY=warp # all warps\n"
				   "NVSHMEM_ENABLE_NIC_PE_MAPPING=1\n"
				   "NVSHMEM_HCA_LIST=^mlx5_1:1,mlx5_bond_0\n"
				   "NVSHMEM_HCA_PE_MAPPING=mlx5_0:1:2,mlx5_0:2:2\n"
				   "IBGDA_NIC_HANDLER=cpu_host_memory IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem\n";
	struct bf_ibgda_env e;
	struct bf_error err;
	char out[512], again[512];

	ck_assert_msg(!parse(&e, text, &err), "%s", err.text);
	ck_assert_int_eq(e.ib_enable_ibgda, 1);
	ck_assert_int_eq(e.ibgda_num_rc_per_pe, 8);
	ck_assert_int_eq(e.ibgda_num_dci, -1);
	ck_assert_int_eq(e.ibgda_dci_map_by, BF_IBGDA_MAP_BY_WARP);
	ck_assert_int_eq(e.ibgda_nic_handler, BF_IBGDA_HANDLER_CPU_HOST_MEMORY);
	ck_assert_int_eq(e.ibgda_force_nic_buf_memtype, BF_IBGDA_MEMTYPE_HOST);
	ck_assert(e.hca_list.exclude);
	ck_assert_uint_eq(e.hca_list.count, 2);
	ck_assert_str_eq(e.hca_list.entry[0].name, "mlx5_1");
	ck_assert_uint_eq(e.hca_list.entry[0].port, 1);
	ck_assert_str_eq(e.hca_list.entry[1].name, "mlx5_bond_0");
	ck_assert_uint_eq(e.hca_list.entry[1].port, 0);
	ck_assert_uint_eq(e.hca_pe_mapping.count, 2);
	ck_assert_uint_eq(e.hca_pe_mapping.entry[1].port, 2);
	ck_assert_uint_eq(e.hca_pe_mapping.entry[1].count, 2);
	ck_assert_uint_lt(bf_ibgda_env_print(&e, out, sizeof(out)), sizeof(out));
	ck_assert_int_eq(parse(&e, out, &err), 0);
	bf_ibgda_env_print(&e, again, sizeof(again));
	ck_assert_str_eq(out, again);
	ck_assert_ptr_nonnull(strstr(out, "HCA_LIST=^mlx5_1:1,mlx5_bond_0\n"));
	/* What does not fit is cut, and the length is told all the same. */
	ck_assert_uint_eq(bf_ibgda_env_print(&e, again, 10), strlen(out));
	ck_assert_uint_eq(strlen(again), 9);
}
END_TEST

static const struct {
	const char *text;
	size_t offset;
	int32_t value;
} rounded[] = {
#define AT(field) offsetof(struct bf_ibgda_env, field)
	{ "QP_DEPTH=1", AT(qp_depth), 128 },
	{ "QP_DEPTH=129", AT(qp_depth), 256 },
	{ "QP_DEPTH=1000000", AT(qp_depth), 32768 },
	{ "IBGDA_NUM_REQUESTS_IN_BATCH=33", AT(ibgda_num_requests_in_batch), 64 },
	{ "IBGDA_NUM_FETCH_SLOTS_PER_RC=32", AT(ibgda_num_fetch_slots_per_rc), 32 },
	{ "IBGDA_NUM_FETCH_SLOTS_PER_DCI=1025", AT(ibgda_num_fetch_slots_per_dci), 2048 },
	{ "IBGDA_NUM_DCT=0x10", AT(ibgda_num_dct), 16 },
	{ "IBGDA_NUM_RC_PER_PE=0", AT(ibgda_num_rc_per_pe), 0 },
	{ "IBGDA_FORCE_NIC_BUF_MEMTYPE=whatever", AT(ibgda_force_nic_buf_memtype), BF_IBGDA_MEMTYPE_AUTO },
	{ "IBGDA_DCI_MAP_BY=DCT", AT(ibgda_dci_map_by), BF_IBGDA_MAP_BY_DCT },
	{ "IB_ENABLE_RELAXED_ORDERING=off", AT(ib_enable_relaxed_ordering), 0 },
	{ "DISABLE_IB_NATIVE_ATOMICS=Y", AT(disable_ib_native_atomics), 1 },
#undef AT
};

START_TEST(values_are_brought_into_limits)
{
	struct bf_ibgda_env e;
	struct bf_error err;

	ck_assert_msg(!parse(&e, rounded[_i].text, &err), "%s", err.text);
	ck_assert_int_eq(*(int32_t *)(void *)((char *)&e + rounded[_i].offset), rounded[_i].value);
}
END_TEST

static const struct {
	const char *text, *names; /* the error text names it */
} bad[] = {
	{ "QP_DEPTH=0", "line 1: QP_DEPTH=0: must be a number from 1" },
	{ "\n\nIBGDA_NUM_DCT=x", "line 3: IBGDA_NUM_DCT=x" },
	{ "IBGDA_NUM_DCT=", "IBGDA_NUM_DCT=" },
	{ "IBGDA_NUM_DCT=3 4", "'4'" },
	{ "IBGDA_NUM_SHARED_DCI=0", "IBGDA_NUM_SHARED_DCI=0" },
	{ "IBGDA_NUM_RC_PER_PE=-1", "IBGDA_NUM_RC_PER_PE=-1" },
	{ "IBGDA_NUM_FETCH_SLOTS_PER_RC=31", "from 32" },
	{ "IBGDA_RC_MAP_BY=dct", "must be cta, sm, warp" },
	{ "IBGDA_DCI_MAP_BY=lane", "must be cta, sm, warp, dct" },
	{ "IBGDA_NIC_HANDLER=fpga", "cpu_host_memory" },
	{ "IB_ENABLE_IBGDA=maybe", "must be yes or no" },
	{ "NVSHMEM_NO_SUCH_OPTION=1", "'NO_SUCH_OPTION' is not an option" },
	{ "justaword", "must be NAME=VALUE" },
	{ "=1", "'' is not an option" },
	{ "HCA_LIST=mlx5_0,,mlx5_1", "HCA_LIST=" },
	{ "HCA_LIST=mlx5_0:", "HCA_LIST=" },
	{ "HCA_LIST=mlx5_0:1:2", "HCA_LIST=" },
	{ "HCA_LIST=a_name_that_is_much_too_long_for_a_nic", "HCA_LIST=" },
	{ "HCA_PE_MAPPING=mlx5_0:1", "name:port:count" },
	{ "HCA_PE_MAPPING=mlx5_0:0:1", "from 1 on" },
	{ "HCA_PE_MAPPING=mlx5_0:1:99999", "HCA_PE_MAPPING" },
	{ "HCA_PREFIX=", "HCA_PREFIX" },
};

START_TEST(errors_name_line_and_option)
{
	struct bf_ibgda_env e;
	struct bf_error err;

	ck_assert_int_eq(parse(&e, bad[_i].text, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].names) && strstr(err.text, "line "), "%s", err.text);
}
END_TEST

/* What stood in front of the error counts; a list may be full and not fuller; a zero byte is no text. */
START_TEST(edges)
{
	struct bf_ibgda_env e;
	struct bf_error err;
	char text[512] = "HCA_LIST=a";

	ck_assert_int_eq(parse(&e, "QP_DEPTH=256 NOPE=1", &err), -EINVAL);
	ck_assert_int_eq(e.qp_depth, 256);
	for (uint32_t i = 1; i < BF_IBGDA_HCAS_MAX; i++)
		strcat(text, ",a");
	ck_assert_int_eq(parse(&e, text, &err), 0);
	ck_assert_uint_eq(e.hca_list.count, BF_IBGDA_HCAS_MAX);
	strcat(text, ",a");
	ck_assert_int_eq(parse(&e, text, &err), -EINVAL);
	ck_assert_int_eq(bf_ibgda_env_parse(&e, "QP_DEPTH=5\0 6", 13, &err), -EINVAL);
	ck_assert_int_eq(bf_ibgda_env_parse(&e, NULL, 0, &err), 0);
	/* An empty list is one that was not given. */
	ck_assert_int_eq(parse(&e, "HCA_LIST=", &err), 0);
	ck_assert_uint_eq(e.hca_list.count, 0);
}
END_TEST

START_TEST(every_option_has_its_help)
{
	size_t n = 0;

	for (const struct bf_ibgda_env_option *o = bf_ibgda_env_options; o->name; o++, n++) {
		struct bf_ibgda_env e;
		struct bf_error err;
		char text[64];

		ck_assert_uint_gt(strlen(o->summary), 5);
		ck_assert_uint_gt(strlen(o->values), 3);
		/* The default that is told is one that can be given. */
		snprintf(text, sizeof(text), "%s=%s", o->name, o->def);
		ck_assert_msg(!parse(&e, text, &err), "%s", err.text);
	}
	ck_assert_uint_eq(n, 24);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_host_env");
	TCase *tc = tcase_create("ibgda_host_env");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, defaults_are_nvshmems);
	tcase_add_test(tc, a_job_script);
	tcase_add_loop_test(tc, values_are_brought_into_limits, 0, (int)BF_ARRAY_LEN(rounded));
	tcase_add_loop_test(tc, errors_name_line_and_option, 0, (int)BF_ARRAY_LEN(bad));
	tcase_add_test(tc, edges);
	tcase_add_test(tc, every_option_has_its_help);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
