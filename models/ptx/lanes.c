/*
 * Handlers of the elementwise instructions, for the processor that this object is compiled for: lanes_avx2.c includes
 * this file to have them once more. Loops over 32 lanes become vector code.
 */
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "models/ptx/approx.h"
#include "models/ptx/convert.h"
#include "models/ptx/core_internal.h"
#include "models/ptx/float.h"
#include "models/ptx/int.h"

#ifndef BF_PTX_LANES_TABLE
#define BF_PTX_LANES_TABLE bf_ptx_lanes_plain
#endif

#if defined(__clang__)
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)") for (uint32_t l = 0; l < BF_PTX_LANES; l++)
#else
#define VECTOR_LOOP _Pragma("GCC ivdep") for (uint32_t l = 0; l < BF_PTX_LANES; l++)
#endif
#define EACH_LANE                                                                                                      \
	for (uint32_t rest = c->mask, l; rest != 0 && (l = (uint32_t)__builtin_ctz(rest), 1); rest &= rest - 1)

/* What a row's elements are, and what of them the instruction sees. */
#define ELEMENT_W uint32_t
#define ELEMENT_H uint32_t
#define ELEMENT_D uint64_t
#define VALUE_W uint32_t
#define VALUE_H uint16_t
#define VALUE_D uint64_t
#define ROW_W bf_ptx_row32
#define ROW_H bf_ptx_row32
#define ROW_D bf_ptx_row64
#define TARGET_W bf_ptx_target32
#define TARGET_H bf_ptx_target32
#define TARGET_D bf_ptx_target64

#define BF_PTX_CVT(mode, a)                                                                                            \
	bf_ptx_cvt((enum bf_ptx_type)((mode) >> 24), (enum bf_ptx_type)((mode) >> 16 & 0xff), (mode)&0xffff, a)

/* vabsdiff4: mode has the signs of a and b, and .add. */
static uint32_t vabsdiff4(uint32_t mode, uint32_t a, uint32_t b, uint32_t c)
{
	const struct bf_ptx_video form = {
		.op = BF_PTX_VABSDIFF,
		.lanes = 4,
		.a_signed = mode & 1,
		.b_signed = mode & 2,
		.d_signed = mode & 4,
		.saturate = mode & 8,
		.add = mode & 16,
		.mask = 15,
		.a_select = 0x3210,
		.b_select = 0x7654,
	};
	return bf_ptx_video(&form, a, b, c);
}

/* A new value for the lanes of the mask, the old one for the others. */
#define KEEP(D, m, l, value, old) ((ELEMENT_##D)((ELEMENT_##D)(m) >> (l)&1) ? (value) : (old))

#define HANDLER(name) static const struct bf_ptx_insn *name(struct bf_ptx_core *c, const struct bf_ptx_insn *i)

#define THREE_VECTOR(name, D, operands, CALL)                                                                          \
	HANDLER(name##_full)                                                                                           \
	{                                                                                                              \
		const uint32_t mode = i->mode;                                                                         \
		ELEMENT_##D *d = TARGET_##D(c, i->d);                                                                  \
		operands;                                                                                              \
		VECTOR_LOOP d[l] = CALL;                                                                               \
		(void)mode;                                                                                            \
		return BF_PTX_GO_AS(BF_PTX_KIND_FULL, c, i + 1);                                                       \
	}                                                                                                              \
	HANDLER(name##_masked)                                                                                         \
	{                                                                                                              \
		const uint32_t mode = i->mode, m = c->mask;                                                            \
		ELEMENT_##D *d = TARGET_##D(c, i->d);                                                                  \
		operands;                                                                                              \
		VECTOR_LOOP d[l] = KEEP(D, m, l, (ELEMENT_##D)CALL, d[l]);                                             \
		(void)mode;                                                                                            \
		return BF_PTX_GO_AS(BF_PTX_KIND_MASKED, c, i + 1);                                                     \
	}                                                                                                              \
	HANDLER(name##_lane)                                                                                           \
	{                                                                                                              \
		const uint32_t mode = i->mode, l = c->lane;                                                            \
		ELEMENT_##D *d = TARGET_##D(c, i->d);                                                                  \
		operands;                                                                                              \
		d[l] = CALL;                                                                                           \
		(void)mode;                                                                                            \
		return BF_PTX_GO_AS(BF_PTX_KIND_LANE, c, i + 1);                                                       \
	}

#define alike_W bf_ptx_alike32
#define alike_H bf_ptx_alike32
#define alike_D bf_ptx_alike64

/* What the processor has no vectors for is computed once where all lanes have the same operands. */
#define THREE_SCALAR(name, D, operands, ALIKE, CALL)                                                                   \
	HANDLER(name##_full)                                                                                           \
	{                                                                                                              \
		const uint32_t mode = i->mode, m = c->mask;                                                            \
		ELEMENT_##D *d = TARGET_##D(c, i->d);                                                                  \
		operands;                                                                                              \
		if (c->kind != BF_PTX_KIND_LANE && ALIKE) {                                                            \
			ELEMENT_##D one;                                                                               \
			{                                                                                              \
				const uint32_t l = c->lane;                                                            \
				one = CALL;                                                                            \
			}                                                                                              \
			VECTOR_LOOP d[l] = KEEP(D, m, l, one, d[l]);                                                   \
			return BF_PTX_GO(c, i + 1);                                                                    \
		}                                                                                                      \
		EACH_LANE d[l] = CALL;                                                                                 \
		(void)mode;                                                                                            \
		return BF_PTX_GO(c, i + 1);                                                                            \
	}

#define OPERANDS_1(A) const ELEMENT_##A *pa = ROW_##A(c, i->a)
#define OPERANDS_2(A, B)                                                                                               \
	OPERANDS_1(A);                                                                                                 \
	const ELEMENT_##B *pb = ROW_##B(c, i->b)
#define OPERANDS_3(A, B, C)                                                                                            \
	OPERANDS_2(A, B);                                                                                              \
	const ELEMENT_##C *pc = ROW_##C(c, i->c)
#define OPERANDS_4(A, B, C, E)                                                                                         \
	OPERANDS_3(A, B, C);                                                                                           \
	const ELEMENT_##E *pe = ROW_##E(c, i->e)

#define VALUE_1(name, D, A, expression)                                                                                \
	static BF_ALWAYS_INLINE ELEMENT_##D name##_value(VALUE_##A a, uint32_t mode)                                   \
	{                                                                                                              \
		(void)mode;                                                                                            \
		return (VALUE_##D)(expression);                                                                        \
	}
#define VALUE_2(name, D, A, B, expression)                                                                             \
	static BF_ALWAYS_INLINE ELEMENT_##D name##_value(VALUE_##A a, VALUE_##B b, uint32_t mode)                      \
	{                                                                                                              \
		(void)mode;                                                                                            \
		return (VALUE_##D)(expression);                                                                        \
	}
#define VALUE_3(name, D, A, B, C, expression)                                                                          \
	static BF_ALWAYS_INLINE ELEMENT_##D name##_value(VALUE_##A a, VALUE_##B b, VALUE_##C c, uint32_t mode)         \
	{                                                                                                              \
		(void)mode;                                                                                            \
		return (VALUE_##D)(expression);                                                                        \
	}
#define VALUE_4(name, D, A, B, C, E, expression)                                                                       \
	static BF_ALWAYS_INLINE ELEMENT_##D name##_value(VALUE_##A a, VALUE_##B b, VALUE_##C c, VALUE_##E e)           \
	{                                                                                                              \
		return (VALUE_##D)(expression);                                                                        \
	}

#define X(name, D, A, expression)                                                                                      \
	VALUE_1(name, D, A, expression)                                                                                \
	THREE_VECTOR(name, D, OPERANDS_1(A), name##_value((VALUE_##A)pa[l], mode))
BF_PTX_LANES_1_VECTOR(X)
#undef X
#define X(name, D, A, expression)                                                                                      \
	VALUE_1(name, D, A, expression)                                                                                \
	THREE_SCALAR(name, D, OPERANDS_1(A), alike_##A(pa), name##_value((VALUE_##A)pa[l], mode))
BF_PTX_LANES_1(X)
#undef X
#define X(name, D, A, B, expression)                                                                                   \
	VALUE_2(name, D, A, B, expression)                                                                             \
	THREE_VECTOR(name, D, OPERANDS_2(A, B), name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], mode))
BF_PTX_LANES_2_VECTOR(X)
#undef X
#define X(name, D, A, B, expression)                                                                                   \
	VALUE_2(name, D, A, B, expression)                                                                             \
	THREE_SCALAR(name, D, OPERANDS_2(A, B), alike_##A(pa) && alike_##B(pb),                                        \
		     name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], mode))
BF_PTX_LANES_2(X)
#undef X
#define X(name, D, A, B, C, expression)                                                                                \
	VALUE_3(name, D, A, B, C, expression)                                                                          \
	THREE_VECTOR(name, D, OPERANDS_3(A, B, C),                                                                     \
		     name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], (VALUE_##C)pc[l], mode))
BF_PTX_LANES_3_VECTOR(X)
#undef X
#define X(name, D, A, B, C, expression)                                                                                \
	VALUE_3(name, D, A, B, C, expression)                                                                          \
	THREE_SCALAR(name, D, OPERANDS_3(A, B, C), alike_##A(pa) && alike_##B(pb) && alike_##C(pc),                    \
		     name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], (VALUE_##C)pc[l], mode))
BF_PTX_LANES_3(X)
#undef X
#define X(name, D, A, B, C, E, expression)                                                                             \
	VALUE_4(name, D, A, B, C, E, expression)                                                                       \
	THREE_VECTOR(name, D, OPERANDS_4(A, B, C, E),                                                                  \
		     name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], (VALUE_##C)pc[l], (VALUE_##E)pe[l]))
BF_PTX_LANES_4_VECTOR(X)
#undef X

/* The lanes where a comparison holds become predicates. */
static inline const struct bf_ptx_insn *compared(struct bf_ptx_core *c, const struct bf_ptx_insn *i, uint32_t held)
{
	uint32_t not_held = ~held;

	if (BF_UNLIKELY((i->mode & 0xff) != BF_PTX_COMBINE_NONE)) {
		const uint32_t other = *bf_ptx_pred(c, i->c) ^ (i->mode & BF_PTX_COMBINE_INVERT ? ~0u : 0);
		switch (i->mode & 3) {
		case BF_PTX_COMBINE_AND:
			held &= other;
			not_held &= other;
			break;
		case BF_PTX_COMBINE_OR:
			held |= other;
			not_held |= other;
			break;
		default:
			held ^= other;
			not_held ^= other;
		}
	}
	if (BF_LIKELY(i->d != BF_PTX_REF_NONE))
		bf_ptx_pred_set(c, i->d, held);
	if (i->e != BF_PTX_REF_NONE)
		bf_ptx_pred_set(c, i->e, not_held);
	return BF_PTX_GO(c, i + 1);
}

/* The signs of 32 numbers as a mask, 0 or -1 each: what a comparison of vectors gives. */
#define SIGNED_W int32_t
#define SIGNED_H int32_t
#define SIGNED_D int64_t
#define SIGNS_W signs32
#define SIGNS_H signs32
#define SIGNS_D signs64
static inline uint32_t signs32(const int32_t *v)
{
#if defined(__AVX512DQ__)
	return _mm512_movepi32_mask(_mm512_load_si512(v)) | (uint32_t)_mm512_movepi32_mask(_mm512_load_si512(v + 16))
								<< 16;
#elif defined(__AVX2__)
	uint32_t m = 0;
	for (uint32_t k = 0; k < BF_PTX_LANES; k += 8)
		m |= (uint32_t)_mm256_movemask_ps(_mm256_load_ps((const float *)(const void *)(v + k))) << k;
	return m;
#else
	uint32_t m = 0;
	VECTOR_LOOP m |= (uint32_t)v[l] >> 31 << l;
	return m;
#endif
}
static inline uint32_t signs64(const int64_t *v)
{
	uint32_t m = 0;
#if defined(__AVX512DQ__)
	for (uint32_t k = 0; k < BF_PTX_LANES; k += 8)
		m |= (uint32_t)_mm512_movepi64_mask(_mm512_load_si512(v + k)) << k;
#elif defined(__AVX2__)
	for (uint32_t k = 0; k < BF_PTX_LANES; k += 4)
		m |= (uint32_t)_mm256_movemask_pd(_mm256_load_pd((const double *)(const void *)(v + k))) << k;
#else
	VECTOR_LOOP m |= (uint32_t)((uint64_t)v[l] >> 63) << l;
#endif
	return m;
}

#define COMPARE_LANE(name, A, B, condition)                                                                            \
	static BF_ALWAYS_INLINE bool name##_value(VALUE_##A a, VALUE_##B b, uint32_t mode)                             \
	{                                                                                                              \
		(void)mode;                                                                                            \
		return condition;                                                                                      \
	}
#define X(name, A, B, condition)                                                                                       \
	COMPARE_LANE(name, A, B, condition)                                                                            \
	HANDLER(name##_full)                                                                                           \
	{                                                                                                              \
		OPERANDS_2(A, B);                                                                                      \
		_Alignas(64) SIGNED_##A held[BF_PTX_LANES];                                                            \
		VECTOR_LOOP held[l] = -(SIGNED_##A)name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], 0);                \
		return compared(c, i, SIGNS_##A(held));                                                                \
	}                                                                                                              \
	HANDLER(name##_lane)                                                                                           \
	{                                                                                                              \
		OPERANDS_2(A, B);                                                                                      \
		const uint32_t l = c->lane;                                                                            \
		return compared(c, i, (uint32_t)name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], 0) << l);             \
	}
BF_PTX_LANES_COMPARE_VECTOR(X)
#undef X
#define X(name, A, B, condition)                                                                                       \
	COMPARE_LANE(name, A, B, condition)                                                                            \
	HANDLER(name##_full)                                                                                           \
	{                                                                                                              \
		OPERANDS_2(A, B);                                                                                      \
		const uint32_t mode = i->mode;                                                                         \
		uint32_t held = 0;                                                                                     \
		EACH_LANE held |= (uint32_t)name##_value((VALUE_##A)pa[l], (VALUE_##B)pb[l], mode) << l;               \
		return compared(c, i, held);                                                                           \
	}
BF_PTX_LANES_COMPARE(X)
#undef X

#define X(name, D)                                                                                                     \
	THREE_VECTOR(name, D, OPERANDS_2(D, D);                                                                        \
		     const uint32_t p = *bf_ptx_pred(c, i->c) ^ (0u - mode), KEEP(D, p, l, pa[l], pb[l]))
BF_PTX_LANES_SELECT(X)
#undef X

#define X(name, D, bits, call)                                                                                         \
	static BF_ALWAYS_INLINE struct bf_ptx_carry##bits name##_value(VALUE_##D a, VALUE_##D b, VALUE_##D c,          \
								       uint32_t carry)                                 \
	{                                                                                                              \
		(void)c;                                                                                               \
		return call;                                                                                           \
	}                                                                                                              \
	HANDLER(name##_full)                                                                                           \
	{                                                                                                              \
		OPERANDS_3(D, D, D);                                                                                   \
		ELEMENT_##D *d = TARGET_##D(c, i->d);                                                                  \
		uint32_t *flags = bf_ptx_pred(c, i->e);                                                                \
		const uint32_t from = i->mode & 3;                                                                     \
		const uint32_t in = from == BF_PTX_CARRY_IN ? *flags : from == BF_PTX_CARRY_ONE ? ~0u : 0;             \
		uint32_t out = 0;                                                                                      \
		EACH_LANE                                                                                              \
		{                                                                                                      \
			const struct bf_ptx_carry##bits r = name##_value(pa[l], pb[l], pc[l], in >> l & 1);            \
			d[l] = r.value;                                                                                \
			out |= r.carry << l;                                                                           \
		}                                                                                                      \
		if (i->mode & BF_PTX_CARRY_OUT)                                                                        \
			*flags = (*flags & ~c->mask) | out;                                                            \
		return BF_PTX_GO(c, i + 1);                                                                            \
	}
BF_PTX_LANES_CARRY(X)
#undef X

#include "models/ptx/lanes_memory_internal.h"

const struct bf_ptx_lanes BF_PTX_LANES_TABLE = { {
#define X(name, ...) [BF_PTX_LANE_##name] = { name##_full, name##_masked, name##_lane },
    BF_PTX_LANES_1_VECTOR(X) BF_PTX_LANES_2_VECTOR(X) BF_PTX_LANES_3_VECTOR(X) BF_PTX_LANES_4_VECTOR(X)
	BF_PTX_LANES_SELECT(X)
#undef X
#define X(name, ...) [BF_PTX_LANE_##name] = { name##_full, name##_full, name##_lane },
	    BF_PTX_LANES_COMPARE_VECTOR(X)
#undef X
#define X(name, ...) [BF_PTX_LANE_##name] = { name##_full, name##_full, name##_full },
		BF_PTX_LANES_1(X) BF_PTX_LANES_2(X) BF_PTX_LANES_3(X) BF_PTX_LANES_COMPARE(X) BF_PTX_LANES_CARRY(X)
#undef X
		    [BF_PTX_LANE_LOAD] = { load, load, load },
    [BF_PTX_LANE_LOAD_QUICK] = { load_quick, load_quick, load_quick_lane },
    [BF_PTX_LANE_STORE] = { store, store, store },
} };
