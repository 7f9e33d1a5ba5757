/*
 * Every packet of every generation, field by field.
 *
 * Each array is a packet as that generation's header has it (prm.h names the headers). Bits that are in no row are
 * reserved. Rows start with the dword; the member is the field of struct bf_sdma_packet.
 */
#include "models/sdma/decode_internal.h"

#include <stddef.h>

#define LOW(mask) ((uint8_t)__builtin_ctzll(mask))
#define ROW(dw, bits, shift, field, what, text)                                                                        \
	{                                                                                                              \
		.name = text, .mask = (uint32_t)(bits), .member = offsetof(struct bf_sdma_packet, field),              \
		.dword = (dw), .low = LOW(bits), .up = (shift), .note = (what)                                         \
	}
#define F(dw, bits, field) ROW(dw, bits, 0, field, BF_SDMA_PLAIN, #field)
#define H(dw, bits, field) ROW(dw, bits, 0, field, BF_SDMA_HEX, #field)
#define M1(dw, bits, field) ROW(dw, bits, 0, field, BF_SDMA_LESS_ONE, #field)
#define A(dw, bits, text) ROW(dw, bits, 0, attributes, BF_SDMA_PLAIN, text)
#define WORD BF_MASK(31, 0)
#define Q(dw, field) ROW(dw, WORD, 0, field, BF_SDMA_HEX, #field), ROW((dw) + 1, WORD, 32, field, BF_SDMA_HEX, #field)

/* COPY linear */
#define COPY_COMMON(count_bits)                                                                                        \
	A(0, BF_SDMA_COPY_ENCRYPT, "encrypt"), A(0, BF_SDMA_COPY_TMZ, "tmz"), F(0, BF_SDMA_COPY_BROADCAST, broadcast), \
	    M1(1, count_bits, count), Q(3, src), Q(5, dst)
#define COPY_SW A(2, BF_SDMA_COPY_DST_SW, "dst_sw"), A(2, BF_SDMA_COPY_SRC_SW, "src_sw")
#define COPY_POLICY                                                                                                    \
	A(0, BF_SDMA_COPY_CPV, "cpv"), COPY_SW, A(2, BF_SDMA_COPY_DST_CACHE_POLICY, "dst_cache_policy"),               \
	    A(2, BF_SDMA_COPY_SRC_CACHE_POLICY, "src_cache_policy")
#define COPY_SCOPE                                                                                                     \
	A(0, BF_SDMA_COPY_NPD, "npd"), A(2, BF_SDMA_COPY_DST_SCOPE, "dst_scope"),                                      \
	    A(2, BF_SDMA_COPY_DST_TEMPORAL_HINT, "dst_temporal_hint"), A(2, BF_SDMA_COPY_SRC_SCOPE, "src_scope"),      \
	    A(2, BF_SDMA_COPY_SRC_TEMPORAL_HINT, "src_temporal_hint")
#define BACKWARDS F(0, BF_SDMA_COPY_BACKWARDS, backwards)
#define DST2 Q(7, dst2), A(2, BF_SDMA_COPY_DST2_SW, "dst2_sw")
#define DST2_POLICY DST2, A(2, BF_SDMA_COPY_DST2_CACHE_POLICY, "dst2_cache_policy")

static const struct bf_sdma_field copy_v4[] = { COPY_COMMON(BF_SDMA_COPY_COUNT), COPY_SW };
static const struct bf_sdma_field copy_v4_wide[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_SW };
static const struct bf_sdma_field copy_v5[] = { COPY_COMMON(BF_SDMA_COPY_COUNT), COPY_SW, BACKWARDS };
static const struct bf_sdma_field copy_v5_wide[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_SW, BACKWARDS };
static const struct bf_sdma_field copy_v6[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_POLICY, BACKWARDS };
static const struct bf_sdma_field copy_dcc[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_POLICY, BACKWARDS,
						 A(7, WORD, "dcc") };
static const struct bf_sdma_field copy_v7_1[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_SCOPE, BACKWARDS };
static const struct bf_sdma_field cast_v4[] = { COPY_COMMON(BF_SDMA_COPY_COUNT), COPY_SW, DST2 };
static const struct bf_sdma_field cast_wide[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_SW, DST2 };
static const struct bf_sdma_field cast_v6[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_POLICY, DST2_POLICY };
static const struct bf_sdma_field cast_v7_1[] = { COPY_COMMON(BF_SDMA_COPY_COUNT_WIDE), COPY_SCOPE, DST2_POLICY };

/* COPY linear sub-window: `z` is the width of z, W stands for the wide layout's names. */
#define RECT(W, z_bits)                                                                                                \
	A(0, BF_SDMA_RECT_TMZ, "tmz"), ROW(0, BF_SDMA_RECT_ELEMENT, 0, element, BF_SDMA_LOG2, "element"), Q(1, src),   \
	    F(3, BF_SDMA_RECT_##W##X, src_x), F(3, BF_SDMA_RECT_##W##Y, src_y), F(4, z_bits, src_z),                   \
	    M1(4, BF_SDMA_RECT_##W##PITCH, src_pitch), M1(5, BF_SDMA_RECT_##W##SLICE, src_slice), Q(6, dst),           \
	    F(8, BF_SDMA_RECT_##W##X, dst_x), F(8, BF_SDMA_RECT_##W##Y, dst_y), F(9, z_bits, dst_z),                   \
	    M1(9, BF_SDMA_RECT_##W##PITCH, dst_pitch), M1(10, BF_SDMA_RECT_##W##SLICE, dst_slice),                     \
	    M1(11, BF_SDMA_RECT_##W##X, x), M1(11, BF_SDMA_RECT_##W##Y, y), M1(12, z_bits, z)
#define RECT_SW A(12, BF_SDMA_RECT_DST_SW, "dst_sw"), A(12, BF_SDMA_RECT_SRC_SW, "src_sw")
#define RECT_POLICY                                                                                                    \
	RECT_SW, A(0, BF_SDMA_RECT_CPV, "cpv"), A(12, BF_SDMA_RECT_DST_CACHE_POLICY, "dst_cache_policy"),              \
	    A(12, BF_SDMA_RECT_SRC_CACHE_POLICY, "src_cache_policy")

static const struct bf_sdma_field rect_v4[] = { RECT(, BF_SDMA_RECT_Z_V4), RECT_SW };
static const struct bf_sdma_field rect_v5[] = { RECT(, BF_SDMA_RECT_Z), RECT_SW };
static const struct bf_sdma_field rect_v6[] = { RECT(, BF_SDMA_RECT_Z), RECT_POLICY };
static const struct bf_sdma_field rect_wide[] = {
	RECT(WIDE_, BF_SDMA_RECT_WIDE_Z),
	A(0, BF_SDMA_RECT_CPV, "cpv"),
	A(12, BF_SDMA_RECT_WIDE_DST_CACHE_POLICY, "dst_cache_policy"),
	A(12, BF_SDMA_RECT_WIDE_SRC_CACHE_POLICY, "src_cache_policy"),
};
static const struct bf_sdma_field rect_v7_1[] = {
	RECT(WIDE_, BF_SDMA_RECT_WIDE_Z),
	A(0, BF_SDMA_RECT_NPD, "npd"),
	A(12, BF_SDMA_RECT_WIDE_DST_SCOPE, "dst_scope"),
	A(12, BF_SDMA_RECT_WIDE_DST_CACHE_POLICY, "dst_temporal_hint"),
	A(12, BF_SDMA_RECT_WIDE_SRC_SCOPE, "src_scope"),
	A(12, BF_SDMA_RECT_WIDE_SRC_CACHE_POLICY, "src_temporal_hint"),
};
static const struct bf_sdma_field rect_large[] = {
	A(0, BF_SDMA_RECT_TMZ, "tmz"),
	A(0, BF_SDMA_RECT_CPV, "cpv"),
	Q(1, src),
	F(3, WORD, src_x),
	F(4, WORD, src_y),
	F(5, WORD, src_z),
	M1(6, WORD, src_pitch),
	M1(7, WORD, src_slice),
	ROW(8, BF_SDMA_RECT_LARGE_SLICE_HI, 32, src_slice, BF_SDMA_LESS_ONE, "src_slice"),
	Q(9, dst),
	F(11, WORD, dst_x),
	F(12, WORD, dst_y),
	F(13, WORD, dst_z),
	M1(14, WORD, dst_pitch),
	M1(15, WORD, dst_slice),
	ROW(16, BF_SDMA_RECT_LARGE_SLICE_HI, 32, dst_slice, BF_SDMA_LESS_ONE, "dst_slice"),
	A(16, BF_SDMA_RECT_LARGE_DST_SW, "dst_sw"),
	A(16, BF_SDMA_RECT_LARGE_DST_CACHE_POLICY, "dst_cache_policy"),
	A(16, BF_SDMA_RECT_LARGE_SRC_SW, "src_sw"),
	A(16, BF_SDMA_RECT_LARGE_SRC_CACHE_POLICY, "src_cache_policy"),
	M1(17, WORD, x),
	M1(18, WORD, y),
	M1(19, WORD, z),
};

static const struct bf_sdma_field nop[] = { F(0, BF_SDMA_NOP_COUNT, count) };

#define WRITE_COMMON                                                                                                   \
	A(0, BF_SDMA_WRITE_ENCRYPT, "encrypt"), A(0, BF_SDMA_WRITE_TMZ, "tmz"), Q(1, dst),                             \
	    M1(3, BF_SDMA_WRITE_COUNT, count), A(3, BF_SDMA_WRITE_SW, "sw")
static const struct bf_sdma_field write_v4[] = { WRITE_COMMON };
static const struct bf_sdma_field write_v6[] = { WRITE_COMMON, A(0, BF_SDMA_WRITE_CPV, "cpv"),
						 A(3, BF_SDMA_WRITE_CACHE_POLICY, "cache_policy") };

static const struct bf_sdma_field indirect_v4[] = { F(0, BF_SDMA_INDIRECT_VMID, vmid), Q(1, src),
						    F(3, BF_SDMA_INDIRECT_SIZE, count), Q(4, csa) };
static const struct bf_sdma_field indirect_v5[] = { F(0, BF_SDMA_INDIRECT_VMID, vmid),
						    F(0, BF_SDMA_INDIRECT_PRIV, priv), Q(1, src),
						    F(3, BF_SDMA_INDIRECT_SIZE, count), Q(4, csa) };

#define FENCE_BUS                                                                                                      \
	A(0, BF_SDMA_FENCE_MTYPE, "mtype"), A(0, BF_SDMA_FENCE_SYS, "sys"), A(0, BF_SDMA_FENCE_SNP, "snp"),            \
	    A(0, BF_SDMA_FENCE_GPA, "gpa")
#define FENCE_SCOPE A(0, BF_SDMA_FENCE_SCOPE, "scope"), A(0, BF_SDMA_FENCE_TEMPORAL_HINT, "temporal_hint")
static const struct bf_sdma_field fence_v4[] = { Q(1, dst), H(3, WORD, data) };
static const struct bf_sdma_field fence_v5[] = { FENCE_BUS, A(0, BF_SDMA_FENCE_GCC, "gcc"),
						 A(0, BF_SDMA_FENCE_L2_POLICY, "l2_policy"), Q(1, dst),
						 H(3, WORD, data) };
static const struct bf_sdma_field fence_v6[] = { FENCE_BUS,
						 A(0, BF_SDMA_FENCE_GCC, "gcc"),
						 A(0, BF_SDMA_FENCE_L2_POLICY, "l2_policy"),
						 A(0, BF_SDMA_FENCE_LLC_POLICY, "llc_policy"),
						 A(0, BF_SDMA_FENCE_CPV, "cpv"),
						 Q(1, dst),
						 H(3, WORD, data) };
static const struct bf_sdma_field fence_v7[] = { FENCE_BUS, FENCE_SCOPE, Q(1, dst), H(3, WORD, data) };
static const struct bf_sdma_field fence_64[] = { FENCE_BUS, FENCE_SCOPE, Q(1, dst), Q(3, data) };

static const struct bf_sdma_field trap[] = { F(1, BF_SDMA_TRAP_CONTEXT, data) };

#define FUNC ROW(0, BF_SDMA_POLL_FUNC, 0, func, BF_SDMA_IS_FUNC, "func")
#define POLL_COMMON                                                                                                    \
	F(0, BF_SDMA_POLL_HDP_FLUSH, hdp_flush), FUNC, F(0, BF_SDMA_POLL_MEM, mem_poll), Q(1, dst),                    \
	    H(3, WORD, reference), H(4, WORD, mask), F(5, BF_SDMA_POLL_INTERVAL, interval),                            \
	    F(5, BF_SDMA_POLL_RETRIES, retries)
#define POLL_POLICY A(0, BF_SDMA_POLL_CACHE_POLICY, "cache_policy"), A(0, BF_SDMA_POLL_CPV, "cpv")
static const struct bf_sdma_field poll_v4[] = { POLL_COMMON };
static const struct bf_sdma_field poll_v6[] = { POLL_COMMON, POLL_POLICY };
static const struct bf_sdma_field poll_v7[] = { POLL_COMMON, POLL_POLICY, A(5, BF_SDMA_POLL_SCOPE, "scope") };
static const struct bf_sdma_field poll_64[] = {
	A(0, BF_SDMA_POLL64_MTYPE, "mtype"),
	A(0, BF_SDMA_POLL64_SYS, "sys"),
	A(0, BF_SDMA_POLL64_SNP, "snp"),
	A(0, BF_SDMA_POLL64_GPA, "gpa"),
	A(0, BF_SDMA_POLL64_CACHE_POLICY, "cache_policy"),
	FUNC,
	Q(1, dst),
	Q(3, reference),
	Q(5, mask),
	F(7, BF_SDMA_POLL64_RETRIES, retries),
	A(7, BF_SDMA_POLL64_SCOPE, "scope"),
};

#define COND_COMMON Q(1, dst), H(3, WORD, reference), F(4, BF_SDMA_COND_EXE_COUNT, count)
static const struct bf_sdma_field cond_v4[] = { COND_COMMON };
static const struct bf_sdma_field cond_v6[] = { COND_COMMON, A(0, BF_SDMA_COND_EXE_CACHE_POLICY, "cache_policy"),
						A(0, BF_SDMA_COND_EXE_CPV, "cpv") };

#define ATOMIC_COMMON                                                                                                  \
	F(0, BF_SDMA_ATOMIC_LOOP, loop), A(0, BF_SDMA_ATOMIC_TMZ, "tmz"),                                              \
	    ROW(0, BF_SDMA_ATOMIC_OPERATION, 0, operation, BF_SDMA_IS_ATOMIC, "operation"), Q(1, dst), Q(3, data),     \
	    Q(5, compare), F(7, BF_SDMA_ATOMIC_INTERVAL, interval)
static const struct bf_sdma_field atomic_v4[] = { ATOMIC_COMMON };
static const struct bf_sdma_field atomic_v6[] = { ATOMIC_COMMON, A(0, BF_SDMA_ATOMIC_CACHE_POLICY, "cache_policy"),
						  A(0, BF_SDMA_ATOMIC_CPV, "cpv") };
static const struct bf_sdma_field atomic_v7[] = { ATOMIC_COMMON, A(0, BF_SDMA_ATOMIC_SCOPE, "scope"),
						  A(0, BF_SDMA_ATOMIC_TEMPORAL_HINT, "temporal_hint") };

#define FILL_COMMON(count_bits)                                                                                        \
	ROW(0, BF_SDMA_FILL_SIZE, 0, fill_size, BF_SDMA_IS_FILL, "fill_size"), Q(1, dst), H(3, WORD, data),            \
	    M1(4, count_bits, count)
static const struct bf_sdma_field fill_v4[] = { FILL_COMMON(BF_SDMA_FILL_COUNT), A(0, BF_SDMA_FILL_SW, "sw") };
static const struct bf_sdma_field fill_wide[] = { FILL_COMMON(BF_SDMA_FILL_COUNT_WIDE), A(0, BF_SDMA_FILL_SW, "sw") };
static const struct bf_sdma_field fill_v6[] = { FILL_COMMON(BF_SDMA_FILL_COUNT_WIDE), A(0, BF_SDMA_FILL_SW, "sw"),
						A(0, BF_SDMA_FILL_CACHE_POLICY, "cache_policy"),
						A(0, BF_SDMA_FILL_CPV, "cpv") };
static const struct bf_sdma_field fill_v7_1[] = {
	FILL_COMMON(BF_SDMA_FILL_COUNT_WIDE),
	A(0, BF_SDMA_FILL_MTYPE, "mtype"),
	A(0, BF_SDMA_FILL_SYS, "sys"),
	A(0, BF_SDMA_FILL_SNP, "snp"),
	A(0, BF_SDMA_FILL_GPA, "gpa"),
	A(0, BF_SDMA_FILL_SCOPE, "scope"),
	A(0, BF_SDMA_FILL_TEMPORAL_HINT, "temporal_hint"),
	A(0, BF_SDMA_FILL_NPD, "npd"),
};

static const struct bf_sdma_field time_set[] = { Q(1, data) };
static const struct bf_sdma_field time_get[] = { Q(1, dst) };
static const struct bf_sdma_field time_get_v6[] = { Q(1, dst), A(0, BF_SDMA_TIMESTAMP_L2_POLICY, "l2_policy"),
						    A(0, BF_SDMA_TIMESTAMP_LLC_POLICY, "llc_policy"),
						    A(0, BF_SDMA_TIMESTAMP_CPV, "cpv") };
static const struct bf_sdma_field time_get_v7[] = { Q(1, dst), A(0, BF_SDMA_TIMESTAMP_SCOPE, "scope"),
						    A(0, BF_SDMA_TIMESTAMP_TEMPORAL_HINT, "temporal_hint") };

static const struct bf_sdma_field gcr_v5[] = {
	ROW(1, BF_SDMA_GCR_BASE_LO, 7, gcr_base, BF_SDMA_HEX, "base"),
	ROW(2, BF_SDMA_GCR_BASE_HI, 32, gcr_base, BF_SDMA_HEX, "base"),
	ROW(2, BF_SDMA_GCR_CONTROL_LO, 0, gcr_control, BF_SDMA_HEX, "control"),
	ROW(3, BF_SDMA_GCR_CONTROL_HI, 16, gcr_control, BF_SDMA_HEX, "control"),
	ROW(3, BF_SDMA_GCR_LIMIT_LO, 7, gcr_limit, BF_SDMA_HEX, "limit"),
	ROW(4, BF_SDMA_GCR_LIMIT_HI, 32, gcr_limit, BF_SDMA_HEX, "limit"),
	F(4, BF_SDMA_GCR_VMID, vmid),
};
static const struct bf_sdma_field gcr_v7_1[] = {
	ROW(1, BF_SDMA_GCR_BASE_LO, 7, gcr_base, BF_SDMA_HEX, "base"),
	ROW(2, BF_SDMA_GCR_V7_1_BASE_HI, 32, gcr_base, BF_SDMA_HEX, "base"),
	ROW(3, BF_SDMA_GCR_V7_1_CONTROL, 0, gcr_control, BF_SDMA_HEX, "control"),
	ROW(3, BF_SDMA_GCR_V7_1_LIMIT_LO, 7, gcr_limit, BF_SDMA_HEX, "limit"),
	ROW(4, BF_SDMA_GCR_V7_1_LIMIT_MID, 16, gcr_limit, BF_SDMA_HEX, "limit"),
	ROW(5, BF_SDMA_GCR_V7_1_LIMIT_HI, 48, gcr_limit, BF_SDMA_HEX, "limit"),
	F(5, BF_SDMA_GCR_V7_1_VMID, vmid),
};

static const struct bf_sdma_field srbm_write[] = { A(0, BF_SDMA_SRBM_BYTE_ENABLE, "byte_enable"), H(1, WORD, dst),
						   H(2, WORD, data) };
static const struct bf_sdma_field nothing[] = { { .name = "" } };

/* Forms: the first whose generation, layout and header bits fit is the packet's. */
#define G(gen) (1u << BF_SDMA_##gen)
#define ALL (G(V4) | G(V5) | G(V6) | G(V7) | G(V7_1))
#define FROM_V5 (ALL & ~G(V4))
#define FROM_V6 (FROM_V5 & ~G(V5))
#define V6_V7 (G(V6) | G(V7))
#define FROM_V7 (G(V7) | G(V7_1))
enum { NARROW_RECT = 1, WIDE_RECT, NARROW_COUNT, WIDE_COUNT };

#define SUB(n) (0xff00u), ((uint32_t)(n) << 8)
#define SUB_BIT(n, bit) (0xff00u | (uint32_t)(bit)), (((uint32_t)(n) << 8) | (uint32_t)(bit))
#define FORM(...) FORM__(__VA_ARGS__, false)
#define FORM_64(...) FORM__(__VA_ARGS__, true)
#define FORM__(...) FORM_(__VA_ARGS__)
#define FORM_(g, lay, m, v, text, what, len, list, wide)                                                               \
	{                                                                                                              \
		.name = (text), .fields = (list), .mask = (m), .value = (v), .nfields = BF_ARRAY_LEN(list),            \
		.gens = (uint8_t)(g), .kind = BF_SDMA_KIND_##what, .dwords = (uint8_t)(len), .layout = (lay),          \
		.is64 = (wide)                                                                                         \
	}
/* Known by name only: the queue stops at it. */
#define REFUSED(g, bits, text, what) FORM__(g, 0, bits, text, what, 1, nothing, false)
#define END                                                                                                            \
	{                                                                                                              \
		.name = NULL                                                                                           \
	}

static const struct bf_sdma_form nop_forms[] = { FORM(ALL, 0, SUB(0), "NOP", NOP, 1, nop), END };

static const struct bf_sdma_form copy_forms[] = {
	FORM(G(V4) | G(V5), NARROW_COUNT, SUB_BIT(0, BF_SDMA_COPY_BROADCAST), "COPY_BROADCAST", COPY, 9, cast_v4),
	FORM(G(V4) | G(V5), WIDE_COUNT, SUB_BIT(0, BF_SDMA_COPY_BROADCAST), "COPY_BROADCAST", COPY, 9, cast_wide),
	FORM(V6_V7, 0, SUB_BIT(0, BF_SDMA_COPY_BROADCAST), "COPY_BROADCAST", COPY, 9, cast_v6),
	FORM(G(V7_1), 0, SUB_BIT(0, BF_SDMA_COPY_BROADCAST), "COPY_BROADCAST", COPY, 9, cast_v7_1),
	FORM(G(V4), NARROW_COUNT, SUB(0), "COPY_LINEAR", COPY, 7, copy_v4),
	FORM(G(V4), WIDE_COUNT, SUB(0), "COPY_LINEAR", COPY, 7, copy_v4_wide),
	FORM(G(V5), NARROW_COUNT, SUB(0), "COPY_LINEAR", COPY, 7, copy_v5),
	FORM(G(V5), WIDE_COUNT, SUB(0), "COPY_LINEAR", COPY, 7, copy_v5_wide),
	FORM(G(V7), 0, SUB_BIT(0, BF_SDMA_COPY_CPV), "COPY_LINEAR", COPY, 8, copy_dcc),
	FORM(V6_V7, 0, SUB(0), "COPY_LINEAR", COPY, 7, copy_v6),
	FORM(G(V7_1), 0, SUB(0), "COPY_LINEAR", COPY, 7, copy_v7_1),
	FORM(G(V4), NARROW_RECT, SUB(4), "COPY_RECT", RECT, 13, rect_v4),
	FORM(G(V5), NARROW_RECT, SUB(4), "COPY_RECT", RECT, 13, rect_v5),
	FORM(FROM_V6, NARROW_RECT, SUB(4), "COPY_RECT", RECT, 13, rect_v6),
	FORM(ALL & ~G(V7_1), WIDE_RECT, SUB(4), "COPY_RECT", RECT, 13, rect_wide),
	FORM(G(V7_1), WIDE_RECT, SUB(4), "COPY_RECT", RECT, 13, rect_v7_1),
	FORM(FROM_V6, 0, SUB(36), "COPY_RECT_LARGE", RECT, 20, rect_large),
	REFUSED(ALL, SUB(1), "COPY_TILED", UNMODELLED),
	REFUSED(ALL, SUB(3), "COPY_SOA", UNMODELLED),
	REFUSED(ALL, SUB(5), "COPY_TILED_RECT", UNMODELLED),
	REFUSED(ALL, SUB(6), "COPY_T2T_RECT", UNMODELLED),
	REFUSED(ALL, SUB(7), "COPY_DIRTY_PAGE", PRIVILEGED),
	REFUSED(ALL, SUB(8), "COPY_LINEAR_PHYSICAL", PRIVILEGED),
	REFUSED(G(V7_1), SUB(9), "COPY_SWAP", UNMODELLED),
	REFUSED(G(V7_1), SUB(10), "COPY_MULTICAST", UNMODELLED),
	REFUSED(FROM_V5, SUB(16), "COPY_LINEAR_BC", UNMODELLED),
	REFUSED(FROM_V5, SUB(17), "COPY_TILED_BC", UNMODELLED),
	REFUSED(FROM_V5, SUB(20), "COPY_RECT_BC", UNMODELLED),
	REFUSED(FROM_V5, SUB(21), "COPY_TILED_RECT_BC", UNMODELLED),
	REFUSED(FROM_V5, SUB(22), "COPY_T2T_RECT_BC", UNMODELLED),
	END
};

static const struct bf_sdma_form write_forms[] = { FORM(G(V4) | G(V5), 0, SUB(0), "WRITE", WRITE, 4, write_v4),
						   FORM(FROM_V6, 0, SUB(0), "WRITE", WRITE, 4, write_v6),
						   REFUSED(ALL, SUB(1), "WRITE_TILED", UNMODELLED),
						   REFUSED(FROM_V5, SUB(17), "WRITE_TILED_BC", UNMODELLED), END };

static const struct bf_sdma_form indirect_forms[] = { FORM(G(V4), 0, SUB(0), "INDIRECT", INDIRECT, 6, indirect_v4),
						      FORM(FROM_V5, 0, SUB(0), "INDIRECT", INDIRECT, 6, indirect_v5),
						      END };

static const struct bf_sdma_form fence_forms[] = { FORM(G(V4), 0, SUB(0), "FENCE", FENCE, 4, fence_v4),
						   FORM(G(V5), 0, SUB(0), "FENCE", FENCE, 4, fence_v5),
						   FORM(G(V6), 0, SUB(0), "FENCE", FENCE, 4, fence_v6),
						   FORM(FROM_V7, 0, SUB(0), "FENCE", FENCE, 4, fence_v7),
						   REFUSED(FROM_V7, SUB(1), "FENCE_CONDITIONAL_INTERRUPT", UNMODELLED),
						   FORM_64(G(V7_1), 0, SUB(2), "FENCE_64", FENCE, 5, fence_64),
						   END };

static const struct bf_sdma_form trap_forms[] = { FORM(ALL, 0, SUB(0), "TRAP", TRAP, 2, trap), END };

static const struct bf_sdma_form sem_forms[] = { REFUSED(ALL, SUB(0), "SEM", UNMODELLED),
						 REFUSED(FROM_V6, SUB(1), "MEM_INCR", UNMODELLED), END };

static const struct bf_sdma_form poll_forms[] = { FORM(G(V4) | G(V5), 0, SUB(0), "POLL_REGMEM", POLL, 6, poll_v4),
						  FORM(G(V6), 0, SUB(0), "POLL_REGMEM", POLL, 6, poll_v6),
						  FORM(FROM_V7, 0, SUB(0), "POLL_REGMEM", POLL, 6, poll_v7),
						  REFUSED(ALL, SUB(1), "POLL_REG_WRITE_MEM", PRIVILEGED),
						  REFUSED(ALL, SUB(2), "POLL_DBIT_WRITE_MEM", PRIVILEGED),
						  REFUSED(ALL, SUB(3), "POLL_MEM_VERIFY", UNMODELLED),
						  REFUSED(FROM_V5, SUB(4), "VM_INVALIDATION", PRIVILEGED),
						  FORM_64(G(V7_1), 0, SUB(5), "POLL_MEM_64", POLL, 8, poll_64),
						  END };

static const struct bf_sdma_form cond_forms[] = { FORM(G(V4) | G(V5), 0, SUB(0), "COND_EXE", COND_EXE, 5, cond_v4),
						  FORM(FROM_V6, 0, SUB(0), "COND_EXE", COND_EXE, 5, cond_v6), END };

static const struct bf_sdma_form atomic_forms[] = { FORM(G(V4) | G(V5), 0, SUB(0), "ATOMIC", ATOMIC, 8, atomic_v4),
						    FORM(G(V6), 0, SUB(0), "ATOMIC", ATOMIC, 8, atomic_v6),
						    FORM(FROM_V7, 0, SUB(0), "ATOMIC", ATOMIC, 8, atomic_v7), END };

static const struct bf_sdma_form fill_forms[] = {
	FORM(G(V4) | G(V5), NARROW_COUNT, SUB(0), "CONST_FILL", FILL, 5, fill_v4),
	FORM(G(V4) | G(V5), WIDE_COUNT, SUB(0), "CONST_FILL", FILL, 5, fill_wide),
	FORM(V6_V7, 0, SUB(0), "CONST_FILL", FILL, 5, fill_v6),
	FORM(G(V7_1), 0, SUB(0), "CONST_FILL", FILL, 5, fill_v7_1),
	REFUSED(ALL, SUB(1), "DATA_FILL_MULTI", UNMODELLED),
	END
};

static const struct bf_sdma_form ptepde_forms[] = { REFUSED(ALL, SUB(0), "PTEPDE_GEN", PRIVILEGED),
						    REFUSED(ALL, SUB(1), "PTEPDE_COPY", PRIVILEGED),
						    REFUSED(ALL, SUB(2), "PTEPDE_RMW", PRIVILEGED),
						    REFUSED(FROM_V5, SUB(3), "PTEPDE_COPY_BACKWARDS", PRIVILEGED),
						    END };

static const struct bf_sdma_form time_forms[] = {
	FORM(ALL, 0, SUB(0), "TIMESTAMP_SET", TIMESTAMP, 3, time_set),
	FORM(G(V4) | G(V5), 0, SUB(1), "TIMESTAMP_GET", TIMESTAMP, 3, time_get),
	FORM(G(V6), 0, SUB(1), "TIMESTAMP_GET", TIMESTAMP, 3, time_get_v6),
	FORM(FROM_V7, 0, SUB(1), "TIMESTAMP_GET", TIMESTAMP, 3, time_get_v7),
	FORM(G(V4) | G(V5), 0, SUB(2), "TIMESTAMP_GET_GLOBAL", TIMESTAMP, 3, time_get),
	FORM(G(V6), 0, SUB(2), "TIMESTAMP_GET_GLOBAL", TIMESTAMP, 3, time_get_v6),
	FORM(FROM_V7, 0, SUB(2), "TIMESTAMP_GET_GLOBAL", TIMESTAMP, 3, time_get_v7),
	END
};

static const struct bf_sdma_form srbm_forms[] = { FORM(ALL, 0, SUB(0), "SRBM_WRITE", PRIVILEGED, 3, srbm_write), END };
static const struct bf_sdma_form pre_exe_forms[] = { REFUSED(ALL, SUB(0), "PRE_EXE", UNMODELLED), END };
static const struct bf_sdma_form op16_forms[] = { FORM(G(V4), 0, SUB(0), "DUMMY_TRAP", DUMMY_TRAP, 2, trap),
						  REFUSED(FROM_V5, SUB(0), "GPUVM_INV", PRIVILEGED), END };
static const struct bf_sdma_form gcr_forms[] = { FORM(FROM_V5 & ~G(V7_1), 0, SUB(0), "GCR_REQ", GCR, 5, gcr_v5),
						 FORM(FROM_V5 & ~G(V7_1), 0, SUB(1), "USER_GCR_REQ", GCR, 5, gcr_v5),
						 FORM(G(V7_1), 0, SUB(0), "GCR_REQ", GCR, 6, gcr_v7_1),
						 FORM(G(V7_1), 0, SUB(1), "USER_GCR_REQ", GCR, 6, gcr_v7_1), END };
static const struct bf_sdma_form dummy_trap_forms[] = { FORM(FROM_V5, 0, SUB(0), "DUMMY_TRAP", DUMMY_TRAP, 2, trap),
							END };

static const struct bf_sdma_form *const by_op[] = {
	[BF_SDMA_OP_NOP] = nop_forms,         [BF_SDMA_OP_COPY] = copy_forms,
	[BF_SDMA_OP_WRITE] = write_forms,     [BF_SDMA_OP_INDIRECT] = indirect_forms,
	[BF_SDMA_OP_FENCE] = fence_forms,     [BF_SDMA_OP_TRAP] = trap_forms,
	[BF_SDMA_OP_SEM] = sem_forms,         [BF_SDMA_OP_POLL_REGMEM] = poll_forms,
	[BF_SDMA_OP_COND_EXE] = cond_forms,   [BF_SDMA_OP_ATOMIC] = atomic_forms,
	[BF_SDMA_OP_CONST_FILL] = fill_forms, [BF_SDMA_OP_PTEPDE] = ptepde_forms,
	[BF_SDMA_OP_TIMESTAMP] = time_forms,  [BF_SDMA_OP_SRBM_WRITE] = srbm_forms,
	[BF_SDMA_OP_PRE_EXE] = pre_exe_forms, [BF_SDMA_OP_GPUVM_INV] = op16_forms,
	[BF_SDMA_OP_GCR_REQ] = gcr_forms,     [BF_SDMA_OP_DUMMY_TRAP] = dummy_trap_forms,
};

static bool layout_fits(const struct bf_sdma_dialect *d, uint8_t layout)
{
	switch (layout) {
	case NARROW_RECT:
		return !d->wide_rect;
	case WIDE_RECT:
		return d->wide_rect;
	case NARROW_COUNT:
		return !d->wide_count;
	case WIDE_COUNT:
		return d->wide_count;
	default:
		return true;
	}
}

const struct bf_sdma_form *bf_sdma_form_find(const struct bf_sdma_dialect *d, uint32_t header)
{
	const uint32_t op = header & BF_SDMA_HDR_OP;
	const struct bf_sdma_form *f = op < BF_ARRAY_LEN(by_op) ? by_op[op] : NULL;

	for (; f && f->name; f++)
		if ((header & f->mask) == f->value && (f->gens >> d->gen & 1) && layout_fits(d, f->layout))
			return f;
	return NULL;
}
