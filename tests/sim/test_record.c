/* The record stream: layout, declarations, the hash, sinks. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/record.h"

#define T_THREE_FIELDS (u16, a, DEC), (u8, b, DEC), (u8, c, DEC)
#define T_KINDS_FIELDS                                                                                                 \
	(i64, wide, INT), (i32, narrow, INT), (u16, op, ENUM, "0=NOP;8=RDMA_WRITE;0x1f=LOW"), (u16, plain, DEC),       \
	    (text16, text, TEXT)
BF_RECORD_DECLARE(t_three, 1, BF_CLASS_MEM, T_THREE_FIELDS);
BF_RECORD_DECLARE(t_kinds, 1023, BF_CLASS_DMA, T_KINDS_FIELDS);
BF_RECORD_DEFINE(t_three, T_THREE_FIELDS);
BF_RECORD_DEFINE(t_kinds, T_KINDS_FIELDS);

/* A sink that keeps everything. */
struct memory {
	struct bf_sink sink;
	uint8_t bytes[1 << 20];
	size_t len;
	unsigned types, actors, writes;
	char log[512];  /* the order of the calls */
	int fail_after; /* writes that succeed; negative: all */
};

static int memory_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct memory *m = BF_CONTAINER_OF(s, struct memory, sink);
	m->types++;
	strcat(strcat(m->log, " T:"), schema->name);
	return 0;
}

static int memory_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	struct memory *m = BF_CONTAINER_OF(s, struct memory, sink);
	m->actors++;
	size_t n = strlen(m->log);
	snprintf(m->log + n, sizeof(m->log) - n, " A:%u:%s:%s", actor, kind, name);
	return 0;
}

static int memory_write(struct bf_sink *s, const void *records, size_t len)
{
	struct memory *m = BF_CONTAINER_OF(s, struct memory, sink);
	if (m->fail_after >= 0 && (int)m->writes >= m->fail_after)
		return -ENOSPC;
	m->writes++;
	ck_assert_uint_le(m->len + len, sizeof(m->bytes));
	memcpy(m->bytes + m->len, records, len);
	m->len += len;
	return 0;
}

static struct memory *memory(void)
{
	struct memory *m = calloc(1, sizeof(*m));
	m->sink = (struct bf_sink){ .declare_type = memory_type, .declare_actor = memory_actor, .write = memory_write };
	m->fail_after = -1;
	return m;
}

static void emit(struct bf_stream *st, unsigned i)
{
	uint8_t tail[100];
	for (unsigned k = 0; k < sizeof(tail); k++)
		tail[k] = (uint8_t)(i + k);
	if (i % 2) {
		struct bf_rec_t_three r = { .a = (uint16_t)i, .b = 3, .c = 4 };
		bf_record(st, &bf_rec_t_three_schema, 1, &r, tail, i % 100);
	} else {
		struct bf_rec_t_kinds r = { .wide = -1, .narrow = (int32_t)i, .op = 8, .text = "text" };
		bf_record(st, &bf_rec_t_kinds_schema, 2, &r, NULL, 0);
	}
}

START_TEST(test_off)
{
	struct bf_stream st = { 0 };
	ck_assert_uint_eq(bf_stream_actor(&st, "agent", "one"), 1);
	ck_assert_uint_eq(bf_stream_actor(&st, "agent", "two"), 2);
	ck_assert_str_eq(bf_stream_actor_name(&st, 2), "two");
	ck_assert_str_eq(bf_stream_actor_name(&st, 0), "-");
	ck_assert_str_eq(bf_stream_actor_name(&st, 3), "-");
	emit(&st, 1);
	ck_assert_uint_eq(st.count, 0);
	ck_assert_int_eq(bf_stream_flush(&st), 0);
	ck_assert_int_eq(bf_stream_close(&st), 0);
	bf_stream_hash(&st);
	bf_stream_fini(&st);
}
END_TEST

START_TEST(test_layout)
{
	struct bf_stream st = { 0 };
	struct memory *m = memory();
	uint64_t clock = 0x1122334455667788;
	bf_stream_actor(&st, "device", "nic");
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &m->sink), 0);
	ck_assert_uint_eq(bf_stream_actor(&st, "queue", "sq"), 2);
	memset(st.buf, 0xee, st.cap); /* padding must be written, not left */
	struct bf_rec_t_three r = { .a = 0x0201, .b = 3, .c = 4 };
	bf_record(&st, &bf_rec_t_three_schema, 2, &r, "\xaa\xbb\xcc\xdd\xee", 5);
	bf_record(&st, &bf_rec_t_three_schema, 1, &r, NULL, 0);
	ck_assert_uint_eq(m->len, 0);
	ck_assert_int_eq(bf_stream_close(&st), 0);
	static const uint8_t want[] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 2,    0,    0,    0,    1,    0,    4,    0, 5, 0,
		0,    0,    0,    0,    0,    0,    1,    2,    3,    4,    0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0, 0, 0,
		0,    0,    0,    0,    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 1,    0,    0,    0, 1, 0,
		4,    0,    0,    0,    0,    0,    0,    0,    0,    0,    1,    2,    3,    4,    0,    0, 0, 0,
	};
	ck_assert_uint_eq(m->len, sizeof(want));
	ck_assert_mem_eq(m->bytes, want, sizeof(want));
	ck_assert_str_eq(m->log, " A:1:device:nic A:2:queue:sq T:t_three");
	ck_assert_uint_eq(st.count, 2);
	/* Computed apart from this code, from the description in docs/trace-format.md. */
	ck_assert_uint_eq(bf_stream_hash(&st), 0xec84cdb409ebf539ull);
	bf_stream_fini(&st);
	free(m);
}
END_TEST

static uint64_t hash_of(unsigned n, unsigned flush_every, struct bf_sink *sink, const char *name)
{
	struct bf_stream st = { 0 };
	uint64_t clock = 5;
	bf_stream_actor(&st, "agent", name);
	bf_stream_open(&st, &clock, BF_CLASS_ALL, sink);
	bf_stream_actor(&st, "agent", "b");
	for (unsigned i = 0; i < n; i++) {
		emit(&st, i);
		clock += 10;
		if (flush_every && i % flush_every == 0)
			bf_stream_flush(&st);
	}
	uint64_t open = bf_stream_hash(&st);
	bf_stream_close(&st);
	ck_assert_uint_eq(open, bf_stream_hash(&st));
	bf_stream_fini(&st);
	return open;
}

START_TEST(test_hash)
{
	struct memory *m = memory();
	uint64_t h = hash_of(1000, 0, NULL, "a");
	ck_assert_uint_eq(h, hash_of(1000, 0, &m->sink, "a"));
	ck_assert_uint_eq(h, hash_of(1000, 1, NULL, "a"));
	ck_assert_uint_eq(h, hash_of(1000, 7, NULL, "a"));
	ck_assert_uint_ne(h, hash_of(999, 0, NULL, "a"));
	ck_assert_uint_ne(h, hash_of(1000, 0, NULL, "c"));
	/* Every bit of every record counts, and their order. */
	uint64_t chain = bf_hash_records(BF_HASH_START, m->bytes, m->len);
	struct bf_rec_header head;
	for (size_t at = 0, span; at < 4000; at += span) {
		memcpy(&head, m->bytes + at, sizeof(head));
		span = bf_record_span(&head);
		for (size_t i = at; i < at + span; i++) {
			if (i - at >= 14 && i - at < 20)
				continue; /* the lengths, which say where records end */
			m->bytes[i] ^= (uint8_t)(1 << (i % 8));
			ck_assert_uint_ne(bf_hash_records(BF_HASH_START, m->bytes, m->len), chain);
			m->bytes[i] ^= (uint8_t)(1 << (i % 8));
		}
	}
	memcpy(&head, m->bytes, sizeof(head));
	size_t first = bf_record_span(&head);
	memcpy(&head, m->bytes + first, sizeof(head));
	size_t second = bf_record_span(&head);
	uint64_t swapped = bf_hash_records(BF_HASH_START, m->bytes + first, second);
	swapped = bf_hash_records(swapped, m->bytes, first);
	ck_assert_uint_ne(bf_hash_records(BF_HASH_START, m->bytes, first + second), swapped);
	/* Declarations count once each, in whatever order. */
	uint8_t a[64], b[64];
	size_t a_len = bf_actor_block(1, "k", "a", a, sizeof(a)), b_len = bf_actor_block(2, "k", "b", b, sizeof(b));
	ck_assert_uint_eq(a_len % 8, 0);
	ck_assert_uint_ne(bf_hash_declaration(a, a_len), bf_hash_declaration(b, b_len));
	free(m);
}
END_TEST

START_TEST(test_bytes_hash)
{
	uint8_t bytes[64] = { 0 };
	uint64_t seen[64];
	for (size_t n = 0; n < 64; n++) {
		seen[n] = bf_hash_bytes(bytes, n); /* zeros: only the length differs */
		for (size_t k = 0; k < n; k++)
			ck_assert_uint_ne(seen[k], seen[n]);
	}
}
END_TEST

START_TEST(test_large_tails)
{
	struct bf_stream st = { 0 };
	struct memory *m = memory();
	uint64_t clock = 0;
	size_t len = 200000;
	uint8_t *tail = malloc(BF_RECORD_TAIL_MAX + 1);
	memset(tail, 0x5a, BF_RECORD_TAIL_MAX + 1);
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &m->sink), 0);
	emit(&st, 1);
	struct bf_rec_t_three r = { .a = 1 };
	bf_record(&st, &bf_rec_t_three_schema, 0, &r, tail, (uint32_t)len);
	emit(&st, 1);
	ck_assert_int_eq(bf_stream_flush(&st), 0);
	ck_assert_uint_eq(m->len, 32 + 200032 + 32);
	ck_assert_mem_eq(m->bytes + 32 + 28, tail, len);
	emit(&st, 1);
	bf_record(&st, &bf_rec_t_three_schema, 0, &r, tail, BF_RECORD_TAIL_MAX + 1);
	ck_assert_uint_eq(m->len, 32 + 200032 + 32 + 32);
	ck_assert_int_eq(st.status, -EMSGSIZE);
	ck_assert_uint_eq(st.mask, 0);
	ck_assert_int_eq(bf_stream_close(&st), -EMSGSIZE);
	bf_stream_fini(&st);
	free(tail);
	free(m);
}
END_TEST

START_TEST(test_sink_error)
{
	struct bf_stream st = { 0 };
	struct memory *m = memory();
	uint64_t clock = 0;
	m->fail_after = 1;
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &m->sink), 0);
	for (unsigned i = 0; i < 2000; i++)
		emit(&st, i);
	ck_assert_int_eq(st.status, -ENOSPC);
	ck_assert_uint_eq(st.mask, 0);
	ck_assert_uint_eq(m->writes, 1);
	ck_assert_int_eq(bf_stream_close(&st), -ENOSPC);
	/* A stream can be opened again and starts clean. */
	m->fail_after = -1;
	m->len = 0;
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_MEM, &m->sink), 0);
	emit(&st, 1);
	ck_assert_int_eq(bf_stream_close(&st), 0);
	ck_assert_uint_eq(st.count, 1);
	ck_assert_uint_eq(m->len, 32);
	bf_stream_fini(&st);
	free(m);
}
END_TEST

START_TEST(test_probe)
{
	struct {
		struct bf_stream rec;
	} sim = { { 0 } };
	uint64_t clock = 0;
	ck_assert(!bf_probe(&sim, BF_CLASS_ALL));
	bf_stream_open(&sim.rec, &clock, BF_CLASS_DMA | BF_CLASS_MEM, NULL);
	ck_assert(bf_probe(&sim, BF_CLASS_DMA));
	ck_assert(!bf_probe(&sim, BF_CLASS_NET));
	bf_stream_close(&sim.rec);
	ck_assert(!bf_probe(&sim, BF_CLASS_DMA));
	bf_stream_fini(&sim.rec);
}
END_TEST

static int refuse_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s, (void)actor, (void)kind, (void)name;
	return -ENOSPC;
}

/* A stream that did not open is off, drops records and can be opened again. */
START_TEST(test_open_fails)
{
	struct bf_stream st = { 0 };
	struct memory *m = memory();
	struct bf_sink bad = m->sink;
	uint64_t clock = 0;
	bad.declare_actor = refuse_actor;
	bf_stream_actor(&st, "agent", "x");
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &bad), -ENOSPC);
	ck_assert_uint_eq(st.mask, 0);
	emit(&st, 1);
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &m->sink), 0);
	emit(&st, 1);
	ck_assert_int_eq(bf_stream_close(&st), 0);
	ck_assert_uint_eq(st.count, 1);
	bf_stream_fini(&st);
	free(m);
}
END_TEST

START_TEST(test_tee)
{
	struct bf_stream st = { 0 };
	struct memory *a = memory(), *b = memory();
	struct bf_sink_tee tee;
	uint64_t clock = 0;
	bf_sink_tee_init(&tee, &a->sink, &b->sink);
	bf_stream_actor(&st, "agent", "x");
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &tee.sink), 0);
	for (unsigned i = 0; i < 500; i++)
		emit(&st, i);
	ck_assert_int_eq(bf_stream_flush(&st), 0);
	ck_assert_uint_gt(a->len, 0);
	ck_assert_uint_eq(a->len, b->len);
	ck_assert_mem_eq(a->bytes, b->bytes, a->len);
	ck_assert_str_eq(a->log, b->log);
	ck_assert_uint_eq(a->types, 2);
	b->fail_after = 0;
	emit(&st, 1);
	ck_assert_int_eq(bf_stream_close(&st), -ENOSPC);
	bf_stream_fini(&st);
	free(a);
	free(b);
}
END_TEST

/* Lays a record that is handed over as a stream lays it. */
static int memory_take(struct bf_sink *s, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		       const void *fixed, const void *tail)
{
	struct memory *m = BF_CONTAINER_OF(s, struct memory, sink);
	uint8_t *at = m->bytes + m->len;
	if (m->fail_after >= 0 && (int)m->writes >= m->fail_after)
		return -ENOSPC;
	m->writes++;
	ck_assert_uint_eq(head->fixed, schema->size);
	ck_assert_uint_le(m->len + bf_record_span(head), sizeof(m->bytes));
	memcpy(at, head, sizeof(*head));
	memcpy(at + sizeof(*head), fixed, head->fixed);
	if (head->tail)
		memcpy(at + sizeof(*head) + head->fixed, tail, head->tail);
	m->len += bf_record_span(head);
	return 0;
}

/* A sink that wants one of two types gets its records as they are made, and the same as one that takes all. */
START_TEST(test_take)
{
	bf_take_fn *take[BF_RECORD_TYPES] = { NULL };
	struct bf_stream st = { 0 }, all = { 0 };
	struct memory *few = memory(), *every = memory();
	uint64_t clock = 7;
	size_t len = 0;
	take[bf_rec_t_three_schema.id] = memory_take;
	few->sink.take = take;
	ck_assert_int_eq(bf_stream_open(&st, &clock, BF_CLASS_ALL, &few->sink), 0);
	ck_assert_int_eq(bf_stream_open(&all, &clock, BF_CLASS_ALL, &every->sink), 0);
	for (unsigned i = 0; i < 500; i++, clock++) {
		emit(&st, i);
		emit(&all, i);
		ck_assert_uint_eq(few->writes, (i + 1) / 2);
	}
	bf_stream_flush(&all);
	for (size_t at = 0, span; at < every->len; at += span) {
		const struct bf_rec_header *head = (const void *)(every->bytes + at);
		span = bf_record_span(head);
		if (head->type != bf_rec_t_three_schema.id)
			continue;
		ck_assert_uint_le(len + span, few->len);
		ck_assert_mem_eq(few->bytes + len, every->bytes + at, span);
		len += span;
	}
	ck_assert_uint_eq(len, few->len);
	ck_assert_uint_eq(st.count, 250);
	ck_assert_uint_eq(few->types, 0);
	ck_assert_uint_eq(bf_stream_hash(&st), 0);
	few->fail_after = 0;
	emit(&st, 1);
	ck_assert_uint_eq(st.mask, 0);
	ck_assert_int_eq(bf_stream_close(&st), -ENOSPC);
	emit(&st, 1);
	ck_assert_uint_eq(few->len, len);
	bf_stream_close(&all);
	bf_stream_fini(&st);
	bf_stream_fini(&all);
	free(few);
	free(every);
}
END_TEST

START_TEST(test_fields)
{
	struct bf_rec_t_kinds r = { .wide = -5, .narrow = -6, .op = 31, .plain = 0xffff, .text = "abc" };
	const struct bf_rec_schema *s = &bf_rec_t_kinds_schema;
	ck_assert_uint_eq(s->nfields, 5);
	ck_assert_int_eq((int64_t)bf_field_u64(bf_schema_field(s, "wide"), &r), -5);
	ck_assert_int_eq((int64_t)bf_field_u64(bf_schema_field(s, "narrow"), &r), -6);
	ck_assert_uint_eq(bf_field_u64(bf_schema_field(s, "plain"), &r), 0xffff);
	ck_assert_uint_eq(bf_field_u64(bf_schema_field(s, "text"), &r), 0);
	ck_assert_ptr_null(bf_schema_field(s, "nothing"));
	size_t len;
	const struct bf_rec_field *op = bf_schema_field(s, "op");
	const char *name = bf_field_enum_name(op, bf_field_u64(op, &r), &len);
	ck_assert_uint_eq(len, 3);
	ck_assert_mem_eq(name, "LOW", 3);
	name = bf_field_enum_name(op, 8, &len);
	ck_assert_uint_eq(len, 10);
	ck_assert_ptr_null(bf_field_enum_name(op, 1, &len));
	ck_assert_ptr_null(bf_field_enum_name(bf_schema_field(s, "plain"), 0, &len));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("record");
	TCase *c = tcase_create("record");
	tcase_add_test(c, test_off);
	tcase_add_test(c, test_layout);
	tcase_add_test(c, test_hash);
	tcase_add_test(c, test_bytes_hash);
	tcase_add_test(c, test_large_tails);
	tcase_add_test(c, test_sink_error);
	tcase_add_test(c, test_probe);
	tcase_add_test(c, test_open_fails);
	tcase_add_test(c, test_tee);
	tcase_add_test(c, test_take);
	tcase_add_test(c, test_fields);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
