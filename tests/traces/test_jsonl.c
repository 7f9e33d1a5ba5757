/* The JSON Lines form: exact both ways, and strict. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static const struct bf_trace_options as_jsonl = { .jsonl = true };

/* `from` in the other form, as a file in memory. */
static char *convert(const char *from, size_t from_size, const struct bf_trace_options *options, size_t *size)
{
	char *bytes;
	FILE *file = open_memstream(&bytes, size);
	struct bf_trace *t;
	struct bf_trace_writer *w;
	struct bf_error err = { 0 };
	ck_assert_int_eq(bf_trace_open_memory(from, from_size, &t, &err), 0);
	ck_assert_int_eq(bf_trace_writer_open(NULL, file, options, &w, &err), 0);
	ck_assert_msg(bf_trace_copy(t, w) == 0, "%s", err.text);
	ck_assert_int_eq(bf_trace_writer_close(w), 0);
	bf_trace_close(t);
	fclose(file);
	return bytes;
}

START_TEST(test_round_trip)
{
	struct fix f;
	size_t jsonl_size, back_size, again_size, size[2];
	unsigned damage;
	uint8_t *records[2];
	fix_make(&f, 200, NULL);
	char *jsonl = convert(f.file, f.size, &as_jsonl, &jsonl_size);
	/* Beyond 2^53 and in hexadecimal, numbers are strings. */
	static const char strings[] = "\"big\":\"9007199254740993\",\"delta\":\"-9223372036854775807\"";
	ck_assert_ptr_nonnull(memmem(jsonl, jsonl_size, strings, strlen(strings)));
	char *back = convert(jsonl, jsonl_size, NULL, &back_size);
	char *again = convert(back, back_size, &as_jsonl, &again_size);
	ck_assert_uint_eq(jsonl_size, again_size);
	ck_assert_mem_eq(jsonl, again, again_size);
	const struct {
		const char *at;
		size_t len;
	} forms[] = { { f.file, f.size }, { jsonl, jsonl_size }, { back, back_size } };
	for (unsigned i = 0; i < 3; i++) {
		struct bf_trace *t;
		unsigned k = i != 0;
		ck_assert_int_eq(bf_trace_open_memory(forms[i].at, forms[i].len, &t, NULL), 0);
		ck_assert_str_eq(bf_trace_meta_get(t, "text"), "two\nlines \"\xc3\xa9\"");
		ck_assert_uint_eq(fix_read_all(t, &records[k], &size[k], &damage), 200);
		ck_assert_uint_eq(damage, 0);
		ck_assert_uint_eq(bf_trace_hash(t), f.hash);
		ck_assert_uint_eq(size[0], size[k]);
		ck_assert_mem_eq(records[0], records[k], size[0]);
		ck_assert_str_eq(bf_trace_actor_name(t, 3), "unused");
		bf_trace_close(t);
		if (k)
			free(records[k]);
	}
	free(records[0]);
	free(again);
	free(back);
	free(jsonl);
	free(f.file);
}
END_TEST

#define HEAD "{\"belfry_trace\":1,\"minor\":0}\n"
#define DECLARE                                                                                                        \
	"{\"declare\":\"type\",\"name\":\"x\",\"id\":5,\"class\":1,\"size\":16,\"fields\":["                           \
	"{\"name\":\"u\",\"size\":4,\"kind\":\"dec\",\"unit\":\"\"},"                                                  \
	"{\"name\":\"i\",\"size\":4,\"kind\":\"int\",\"unit\":\"\"},"                                                  \
	"{\"name\":\"t\",\"size\":4,\"kind\":\"text\",\"unit\":\"\"},"                                                 \
	"{\"name\":\"e\",\"size\":4,\"kind\":\"enum\",\"unit\":\"\",\"names\":\"1=ONE;2=ONE;3=3x\"}]}\n"               \
	"{\"declare\":\"actor\",\"number\":4,\"kind\":\"k\",\"name\":\"n\"}\n"
#define RECORD(u, i, t, e)                                                                                             \
	"{\"time_ps\":1,\"actor\":4,\"type\":\"x\",\"fields\":{\"u\":" u ",\"i\":" i ",\"t\":" t ",\"e\":" e "}"

static int first_step(const char *text, struct bf_trace_record *rec, uint8_t *fixed, struct bf_error *err)
{
	struct bf_trace *t;
	int rc = bf_trace_open_memory(text, strlen(text), &t, err);
	if (rc)
		return rc;
	rc = bf_trace_next(t, rec);
	if (rc == 1)
		memcpy(fixed, rec->fixed, rec->type->size);
	bf_trace_close(t);
	return rc;
}

START_TEST(test_values)
{
	static const struct {
		const char *text;
		uint32_t words[4];
	} good[] = {
		{ RECORD("7", "-8", "\"abcd\"", "\"ONE\"") "}\n", { 7, (uint32_t)-8, 0x64636261, 1 } },
		{ RECORD("\"0xffffFFFF\"", "\"-2147483648\"", "\"\"", "2") "}\n", { UINT32_MAX, 0x80000000, 0, 2 } },
		{ RECORD("\"12\"", "2147483647", "{\"hex\":\"00ff0A01\"}", "\"3\"") "}\n",
		  { 12, 0x7fffffff, 0x010aff00, 3 } },
	};
	struct bf_trace_record rec;
	struct bf_error err = { 0 };
	uint8_t fixed[16];
	for (unsigned i = 0; i < BF_ARRAY_LEN(good); i++) {
		char text[2000];
		snprintf(text, sizeof(text), HEAD DECLARE "%s", good[i].text);
		ck_assert_msg(first_step(text, &rec, fixed, &err) == 1, "%u: %s", i, err.text);
		ck_assert_mem_eq(fixed, good[i].words, 16);
	}
}
END_TEST

START_TEST(test_bad_lines)
{
	static const char *const bad[] = {
		RECORD("4294967296", "0", "\"\"", "0") "}\n", /* does not fit */
		RECORD("-1", "0", "\"\"", "0") "}\n",
		RECORD("1.5", "0", "\"\"", "0") "}\n",
		RECORD("\"0x\"", "0", "\"\"", "0") "}\n",
		RECORD("\" 1\"", "0", "\"\"", "0") "}\n",
		RECORD("\"99999999999999999999999\"", "0", "\"\"", "0") "}\n",
		RECORD("1", "2147483648", "\"\"", "0") "}\n",
		RECORD("1", "-2147483649", "\"\"", "0") "}\n",
		RECORD("1", "0", "\"abcde\"", "0") "}\n", /* too long */
		RECORD("1", "0", "{\"hex\":\"00\"}", "0") "}\n",
		RECORD("1", "0", "\"\"", "\"TWO\"") "}\n",
		RECORD("1", "0", "\"\"", "\"3x\"") "}\n", /* begins like a number */
		RECORD("1", "0", "\"\"", "0") ",\"tail\":\"abc\"}\n",
		RECORD("1", "0", "\"\"", "0") ",\"tail\":\"zz\"}\n",
		RECORD("1", "0", "\"\"", "0") ",\"time_ps\":2}\n", /* a key twice */
		RECORD("1", "0", "\"\"", "0") "\n",                /* not closed */
		"{\"time_ps\":1,\"actor\":4,\"type\":\"x\",\"fields\":{\"u\":1}}\n",
		"{\"time_ps\":1,\"actor\":4,\"type\":\"y\",\"fields\":{}}\n",
		"{\"time_ps\":1,\"actor\":9,\"type\":\"x\",\"fields\":{\"u\":0,\"i\":0,\"t\":\"\",\"e\":0}}\n",
		"{\"declare\":\"actor\",\"number\":4,\"kind\":\"k\",\"name\":\"other\"}\n",
		"{\"declare\":\"actor\",\"number\":0,\"kind\":\"k\",\"name\":\"zero\"}\n",
		"{\"declare\":\"type\",\"name\":\"x\",\"id\":6,\"class\":1,\"size\":0,\"fields\":[]}\n",
		"{\"declare\":\"type\",\"name\":\"a b\",\"id\":6,\"class\":1,\"size\":0,\"fields\":[]}\n",
		"{\"declare\":\"type\",\"name\":\"z\",\"id\":6,\"class\":1,\"size\":3,\"fields\":[]}\n",
		("{\"time_ps\":\"18446744073709551616\",\"actor\":4,\"type\":\"x\","
		 "\"fields\":{\"u\":0,\"i\":0,\"t\":\"\",\"e\":0}}\n"),
		"{\"declare\":\"nothing\"}\n",
		"{\"meta\":\"\",\"value\":\"v\"}\n",
		"[]\n",
		"\n",
	};
	struct bf_trace_record rec;
	struct bf_error err = { 0 };
	for (unsigned i = 0; i < BF_ARRAY_LEN(bad); i++) {
		char text[3000];
		struct bf_trace *t;
		snprintf(text, sizeof(text), HEAD DECLARE "%s%s", bad[i], RECORD("9", "0", "\"\"", "0") "}\n");
		ck_assert_int_eq(bf_trace_open_memory(text, strlen(text), &t, &err), 0);
		ck_assert_msg(bf_trace_next(t, &rec) == -EBADMSG, "line %u: %s", i, bad[i]);
		ck_assert_ptr_nonnull(strstr(err.text, "line 4 "));
		/* The next line is read; the missing end is noticed. */
		ck_assert_int_eq(bf_trace_next(t, &rec), 1);
		ck_assert_int_eq(bf_trace_next(t, &rec), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(err.text, "truncated"));
		ck_assert_int_eq(bf_trace_next(t, &rec), 0);
		size_t count;
		const struct bf_trace_loss *loss = bf_trace_losses(t, &count);
		ck_assert_uint_eq(count, 2);
		ck_assert_uint_eq(loss->offset, strlen(HEAD DECLARE));
		ck_assert_uint_eq(loss->bytes, strlen(bad[i]));
		bf_trace_close(t);
	}
}
END_TEST

/* A name that a zero byte cuts is no field's name, and nothing behind the field's own name is read. */
START_TEST(test_zero_in_name)
{
	static const char before[] = HEAD DECLARE "{\"time_ps\":1,\"actor\":4,\"type\":\"x\",\"fields\":{\"u";
	struct bf_trace_record rec;
	struct bf_error err = { 0 };
	char text[4096];
	struct bf_trace *t;
	size_t n = sizeof(before) - 1;

	memcpy(text, before, n);
	memset(text + n, 'x', 1000);
	text[n] = '\0';
	n += 1000;
	n += (size_t)snprintf(text + n, sizeof(text) - n, "\":0,\"i\":0,\"t\":\"\",\"e\":0}}\n");
	ck_assert_int_eq(bf_trace_open_memory(text, n, &t, &err), 0);
	ck_assert_int_eq(bf_trace_next(t, &rec), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "no such field"));
	bf_trace_close(t);
}
END_TEST

START_TEST(test_end_line)
{
	struct fix f;
	struct bf_error err = { 0 };
	unsigned damage;
	uint8_t *bytes;
	size_t size;
	fix_make(&f, 10, &as_jsonl);
	struct bf_trace *t;
	char *digit = memmem(f.file, f.size, "\"len\":3", 7);
	ck_assert_ptr_nonnull(digit);
	digit[6] = '4'; /* a change that is good JSON: only the hash can tell */
	ck_assert_int_eq(bf_trace_open_memory(f.file, f.size, &t, &err), 0);
	ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), 10);
	ck_assert_uint_eq(damage, 1);
	ck_assert_ptr_nonnull(strstr(err.text, "hash"));
	free(bytes);
	/* And back to the start. */
	ck_assert_int_eq(bf_trace_seek_time(t, 0), 0);
	ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), 10);
	free(bytes);
	struct bf_trace_record rec;
	ck_assert_int_eq(bf_trace_seek_time(t, 4001), 0);
	ck_assert_int_eq(bf_trace_next(t, &rec), 1);
	ck_assert_uint_eq(rec.number, 3);
	bf_trace_close(t);
	free(f.file);
}
END_TEST

START_TEST(test_refused)
{
	struct bf_trace *t;
	struct bf_error err = { 0 };
	static const char *const not_traces[] = { "{\"a\":1}\n", "{", "{\"belfry_trace\":\"x\"}\n" };
	for (unsigned i = 0; i < BF_ARRAY_LEN(not_traces); i++)
		ck_assert_int_eq(bf_trace_open_memory(not_traces[i], strlen(not_traces[i]), &t, &err), -EBADMSG);
	const char *later = "{\"belfry_trace\":2}\n";
	ck_assert_int_eq(bf_trace_open_memory(later, strlen(later), &t, &err), -ENOTSUP);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jsonl");
	TCase *c = tcase_create("jsonl");
	tcase_add_test(c, test_round_trip);
	tcase_add_test(c, test_values);
	tcase_add_test(c, test_bad_lines);
	tcase_add_test(c, test_zero_in_name);
	tcase_add_test(c, test_end_line);
	tcase_add_test(c, test_refused);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
