/* RoCEv2 packets: layout against hand-made bytes, ICRC against a bitwise CRC, what the parser refuses. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/roce.h"
#include "sim/rng.h"

static uint32_t crc_bit_by_bit(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len; p++, len--) {
		crc ^= *p;
		for (int i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return crc;
}

START_TEST(crc_is_crc32)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	uint8_t data[600];
	struct bf_rng rng;

	ck_assert_uint_eq(~bf_crc32(~0u, "123456789", 9), 0xcbf43926u); /* the usual check value */
	ck_assert_uint_eq(bf_crc32(~0u, ones, 8), 0xdebb20e3u);
	bf_rng_init(&rng, 1, "crc");
	for (int i = 0; i < 5000; i++) {
		size_t from = bf_rng_below(&rng, 20), len = bf_rng_below(&rng, 580);
		uint32_t start = (uint32_t)bf_rng_next(&rng);

		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)bf_rng_next(&rng);
		ck_assert_uint_eq(bf_crc32(start, data + from, len), crc_bit_by_bit(start, data + from, len));
	}
}
END_TEST

START_TEST(icrc_of_a_known_packet)
{
	/* IP, UDP, BTH of a WRITE_MIDDLE with 64 zero bytes; its ICRC was computed by another implementation. */
	static const uint8_t head[40] = { 0x45, 0,    0,    0x6c, 0xd4, 0x31, 0,    0,    0x80, 0x11,
					  0x68, 0x4d, 0x7f, 0,    0,    1,    0x7f, 0,    0,    1,
					  0x30, 0x39, 0x12, 0xb7, 0,    0x58, 0x09, 0xdc, 0x07, 0,
					  0,    1,    0,    0,    0,    3,    0,    0,    0,    0 };
	const uint32_t want = 0xbff3abb9u;
	uint8_t frame[14 + 40 + 64] = { 0 };

	memcpy(frame + 14, head, sizeof(head));
	ck_assert_uint_eq(bf_roce_icrc(frame, sizeof(frame)), want);
	/* What routers change does not count; everything else does. */
	frame[14 + 1] ^= 0xff;
	frame[14 + 8] -= 1;
	frame[14 + 10] ^= 0x12;
	frame[34 + 6] ^= 0x34;
	frame[42 + 4] ^= 0x80;
	ck_assert_uint_eq(bf_roce_icrc(frame, sizeof(frame)), want);
	frame[42 + 9] ^= 1;
	ck_assert_uint_ne(bf_roce_icrc(frame, sizeof(frame)), want);
}
END_TEST

static void make_path(struct bf_roce_path *path)
{
	struct bf_roce_path_opts opts = {
		.src_mac = { 2, 0, 10, 0, 0, 1 },
		.dst_mac = { 2, 0, 10, 0, 0, 2 },
		.src_ipv4 = 0x0a000001,
		.dst_ipv4 = 0x0a000002,
		.udp_src_port = 0xc123,
		.dscp = 26,
		.ecn = 2,
		.ttl = 64,
	};

	bf_roce_path_init(path, &opts);
}

START_TEST(bytes_of_a_write_with_immediate)
{
	static const uint8_t want[] = {
		2,    0,    10,   0,    0,   2,  2,    0, 10,   0,  0,    1,    0x08, 0x00, /* Ethernet */
		0x45, 0x6a, 0,    72,   0,   0,  0x40, 0, 64,   17, 0x26, 0x39,             /* IPv4 */
		10,   0,    0,    1,    10,  0,  0,    2,                                   /* IPv4 */
		0xc1, 0x23, 0x12, 0xb7, 0,   52, 0,    0,                                   /* UDP */
		0x0b, 0xf0, 0xff, 0xff, 0,   1,  2,    3, 0x80, 4,  5,    6,                /* BTH: SE, M, pad 3 */
		1,    2,    3,    4,    5,   6,  7,    8, 0,    0,  0x1a, 0x2b, 0,    0,    0, 5, /* RETH */
		0xde, 0xad, 0xbe, 0xef,                                                           /* ImmDt */
		'h',  'e',  'l',  'l',  'o', 0,  0,    0,                                         /* payload, pad */
	};
	struct bf_roce r = { .opcode = BF_RC_WRITE_ONLY_IMM,
			     .solicited = true,
			     .ack_req = true,
			     .pkey = 0xffff,
			     .dest_qp = 0x010203,
			     .psn = 0x040506,
			     .va = 0x0102030405060708ull,
			     .rkey = 0x1a2b,
			     .dma_len = 5,
			     .imm = 0xdeadbeef,
			     .payload_len = 5 };
	struct bf_roce_path path;
	uint8_t frame[200];
	uint32_t at, len;

	memset(frame, 0xcc, sizeof(frame));
	make_path(&path);
	at = bf_roce_build(frame, &path, &r);
	ck_assert_uint_eq(at, bf_roce_header_len(BF_RC_WRITE_ONLY_IMM));
	ck_assert_uint_eq(at, 54 + 16 + 4);
	memcpy(frame + at, "hello", 5);
	len = bf_roce_finish(frame, &r, at, true);
	ck_assert_uint_eq(len, sizeof(want) + 4);
	for (size_t i = 0; i < sizeof(want); i++)
		ck_assert_msg(frame[i] == want[i], "byte %zu is 0x%02x instead of 0x%02x", i, frame[i], want[i]);
	len = bf_roce_finish(frame, &r, at, false);
	ck_assert_uint_eq(bf_get_le32(frame + len - 4), 0);
	ck_assert_int_eq(bf_roce_parse(frame, len, true, &r, NULL), -EILSEQ);
	ck_assert_int_eq(bf_roce_parse(frame, len, false, &r, NULL), 0);
}
END_TEST

/* Random values in what the opcode carries, nothing elsewhere. */
static void fill(struct bf_roce *r, uint8_t opcode, struct bf_rng *rng)
{
	uint32_t info = bf_roce_opcode_info(opcode);

	*r = (struct bf_roce){ .opcode = bf_roce_rc_opcode(opcode),
			       .dc = info & BF_ROCE_HAS_DCETH,
			       .uc = info & BF_ROCE_IS_UC,
			       .xrc = info & BF_ROCE_IS_XRC,
			       .solicited = bf_rng_next(rng) & 1,
			       .ack_req = bf_rng_next(rng) & 1,
			       .pkey = (uint16_t)bf_rng_next(rng),
			       .dest_qp = bf_rng_next(rng) & 0xffffff,
			       .psn = bf_rng_next(rng) & 0xffffff };
	if (r->dc) {
		r->src_qp = bf_rng_next(rng) & 0xffffff;
		r->session = (uint32_t)bf_rng_next(rng);
		r->stream = (uint16_t)bf_rng_next(rng);
		r->attempt = (uint16_t)bf_rng_next(rng);
		r->dc_flags = (uint8_t)bf_rng_next(rng);
	}
	if (info & BF_ROCE_HAS_DETH) {
		r->qkey = (uint32_t)bf_rng_next(rng);
		r->src_qp = bf_rng_next(rng) & 0xffffff;
	}
	if (info & BF_ROCE_HAS_DC_KEY)
		r->dc_key = bf_rng_next(rng);
	if (info & BF_ROCE_HAS_XRCETH)
		r->xrc_srqn = bf_rng_next(rng) & 0xffffff;
	if (info & BF_ROCE_HAS_DC_INFO)
		r->dc_info = (uint32_t)bf_rng_next(rng);
	if (info & (BF_ROCE_HAS_RETH | BF_ROCE_HAS_ATOMIC | BF_ROCE_HAS_EXT_ATOMIC)) {
		r->va = bf_rng_next(rng);
		r->rkey = (uint32_t)bf_rng_next(rng);
	}
	if (info & BF_ROCE_HAS_RETH)
		r->dma_len = (uint32_t)bf_rng_next(rng);
	if (info & (BF_ROCE_HAS_ATOMIC | BF_ROCE_HAS_EXT_ATOMIC)) {
		r->swap_add = bf_rng_next(rng);
		r->compare = bf_rng_next(rng);
	}
	if (info & BF_ROCE_HAS_EXT_ATOMIC) {
		r->swap_mask = bf_rng_next(rng);
		r->compare_mask = bf_rng_next(rng);
		r->atomic_size = bf_rng_next(rng) & 1 ? 4 : 8;
	}
	if (info & BF_ROCE_HAS_AETH) {
		r->aeth_syndrome = (uint8_t)bf_rng_next(rng);
		r->msn = bf_rng_next(rng) & 0xffffff;
	}
	if (info & BF_ROCE_HAS_ATOMIC_ACK)
		r->atomic_orig = bf_rng_next(rng);
	if (info & (BF_ROCE_HAS_IMM | BF_ROCE_HAS_IETH))
		r->imm = (uint32_t)bf_rng_next(rng);
	if (info & BF_ROCE_HAS_PAYLOAD)
		r->payload_len = (uint32_t)bf_rng_below(rng, 4097);
}

static uint32_t build(uint8_t *frame, const struct bf_roce *r, struct bf_rng *rng)
{
	struct bf_roce_path path;
	uint32_t at;

	make_path(&path);
	at = bf_roce_build(frame, &path, r);
	for (uint32_t i = 0; i < r->payload_len; i++)
		frame[at + i] = (uint8_t)bf_rng_next(rng);
	return bf_roce_finish(frame, r, at, true);
}

START_TEST(every_opcode_comes_back)
{
	uint8_t frame[4400];
	struct bf_rng rng;
	int known = 0;

	bf_rng_init(&rng, 2, "roce");
	for (unsigned int op = 0; op < 256; op++) {
		if (!(bf_roce_opcode_info((uint8_t)op) & BF_ROCE_KNOWN)) {
			ck_assert_str_eq(bf_roce_opcode_name((uint8_t)op), "UNKNOWN");
			continue;
		}
		known++;
		for (int i = 0; i < 50; i++) {
			struct bf_roce r, back;
			uint32_t len;

			fill(&r, (uint8_t)op, &rng);
			len = build(frame, &r, &rng);
			ck_assert_int_eq(bf_roce_parse(frame, len, true, &back, NULL), 0);
			r.pad = -r.payload_len & 3;
			r.src_ipv4 = 0x0a000001;
			r.dst_ipv4 = 0x0a000002;
			r.src_port = 0xc123;
			r.payload_offset = bf_roce_header_len((uint8_t)op);
#define SAME(field) ck_assert_msg(r.field == back.field, "opcode 0x%02x: " #field, op)
			SAME(opcode), SAME(solicited), SAME(ack_req), SAME(pad), SAME(pkey), SAME(dest_qp), SAME(psn);
			SAME(va), SAME(rkey), SAME(dma_len), SAME(swap_add), SAME(compare), SAME(swap_mask);
			SAME(compare_mask), SAME(atomic_size), SAME(aeth_syndrome), SAME(msn), SAME(atomic_orig);
			SAME(imm), SAME(src_ipv4), SAME(dst_ipv4), SAME(src_port), SAME(payload_offset);
			SAME(payload_len), SAME(dc), SAME(uc), SAME(qkey), SAME(src_qp), SAME(xrc);
			SAME(xrc_srqn);
			if (r.dc) {
				SAME(session), SAME(stream), SAME(attempt), SAME(dc_flags);
				SAME(dc_key), SAME(dc_info);
			}
			ck_assert_uint_eq(bf_roce_wire_opcode(&back), op);
#undef SAME
		}
	}
	ck_assert_int_eq(known, 25 + 25 + 4 + 12 + 2 + 23); /* RC, DC, DC's own, UC, UD, XRC */
}
END_TEST

START_TEST(any_flipped_bit_is_noticed)
{
	/* Bytes that routers may change, and Ethernet addresses, are not covered. */
	struct bf_roce r, back;
	uint8_t frame[4400];
	struct bf_rng rng;
	uint32_t len;

	bf_rng_init(&rng, 3, "roce");
	fill(&r, BF_RC_WRITE_FIRST, &rng);
	r.payload_len = 37;
	len = build(frame, &r, &rng);
	for (uint32_t bit = 14 * 8; bit < len * 8; bit++) {
		uint32_t at = bit / 8;

		frame[at] ^= (uint8_t)(1u << bit % 8);
		if (at == 46 || at == 40 || at == 41)
			ck_assert_int_eq(bf_roce_parse(frame, len, true, &back, NULL), 0);
		else
			ck_assert_msg(bf_roce_parse(frame, len, true, &back, NULL) < 0, "bit %u", bit);
		frame[at] ^= (uint8_t)(1u << bit % 8);
	}
}
END_TEST

START_TEST(cut_frames_are_refused)
{
	struct bf_roce r, back;
	uint8_t frame[4400];
	struct bf_rng rng;

	bf_rng_init(&rng, 4, "roce");
	for (unsigned int op = 0; op < 256; op++) {
		uint32_t len;

		if (!bf_roce_opcode_info((uint8_t)op))
			continue;
		fill(&r, (uint8_t)op, &rng);
		r.payload_len = r.payload_len ? 9 : 0;
		len = build(frame, &r, &rng);
		for (uint32_t n = 0; n < len; n++) {
			uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees a read behind the end */

			memcpy(exact, frame, n);
			ck_assert_int_lt(bf_roce_parse(exact, n, true, &back, NULL), 0);
			free(exact);
		}
		ck_assert_int_eq(bf_roce_parse(frame, len + 4, true, &back, NULL), 0);
	}
}
END_TEST

/* Sets one 16-bit word of the IP header and mends its checksum. */
static void set_ip_word(uint8_t *frame, uint32_t at, uint16_t value)
{
	uint32_t sum = 0;

	bf_put_be16(frame + 14 + at, value);
	bf_put_be16(frame + 14 + 10, 0);
	for (uint32_t i = 0; i < 20; i += 2)
		sum += bf_get_be16(frame + 14 + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	bf_put_be16(frame + 14 + 10, (uint16_t)~sum);
}

static int parse_changed(const uint8_t *frame, uint32_t len, uint32_t at, uint8_t value, struct bf_error *err)
{
	uint8_t copy[200];
	struct bf_roce back;

	memcpy(copy, frame, len);
	copy[at] = value;
	return bf_roce_parse(copy, len, false, &back, err);
}

START_TEST(refusals_say_why)
{
	struct bf_roce r = { .opcode = BF_RC_ACK }, back;
	struct bf_error err = { 0 };
	uint8_t frame[200];
	struct bf_rng rng;
	uint32_t len;

	bf_rng_init(&rng, 5, "roce");
	len = build(frame, &r, &rng);
	ck_assert_uint_eq(len, 62);
	ck_assert_int_eq(parse_changed(frame, len, 12, 0x86, &err), -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(err.text, "IPv4"));
	ck_assert_int_eq(parse_changed(frame, len, 14, 0x46, &err), -EPROTONOSUPPORT);
	ck_assert_int_eq(parse_changed(frame, len, 14 + 9, 6, &err), -EPROTONOSUPPORT);
	ck_assert_int_eq(parse_changed(frame, len, 36, 0, &err), -EPROTONOSUPPORT);
	ck_assert_int_eq(parse_changed(frame, len, 14 + 11, 0, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "checksum"));
	ck_assert_int_eq(parse_changed(frame, len, 39, 1, &err), -EBADMSG);
	ck_assert_int_eq(parse_changed(frame, len, 42, 0x15, &err), -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(err.text, "0x15"));
	ck_assert_int_eq(parse_changed(frame, len, 43, 0x41, &err), -EBADMSG);
	ck_assert_int_eq(parse_changed(frame, len, 43, 0x50, &err), -EBADMSG);
	ck_assert_int_eq(parse_changed(frame, len, 42, BF_RC_READ_REQUEST, &err), -EBADMSG);
	set_ip_word(frame, 6, 0x2000);
	ck_assert_int_eq(bf_roce_parse(frame, len, false, &back, &err), -EPROTONOSUPPORT);
	set_ip_word(frame, 6, 0x4000);
	set_ip_word(frame, 2, 49);
	ck_assert_int_eq(bf_roce_parse(frame, len, false, &back, &err), -EBADMSG);
	set_ip_word(frame, 2, 19);
	ck_assert_int_eq(bf_roce_parse(frame, len, false, &back, &err), -EBADMSG);
	r = (struct bf_roce){ .opcode = BF_RC_WRITE_MIDDLE, .payload_len = 8 };
	len = build(frame, &r, &rng);
	ck_assert_int_eq(parse_changed(frame, len, 43, 0x50, &err), 0);        /* 7 bytes and a pad */
	ck_assert_int_eq(parse_changed(frame, len, 42, 0x11, &err), -EBADMSG); /* ACK with payload */
	set_ip_word(frame, 2, (uint16_t)(bf_get_be16(frame + 16) - 1));
	ck_assert_int_eq(parse_changed(frame, len, 39, (uint8_t)(frame[39] - 1), &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "multiples of 4"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("roce");
	TCase *t = tcase_create("roce");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_test(t, crc_is_crc32);
	tcase_add_test(t, icrc_of_a_known_packet);
	tcase_add_test(t, bytes_of_a_write_with_immediate);
	tcase_add_test(t, every_opcode_comes_back);
	tcase_add_test(t, any_flipped_bit_is_noticed);
	tcase_add_test(t, cut_frames_are_refused);
	tcase_add_test(t, refusals_say_why);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
