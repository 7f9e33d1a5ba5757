/* Comparing and printing traces. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "traces/container/diff.h"
#include "traces/container/dump.h"

/* What to do differently while writing a trace of 30 records. */
struct plan {
	int leave_out; /* this record, and */
	int twice;     /* this one two times; negative: none */
	int change;    /* another length in this one */
	bool renumber; /* actors in another order */
	bool later;    /* every time shifted */
	uint32_t drop_tail;
	int lead; /* in place of this record, the next one; negative: none */
	bool one_actor;
};

static const struct plan same = { -1, -1, -1, false, false, 0, -1, false };

static void write_record(struct fix *f, const struct plan *p, unsigned i)
{
	struct bf_rec_fix_read r = { .iova = 64ull * i, .len = (int)i == p->change ? 1234 : i, .qpn = i % 3 };
	f->clock = 1000ull * i + (p->later ? 7 : 0);
	uint32_t actor = f->actors[p->one_actor ? 0 : i % 2];
	bf_record(&f->st, &bf_rec_fix_read_schema, actor, &r, "tail bytes", 10 - p->drop_tail);
}

static void make(struct fix *f, const struct plan *p)
{
	*f = (struct fix){ 0 };
	FILE *file = open_memstream(&f->file, &f->size);
	struct bf_trace_writer *w;
	ck_assert_int_eq(bf_trace_writer_open(NULL, file, &(struct bf_trace_options){ .chunk_bytes = 1024 }, &w, NULL),
			 0);
	bf_stream_open(&f->st, &f->clock, BF_CLASS_ALL, bf_trace_sink(w));
	for (unsigned i = 0; i < 2; i++) {
		unsigned queue = p->renumber ? 1 - i : i;
		f->actors[queue] = bf_stream_actor(&f->st, "queue", queue ? "sq1" : "sq0");
	}
	for (unsigned i = 0; i < 30; i++) {
		if ((int)i != p->leave_out)
			write_record(f, p, i + ((int)i == p->lead));
		if ((int)i == p->twice)
			write_record(f, p, i);
	}
	ck_assert_int_eq(bf_stream_close(&f->st), 0);
	bf_stream_fini(&f->st);
	ck_assert_int_eq(bf_trace_writer_close(w), 0);
	fclose(file);
}

static int diff(const struct plan *pa, const struct plan *pb, const struct bf_diff_options *o, struct bf_diff_result *r,
		char **text)
{
	struct fix a, b;
	struct bf_trace *ta, *tb;
	size_t size;
	make(&a, pa);
	make(&b, pb);
	ck_assert_int_eq(bf_trace_open_memory(a.file, a.size, &ta, NULL), 0);
	ck_assert_int_eq(bf_trace_open_memory(b.file, b.size, &tb, NULL), 0);
	FILE *out = open_memstream(text, &size);
	int rc = bf_diff(ta, tb, o, out, r, NULL);
	fclose(out);
	bf_trace_close(ta);
	bf_trace_close(tb);
	free(a.file);
	free(b.file);
	return rc;
}

static void expect(const struct plan *b, const struct bf_diff_options *o, struct bf_diff_result want)
{
	struct bf_diff_result got;
	char *text;
	int rc = diff(&same, b, o, &got, &text);
	ck_assert_msg(got.equal == want.equal && got.changed == want.changed && got.only_a == want.only_a &&
			  got.only_b == want.only_b,
		      "%s", text);
	ck_assert_int_eq(rc, got.changed || got.only_a || got.only_b);
	free(text);
}

START_TEST(test_counts)
{
	struct plan p = same;
	expect(&p, NULL, (struct bf_diff_result){ .equal = 30 });
	p.renumber = true; /* names count, not numbers */
	expect(&p, NULL, (struct bf_diff_result){ .equal = 30 });
	p = same;
	p.change = 12;
	expect(&p, NULL, (struct bf_diff_result){ .equal = 29, .changed = 1 });
	expect(&p, &(struct bf_diff_options){ .ignore_fields = "x,fix_read.len" },
	       (struct bf_diff_result){ .equal = 30 });
	expect(&p, &(struct bf_diff_options){ .ignore_types = "fix_read" }, (struct bf_diff_result){ 0 });
	for (int i = 0; i < 30; i++) {
		p = same;
		p.leave_out = i;
		expect(&p, NULL, (struct bf_diff_result){ .equal = 29, .only_a = 1 });
		p = same;
		p.twice = i;
		expect(&p, NULL, (struct bf_diff_result){ .equal = 30, .only_b = 1 });
	}
	p.leave_out = 5;
	p.twice = 20;
	p.change = 10;
	expect(&p, NULL, (struct bf_diff_result){ .equal = 28, .changed = 1, .only_a = 1, .only_b = 1 });
	p = same;
	p.later = true;
	expect(&p, NULL, (struct bf_diff_result){ .changed = 30 });
	expect(&p, &(struct bf_diff_options){ .ignore_fields = "time" }, (struct bf_diff_result){ .equal = 30 });
	p = same;
	p.drop_tail = 2;
	expect(&p, NULL, (struct bf_diff_result){ .changed = 30 });
	expect(&p, &(struct bf_diff_options){ .ignore_fields = "tail" }, (struct bf_diff_result){ .equal = 30 });
}
END_TEST

/* One record that happens to look like its successor is no place to meet again. */
START_TEST(test_chance_meeting)
{
	struct plan a = same, b = same;
	struct bf_diff_result r;
	char *text;
	a.one_actor = b.one_actor = true;
	b.lead = 12;
	ck_assert_int_eq(diff(&a, &b, NULL, &r, &text), 1);
	ck_assert_msg(r.changed == 1 && r.equal == 29 && !r.only_a && !r.only_b, "%s", text);
	free(text);
}
END_TEST

START_TEST(test_text)
{
	struct plan p = same;
	struct bf_diff_result r;
	char *text;
	p.change = 12;
	p.leave_out = 20;
	ck_assert_int_eq(diff(&same, &p, &(struct bf_diff_options){ .context = 2 }, &r, &text), 1);
	static const char want[] =
	    "  #10           10.000 ns  sq0            fix_read         iova=0x280 len=10 B qpn=0x1 +10 B\n"
	    "  #11           11.000 ns  sq1            fix_read         iova=0x2c0 len=11 B qpn=0x2 +10 B\n"
	    "- #12           12.000 ns  sq0            fix_read         iova=0x300 len=12 B qpn=0x0 +10 B\n"
	    "+ #12           12.000 ns  sq0            fix_read         iova=0x300 len=1234 B qpn=0x0 +10 B\n"
	    "    len 12 B -> 1234 B\n"
	    "  #18           18.000 ns  sq0            fix_read         iova=0x480 len=18 B qpn=0x0 +10 B\n"
	    "  #19           19.000 ns  sq1            fix_read         iova=0x4c0 len=19 B qpn=0x1 +10 B\n"
	    "- #20           20.000 ns  sq0            fix_read         iova=0x500 len=20 B qpn=0x2 +10 B\n";
	ck_assert_str_eq(text, want);
	free(text);
	ck_assert_int_eq(diff(&same, &p, &(struct bf_diff_options){ .limit = 1, .json = true }, &r, &text), 1);
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
	ck_assert_ptr_nonnull(strstr(text, "\"fields\":{\"len\":[12,1234]}}\n"));
	ck_assert_uint_eq(r.only_a, 1);
	free(text);
}
END_TEST

static char *dump(const struct fix *f, const struct bf_dump_options *o, int want)
{
	struct bf_trace *t;
	char *text;
	size_t size;
	struct bf_error err = { 0 };
	ck_assert_int_eq(bf_trace_open_memory(f->file, f->size, &t, &err), 0);
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(bf_dump(t, o, out, &err), want);
	fclose(out);
	bf_trace_close(t);
	return text;
}

static unsigned lines(const char *text)
{
	unsigned n = 0;
	while ((text = strchr(text, '\n')) != NULL)
		n++, text++;
	return n;
}

static void expect_lines(const struct fix *f, struct bf_dump_options o, unsigned want)
{
	char *text = dump(f, &o, 0);
	ck_assert_msg(lines(text) == want, "%s", text);
	free(text);
}

START_TEST(test_dump)
{
	struct fix f;
	make(&f, &same);
	expect_lines(&f, (struct bf_dump_options){ 0 }, 30);
	expect_lines(&f, (struct bf_dump_options){ .json = true }, 30);
	expect_lines(&f, (struct bf_dump_options){ .limit = 4 }, 4);
	expect_lines(&f, (struct bf_dump_options){ .types = "other" }, 0);
	expect_lines(&f, (struct bf_dump_options){ .types = "other,fix_read" }, 30);
	expect_lines(&f, (struct bf_dump_options){ .actors = "sq1" }, 15);
	expect_lines(&f, (struct bf_dump_options){ .from_ps = 10000, .to_ps = 12000 }, 3);
	expect_lines(&f, (struct bf_dump_options){ .by_queue = true, .queue = 2 }, 10);
	char *text = dump(&f, &(struct bf_dump_options){ .limit = 1, .tails = true }, 0);
	ck_assert_str_eq(text, "           0.000 ns  sq0            fix_read         iova=0x0 len=0 B qpn=0x0 +10 B\n"
			       "                      000000  74 61 69 6c 20 62 79 74  65 73                    "
			       "tail bytes\n");
	free(text);
	text = dump(&f, &(struct bf_dump_options){ .limit = 1, .json = true }, 0);
	ck_assert_str_eq(text, "{\"time_ps\":0,\"actor\":\"sq0\",\"type\":\"fix_read\",\"fields\":{\"iova\":\"0x0\","
			       "\"len\":0,\"qpn\":\"0x0\"},\"tail\":\"7461696c206279746573\"}\n");
	free(text);
	f.file[100] ^= 1;
	text = dump(&f, NULL, -EBADMSG);
	ck_assert_ptr_nonnull(strstr(text, "-- damage: chunk or line 0 at offset 24, "));
	free(text);
	free(f.file);
	/* Text from a trace must not reach a terminal raw. */
	fix_make(&f, 30, NULL);
	text = dump(&f, NULL, 0);
	for (const char *p = text; *p; p++)
		ck_assert(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
	ck_assert_ptr_nonnull(strstr(text, "label=\"\\xff1\""));
	ck_assert_ptr_nonnull(strstr(text, "op=RDMA_WRITE"));
	free(text);
	free(f.file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("diff");
	TCase *c = tcase_create("diff");
	tcase_set_timeout(c, 60);
	tcase_add_test(c, test_counts);
	tcase_add_test(c, test_chance_meeting);
	tcase_add_test(c, test_text);
	tcase_add_test(c, test_dump);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
