/* The page around its data, and the data in order. */
#include "tools/pictures/page.h"

#include <errno.h>
#include <string.h>

#include "tools/pictures/page_internal.h"

/*
 * JSON inside of a script element: a '<' there could end it, and stands in texts only, where its escape means the same.
 */
struct escaper {
	FILE *out;
	int error; /* why a write failed, which the streams around it forget */
};

static ssize_t escape(void *cookie, const char *bytes, size_t len)
{
	struct escaper *e = cookie;
	size_t from = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && bytes[i] != '<')
			continue;
		if (fwrite(bytes + from, 1, i - from, e->out) != i - from ||
		    (i < len && fputs("\\u003c", e->out) < 0)) {
			e->error = errno;
			return 0;
		}
		from = i + 1;
	}
	return (ssize_t)len;
}

static void put_meta(struct bf_json *j, const struct bf_trace *t, const char *path)
{
	const char *command = bf_trace_meta_get(t, "command"), *verdict = bf_trace_meta_get(t, "verdict");

	bf_json_text(j, "title", command ? command : strcmp(path, "-") == 0 ? "standard input" : path);
	bf_json_text(j, "verdict", verdict ? verdict : "");
}

static int put_data(FILE *out, struct bf_input *in, const char *path, const struct bf_page_job *job)
{
	static bf_page_part *const parts[] = { bf_page_timeline, bf_page_rings,      bf_page_stores,
					       bf_page_findings, bf_page_statistics, bf_page_names };
	struct bf_json j;
	int rc = 0, damage = 0;

	bf_json_begin(&j, out);
	bf_json_open(&j, NULL, '{');
	put_meta(&j, in->trace, path);
	for (size_t i = 0; !rc && i < BF_ARRAY_LEN(parts); i++) {
		if (i)
			rc = bf_input_again(in, path, job->err);
		if (!rc)
			rc = parts[i](&j, in->trace, job);
		if (rc == -EBADMSG) {
			damage = rc;
			rc = 0;
		}
	}
	bf_json_close(&j, '}');
	return rc ? rc : damage;
}

int bf_page_export(struct bf_input *in, const char *path, bool memory, FILE *out, struct bf_page_result *result,
		   struct bf_error *err)
{
	const struct bf_page_job job = { .memory = memory, .result = result, .err = err };
	struct escaper e = { .out = out };
	FILE *data = NULL;
	int rc;

	*result = (struct bf_page_result){ 0 };
	data = fopencookie(&e, "w", (cookie_io_functions_t){ .write = escape });
	if (!data)
		return bf_fail(err, -ENOMEM, "out of memory for the page");
	fputs(bf_page_head, out);
	rc = put_data(data, in, path, &job);
	fclose(data);
	fputs(bf_page_tail, out);
	return rc || !e.error ? rc : bf_fail(err, -e.error, "cannot write the page: %s", strerror(e.error));
}
