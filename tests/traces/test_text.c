/* Text of unknown origin: lines, endless ones, and reads that fail. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/container/text.h"

static FILE *of(const char *bytes, size_t len)
{
	FILE *f = tmpfile();

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	rewind(f);
	return f;
}

START_TEST(lines_as_they_are)
{
	static const char text[] = "one\n\ntwo\0half\nlast";
	static const struct {
		const char *text;
		size_t len;
	} want[] = { { "one", 3 }, { "", 0 }, { "two\0half", 8 }, { "last", 4 } };
	struct bf_text_lines l = { .f = of(text, sizeof(text) - 1) };
	struct bf_error err = { 0 };

	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(bf_text_line(&l, &err), 1);
		ck_assert_uint_eq(l.number, i + 1);
		ck_assert_uint_eq(l.len, want[i].len);
		ck_assert_mem_eq(l.text, want[i].text, l.len + 1);
	}
	ck_assert_int_eq(bf_text_line(&l, &err), 0);
	free(l.text);
	fclose(l.f);
}
END_TEST

/* A descriptor that is none fails each read: that is no end of the file. */
START_TEST(a_read_that_fails_is_no_end)
{
	const int folder = open("/tmp", O_RDONLY | O_DIRECTORY);
	struct bf_text_lines l = { .f = fdopen(folder, "r") };
	struct bf_error err = { 0 };
	char *text;
	size_t len;

	ck_assert_int_eq(bf_text_line(&l, &err), -EIO);
	ck_assert_str_eq(err.text, "line 1: cannot read: Is a directory");
	clearerr(l.f);
	ck_assert_int_eq(bf_text_whole(l.f, "it", &text, &len, &err), -EIO);
	ck_assert_str_eq(err.text, "cannot read it: Is a directory");
	free(text);
	free(l.text);
	fclose(l.f);
}
END_TEST

START_TEST(a_line_has_an_end)
{
	const size_t most = BF_TEXT_LINE_MAX;
	char *bytes = malloc(most + 8), *text;
	struct bf_text_lines l = { 0 };
	struct bf_error err = { 0 };
	size_t len;

	memset(bytes, 'x', most + 8);
	bytes[2] = '\n';
	l.f = of(bytes, most + 8);
	ck_assert_int_eq(bf_text_line(&l, &err), 1);
	ck_assert_int_eq(bf_text_line(&l, &err), -EMSGSIZE);
	ck_assert_str_eq(err.text, "line 2 is longer than 64 MiB");
	rewind(l.f);
	ck_assert_int_eq(bf_text_whole(l.f, "it", &text, &len, &err), -EMSGSIZE);
	ck_assert_str_eq(err.text, "it: line 2 is longer than 64 MiB");
	free(text);
	fclose(l.f);
	bytes[most] = '\n'; /* and one that is just not too long */
	l.f = of(bytes, most + 8);
	ck_assert_int_eq(bf_text_whole(l.f, "it", &text, &len, &err), 0);
	ck_assert_uint_eq(len, most + 8);
	ck_assert_int_eq(text[len], 0);
	free(text);
	free(l.text);
	free(bytes);
	fclose(l.f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	TCase *t = tcase_create("text");
	SRunner *r;
	int failed;

	tcase_add_test(t, lines_as_they_are);
	tcase_add_test(t, a_read_that_fails_is_no_end);
	tcase_add_test(t, a_line_has_an_end);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
