/* The binary form: what was written comes back, damage costs only the damaged chunk, and says so. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "traces/container/trace_internal.h"

#define RECORDS 300u
#define FEW 20u

static const struct bf_trace_options small_chunks = { .chunk_bytes = 4096 };
static const struct bf_trace_options small_raw = { .chunk_bytes = 4096, .level = -1 };
static const struct bf_trace_options tiny_chunks = { .chunk_bytes = 2048 };
static const struct bf_trace_options tiny_raw = { .chunk_bytes = 2048, .level = -1 };
static const uint8_t chunk_magic[8] = { 0xb5, 'b', 'f', 'c', 'h', 'k', '\r', '\n' };

static struct bf_trace *open_bytes(const void *bytes, size_t len)
{
	struct bf_trace *t;
	ck_assert_int_eq(bf_trace_open_memory(bytes, len, &t, NULL), 0);
	return t;
}

/* Offset of the n-th chunk, or of the end. */
static size_t chunk_offset(const struct fix *f, unsigned n)
{
	const char *p = f->file, *end = f->file + f->size;
	while ((p = memmem(p, (size_t)(end - p), chunk_magic, 8)) && n--)
		p++;
	return p ? (size_t)(p - f->file) : f->size;
}

START_TEST(test_round_trip)
{
	struct fix f;
	fix_make(&f, RECORDS, _i ? &small_raw : &small_chunks);
	ck_assert_uint_lt(chunk_offset(&f, 5), f.size);
	struct bf_trace *t = open_bytes(f.file, f.size);
	ck_assert_str_eq(bf_trace_meta_get(t, "seed"), "7");
	ck_assert_str_eq(bf_trace_meta_get(t, "text"), "two\nlines \"\xc3\xa9\"");
	ck_assert_ptr_null(bf_trace_meta_get(t, "no"));
	ck_assert_str_eq(bf_trace_actor_name(t, 2), "nic \"0\"");
	ck_assert_str_eq(bf_trace_actor(t, 3)->kind, "agent");
	ck_assert_ptr_null(bf_trace_actor(t, 4));
	ck_assert_uint_eq(bf_trace_type(t, "fix_odd")->nfields, 8);
	ck_assert_ptr_null(bf_trace_type_at(t, 3));
	struct bf_trace_record rec;
	for (unsigned i = 0; i < RECORDS; i++) {
		ck_assert_int_eq(bf_trace_next(t, &rec), 1);
		ck_assert_uint_eq(rec.number, i);
		uint64_t v;
		char text[32];
		if (i % 3 == 0) {
			ck_assert_str_eq(rec.type->name, "fix_read");
			ck_assert(bf_trace_field_u64(&rec, "iova", &v));
			ck_assert_uint_eq(v, 0x7f0000000000ull + i * 64ull);
			ck_assert_uint_eq(rec.tail_len, i % 65);
			ck_assert(!bf_trace_field_u64(&rec, "delta", &v));
		} else if (i % 3 == 1) {
			ck_assert(bf_trace_field_u64(&rec, "small", &v));
			ck_assert_int_eq((int64_t)v, -(int64_t)i);
			ck_assert(bf_trace_field_text(&rec, "label", text, sizeof(text)));
			ck_assert(text[0] == 'q' || text[0] == '\xff');
		}
	}
	ck_assert_int_eq(bf_trace_next(t, &rec), 0);
	ck_assert_int_eq(bf_trace_next(t, &rec), 0);
	ck_assert_uint_eq(bf_trace_hash(t), f.hash);
	bf_trace_close(t);
	free(f.file);
}
END_TEST

START_TEST(test_one_damaged_chunk)
{
	struct fix f;
	fix_make(&f, RECORDS, _i % 2 ? &small_raw : &small_chunks);
	bool hit_header = _i >= 2;
	for (unsigned c = 0; chunk_offset(&f, c + 1) < f.size; c++) {
		size_t from = chunk_offset(&f, c), to = chunk_offset(&f, c + 1), count;
		f.file[hit_header ? from + 30 : to - 3] ^= 0x10;
		struct bf_trace *t = open_bytes(f.file, f.size);
		struct bf_trace_record rec;
		uint64_t seen = 0, next = 0;
		int rc;
		while ((rc = bf_trace_next(t, &rec)) != 0) {
			if (rc < 0) {
				ck_assert_int_eq(rc, -EBADMSG);
				continue;
			}
			ck_assert_uint_ge(rec.number, next);
			ck_assert_uint_eq(rec.time_ps % 1000000007, rec.time_ps);
			next = rec.number + 1;
			seen++;
		}
		const struct bf_trace_loss *loss = bf_trace_losses(t, &count);
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(loss->chunk, c);
		ck_assert_uint_eq(loss->offset, from);
		ck_assert_uint_eq(loss->bytes, to - from);
		ck_assert_uint_gt(loss->records, 0);
		ck_assert_uint_eq(loss->records + seen, RECORDS);
		bf_trace_close(t);
		t = open_bytes(f.file, f.size);
		uint64_t good = 0;
		int damage = 0;
		while ((rc = bf_trace_next_good(t, &rec, &damage)) > 0)
			good++;
		ck_assert_int_eq(rc, 0);
		ck_assert_int_eq(damage, -EBADMSG);
		ck_assert_uint_eq(good, seen);
		bf_trace_close(t);
		f.file[hit_header ? from + 30 : to - 3] ^= 0x10;
	}
	free(f.file);
}
END_TEST

START_TEST(test_damaged_ends)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size, footer = 0;
	fix_make(&f, RECORDS, &small_chunks);
	for (unsigned c = 0; chunk_offset(&f, c) < f.size; c++)
		footer = chunk_offset(&f, c);
	const size_t places[] = { 0, 9, footer + 3, footer + 80, f.size - 3, f.size - 24 };
	for (unsigned i = 0; i < BF_ARRAY_LEN(places); i++) {
		if (i == 1)
			continue; /* the version: refused, see below */
		f.file[places[i]] ^= 0x40;
		struct bf_trace *t = open_bytes(f.file, f.size);
		ck_assert_str_eq(bf_trace_meta_get(t, "seed") ? bf_trace_meta_get(t, "seed") : "7", "7");
		ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), RECORDS);
		/* A wrong offset in the trailer alone costs nothing but the index. */
		ck_assert_uint_eq(damage, i != 5);
		ck_assert_uint_eq(bf_trace_hash(t), f.hash);
		free(bytes);
		bf_trace_close(t);
		f.file[places[i]] ^= 0x40;
	}
	free(f.file);
}
END_TEST

START_TEST(test_missing_chunk)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size, count;
	fix_make(&f, RECORDS, &small_chunks);
	size_t from = chunk_offset(&f, 2), to = chunk_offset(&f, 3);
	memmove(f.file + from, f.file + to, f.size - to);
	struct bf_trace *t = open_bytes(f.file, f.size - (to - from));
	uint64_t n = fix_read_all(t, &bytes, &size, &damage);
	const struct bf_trace_loss *loss = bf_trace_losses(t, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(loss->chunk, 2);
	ck_assert_uint_eq(loss->bytes, 0);
	ck_assert_uint_eq(loss->records + n, RECORDS);
	free(bytes);
	bf_trace_close(t);
	free(f.file);
}
END_TEST

/* `f` with the bytes [from, to) replaced by `len` others; to be freed. */
static char *splice(const struct fix *f, size_t from, size_t to, const char *bytes, size_t len, size_t *size)
{
	char *out = malloc(f->size + len);
	memcpy(out, f->file, from);
	if (len)
		memcpy(out + from, bytes, len);
	memcpy(out + from + len, f->file + to, f->size - to);
	*size = f->size - (to - from) + len;
	return out;
}

/* Bytes gone from inside a chunk: the chunks behind it are elsewhere than its header says. */
START_TEST(test_missing_bytes)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size, count;
	fix_make(&f, RECORDS, _i ? &small_raw : &small_chunks);
	for (unsigned c = 0; chunk_offset(&f, c + 1) < f.size; c++) {
		size_t from = chunk_offset(&f, c), len = chunk_offset(&f, c + 1) - from;
		char *cut = splice(&f, from + 100, from + 110, NULL, 0, &size);
		struct bf_trace *t = open_bytes(cut, size);
		uint64_t n = fix_read_all(t, &bytes, &size, &damage);
		const struct bf_trace_loss *loss = bf_trace_losses(t, &count);
		/* The trailer's offset is wrong too now, which costs the index only. */
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(loss->chunk, c);
		ck_assert_uint_eq(loss->bytes, len - 10);
		ck_assert_uint_eq(loss->records + n, RECORDS);
		bf_trace_close(t);
		free(bytes);
		free(cut);
	}
	free(f.file);
}
END_TEST

/* A chunk twice: its records must not come twice. */
START_TEST(test_repeated_chunk)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size;
	fix_make(&f, RECORDS, &small_chunks);
	size_t from = chunk_offset(&f, 1), to = chunk_offset(&f, 2), at = chunk_offset(&f, 4);
	char *twice = splice(&f, at, at, f.file + from, to - from, &size);
	struct bf_trace *t = open_bytes(twice, size);
	ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), RECORDS);
	ck_assert_uint_eq(damage, 1);
	ck_assert_uint_eq(bf_trace_hash(t), f.hash);
	bf_trace_close(t);
	free(bytes);
	free(twice);
	free(f.file);
}
END_TEST

/* Each data chunk can be read with no other part of the file. */
START_TEST(test_chunk_alone)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size;
	uint64_t sum = 0;
	fix_make(&f, RECORDS, &small_chunks);
	for (unsigned c = 0; chunk_offset(&f, c + 1) < f.size; c++) {
		size_t from = chunk_offset(&f, c), len = chunk_offset(&f, c + 1) - from;
		struct bf_trace *t = open_bytes(f.file + from, len);
		uint64_t n = fix_read_all(t, &bytes, &size, &damage);
		ck_assert_uint_gt(n, 0);
		sum += n;
		bf_trace_close(t);
		free(bytes);
	}
	ck_assert_uint_eq(sum, RECORDS);
	free(f.file);
}
END_TEST

/* A chunk that was altered and sealed again: only the hash in the footer can tell. */
START_TEST(test_resealed)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size;
	fix_make(&f, FEW, &(struct bf_trace_options){ .level = -1 });
	size_t at = chunk_offset(&f, 0);
	struct bf_chunk_header head;
	memcpy(&head, f.file + at, sizeof(head));
	char *payload = f.file + at + sizeof(head);
	payload[bf_get_le32(head.decls.b)] ^= 1; /* the first record's time */
	const uint8_t *stored;
	bf_chunk_pack(&head, (uint8_t *)payload, bf_get_le32(head.raw.b), -1, NULL, NULL, &stored);
	memcpy(f.file + at, &head, sizeof(head));
	struct bf_error err = { 0 };
	struct bf_trace *t;
	ck_assert_int_eq(bf_trace_open_memory(f.file, f.size, &t, &err), 0);
	ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), FEW);
	ck_assert_uint_eq(damage, 1);
	ck_assert_ptr_nonnull(strstr(err.text, "hash"));
	bf_trace_close(t);
	free(bytes);
	free(f.file);
}
END_TEST

/* How many of the records in `all` lie uncompressed in the file before `cut`. */
static uint64_t whole_before(const struct fix *f, const uint8_t *all, size_t size, size_t cut)
{
	uint64_t n = 0;
	const char *from = f->file;
	for (size_t at = 0, span; at < size; at += span, n++) {
		struct bf_rec_header head;
		memcpy(&head, all + at, sizeof(head));
		span = bf_record_span(&head);
		const char *hit = memmem(from, (size_t)(f->file + f->size - from), all + at, span);
		ck_assert_ptr_nonnull(hit);
		if ((size_t)(hit - f->file) + span > cut)
			break;
		from = hit + span;
	}
	return n;
}

/* Cut anywhere: every record that is whole in what is left, then one error. */
START_TEST(test_truncation)
{
	struct fix f;
	unsigned damage;
	uint8_t *all, *bytes;
	size_t all_size, size, last = 0;
	fix_make(&f, FEW, _i ? &tiny_raw : &tiny_chunks);
	struct bf_trace *t = open_bytes(f.file, f.size);
	ck_assert_uint_eq(fix_read_all(t, &all, &all_size, &damage), FEW);
	bf_trace_close(t);
	for (size_t cut = 24; cut < f.size; cut++) {
		struct bf_error err = { 0 };
		if (bf_trace_open_memory(f.file, cut, &t, &err)) {
			ck_assert_int_eq(err.code, -EBADMSG);
			ck_assert_uint_lt(cut, 200);
			continue;
		}
		uint64_t n = fix_read_all(t, &bytes, &size, &damage);
		ck_assert_uint_eq(damage, 1);
		ck_assert_uint_ge(size, last);
		ck_assert_mem_eq(bytes, all, size);
		last = size;
		if (_i)
			ck_assert_uint_eq(n, whole_before(&f, all, all_size, cut));
		free(bytes);
		bf_trace_close(t);
	}
	ck_assert_uint_eq(last, all_size);
	free(all);
	free(f.file);
}
END_TEST

/* Any one byte wrong: never a record that was not written, never silence about one that is missing. */
START_TEST(test_flipped_bytes)
{
	struct fix f;
	unsigned damage;
	uint8_t *all, *bytes;
	size_t all_size, size;
	fix_make(&f, FEW, _i ? &tiny_raw : &tiny_chunks);
	struct bf_trace *t = open_bytes(f.file, f.size);
	fix_read_all(t, &all, &all_size, &damage);
	bf_trace_close(t);
	for (size_t i = 0; i < f.size; i++) {
		f.file[i] ^= (char)(1 << (i % 8));
		struct bf_error err = { 0 };
		if (!bf_trace_open_memory(f.file, f.size, &t, &err)) {
			uint64_t n = fix_read_all(t, &bytes, &size, &damage);
			ck_assert(n == FEW || damage);
			ck_assert(size != all_size || !memcmp(bytes, all, size));
			for (size_t at = 0; size < all_size && at < size; at += 8)
				ck_assert_ptr_nonnull(memmem(all, all_size, bytes + at, 8));
			free(bytes);
			bf_trace_close(t);
		}
		f.file[i] ^= (char)(1 << (i % 8));
	}
	free(all);
	free(f.file);
}
END_TEST

START_TEST(test_seek)
{
	struct fix f;
	struct bf_trace_record rec;
	fix_make(&f, RECORDS, &small_chunks);
	size_t size = f.size;
	if (_i == 1)
		size -= 24; /* no trailer: the index is built from the chunk headers */
	if (_i == 2)
		f.file[chunk_offset(&f, 3) + 20] ^= 1; /* and around a damaged one */
	struct bf_trace *t = open_bytes(f.file, size);
	uint64_t times[RECORDS] = { 0 };
	for (int rc; (rc = bf_trace_next(t, &rec)) != 0;) {
		if (rc == 1)
			times[rec.number] = rec.time_ps;
	}
	for (unsigned i = RECORDS; i-- > 0;) {
		if (!times[i])
			continue;
		ck_assert_int_eq(bf_trace_seek_time(t, times[i] - (i % 2 ? 500 : 0)), 0);
		int rc;
		while ((rc = bf_trace_next(t, &rec)) == -EBADMSG)
			;
		ck_assert_int_eq(rc, 1);
		/* The record before may be the one that was lost. */
		ck_assert_uint_eq(rec.number, i);
		ck_assert_uint_eq(rec.time_ps, times[i]);
	}
	ck_assert_int_eq(bf_trace_seek_time(t, UINT64_MAX), 0);
	int rc = bf_trace_next(t, &rec);
	ck_assert_int_eq(rc, 0);
	if (_i != 2) {
		unsigned damage;
		uint8_t *bytes;
		ck_assert_int_eq(bf_trace_seek_time(t, 0), 0);
		ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), RECORDS);
		ck_assert_uint_eq(bf_trace_hash(t), f.hash);
		free(bytes);
	}
	bf_trace_close(t);
	free(f.file);
}
END_TEST

struct feed {
	const struct fix *f;
	int fd;
};

static void *feed_pipe(void *arg)
{
	const struct feed *feed = arg;
	for (size_t at = 0; at < feed->f->size;) {
		ssize_t n = write(feed->fd, feed->f->file + at, feed->f->size - at < 777 ? feed->f->size - at : 777);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(feed->fd);
	return NULL;
}

START_TEST(test_pipe)
{
	struct fix f;
	unsigned damage;
	uint8_t *bytes;
	size_t size;
	int fds[2];
	pthread_t thread;
	fix_make(&f, RECORDS, &small_chunks);
	f.file[chunk_offset(&f, 2) + 100] ^= 1;
	ck_assert_int_eq(pipe(fds), 0);
	struct feed feed = { &f, fds[1] };
	ck_assert_int_eq(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
	FILE *in = fdopen(fds[0], "rb");
	struct bf_trace *t;
	ck_assert_int_eq(bf_trace_open("pipe", in, &t, NULL), 0);
	ck_assert_str_eq(bf_trace_meta_get(t, "seed"), "7");
	ck_assert_int_eq(bf_trace_seek_time(t, 5), -ESPIPE);
	uint64_t n = fix_read_all(t, &bytes, &size, &damage);
	size_t count;
	const struct bf_trace_loss *loss = bf_trace_losses(t, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(loss->records + n, RECORDS);
	free(bytes);
	bf_trace_close(t);
	fclose(in);
	pthread_join(thread, NULL);
	free(f.file);
}
END_TEST

START_TEST(test_refused)
{
	struct fix f;
	struct bf_trace *t;
	struct bf_error err = { 0 };
	char noise[5000];
	memset(noise, 'x', sizeof(noise));
	ck_assert_int_eq(bf_trace_open_memory(noise, sizeof(noise), &t, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "not a Belfry trace"));
	ck_assert_int_eq(bf_trace_open_memory(noise, 0, &t, &err), -EBADMSG);
	ck_assert_int_eq(bf_trace_open("/no/such/file", NULL, &t, &err), -ENOENT);
	fix_make(&f, 5, NULL);
	f.file[8] = 9;
	ck_assert_int_eq(bf_trace_open_memory(f.file, f.size, &t, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "9.0"));
	free(f.file);
}
END_TEST

START_TEST(test_writer_errors)
{
	struct bf_trace_writer *w;
	struct bf_error err = { 0 };
	ck_assert_int_eq(bf_trace_writer_open("/no/such/dir/t", NULL, NULL, &w, &err), -ENOENT);
	FILE *full = fopen("/dev/full", "wb");
	ck_assert_ptr_nonnull(full);
	struct bf_trace_options options = { .jsonl = _i };
	ck_assert_int_eq(bf_trace_writer_open(NULL, full, &options, &w, &err), 0);
	ck_assert_int_eq(bf_trace_meta(w, "", "x"), -EINVAL);
	ck_assert_int_eq(bf_trace_meta(w, "k", "\xff"), -EINVAL);
	ck_assert_int_eq(bf_trace_meta(w, "k", "v"), 0);
	ck_assert_int_eq(bf_trace_flush(w), -ENOSPC);
	ck_assert_int_eq(bf_trace_writer_close(w), -ENOSPC);
	ck_assert_int_eq(err.code, -ENOSPC);
	fclose(full);
}
END_TEST

/* A writer that dies after a flush leaves everything up to it. */
START_TEST(test_flush)
{
	struct fix f = { 0 };
	FILE *file = open_memstream(&f.file, &f.size);
	struct bf_trace_writer *w;
	struct bf_trace_options options = { .jsonl = _i };
	ck_assert_int_eq(bf_trace_writer_open(NULL, file, &options, &w, NULL), 0);
	ck_assert_int_eq(bf_stream_open(&f.st, &f.clock, BF_CLASS_ALL, bf_trace_sink(w)), 0);
	for (unsigned i = 0; i < 10; i++)
		fix_record(&f, i);
	ck_assert_int_eq(bf_stream_flush(&f.st), 0);
	ck_assert_int_eq(bf_trace_flush(w), 0);
	struct bf_trace *t = open_bytes(f.file, f.size);
	unsigned damage;
	uint8_t *bytes;
	size_t size;
	ck_assert_uint_eq(fix_read_all(t, &bytes, &size, &damage), 10);
	ck_assert_uint_eq(damage, 1);
	free(bytes);
	bf_trace_close(t);
	bf_stream_close(&f.st);
	bf_stream_fini(&f.st);
	ck_assert_int_eq(bf_trace_writer_close(w), 0);
	fclose(file);
	free(f.file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace");
	TCase *c = tcase_create("trace");
	tcase_set_timeout(c, 120);
	tcase_add_loop_test(c, test_round_trip, 0, 2);
	tcase_add_loop_test(c, test_one_damaged_chunk, 0, 4);
	tcase_add_test(c, test_damaged_ends);
	tcase_add_test(c, test_missing_chunk);
	tcase_add_loop_test(c, test_missing_bytes, 0, 2);
	tcase_add_test(c, test_repeated_chunk);
	tcase_add_test(c, test_chunk_alone);
	tcase_add_test(c, test_resealed);
	tcase_add_loop_test(c, test_truncation, 0, 2);
	tcase_add_loop_test(c, test_flipped_bytes, 0, 2);
	tcase_add_loop_test(c, test_seek, 0, 3);
	tcase_add_test(c, test_pipe);
	tcase_add_test(c, test_refused);
	tcase_add_loop_test(c, test_writer_errors, 0, 2);
	tcase_add_loop_test(c, test_flush, 0, 2);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
