/*
 * Fuzzes the trace reader in both forms, and everything that reads through it.
 *
 * Input that begins like a trace is read as it is. Any other input becomes the payload of a well-formed chunk, since a
 * fuzzer does not find checksums: byte 0 is skipped, bytes 1-2 are the length of the declarations, byte 3 the number of
 * records.
 *
 * Whatever could be read must survive the way through JSON Lines with the same hash.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/diff.h"
#include "traces/container/dump.h"
#include "traces/export/pcapng.h"
#include "traces/container/trace_internal.h"

/* The bytes of a file around one chunk. */
static char *wrap(const uint8_t *data, size_t size, size_t *len)
{
	char *bytes;
	FILE *out = open_memstream(&bytes, len);
	struct bf_file_header file = { .magic = BF_TRACE_MAGIC };
	bf_put_le16(file.major.b, BF_TRACE_MAJOR);
	bf_put_le32(file.size.b, sizeof(file));
	struct bf_chunk_header head = { .magic = BF_CHUNK_MAGIC, .kind = BF_CHUNK_DATA };
	size_t decls = bf_get_le16(data + 1);
	bf_put_le32(head.decls.b, (uint32_t)(decls < size - 4 ? decls : size - 4));
	bf_put_le32(head.records.b, data[3]);
	const uint8_t *stored;
	struct bf_bytes room = { 0 };
	bf_chunk_pack(&head, data + 4, size - 4, -1, NULL, &room, &stored);
	fwrite(&file, sizeof(file), 1, out);
	fwrite(&head, sizeof(head), 1, out);
	fwrite(stored, size - 4, 1, out);
	fclose(out);
	return bytes;
}

static uint64_t read_all(struct bf_trace *t, bool *damaged)
{
	struct bf_trace_record rec;
	uint64_t last = 0;
	int rc;
	*damaged = false;
	while ((rc = bf_trace_next(t, &rec)) != 0) {
		*damaged |= rc < 0;
		last = rc == 1 ? rec.time_ps : last;
	}
	return last;
}

static void through_jsonl(const char *bytes, size_t len, uint64_t hash)
{
	struct bf_trace *t;
	struct bf_trace_writer *w;
	char *text;
	size_t text_len;
	bool damaged;
	FILE *out = open_memstream(&text, &text_len);
	if (!bf_trace_open_memory(bytes, len, &t, NULL)) {
		if (bf_trace_writer_open(NULL, out, &(struct bf_trace_options){ .jsonl = true }, &w, NULL))
			abort();
		int rc = bf_trace_copy(t, w);
		if ((rc && rc != -EBADMSG && rc != -ENOTSUP) || bf_trace_writer_close(w))
			abort();
		bf_trace_close(t);
		fflush(out);
		if (bf_trace_open_memory(text, text_len, &t, NULL))
			abort();
		read_all(t, &damaged);
		if (damaged || bf_trace_hash(t) != hash)
			abort();
		bf_trace_close(t);
	}
	fclose(out);
	free(text);
}

static void use(struct bf_trace *t, uint64_t last)
{
	FILE *out = fopen("/dev/null", "w");
	bool damaged;
	if (!bf_trace_seek_time(t, last / 2))
		read_all(t, &damaged);
	if (!bf_trace_seek_time(t, 0))
		bf_dump(t, &(struct bf_dump_options){ .tails = true, .by_queue = last & 1 }, out, NULL);
	if (!bf_trace_seek_time(t, 0))
		bf_pcapng_export(t, &(struct bf_pcapng_options){ .both = true }, out, NULL, NULL);
	fclose(out);
}

static void diff_with_itself(const char *bytes, size_t len)
{
	struct bf_trace *a, *b;
	if (bf_trace_open_memory(bytes, len, &a, NULL))
		return;
	if (!bf_trace_open_memory(bytes, len, &b, NULL)) {
		FILE *out = fopen("/dev/null", "w");
		if (bf_diff(a, b, &(struct bf_diff_options){ .context = 3 }, out, NULL, NULL) == 1)
			abort();
		fclose(out);
		bf_trace_close(b);
	}
	bf_trace_close(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_trace *t;
	if (size < 4)
		return 0;
	size_t len = size;
	char *wrapped = *data == '{' || *data == 0x89 ? NULL : wrap(data, size, &len);
	const char *bytes = wrapped ? wrapped : (const char *)data;
	if (!bf_trace_open_memory(bytes, len, &t, NULL)) {
		bool damaged;
		uint64_t last = read_all(t, &damaged), hash = bf_trace_hash(t);
		use(t, last);
		bf_trace_close(t);
		diff_with_itself(bytes, len);
		through_jsonl(bytes, len, hash);
	}
	free(wrapped);
	return 0;
}
