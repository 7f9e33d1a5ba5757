/* Linux NVMe traces: real ones, read and printed again; forms of old and new kernels; damage. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/import/ftrace.h"
#include "traces/container/json_line.h"

#define VECTORS BELFRY_SOURCE_DIR "/traces/samples/nvme_captures.jsonl"

static struct bf_ftrace *parse(const char *text)
{
	struct bf_ftrace *t;
	struct bf_error err = { 0 };
	int rc = bf_ftrace_parse(text, strlen(text), &t, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	return t;
}

static int parse_error(const char *text, struct bf_ftrace **t, struct bf_error *err)
{
	*err = (struct bf_error){ 0 };
	return bf_ftrace_parse(text, strlen(text), t, err);
}

/* The command of `ev` as the kernel of the line printed it: between "cmd=(" and ")", a comma behind the name dropped.
 */
static void same_command(const char *line, const struct bf_ftrace_event *ev)
{
	const char *open = strstr(line, "cmd=("), *close = strchr(open, ')');
	const char *name = bf_ftrace_command_name(ev->qid, ev->setup.opcode, ev->setup.fctype);
	char args[256], mine[320], theirs[320];
	size_t n = 0;

	bf_ftrace_command_text(ev->qid, ev->setup.opcode, ev->setup.fctype, &ev->setup.sqe, args, sizeof(args));
	if (name)
		snprintf(mine, sizeof(mine), "%s %s", name, args);
	else
		snprintf(mine, sizeof(mine), "0x%" PRIx32 " %s", ev->setup.opcode, args);
	for (const char *p = open + 5; p < close; p++)
		if (!(*p == ',' && !strchr(mine, ',')) && !(p[0] == ',' && p > open && strchr(open, ' ') > p))
			theirs[n++] = *p;
	theirs[n] = '\0';
	/* Before 5.19 set and get features were not decoded. */
	if (strstr(theirs, "features cdw10=") == NULL)
		ck_assert_str_eq(mine, theirs);
}

static unsigned check_text(char *text)
{
	struct bf_ftrace *t = parse(text);
	unsigned setups = 0, number = 0;
	char *rest = text, *line;
	size_t next = 0;

	while ((line = strsep(&rest, "\n")) && next < t->count) {
		const struct bf_ftrace_event *ev = &t->events[next];

		if (++number != ev->line)
			continue;
		next++;
		if (ev->kind == BF_FTRACE_SETUP) {
			same_command(line, ev);
			setups++;
		} else if (ev->kind == BF_FTRACE_COMPLETE) {
			ck_assert_ptr_nonnull(strstr(line, "status="));
			ck_assert_uint_eq(ev->complete.status, strtoul(strstr(line, "status=") + 7, NULL, 0));
			ck_assert_uint_eq(ev->complete.result, strtoull(strstr(line, "res=") + 4, NULL, 0));
		}
	}
	ck_assert_uint_eq(next, t->count);
	ck_assert_uint_gt(t->count, 0);
	bf_ftrace_free(t);
	return setups;
}

START_TEST(real_traces)
{
	FILE *f = fopen(VECTORS, "r");
	char *json = NULL, *text = malloc(1 << 20);
	unsigned traces = 0, setups = 0;
	size_t cap = 0;
	ssize_t n;

	ck_assert_ptr_nonnull(f);
	while ((n = getline(&json, &cap, f)) > 0) {
		struct bf_error err = { 0 };
		struct bf_json_line l = { .start = json, .p = json, .end = json + n - 1, .number = 1, .err = &err };
		const struct bf_json_member *kind;

		ck_assert_int_eq(bf_json_line_scan(&l), 0);
		kind = bf_json_line_find(&l, "kind");
		if (kind->value_len < 6 || memcmp(kind->value, "ftrace", 6) != 0)
			continue;
		ck_assert_int_gt(bf_json_line_text(&l, bf_json_line_find(&l, "text"), "text", text, 1 << 20), 0);
		setups += check_text(text);
		traces++;
	}
	ck_assert_uint_eq(traces, 12);
	ck_assert_uint_gt(setups, 50);
	free(text);
	free(json);
	fclose(f);
}
END_TEST

START_TEST(one_of_each)
{
	struct bf_ftrace *t = parse(
	    "# tracer: nop\n"
	    "\n"
	    "  fio-1 [000] ..... 5.000001: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=3, cmdid=4097, nsid=2, flags=0x1, "
	    "meta=0x0, cmd=(nvme_cmd_write slba=4294967297, len=7, ctrl=0x4000, dsmgmt=65536, reftag=9)\n"
	    "  fio-1 [000] ..... 5.000002: block_rq_issue: 259,0 WS 4096 () 8 + 8 [fio]\n"
	    " <idle>-0 [000] d.h1. 5.000003: nvme_sq: nvme0: disk=nvme0n1, qid=3, head=12, tail=11\n"
	    " <idle>-0 [000] d.h1. 5.000004: nvme_complete_rq: nvme0: disk=nvme0n1, qid=3, cmdid=4097, res=0x1, "
	    "retries=2, flags=0x0, status=0x4002\n"
	    " kworker-9 [001] ..... 5.000005: nvme_async_event: nvme0: NVME_AEN=0x000100 "
	    "[NVME_AER_NOTICE_NS_CHANGED]\n");
	const struct bf_ftrace_event *e = t->events;

	ck_assert_uint_eq(t->count, 4);
	ck_assert_uint_eq(t->skipped, 3);
	ck_assert_int_eq(e[0].kind, BF_FTRACE_SETUP);
	ck_assert_str_eq(e[0].ctrl, "nvme0");
	ck_assert_uint_eq(e[0].qid, 3);
	ck_assert_uint_eq(e[0].cid, 4097);
	ck_assert_uint_eq(e[0].setup.sqe.opcode, BF_NVME_IO_WRITE);
	ck_assert_uint_eq(e[0].setup.sqe.flags, 1);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.nsid), 2);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw10), 1);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw11), 1);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw12), 0x40000007);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw13), 65536);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw14), 9);
	ck_assert_uint_eq(e[1].sq.head, 12);
	ck_assert_uint_eq(e[1].sq.tail, 11);
	ck_assert_uint_eq(e[1].t_ns, 2000);
	ck_assert_uint_eq(e[2].complete.status, 0x4002);
	ck_assert_uint_eq(e[2].complete.retries, 2);
	ck_assert_uint_eq(e[3].aen, 0x100);
	ck_assert_uint_eq(e[3].line, 7);
	bf_ftrace_free(t);
}
END_TEST

START_TEST(decimal_forms)
{
	/* Before 5.3 status and result were printed in decimal. */
	struct bf_ftrace *t =
	    parse("kworker/15:1H-462 [015] .... 91814.342452: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=7, "
		  "cmdid=552, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_dsm nr=0, attributes=4)\n"
		  "<idle>-0 [013] d.h. 91814.342708: nvme_complete_rq: nvme0: disk=nvme0n1, qid=7, "
		  "cmdid=552, res=0, retries=0, flags=0x0, status=8198");

	ck_assert_uint_eq(t->events[1].complete.status, 0x2006);
	bf_ftrace_free(t);
}
END_TEST

START_TEST(block_trace)
{
	struct bf_ftrace *t = parse("259,0    1        1     0.000000000  1234  Q   R 2048 + 8 [fio]\n"
				    "259,0    1        2     0.000001200  1234  D   R 2048 + 8 [fio]\n"
				    "259,0    3        3     0.000081200     0  C   R 2048 + 8 [0]\n"
				    "259,0    0        4     0.000101200  1234  D WFS 4096 + 16 [fio]\n"
				    "259,0    0        5     0.000201200     0  C WFS 4096 + 16 [0]\n"
				    "259,0    0        6     0.000301200  1234  D  FN [fio]\n"
				    "259,0    0        7     0.000401200     0  C  FN 0 [0]\n"
				    "259,0    0        8     0.000501200     0  C   R 8 + 8 [0]\n"
				    "CPU0 (259,0):\n");
	const struct bf_ftrace_event *e = t->events;

	ck_assert_uint_eq(t->count, 6);
	ck_assert_uint_eq(e[0].qid, 2);
	ck_assert_uint_eq(e[1].qid, 2); /* where it was issued, not where it ended */
	ck_assert_uint_eq(e[0].cid, e[1].cid);
	ck_assert_uint_eq(e[1].t_ns - e[0].t_ns, 80000);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw10), 2048);
	ck_assert_uint_eq(bf_le32(e[0].setup.sqe.cdw12), 7);
	ck_assert_uint_eq(e[2].setup.opcode, BF_NVME_IO_WRITE);
	ck_assert_uint_eq(bf_le32(e[2].setup.sqe.cdw12), 0x4000000f);
	ck_assert_uint_eq(e[4].setup.opcode, BF_NVME_IO_FLUSH);
	bf_ftrace_free(t);
}
END_TEST

static const struct {
	const char *text, *error;
} damages[] = {
	{ "a [0] . x.1: nvme_sq: nvme0: qid=1, head=1, tail=1", "line 1, column 10: this is no time in seconds" },
	{ "a [0] . 1.1 nvme_sq: nvme0: qid=1, head=1, tail=1", "line 1, column 13: a time and ':' are expected" },
	{ "a [0] . 1.1: nvme_sq: nvme0: head=1, tail=1", "there is no qid=" },
	{ "a [0] . 1.1: nvme_sq: nvme0: qid=1", "there is no head=" },
	{ "a [0] . 1.1: nvme_sq: nvme0 qid=1", "a controller's name and ':'" },
	{ "a [0] . 1.1: nvme_sq: nvme0: qid=70000, head=1", "column 34: the number is too large for its field" },
	{ "a [0] . 1.1: nvme_sq: nvme0: qid=x, head=1", "column 34: a number is expected here" },
	{ "a [0] . 1.1: nvme_complete_rq: nvme0: qid=1, cmdid=2, res=0x0", "there is no status=" },
	{ "a [0] . 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=2, nsid=1", "there is no cmd=(...)" },
	{ "a [0] . 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=2, cmd=(nvme_cmd_read slba=1", "is not closed" },
	{ "a [0] . 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=2, cmd=(nvme_cmd_raed slba=1)", "no such command" },
	{ "a [0] . 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=2, cmd=(nvme_cmd_read slba=z)", "a number is expected" },
	{ "a [0] . 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=2, cmd=(nvme_cmd_read len=65536)", "too large" },
	{ "a [0] . 1.1: nvme_setup_cmd: nvme0: qid=1, cmdid=2, cmd=(0x99 cdw10=0 1)", "in hexadecimal" },
	{ "a [0] . 1.1: nvme_async_event: nvme0: AEN=1", "NVME_AEN= is expected here" },
};

START_TEST(damage_is_named)
{
	struct bf_ftrace *t;
	struct bf_error err;

	ck_assert_int_eq(parse_error(damages[_i].text, &t, &err), -EBADMSG);
	ck_assert_msg(strstr(err.text, damages[_i].error), "'%s' lacks '%s'", err.text, damages[_i].error);
	ck_assert_uint_eq(t->count, 0);
	bf_ftrace_free(t);
}
END_TEST

START_TEST(lines_before_damage_are_kept)
{
	struct bf_ftrace *t;
	struct bf_error err;

	ck_assert_int_eq(parse_error("a [0] . 1.1: nvme_sq: nvme0: qid=1, head=1, tail=1\n"
				     "a [0] . 1.2: nvme_sq: nvme0: qid=1, head=, tail=1\n",
				     &t, &err),
			 -EBADMSG);
	ck_assert_uint_eq(t->count, 1);
	ck_assert_ptr_nonnull(strstr(err.text, "line 2, column 42"));
	bf_ftrace_free(t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ftrace");
	TCase *tc = tcase_create("ftrace");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, real_traces);
	tcase_add_test(tc, one_of_each);
	tcase_add_test(tc, decimal_forms);
	tcase_add_test(tc, block_trace);
	tcase_add_loop_test(tc, damage_is_named, 0, (int)(sizeof(damages) / sizeof(*damages)));
	tcase_add_test(tc, lines_before_damage_are_kept);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
