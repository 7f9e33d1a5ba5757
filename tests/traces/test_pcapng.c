/* Export of packets: the blocks, byte by byte, and what tshark says of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/bytes.h"
#include "traces/export/pcapng.h"

#define PACKET_FIELDS                                                                                                  \
	(u64, packet, DEC), (u32, len, DEC, "B"), (u16, dir, ENUM, "0=tx;1=rx"),                                       \
	    (u16, verdict, ENUM, "0=ok;1=dropped;3=duplicate")
BF_RECORD_DECLARE(packet, 200, BF_CLASS_NET, PACKET_FIELDS);
BF_RECORD_DEFINE(packet, PACKET_FIELDS);

/* RoCEv2: RDMA WRITE only, 10.0.0.1 -> 10.0.0.2, QP 0x102, PSN 77, 16 bytes, ICRC as the specification computes it. */
static const uint8_t frame[] = {
	0x02, 0x0a, 0x00, 0x00, 0x00, 0x02, 0x02, 0x0a, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x45, 0x00, 0x00, 0x4c,
	0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0x9f, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0xc0, 0x00,
	0x12, 0xb7, 0x00, 0x38, 0x00, 0x00, 0x0a, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x02, 0x80, 0x00, 0x00, 0x4d,
	0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x12, 0x34, 0x00, 0x00, 0x00, 0x10, 0x00, 0x01,
	0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x8b, 0x3c, 0x86, 0xf2,
};

struct capture {
	char *trace, *bytes;
	size_t trace_size, size;
	struct bf_pcapng_result result;
};

static void send_packet(struct bf_stream *st, uint32_t port, uint64_t id, uint16_t dir, uint16_t verdict)
{
	struct bf_rec_packet r = { .packet = id, .len = sizeof(frame), .dir = dir, .verdict = verdict };
	bf_record(st, &bf_rec_packet_schema, port, &r, dir ? NULL : frame, dir ? 0 : sizeof(frame));
}

static void make(struct capture *c, bool both)
{
	struct bf_stream st = { 0 };
	struct bf_trace_writer *w;
	struct bf_trace *t;
	struct bf_error err = { 0 };
	uint64_t clock = 0x100000001ull;
	*c = (struct capture){ 0 };
	FILE *file = open_memstream(&c->trace, &c->trace_size);
	ck_assert_int_eq(bf_trace_writer_open(NULL, file, NULL, &w, &err), 0);
	uint32_t a = bf_stream_actor(&st, "port", "nic0.p1"), b = bf_stream_actor(&st, "port", "nic1.p1");
	bf_stream_open(&st, &clock, BF_CLASS_ALL, bf_trace_sink(w));
	send_packet(&st, a, 1, 0, 0);
	clock += 1000;
	send_packet(&st, b, 1, 1, 0);
	send_packet(&st, a, 2, 0, 1);
	send_packet(&st, b, 3, 0, 3);
	send_packet(&st, a, 3, 1, 0);
	send_packet(&st, a, 3, 1, 3);
	send_packet(&st, a, 99, 1, 0); /* never sent */
	ck_assert_int_eq(bf_stream_close(&st), 0);
	bf_stream_fini(&st);
	ck_assert_int_eq(bf_trace_writer_close(w), 0);
	fclose(file);
	ck_assert_int_eq(bf_trace_open_memory(c->trace, c->trace_size, &t, &err), 0);
	FILE *out = open_memstream(&c->bytes, &c->size);
	struct bf_pcapng_options options = { .both = both };
	ck_assert_msg(!bf_pcapng_export(t, &options, out, &c->result, &err), "%s", err.text);
	fclose(out);
	bf_trace_close(t);
}

static uint32_t word(const struct capture *c, size_t at)
{
	ck_assert_uint_le(at + 4, c->size);
	return bf_get_le32(c->bytes + at);
}

START_TEST(test_blocks)
{
	struct capture c;
	static const uint32_t sent[] = { 0x0a0d0d0a, 1, 6, 6, 1, 6 };
	static const uint32_t both[] = { 0x0a0d0d0a, 1, 6, 1, 6, 6, 6, 6, 6 };
	const uint32_t *want = _i ? both : sent;
	size_t n = _i ? BF_ARRAY_LEN(both) : BF_ARRAY_LEN(sent), at = 0;
	make(&c, _i);
	ck_assert_uint_eq(c.result.packets, _i ? 6 : 3);
	ck_assert_uint_eq(c.result.interfaces, 2);
	ck_assert_uint_eq(c.result.frameless, _i ? 1 : 0);
	for (size_t i = 0; i < n; i++) {
		uint32_t len = word(&c, at + 4);
		ck_assert_uint_eq(word(&c, at), want[i]);
		ck_assert_uint_eq(len % 4, 0);
		ck_assert_uint_eq(word(&c, at + len - 4), len);
		if (i == 1) {
			ck_assert_uint_eq(word(&c, at + 8), 1); /* Ethernet */
			ck_assert_uint_eq(word(&c, at + 16), 2 | 7u << 16);
			ck_assert_mem_eq(c.bytes + at + 20, "nic0.p1", 8);
			ck_assert_uint_eq(word(&c, at + 28), 9 | 1u << 16);
			ck_assert_int_eq(c.bytes[at + 32], 12);
		}
		if (i == 2) {
			ck_assert_uint_eq(word(&c, at + 8), 0);
			ck_assert_uint_eq(word(&c, at + 12), 1); /* time, high half first */
			ck_assert_uint_eq(word(&c, at + 16), 1);
			ck_assert_uint_eq(word(&c, at + 20), sizeof(frame));
			ck_assert_uint_eq(word(&c, at + 24), sizeof(frame));
			ck_assert_mem_eq(c.bytes + at + 28, frame, sizeof(frame));
		}
		at += len;
	}
	ck_assert_uint_eq(at, c.size);
	ck_assert_ptr_nonnull(memmem(c.bytes, c.size, "dropped", 7));
	free(c.trace);
	free(c.bytes);
}
END_TEST

static char *tshark(const char *file, const char *arguments)
{
	char command[512], *text;
	size_t size;
	snprintf(command, sizeof(command), "tshark -r %s %s 2>/dev/null", file, arguments);
	FILE *in = popen(command, "r"), *out = open_memstream(&text, &size);
	for (int ch; (ch = getc(in)) != EOF;)
		putc(ch, out);
	fclose(out);
	ck_assert_int_eq(pclose(in), 0);
	return text;
}

START_TEST(test_tshark)
{
	if (system("tshark --version >/dev/null 2>&1")) {
		puts("skipped: tshark is not installed (Debian: apt-get install tshark)");
		return;
	}
	struct capture c;
	char path[] = "/tmp/belfry-pcapng-XXXXXX";
	make(&c, true);
	FILE *file = fdopen(mkstemp(path), "wb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(c.bytes, 1, c.size, file), c.size);
	fclose(file);
	char *tree = tshark(path, "-V");
	char *fields = tshark(path, "-T fields -E separator=/s -e frame.interface_name -e frame.time_epoch "
				    "-e infiniband.bth.opcode -e infiniband.bth.psn -e infiniband.reth.dmalen "
				    "-e frame.comment");
	unlink(path);
	ck_assert_ptr_null(strstr(tree, "Malformed"));
	ck_assert_ptr_nonnull(strstr(tree, "InfiniBand"));
	ck_assert_ptr_nonnull(strstr(tree, "RDMA WRITE Only"));
	ck_assert_ptr_nonnull(strstr(tree, "Invariant CRC"));
	/* 0x100000001 ps are 4.294967297 ms. */
	static const char first[] = "nic0.p1 0.004294967 10 77 16 \n"
				    "nic1.p1 0.004294968 10 77 16 \n"
				    "nic0.p1 0.004294968 10 77 16 dropped\n";
	ck_assert_msg(!strncmp(fields, first, strlen(first)), "%s", fields);
	free(tree);
	free(fields);
	free(c.trace);
	free(c.bytes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pcapng");
	TCase *t = tcase_create("pcapng");
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_blocks, 0, 2);
	tcase_add_test(t, test_tshark);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
