/* PMI-1, the manager's side: what each command gets back, in any pieces, and what peers may not do. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/pmi.h"
#include "sim/compiler.h"

#define RANKS 3u

/* All replies since the last look, each with the rank's number in front. */
struct heard {
	char text[4096];
	int rc; /* what sending returns */
};

static int hear(void *ctx, uint32_t rank, const char *line, size_t len)
{
	struct heard *h = ctx;
	const size_t at = strlen(h->text);

	ck_assert_uint_le(len, BF_PMI_REPLY_MAX);
	ck_assert_int_eq(line[len - 1], '\n');
	ck_assert_uint_lt(at + len + 2, sizeof(h->text));
	h->text[at] = (char)('0' + rank);
	h->text[at + 1] = ' ';
	memcpy(h->text + at + 2, line, len);
	h->text[at + 2 + len] = '\0';
	return h->rc;
}

static struct bf_pmi *begin(struct heard *h)
{
	struct bf_pmi *pmi = bf_pmi_new(RANKS, &(struct bf_pmi_out){ .send = hear, .ctx = h });

	*h = (struct heard){ 0 };
	ck_assert_ptr_nonnull(pmi);
	return pmi;
}

/* Rank `rank` says `line` and gets `want`, with the rank in front of each line; "" is silence. */
static void says(struct bf_pmi *pmi, struct heard *h, uint32_t rank, const char *line, const char *want)
{
	struct bf_error err = { 0 };

	h->text[0] = '\0';
	ck_assert_msg(!bf_pmi_take(pmi, rank, line, strlen(line), &err), "%s", err.text);
	ck_assert_str_eq(h->text, want);
}

/* It is refused with `rc`, and the text has `why`. */
static void breaks(struct bf_pmi *pmi, uint32_t rank, const char *bytes, size_t len, int rc, const char *why)
{
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_pmi_take(pmi, rank, bytes, len, &err), rc);
	ck_assert_msg(strstr(err.text, why) != NULL, "\"%s\" does not say \"%s\"", err.text, why);
}

START_TEST(a_job_finds_itself)
{
	struct heard h;
	struct bf_pmi *pmi = begin(&h);

	says(pmi, &h, 0, "cmd=init pmi_version=1 pmi_subversion=1\n",
	     "0 cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	says(pmi, &h, 1, "cmd=init pmi_version=2 pmi_subversion=0\n",
	     "1 cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
	says(pmi, &h, 0, "cmd=get_maxes\n", "0 cmd=maxes rc=0 kvsname_max=7 keylen_max=64 vallen_max=896\n");
	says(pmi, &h, 0, "cmd=get_appnum\n", "0 cmd=appnum rc=0 appnum=0\n");
	says(pmi, &h, 2, "cmd=get_universe_size\n", "2 cmd=universe_size rc=0 size=3\n");
	says(pmi, &h, 0, "cmd=get_my_kvsname\n", "0 cmd=my_kvsname rc=0 kvsname=belfry\n");
	says(pmi, &h, 1, "cmd=get kvsname=belfry key=PMI_process_mapping\n",
	     "1 cmd=get_result rc=0 msg=success value=(vector,(0,1,3))\n");
	says(pmi, &h, 2, "cmd=finalize\n", "2 cmd=finalize_ack rc=0\n");
	bf_pmi_free(pmi);
}
END_TEST

START_TEST(what_one_puts_the_others_get)
{
	struct heard h;
	struct bf_pmi *pmi = begin(&h);

	says(pmi, &h, 0, "cmd=get kvsname=belfry key=card\n",
	     "0 cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	says(pmi, &h, 1, "cmd=put kvsname=belfry key=card value=QUJD/+==\n", "1 cmd=put_result rc=0 msg=success\n");
	says(pmi, &h, 0, "cmd=get kvsname=belfry key=card\n", "0 cmd=get_result rc=0 msg=success value=QUJD/+==\n");
	says(pmi, &h, 2, "cmd=put kvsname=belfry key=card value=x\n", "2 cmd=put_result rc=-1 msg=duplicate_key\n");
	says(pmi, &h, 2, "cmd=put kvsname=belfry key=empty value=\n", "2 cmd=put_result rc=0 msg=success\n");
	says(pmi, &h, 2, "cmd=put kvsname=belfry key= value=x\n", "2 cmd=put_result rc=-1 msg=key_or_value_missing\n");
	says(pmi, &h, 2, "cmd=put kvsname=belfry value=x\n", "2 cmd=put_result rc=-1 msg=key_or_value_missing\n");
	says(pmi, &h, 2, "cmd=get kvsname=belfry\n", "2 cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	/* Many, so that buckets hold several; by bytes, since streams have no lines. */
	for (int i = 0; i < 600; i++) {
		struct bf_error err = { 0 };
		char line[96];
		const int len = snprintf(line, sizeof(line), "cmd=put kvsname=belfry key=k%d value=v%d\n", i, 7 * i);

		h.text[0] = '\0';
		for (int b = 0; b < len; b++)
			ck_assert_int_eq(bf_pmi_take(pmi, 0, line + b, 1, &err), 0);
		ck_assert_str_eq(h.text, "0 cmd=put_result rc=0 msg=success\n");
	}
	says(pmi, &h, 1, "cmd=get kvsname=belfry key=k599\ncmd=get kvsname=belfry key=k0\n",
	     "1 cmd=get_result rc=0 msg=success value=v4193\n1 cmd=get_result rc=0 msg=success value=v0\n");
	bf_pmi_free(pmi);
}
END_TEST

START_TEST(a_barrier_lets_all_go_at_once)
{
	static const char all[] = "0 cmd=barrier_out rc=0\n1 cmd=barrier_out rc=0\n2 cmd=barrier_out rc=0\n";
	struct heard h;
	struct bf_pmi *pmi = begin(&h);

	for (int round = 0; round < 3; round++) {
		says(pmi, &h, 2, "cmd=barrier_in\n", "");
		says(pmi, &h, 2, "cmd=barrier_in\n", ""); /* twice is once */
		says(pmi, &h, 0, "cmd=barrier_in\n", "");
		ck_assert_uint_eq(bf_pmi_waiting(pmi), 2);
		says(pmi, &h, 1, "cmd=barrier_in\n", all);
		ck_assert_uint_eq(bf_pmi_waiting(pmi), 0);
	}
	says(pmi, &h, 2, "cmd=barrier_in\n", "");
	bf_pmi_gone(pmi, 2);
	ck_assert_uint_eq(bf_pmi_waiting(pmi), 0);
	bf_pmi_free(pmi);
}
END_TEST

START_TEST(what_is_not_there_says_so)
{
	struct heard h;
	struct bf_pmi *pmi = begin(&h);

	says(pmi, &h, 0, "mcmd=spawn\nnprocs=2\nexecname=a.out\nendcmd\n",
	     "0 cmd=spawn_result rc=-1 msg=not_supported\n");
	says(pmi, &h, 0, "cmd=publish_name service=a port=b\n", "0 cmd=publish_result rc=-1 msg=not_supported\n");
	says(pmi, &h, 0, "cmd=unpublish_name service=a\n", "0 cmd=unpublish_result rc=-1 msg=not_supported\n");
	says(pmi, &h, 0, "cmd=lookup_name service=a\n", "0 cmd=lookup_result rc=-1 msg=not_supported\n");
	breaks(pmi, 0, "cmd=dance\n", 10, -EPROTO, "no command \"dance\"");
	says(pmi, &h, 0, "cmd=get_appnum\n", ""); /* nothing more is read from it */
	breaks(pmi, 1, "\n", 1, -EPROTO, "cmd=");
	breaks(pmi, 2, "hello\n", 6, -EPROTO, "cmd=");
	bf_pmi_free(pmi);
}
END_TEST

START_TEST(long_things_are_refused)
{
	const size_t long_key = BF_PMI_KEY_MAX, long_value = BF_PMI_VALUE_MAX;
	struct heard h;
	struct bf_pmi *pmi = begin(&h);
	char line[BF_PMI_LINE_MAX + 64], want[BF_PMI_REPLY_MAX + 8], text[BF_PMI_VALUE_MAX + 1];

	memset(text, 'x', sizeof(text));
	snprintf(line, sizeof(line), "cmd=put key=%.*s value=1\n", (int)long_key, text);
	says(pmi, &h, 0, line, "0 cmd=put_result rc=-1 msg=key_too_long\n");
	snprintf(line, sizeof(line), "cmd=put key=a value=%.*s\n", (int)long_value, text);
	says(pmi, &h, 0, line, "0 cmd=put_result rc=-1 msg=value_too_long\n");
	/* The longest that may be comes back whole. */
	snprintf(line, sizeof(line), "cmd=put key=%.*s value=%.*s\n", (int)long_key - 1, text, (int)long_value - 1,
		 text);
	says(pmi, &h, 0, line, "0 cmd=put_result rc=0 msg=success\n");
	snprintf(line, sizeof(line), "cmd=get key=%.*s\n", (int)long_key - 1, text);
	snprintf(want, sizeof(want), "1 cmd=get_result rc=0 msg=success value=%.*s\n", (int)long_value - 1, text);
	says(pmi, &h, 1, line, want);
	memset(line, 'y', sizeof(line));
	breaks(pmi, 2, line, BF_PMI_LINE_MAX, -EPROTO, "longer than 4096");
	bf_pmi_free(pmi);
}
END_TEST

START_TEST(one_that_gives_up_names_its_code)
{
	struct heard h;
	struct bf_pmi *pmi = begin(&h);

	breaks(pmi, 1, "cmd=abort exitcode=7\n", 21, -ECANCELED, "exit code 7");
	ck_assert_int_eq(bf_pmi_abort_code(pmi), 7);
	breaks(pmi, 2, "cmd=abort exitcode=0\n", 21, -ECANCELED, "exit code 1"); /* the end of all is no success */
	h.rc = -EAGAIN;
	breaks(pmi, 0, "cmd=get_appnum\n", 15, -EAGAIN, "cannot be answered");
	bf_pmi_free(pmi);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pmi");
	TCase *t = tcase_create("pmi");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(t, a_job_finds_itself);
	tcase_add_test(t, what_one_puts_the_others_get);
	tcase_add_test(t, a_barrier_lets_all_go_at_once);
	tcase_add_test(t, what_is_not_there_says_so);
	tcase_add_test(t, long_things_are_refused);
	tcase_add_test(t, one_that_gives_up_names_its_code);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
