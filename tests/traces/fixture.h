/* A small trace for the tests of traces/: three record types, three actors, awkward values. */
#ifndef BELFRY_TESTS_TRACES_FIXTURE_H
#define BELFRY_TESTS_TRACES_FIXTURE_H

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/trace.h"

#define FIX_READ_FIELDS (u64, iova, HEX), (u32, len, DEC, "B"), (u32, qpn, HEX)
BF_RECORD_DECLARE(fix_read, 900, BF_CLASS_DMA, FIX_READ_FIELDS);

#define FIX_ODD_FIELDS                                                                                                 \
	(u64, big, DEC, "B"), (i64, delta, INT), (u64, spent, TIME), (i32, small, INT),                                \
	    (u16, op, ENUM, "0=NOP;8=RDMA_WRITE;9=RDMA_WRITE;10=7up"), (u8, flag, DEC), (u8, more, HEX),               \
	    (text16, label, TEXT)
BF_RECORD_DECLARE(fix_odd, 901, BF_CLASS_QUEUE, FIX_ODD_FIELDS);

#define FIX_PACKET_FIELDS                                                                                              \
	(u64, packet, DEC), (u32, len, DEC, "B"), (u16, dir, ENUM, "0=tx;1=rx"),                                       \
	    (u16, verdict, ENUM, "0=ok;1=dropped;3=duplicate")
BF_RECORD_DECLARE(fix_packet, 902, BF_CLASS_NET, FIX_PACKET_FIELDS);

BF_RECORD_DEFINE(fix_read, FIX_READ_FIELDS);
BF_RECORD_DEFINE(fix_odd, FIX_ODD_FIELDS);
BF_RECORD_DEFINE(fix_packet, FIX_PACKET_FIELDS);

/* What was written: the bytes of each record, to compare with. */
struct fix {
	uint64_t clock;
	struct bf_stream st;
	struct bf_error err;
	uint32_t actors[3];
	char *file;
	size_t size;
	uint64_t hash;
};

static inline void fix_record(struct fix *f, unsigned i)
{
	uint8_t tail[300];
	for (unsigned k = 0; k < sizeof(tail); k++)
		tail[k] = (uint8_t)(i * 7 + k * k);
	f->clock += 1000 + i % 7;
	uint32_t actor = f->actors[i % 3];
	if (i % 3 == 0) {
		struct bf_rec_fix_read r = { .iova = 0x7f0000000000ull + i * 64ull, .len = i, .qpn = 0x40 + i % 4 };
		bf_record(&f->st, &bf_rec_fix_read_schema, actor, &r, tail, i % 65);
	} else if (i % 3 == 1) {
		struct bf_rec_fix_odd r = { .big = (1ull << 53) + i,
					    .delta = INT64_MIN + i,
					    .spent = i * 1001ull,
					    .small = -(int32_t)i,
					    .op = (uint16_t)(i / 3 % 12),
					    .flag = (uint8_t)i };
		/* Every third label is not UTF-8, every fifth has bytes behind its NUL. */
		snprintf(r.label, sizeof(r.label), i % 9 == 1 ? "\xff%u" : "q\"\n%u", i);
		if (i % 15 == 1)
			r.label[15] = 'x';
		bf_record(&f->st, &bf_rec_fix_odd_schema, actor, &r, NULL, 0);
	} else {
		struct bf_rec_fix_packet r = { .packet = i, .len = 300 };
		bf_record(&f->st, &bf_rec_fix_packet_schema, 0, &r, tail, sizeof(tail));
	}
}

/* Writes `n` records with `options` into f->file. */
static inline void fix_make(struct fix *f, unsigned n, const struct bf_trace_options *options)
{
	*f = (struct fix){ 0 };
	FILE *file = open_memstream(&f->file, &f->size);
	struct bf_trace_writer *w;
	ck_assert_int_eq(bf_trace_writer_open(NULL, file, options, &w, &f->err), 0);
	ck_assert_int_eq(bf_trace_meta(w, "seed", "7"), 0);
	ck_assert_int_eq(bf_trace_meta(w, "text", "two\nlines \"\xc3\xa9\""), 0);
	f->actors[0] = bf_stream_actor(&f->st, "queue", "sq0");
	ck_assert_int_eq(bf_stream_open(&f->st, &f->clock, BF_CLASS_ALL, bf_trace_sink(w)), 0);
	f->actors[1] = bf_stream_actor(&f->st, "device", "nic \"0\"");
	f->actors[2] = bf_stream_actor(&f->st, "agent", "unused");
	for (unsigned i = 0; i < n; i++)
		fix_record(f, i);
	ck_assert_int_eq(bf_stream_close(&f->st), 0);
	ck_assert_int_eq(bf_trace_writer_close(w), 0);
	f->hash = bf_stream_hash(&f->st);
	ck_assert_uint_eq(f->st.count, n);
	bf_stream_fini(&f->st);
	fclose(file);
}

/* All records of a trace, back to back, in `*bytes` (to be freed); their number. Damage is passed over and counted. */
static inline uint64_t fix_read_all(struct bf_trace *t, uint8_t **bytes, size_t *size, unsigned *damage)
{
	struct bf_trace_record rec;
	uint64_t n = 0;
	int rc;
	char *buf;
	FILE *all = open_memstream(&buf, size);
	*damage = 0;
	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc == 1) {
			fwrite(rec.raw, 1, rec.raw_len, all);
			n++;
		} else {
			++*damage;
		}
	}
	fclose(all);
	*bytes = (uint8_t *)buf;
	return n;
}

#endif
