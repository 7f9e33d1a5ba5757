/* Captures: what each line must have, where an error is, and that records carry the events there and back. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/import/capture.h"
#include "traces/records/capture.h"
#include "traces/container/trace.h"

#define MKEY                                                                                                           \
	"{\"t_ns\":1,\"ev\":\"mkey\",\"key\":\"0x1000\",\"addr\":\"0x563d84d0c000\",\"length\":8192,\"access\":"       \
	"1048585}\n"
#define QP                                                                                                             \
	"{\"t_ns\":2,\"ev\":\"qp\",\"qpn\":\"0x101001\",\"dest_qpn\":\"0x100001\",\"sq_wqebbs\":128,\"rq_wqes\":4,"    \
	"\"rq_stride_log2\":4,\"user_index\":7,\"send_cqn\":\"0x1\",\"send_cqes\":256,\"recv_cqn\":\"0x2\","           \
	"\"recv_cqes\":16,\"state\":3}\n"
#define BELL "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x101001\",\"dbrec\":28}\n"
#define ZEROS_16 "00000000000000000000000000000000"
#define RECV                                                                                                           \
	"{\"t_ns\":4,\"ev\":\"recv_wqe\",\"qpn\":\"0x101001\",\"index\":9,\"bytes\":"                                  \
	"\"00112233445566778899aAbBcCdDeEfF\"}\n"
#define WQE                                                                                                            \
	"{\"t_ns\":5,\"ev\":\"wqe\",\"qpn\":\"0x101001\",\"index\":300,\"bytes\":\"" ZEROS_16 ZEROS_16 ZEROS_16        \
	    ZEROS_16 "\"}\n"
#define CQE                                                                                                            \
	"{\"t_ns\":6,\"ev\":\"cqe\",\"cqn\":\"0x2\",\"index\":70000,\"bytes\":\"" ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16  \
	"\"}\n"
#define SRQ "{\"t_ns\":7,\"ev\":\"srq\",\"srqn\":\"0x10\",\"qpn\":\"0x101001\",\"wqes\":512,\"stride_log2\":5}\n"
#define SRQ_WQE "{\"t_ns\":8,\"ev\":\"srq_wqe\",\"srqn\":\"0x10\",\"index\":511,\"bytes\":\"" ZEROS_16 ZEROS_16 "\"}\n"
#define ALL MKEY QP BELL RECV WQE CQE SRQ SRQ_WQE

static struct bf_capture *parse(const char *text, int want, struct bf_error *err)
{
	struct bf_capture *c;
	char *copy = strdup(text); /* exactly as long: reading past the end is seen by the sanitizer */
	char *exact = malloc(strlen(text) + !*text);

	memcpy(exact, copy, strlen(text));
	*err = (struct bf_error){ 0 };
	ck_assert_int_eq(bf_capture_parse(exact, strlen(text), &c, err), want);
	ck_assert_ptr_nonnull(c);
	free(exact);
	free(copy);
	return c;
}

static void check_all(const struct bf_capture *c)
{
	const struct bf_capture_event *e = c->events;

	ck_assert_uint_eq(c->count, 8);
	for (uint32_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(e[i].line, i + 1);
		ck_assert_uint_eq(e[i].t_ns, i + 1);
	}
	ck_assert_int_eq(e[0].kind, BF_CAPTURE_MKEY);
	ck_assert_uint_eq(e[0].mkey.key, 0x1000);
	ck_assert_uint_eq(e[0].mkey.addr, 0x563d84d0c000);
	ck_assert_uint_eq(e[0].mkey.length, 8192);
	ck_assert_uint_eq(e[0].mkey.access, BF_CAPTURE_RELAXED | BF_CAPTURE_REMOTE_ATOMIC | BF_CAPTURE_LOCAL_WRITE);
	ck_assert_int_eq(e[1].kind, BF_CAPTURE_QP);
	ck_assert_uint_eq(e[1].qp.qpn, 0x101001);
	ck_assert_uint_eq(e[1].qp.dest_qpn, 0x100001);
	ck_assert_uint_eq(e[1].qp.sq_wqebbs, 128);
	ck_assert_uint_eq(e[1].qp.rq_wqes, 4);
	ck_assert_uint_eq(e[1].qp.rq_stride_log2, 4);
	ck_assert_uint_eq(e[1].qp.user_index, 7);
	ck_assert_uint_eq(e[1].qp.send_cqn, 1);
	ck_assert_uint_eq(e[1].qp.send_cqes, 256);
	ck_assert_uint_eq(e[1].qp.recv_cqn, 2);
	ck_assert_uint_eq(e[1].qp.recv_cqes, 16);
	ck_assert_uint_eq(e[1].qp.state, 3);
	ck_assert_int_eq(e[2].kind, BF_CAPTURE_DOORBELL);
	ck_assert_uint_eq(e[2].queue.dbrec, 28);
	ck_assert_int_eq(e[3].kind, BF_CAPTURE_RECV_WQE);
	ck_assert_uint_eq(e[3].queue.index, 9);
	ck_assert_uint_eq(e[3].len, 16);
	for (uint32_t i = 0; i < 16; i++)
		ck_assert_uint_eq(e[3].bytes[i], 0x11 * i);
	ck_assert_int_eq(e[4].kind, BF_CAPTURE_WQE);
	ck_assert_uint_eq(e[4].queue.index, 300);
	ck_assert_uint_eq(e[4].len, 64);
	ck_assert_int_eq(e[5].kind, BF_CAPTURE_CQE);
	ck_assert_uint_eq(e[5].queue.cqn, 2);
	ck_assert_uint_eq(e[5].queue.index, 70000);
	ck_assert_int_eq(e[6].kind, BF_CAPTURE_SRQ);
	ck_assert_uint_eq(e[6].srq.srqn, 0x10);
	ck_assert_uint_eq(e[6].srq.qpn, 0x101001);
	ck_assert_uint_eq(e[6].srq.wqes, 512);
	ck_assert_uint_eq(e[6].srq.stride_log2, 5);
	ck_assert_int_eq(e[7].kind, BF_CAPTURE_SRQ_WQE);
	ck_assert_uint_eq(e[7].queue.srqn, 0x10);
	ck_assert_uint_eq(e[7].queue.index, 511);
	ck_assert_uint_eq(e[7].len, 32);
}

START_TEST(test_every_field)
{
	struct bf_error err;
	struct bf_capture *c = parse(ALL, 0, &err);

	check_all(c);
	bf_capture_free(c);
}
END_TEST

/* White space, empty lines, CRLF, any order, and fields that nobody asked for, nested ones too. */
START_TEST(test_tolerant)
{
	static const char *const texts[] = {
		"\n  \n" BELL,
		"{ \"dbrec\" : 28 , \"qpn\" : \"0x101001\",\t\"ev\": \"sq_doorbell\", \"t_ns\":3 } \r\n",
		"{\"x\":[{\"ev\":\"no\"},[],\"]\\\"\"],\"t_ns\":3,\"ev\":\"sq_doorbell\",\"y\":-1.5e3,\"z\":null,"
		"\"qpn\":\"0x101001\","
		"\"w\":{\"dbrec\":1},\"dbrec\":28,\"v\":true}",
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(texts); i++) {
		struct bf_error err;
		struct bf_capture *c = parse(texts[i], 0, &err);

		ck_assert_uint_eq(c->count, 1);
		ck_assert_uint_eq(c->events[0].queue.dbrec, 28);
		ck_assert_uint_eq(c->events[0].queue.qpn, 0x101001);
		ck_assert_uint_eq(c->events[0].line, i == 0 ? 3 : 1);
		bf_capture_free(c);
	}
}
END_TEST

/* Each bad line stands behind a good one, which must survive. */
static const struct {
	const char *line, *says;
} bad[] = {
	{ "hello", "line 2, column 1: an object was expected" },
	{ "{\"t_ns\":3", "line 2, column 10: the line ends inside an object" },
	{ "{\"t_ns\":3} x", "line 2, column 12: the object is followed by something else" },
	{ "{\"t_ns\" 3}", "line 2, column 9: a colon was expected" },
	{ "{\"t_ns\":}", "line 2, column 9: a value was expected" },
	{ "{t_ns:3}", "line 2, column 2: a field name in quotes was expected" },
	{ "{\"t_ns\":3 \"ev\":4}", "line 2, column 11: a comma" },
	{ "{\"t_ns\":3,\"ev\":\"cqe}", "line 2, column 16: the text has no end" },
	{ "{\"x\":[1,2}", "line 2, column 10: this bracket closes nothing" },
	{ "{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply" },
	{ "{\"t_ns\":3}", "line 2: the object has no \"ev\"" },
	{ "{\"t_ns\":3,\"ev\":3}", "line 2: the object has no \"ev\"" },
	{ "{\"t_ns\":3,\"ev\":\"quux\"}", "line 2, column 17: unknown event \"quux\"" },
	{ "{\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":1}", "event \"sq_doorbell\" lacks field \"t_ns\"" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\"}", "event \"sq_doorbell\" lacks field \"dbrec\"" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":1,\"dbrec\":1}",
	  "column 36: field \"qpn\" wants a text such as \"0x1000\"" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x\",\"dbrec\":1}", "field \"qpn\" wants a text" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0xg\",\"dbrec\":1}",
	  "field \"qpn\" has a character that is not a hex digit" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1000000\",\"dbrec\":1}", "field \"qpn\" is too large" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":\"1\"}", "field \"dbrec\" wants a number" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":-1}", "field \"dbrec\" wants a whole number" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":1.5}", "field \"dbrec\" wants a whole number" },
	{ "{\"t_ns\":3,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":65536}", "field \"dbrec\" is too large" },
	{ "{\"t_ns\":99999999999999999999,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":1}",
	  "field \"t_ns\" is too large" },
	{ "{\"t_ns\":0,\"ev\":\"sq_doorbell\",\"qpn\":\"0x1\",\"dbrec\":1}", "time 0 ns lies before" },
	{ "{\"t_ns\":3,\"ev\":\"wqe\",\"qpn\":\"0x1\",\"index\":0}", "event \"wqe\" lacks field \"bytes\"" },
	{ "{\"t_ns\":3,\"ev\":\"wqe\",\"qpn\":\"0x1\",\"index\":0,\"bytes\":\"" ZEROS_16 "\"}",
	  "has 16 bytes; multiples of 64" },
	{ "{\"t_ns\":3,\"ev\":\"wqe\",\"qpn\":\"0x1\",\"index\":0,\"bytes\":\"\"}", "has 0 bytes" },
	{ "{\"t_ns\":3,\"ev\":\"recv_wqe\",\"qpn\":\"0x1\",\"index\":0,\"bytes\":\"000\"}", "pairs of hex digits" },
	{ "{\"t_ns\":3,\"ev\":\"recv_wqe\",\"qpn\":\"0x1\",\"index\":0,\"bytes\":\"0000000000000000000000000000000x\"}",
	  "not a hex digit" },
	{ "{\"t_ns\":3,\"ev\":\"cqe\",\"cqn\":\"0x1\",\"index\":0,\"bytes\":\"" ZEROS_16 "\"}",
	  "multiples of 64 up to 64" },
	{ "{\"t_ns\":3,\"ev\":\"srq\",\"srqn\":\"0x1\",\"qpn\":\"0x1\",\"wqes\":3,\"stride_log2\":5}",
	  "which is not a power of two" },
	{ "{\"t_ns\":3,\"ev\":\"srq\",\"srqn\":\"0x1\",\"qpn\":\"0x1\",\"wqes\":0,\"stride_log2\":5}",
	  "which is not a power of two" },
	{ "{\"t_ns\":3,\"ev\":\"srq\",\"srqn\":\"0x1\",\"qpn\":\"0x1\",\"wqes\":4,\"stride_log2\":4}",
	  "is below 5 (32 bytes)" },
	{ "{\"t_ns\":3,\"ev\":\"srq_wqe\",\"srqn\":\"0x1\",\"index\":65536,\"bytes\":\"" ZEROS_16 "\"}",
	  "\"index\" is too large" },
};

START_TEST(test_refused)
{
	char text[1024];
	struct bf_error err;
	struct bf_capture *c;

	snprintf(text, sizeof(text), MKEY "%s\n" BELL, bad[_i].line);
	c = parse(text, -EBADMSG, &err);
	ck_assert_msg(strstr(err.text, bad[_i].says), "'%s' does not say '%s'", err.text, bad[_i].says);
	ck_assert_uint_eq(c->count, 1);
	ck_assert_uint_eq(c->events[0].mkey.key, 0x1000);
	bf_capture_free(c);
}
END_TEST

/* Wherever a capture is cut, the whole lines are there and the error names the cut one. */
START_TEST(test_truncated)
{
	const size_t len = strlen(ALL);

	for (size_t n = 0; n <= len; n++) {
		struct bf_error err;
		char *text = strndup(ALL, n);
		size_t lines = 0, last = 0;

		for (size_t i = 0; i < n; i++) {
			if (text[i] == '\n') {
				lines++;
				last = i + 1;
			}
		}
		/* A last line without its newline is whole all the same. */
		bool whole = n == last || text[n - 1] == '}';
		struct bf_capture *c = parse(text, whole ? 0 : -EBADMSG, &err);

		ck_assert_uint_eq(c->count, lines + (whole && n != last));
		if (!whole) {
			char want[64];

			snprintf(want, sizeof(want), "the capture ends inside line %zu", lines + 1);
			ck_assert_msg(strstr(err.text, want), "%s", err.text);
		}
		bf_capture_free(c);
		free(text);
	}
}
END_TEST

START_TEST(test_depths)
{
	static const char *const names[] = { "\"sq_wqebbs\":128", "\"rq_wqes\":4", "\"send_cqes\":256",
					     "\"recv_cqes\":16" };

	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++) {
		char text[1024], *p;
		struct bf_error err;
		struct bf_capture *c;

		strcpy(text, QP);
		p = strstr(text, names[i]) + strcspn(names[i], ":") + 1;
		*p = '7'; /* 728, 7, 756, 76 */
		c = parse(text, -EBADMSG, &err);
		ck_assert_ptr_nonnull(strstr(err.text, "not a power of two"));
		ck_assert_uint_eq(c->count, 0);
		bf_capture_free(c);
	}
}
END_TEST

START_TEST(test_probe)
{
	ck_assert(bf_capture_probe(ALL, strlen(ALL)));
	ck_assert(bf_capture_probe(QP, 40)); /* the head of a line that is longer than what was read */
	ck_assert(!bf_capture_probe("{\"belfry\":1}\n" ALL, 40));
	ck_assert(!bf_capture_probe("", 0));
	ck_assert(!bf_capture_probe("\x89"
				    "belfry",
				    7));
}
END_TEST

/* Through both forms of a trace, every event comes back, with its line. */
START_TEST(test_through_a_trace)
{
	const struct bf_trace_options o = { .jsonl = _i == 1 };
	char path[] = "/tmp/capture-XXXXXX";
	struct bf_trace_writer *w;
	struct bf_error err;
	struct bf_capture *c = parse(ALL, 0, &err), *back;

	close(mkstemp(path));
	ck_assert_int_eq(bf_trace_writer_open(path, NULL, &o, &w, &err), 0);
	ck_assert_int_eq(bf_capture_emit(c, bf_trace_sink(w), &err), 0);
	ck_assert_int_eq(bf_trace_writer_close(w), 0);
	ck_assert_msg(bf_capture_load(path, &back, &err) == 0, "%s", err.text);
	check_all(back);
	bf_capture_free(back);
	bf_capture_free(c);
	remove(path);
}
END_TEST

static int take_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s, (void)schema;
	return 0;
}

static int take_records(struct bf_sink *s, const void *records, size_t len)
{
	(void)s, (void)records, (void)len;
	return 0;
}

struct counting {
	struct bf_sink sink;
	uint32_t actors;
	char names[64][32];
};

static int take_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	struct counting *c = (struct counting *)s;

	ck_assert_uint_eq(actor, c->actors + 1);
	ck_assert_str_eq(kind, strcmp(name, "cap.keys") ? "queue" : "keys");
	if (c->actors < 64)
		snprintf(c->names[c->actors], sizeof(c->names[0]), "%s", name);
	c->actors++;
	return 0;
}

/* Each queue is one actor however many events it has; a QP and a CQ of one number are two; the table grows. */
START_TEST(test_actors)
{
	struct counting s = { .sink = {
				  .declare_type = take_type, .declare_actor = take_actor, .write = take_records } };
	struct bf_capture *c;
	struct bf_error err = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (unsigned i = 0; i < 3000; i++)
		fprintf(f, "{\"t_ns\":%u,\"ev\":\"sq_doorbell\",\"qpn\":\"0x%x\",\"dbrec\":1}\n", i, i % 1000);
	fprintf(f, "{\"t_ns\":3000,\"ev\":\"cqe\",\"cqn\":\"0x0\",\"index\":0,\"bytes\":\"%0128u\"}\n", 0);
	fclose(f);
	ck_assert_msg(bf_capture_parse(text, len, &c, &err) == 0, "%s", err.text);
	ck_assert_int_eq(bf_capture_emit(c, &s.sink, &err), 0);
	ck_assert_uint_eq(s.actors, 1001);
	ck_assert_str_eq(s.names[0], "cap.qp0");
	ck_assert_str_eq(s.names[63], "cap.qp3f");
	bf_capture_free(c);
	free(text);
}
END_TEST

/* A sink that takes so many types and then fails. */
struct stingy {
	struct bf_sink sink;
	int declarations;
};

static int no_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)schema;
	return ((struct stingy *)s)->declarations-- > 0 ? 0 : -ENOSPC;
}

static int no_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s, (void)actor, (void)kind, (void)name;
	return 0;
}

START_TEST(test_sink_fails)
{
	struct stingy s = {
		{ .declare_type = no_type, .declare_actor = no_actor, .write = take_records },
		2,
	};
	struct bf_error err;
	struct bf_capture *c = parse(ALL, 0, &err);

	ck_assert_int_eq(bf_capture_emit(c, &s.sink, &err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot write the records"));
	bf_capture_free(c);
}
END_TEST

START_TEST(test_load_errors)
{
	struct bf_error err = { 0 };
	struct bf_capture *c;

	ck_assert_int_eq(bf_capture_load("/nonexistent", &c, &err), -ENOENT);
	ck_assert_ptr_null(c);
	ck_assert_int_eq(bf_capture_load("/dev/null", &c, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "the file is empty"));
	ck_assert_ptr_null(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("capture");
	TCase *t = tcase_create("capture");
	SRunner *r = srunner_create(s);

	tcase_add_test(t, test_every_field);
	tcase_add_test(t, test_tolerant);
	tcase_add_loop_test(t, test_refused, 0, (int)BF_ARRAY_LEN(bad));
	tcase_add_test(t, test_truncated);
	tcase_add_test(t, test_depths);
	tcase_add_test(t, test_probe);
	tcase_add_loop_test(t, test_through_a_trace, 0, 2);
	tcase_add_test(t, test_actors);
	tcase_add_test(t, test_sink_fails);
	tcase_add_test(t, test_load_errors);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
