#include "tools/cli/input.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "traces/container/text.h"
#include "traces/evidence/packets.h"

bool bf_input_is_jsonl(const char *path)
{
	size_t n = strlen(path);

	return n > 6 && strcmp(path + n - 6, ".jsonl") == 0;
}

int bf_input_import(const struct bf_capture *c, const char *source, const char *path, FILE *file, struct bf_error *err)
{
	const struct bf_trace_options o = { .jsonl = path && bf_input_is_jsonl(path) };
	struct bf_trace_writer *w;
	int rc = bf_trace_writer_open(path, file, &o, &w, err), closed;

	if (rc)
		return rc;
	rc = bf_trace_meta(w, "imported-from", BF_CAPTURE_FORM);
	if (!rc)
		rc = bf_trace_meta(w, "source", source);
	if (rc == -EINVAL)
		rc = 0; /* a file name that is not UTF-8 */
	if (!rc)
		rc = bf_capture_emit(c, bf_trace_sink(w), err);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

/* The line at hand of what is no binary form. */
struct line {
	uint64_t number;
	size_t len;
};

static int follow_lines(struct line *l, const char *bytes, size_t n, struct bf_error *err)
{
	for (const char *newline; (newline = memchr(bytes, '\n', n)) != NULL; bytes = newline + 1) {
		n -= (size_t)(newline + 1 - bytes);
		l->number++;
		l->len = 0;
	}
	l->len += n;
	return l->len <= BF_TEXT_LINE_MAX ? 0
					  : bf_fail(err, -EMSGSIZE, "-: line %" PRIu64 " is longer than %u MiB",
						    l->number + 1, BF_TEXT_LINE_MAX >> 20);
}

static bool is_binary(const char *head, size_t len)
{
	static const char trace[] = { (char)0x89, 'B', 'F', 'T' };

	return (len >= sizeof(trace) && !memcmp(head, trace, sizeof(trace))) || bf_packets_probe(head, len);
}

/*
 * Whatever comes on standard input goes to a file first: telling the forms apart needs a second look. A line that does
 * not end would fill the disk.
 */
static int spool(FILE *in, FILE **out, struct bf_error *err)
{
	struct line l = { 0 };
	bool binary = false, begun = false;
	char buf[65536];
	FILE *f = tmpfile();
	size_t n;
	int rc = 0;

	while (f && !rc && (n = fread(buf, 1, sizeof(buf), in)) > 0) {
		if (!begun)
			binary = is_binary(buf, n);
		begun = true;
		rc = binary ? 0 : follow_lines(&l, buf, n, err);
		if (!rc && fwrite(buf, 1, n, f) != n)
			break;
	}
	if (!rc && (!f || ferror(in) || ferror(f) || fseek(f, 0, SEEK_SET)))
		rc = bf_fail(err, errno ? -errno : -EIO, "cannot open -: %s", strerror(errno));
	if (rc && f)
		fclose(f);
	*out = rc ? NULL : f;
	return rc;
}

static int import_ftrace(const struct bf_ftrace *t, FILE *file, struct bf_error *err)
{
	const struct bf_trace_options o = { 0 };
	struct bf_trace_writer *w;
	int rc = bf_trace_writer_open(NULL, file, &o, &w, err), closed;

	if (rc)
		return rc;
	rc = bf_trace_meta(w, "imported-from", "ftrace");
	if (!rc)
		rc = bf_ftrace_emit(t, bf_trace_sink(w), err);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

/* A capture or a Linux trace, as the trace that it becomes. */
static int open_import(FILE *f, const char *path, struct bf_input *in, struct bf_error *err)
{
	FILE *trace = tmpfile();
	int rc;

	in->is_capture = true;
	in->file = trace;
	if (!trace)
		rc = bf_fail(err, -errno, "no temporary file: %s", strerror(errno));
	else if (in->capture)
		rc = bf_input_import(in->capture, path, NULL, trace, err);
	else
		rc = import_ftrace(in->ftrace, trace, err);
	fclose(f);
	if (rc)
		return rc;
	rewind(trace);
	return bf_trace_open(path, trace, &in->trace, err);
}

static int load_import(FILE *f, const char *path, bool capture, struct bf_input *in, struct bf_error *err)
{
	const int rc = capture ? bf_capture_load_file(f, path, &in->capture, &in->damage_error)
			       : bf_ftrace_load_file(f, path, &in->ftrace, &in->damage_error);

	if (!in->capture && !in->ftrace) {
		fclose(f);
		return bf_fail(err, rc, "%s", in->damage_error.text);
	}
	in->damage = rc;
	return open_import(f, path, in, err);
}

int bf_input_peek(const char *path, FILE **out, char *head, size_t cap, size_t *len, struct bf_error *err)
{
	FILE *f;
	int rc = 0;

	errno = 0;
	if (strcmp(path, "-") == 0)
		rc = spool(stdin, out, err);
	else
		*out = fopen(path, "rb");
	if (rc)
		return rc;
	f = *out;
	if (!f)
		return bf_fail(err, errno ? -errno : -EIO, "cannot open %s: %s", path, strerror(errno));
	*len = fread(head, 1, cap, f);
	if (ferror(f))
		rc = bf_fail(err, errno ? -errno : -EIO, "cannot read %s: %s", path, strerror(errno));
	else if (fseek(f, 0, SEEK_SET) != 0) /* a pipe by name: what was read is gone, unless it is kept */
		rc = bf_fail(err, -ESPIPE, "%s cannot be read twice; give it on standard input: belfry ... - < %s",
			     path, path);
	if (rc) {
		fclose(f);
		*out = NULL;
	}
	return rc;
}

int bf_input_open(const char *path, struct bf_input *in, struct bf_error *err)
{
	char head[4096];
	bool capture;
	size_t n = 0;
	int rc;

	*in = (struct bf_input){ 0 };
	rc = bf_input_peek(path, &in->file, head, sizeof(head), &n, err);
	if (rc)
		return rc;
	capture = bf_capture_probe(head, n);
	if (capture || bf_ftrace_probe(head, n)) {
		FILE *f = in->file;

		in->file = NULL;
		return load_import(f, path, capture, in, err);
	}
	return bf_trace_open(path, in->file, &in->trace, err);
}

int bf_input_again(struct bf_input *in, const char *path, struct bf_error *err)
{
	bf_trace_close(in->trace);
	in->trace = NULL;
	rewind(in->file);
	return bf_trace_open(path, in->file, &in->trace, err);
}

/* What an earlier write lost shows in ferror() alone: fclose() may have nothing left to fail with. */
int bf_output_close(FILE *out, const char *path, struct bf_error *err)
{
	const bool lost = ferror(out);

	if (fclose(out) != 0)
		return bf_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	return lost ? bf_fail(err, -EIO, "cannot write %s: part of it is lost", path) : 0;
}

void bf_input_close(struct bf_input *in)
{
	if (in->trace)
		bf_trace_close(in->trace);
	if (in->file)
		fclose(in->file);
	bf_capture_free(in->capture);
	bf_ftrace_free(in->ftrace);
}
