/*
 * What each constant of a profile for timing stands on. A rate is what data sheet and specification give; what is
 * fitted is in the list that tools/calibrate/fit_timing works on; everything else is as in the default profile. A
 * constant that is none of these has no mark, and fails here.
 */
#include <check.h>
#include <math.h>

#include "tools/report/json.c"
#include "tools/timing/model.c"
#include "tools/workloads/mlx5_profile.c"

static bool is_fitted(const char *prefix, const char *member)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", prefix, member);
	for (size_t i = 0; i < BF_ARRAY_LEN(constants); i++)
		if (!strcmp(constants[i].name, name))
			return constants[i].basis == BF_BASIS_FITTED;
	return false;
}

static void near_to(const char *what, uint64_t value, double sheet)
{
	ck_assert_msg(fabs((double)value / sheet - 1) < 0.01, "%s is %" PRIu64 ", the data sheet gives %.0f", what,
		      value, sheet);
}

/* Picoseconds of 1 KiB: PCIe of so many GT/s and lanes; 128b/130b up to Gen5, 236 of 256 bytes of a FLIT in Gen6. */
static double link_kib(double gt, double lanes)
{
	return 1024 * 8e3 / (gt * lanes * (gt > 32 ? 236.0 / 256 : 128.0 / 130));
}

static const struct nic {
	const struct bf_mlx5_profile *p;
	const char *fitted; /* prefix of its constants */
	double port, gt;    /* Gb/s; GT/s of 16 lanes */
	bool as_cx7;        /* times are the ConnectX-7's */
} nics[] = {
	{ &bf_mlx5_cx5_timed, "cx5", 100, 8, false },
	{ &bf_mlx5_cx6_timed, "cx6", 200, 16, false },
	{ &bf_mlx5_cx7_timed, "cx7", 400, 32, false },
	{ &bf_mlx5_cx8_timed, "cx7", 800, 64, true },
};

/* Neither default nor fitted: what profile_timed.c says of them. */
static const char *const said[] = {
	"wqe_ps",           /* the product brief's message rate, or no figure's limit */
	"pcie.max_payload", /* assumed: what servers negotiate */
	"bf_bytes",         /* a mechanism: WRITEs of 64 bytes in the entry; libmlx5's limit */
	"atomics_hold",     /* a mechanism: the rate of FETCH_ADDs on one word */
};

START_TEST(each_constant_of_a_nic_has_a_mark)
{
	const struct nic *n = &nics[_i];

	near_to("port_ps_per_kib", n->p->port_ps_per_kib, 8192e3 / n->port);
	near_to("pcie.ps_per_kib", n->p->pcie.ps_per_kib, link_kib(n->gt, 16));
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++) {
		const char *name = fields[i].name;
		const uint64_t value = get_field(&fields[i], n->p);
		bool marked = value == get_field(&fields[i], &bf_mlx5_cx7) || is_fitted(n->fitted, name) ||
			      strstr(name, "ps_per_kib") || !strncmp(name, "traits.", 7);

		for (size_t k = 0; k < BF_ARRAY_LEN(said); k++)
			marked |= !strcmp(name, said[k]);
		ck_assert_msg(marked, "%s: %s is %" PRIu64 ", and nothing says why", n->p->name, name, value);
		if (n->as_cx7 && !strstr(name, "ps_per_kib") && strncmp(name, "traits.", 7))
			ck_assert_uint_eq(value, get_field(&fields[i], &bf_mlx5_cx7_timed));
	}
}
END_TEST

/* Data sheets: MB/s read and written in sequence, random reads of 4 KiB a second, generation of four lanes. */
static const struct drive {
	const struct bf_nvme_profile *p;
	const char *fitted;
	double mb, write_mb, reads, gt;
} drives[] = {
	{ &bf_nvme_980pro, "980pro", 7000, 5000, 1e6, 16 },    { &bf_nvme_pm1733, "pm1733", 7000, 3800, 1.45e6, 16 },
	{ &bf_nvme_optane, "optane", 7200, 6100, 1.55e6, 16 }, { &bf_nvme_p3700, "p3700", 2800, 1900, 460e3, 8 },
	{ &bf_nvme_m9100, "m9100", 3000, 2000, 750e3, 8 },     { &bf_nvme_p4510, "p4510", 3000, 2900, 637e3, 8 },
	{ &bf_nvme_sn850x, "sn850x", 7300, 6600, 1.2e6, 16 },  { &bf_nvme_mtr, "mtr-slc", 0, 0, 0, 16 },
};

START_TEST(a_drive_has_its_data_sheets_rates)
{
	const struct drive *d = &drives[_i];

	near_to("pcie.ps_per_kib", d->p->pcie.ps_per_kib, link_kib(d->gt, 4));
	ck_assert(!d->p->ahead_ps || is_fitted(d->fitted, "ahead_ps"));
	if (!is_fitted(d->fitted, "ps_per_kib"))
		near_to("ps_per_kib", d->p->ps_per_kib, 1024e6 / d->mb);
	if (!is_fitted(d->fitted, "command_ps"))
		near_to("command_ps", d->p->command_ps, 1e12 / d->reads);
	if (d->write_mb > 0) /* all channels program at once */
		near_to("program_ps", d->p->program_ps, (double)d->p->channels * d->p->media_page * 1e6 / d->write_mb);
}
END_TEST

#define MEMBER(name)                                                                                                   \
	{                                                                                                              \
#name, BF_MEMBER(struct bf_nvme_profile, name)                                                         \
	}
/* What no published figure tells: as in the 970 PRO's profile, where each says "assumed" or its source. */
static const struct {
	const char *name;
	size_t offset, size;
} unconstrained_of_drives[] = {
	MEMBER(pcie.latency_ps),
	MEMBER(pcie.mem_ps),
	MEMBER(pcie.max_payload),
	MEMBER(pcie.max_read_request),
	MEMBER(pcie.tlp_overhead),
	MEMBER(doorbell_ps),
	MEMBER(completion_ps),
	MEMBER(ready_ps),
	MEMBER(disable_ps),
	MEMBER(fetch_entries),
	MEMBER(erase_ps),
	MEMBER(cache_bytes),
	MEMBER(max_io_queues),
	MEMBER(mqes),
	MEMBER(dstrd),
	MEMBER(mdts),
	MEMBER(mpsmax),
	MEMBER(cqr),
};

START_TEST(what_nothing_tells_of_a_drive_is_the_970_pros)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(unconstrained_of_drives); i++) {
		const size_t offset = unconstrained_of_drives[i].offset, size = unconstrained_of_drives[i].size;

		ck_assert_msg(bf_member_get(drives[_i].p, offset, size) == bf_member_get(&bf_nvme_970pro, offset, size),
			      "%s: %s is not the 970 PRO's, and nothing says why", drives[_i].p->name,
			      unconstrained_of_drives[i].name);
	}
}
END_TEST
#undef MEMBER

static const struct engine {
	const struct bf_sdma_profile *p;
	const char *fitted;
	double gt;
} engines[] = {
	{ &bf_sdma_mi50, "mi50", 16 },
	{ &bf_sdma_mi200, "mi200", 16 },
	{ &bf_sdma_mi300x, "mi300x", 32 },
	{ &bf_sdma_mi350x, "mi350x", 32 },
};

START_TEST(an_engines_rates_are_its_links_or_fitted)
{
	const struct engine *e = &engines[_i];

	near_to("link.ps_per_kib", e->p->link.ps_per_kib, link_kib(e->gt, 16));
	ck_assert(is_fitted(e->fitted, "link_ps_per_kib"));
	ck_assert(is_fitted(e->fitted, "vram_ps_per_kib"));
	ck_assert(is_fitted(e->fitted, "copy_ps"));
	/* No engine moves more than its link carries. */
	ck_assert_uint_ge(e->p->link_ps_per_kib, e->p->link.ps_per_kib);
}
END_TEST

#define MEMBER(name)                                                                                                   \
	{                                                                                                              \
#name, BF_MEMBER(struct bf_sdma_profile, name)                                                         \
	}
/* What no published figure tells of an engine: as in the profile of its generation. */
static const struct {
	const char *name;
	size_t offset, size;
} unconstrained_of_engines[] = {
	MEMBER(link.latency_ps),
	MEMBER(link.mem_ps),
	MEMBER(link.max_payload),
	MEMBER(link.max_read_request),
	MEMBER(link.tlp_overhead),
	MEMBER(doorbell_ps),
	MEMBER(packet_ps),
	MEMBER(jitter_ps),
	MEMBER(row_ps),
	MEMBER(element_ps[0]),
	MEMBER(element_ps[4]),
	MEMBER(rptr_lag_ps),
	MEMBER(poll_ps),
	MEMBER(fetch_bytes),
	MEMBER(queues),
	MEMBER(copies),
};

START_TEST(what_nothing_tells_of_an_engine_is_its_generations)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(unconstrained_of_engines); i++) {
		const size_t offset = unconstrained_of_engines[i].offset, size = unconstrained_of_engines[i].size;

		ck_assert_msg(bf_member_get(engines[_i].p, offset, size) == bf_member_get(&bf_sdma_v4, offset, size),
			      "%s: %s is not v4's, and nothing says why", engines[_i].p->name,
			      unconstrained_of_engines[i].name);
	}
}
END_TEST
#undef MEMBER

START_TEST(software_says_where_it_is_from)
{
	size_t n;
	const struct bf_timing_constant *c = bf_timing_constants(&n);

	for (size_t i = 0; i < n; i++) {
		ck_assert_msg(c[i].what[0] != '\0', "%s says nothing", c[i].name);
		ck_assert_msg(c[i].basis == BF_BASIS_FITTED || strchr(c[i].what, ':'), "%s names no source", c[i].name);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(c[i].name, c[k].name);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("timing_marks");
	TCase *tc = tcase_create("timing_marks");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, each_constant_of_a_nic_has_a_mark, 0, BF_ARRAY_LEN(nics));
	tcase_add_loop_test(tc, a_drive_has_its_data_sheets_rates, 0, BF_ARRAY_LEN(drives));
	tcase_add_loop_test(tc, an_engines_rates_are_its_links_or_fitted, 0, BF_ARRAY_LEN(engines));
	tcase_add_loop_test(tc, what_nothing_tells_of_a_drive_is_the_970_pros, 0, BF_ARRAY_LEN(drives));
	tcase_add_loop_test(tc, what_nothing_tells_of_an_engine_is_its_generations, 0, BF_ARRAY_LEN(engines));
	tcase_add_test(tc, software_says_where_it_is_from);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
