/*
 * CRC-32 (reflected 0xedb88320): sixteen bytes at a time from tables, and 64 at a time by carry-less multiplication
 * where the processor has it.
 *
 * Table k holds what a byte value contributes when k more bytes follow it. The CRC is linear, so an entry is the
 * exclusive or of the entries of its bits, and the entry of bit b in table k is x^(8 (k + 1) - b) modulo the
 * polynomial: 128 powers define all sixteen tables, and the preprocessor writes them out.
 */
#include "models/fabric/roce.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <smmintrin.h>
#include <wmmintrin.h>
#endif

#define POWERS_0(F, n)                                                                                                 \
	F(n, 0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u, 0x1db71064u, 0x3b6e20c8u, 0x76dc4190u, 0xedb88320u)
#define POWERS_1(F, n)                                                                                                 \
	F(n, 0x191b3141u, 0x32366282u, 0x646cc504u, 0xc8d98a08u, 0x4ac21251u, 0x958424a2u, 0xf0794f05u, 0x3b83984bu)
#define POWERS_2(F, n)                                                                                                 \
	F(n, 0x01c26a37u, 0x0384d46eu, 0x0709a8dcu, 0x0e1351b8u, 0x1c26a370u, 0x384d46e0u, 0x709a8dc0u, 0xe1351b80u)
#define POWERS_3(F, n)                                                                                                 \
	F(n, 0xb8bc6765u, 0xaa09c88bu, 0x8f629757u, 0xc5b428efu, 0x5019579fu, 0xa032af3eu, 0x9b14583du, 0xed59b63bu)
#define POWERS_4(F, n)                                                                                                 \
	F(n, 0x3d6029b0u, 0x7ac05360u, 0xf580a6c0u, 0x30704bc1u, 0x60e09782u, 0xc1c12f04u, 0x58f35849u, 0xb1e6b092u)
#define POWERS_5(F, n)                                                                                                 \
	F(n, 0xcb5cd3a5u, 0x4dc8a10bu, 0x9b914216u, 0xec53826du, 0x03d6029bu, 0x07ac0536u, 0x0f580a6cu, 0x1eb014d8u)
#define POWERS_6(F, n)                                                                                                 \
	F(n, 0xa6770bb4u, 0x979f1129u, 0xf44f2413u, 0x33ef4e67u, 0x67de9cceu, 0xcfbd399cu, 0x440b7579u, 0x8816eaf2u)
#define POWERS_7(F, n)                                                                                                 \
	F(n, 0xccaa009eu, 0x4225077du, 0x844a0efau, 0xd3e51bb5u, 0x7cbb312bu, 0xf9766256u, 0x299dc2edu, 0x533b85dau)
#define POWERS_8(F, n)                                                                                                 \
	F(n, 0x177b1443u, 0x2ef62886u, 0x5dec510cu, 0xbbd8a218u, 0xacc04271u, 0x82f182a3u, 0xde920307u, 0x6655004fu)
#define POWERS_9(F, n)                                                                                                 \
	F(n, 0xefc26b3eu, 0x04f5d03du, 0x09eba07au, 0x13d740f4u, 0x27ae81e8u, 0x4f5d03d0u, 0x9eba07a0u, 0xe6050901u)
#define POWERS_10(F, n)                                                                                                \
	F(n, 0xc18edfc0u, 0x586cb9c1u, 0xb0d97382u, 0xbac3e145u, 0xaef6c4cbu, 0x869c8fd7u, 0xd64819efu, 0x77e1359fu)
#define POWERS_11(F, n)                                                                                                \
	F(n, 0x9ba54c6fu, 0xec3b9e9fu, 0x03063b7fu, 0x060c76feu, 0x0c18edfcu, 0x1831dbf8u, 0x3063b7f0u, 0x60c76fe0u)
#define POWERS_12(F, n)                                                                                                \
	F(n, 0xdd96d985u, 0x605cb54bu, 0xc0b96a96u, 0x5a03d36du, 0xb407a6dau, 0xb37e4bf5u, 0xbd8d91abu, 0xa06a2517u)
#define POWERS_13(F, n)                                                                                                \
	F(n, 0x9d0fe176u, 0xe16ec4adu, 0x19ac8f1bu, 0x33591e36u, 0x66b23c6cu, 0xcd6478d8u, 0x41b9f7f1u, 0x8373efe2u)
#define POWERS_14(F, n)                                                                                                \
	F(n, 0xb9fbdbe8u, 0xa886b191u, 0x8a7c6563u, 0xcf89cc87u, 0x44629f4fu, 0x88c53e9eu, 0xcafb7b7du, 0x4e87f0bbu)
#define POWERS_15(F, n)                                                                                                \
	F(n, 0xae689191u, 0x87a02563u, 0xd4314c87u, 0x73139f4fu, 0xe6273e9eu, 0x173f7b7du, 0x2e7ef6fau, 0x5cfdedf4u)

#define ENTRY(n, b0, b1, b2, b3, b4, b5, b6, b7)                                                                       \
	(((n)&1 ? b0 : 0) ^ ((n)&2 ? b1 : 0) ^ ((n)&4 ? b2 : 0) ^ ((n)&8 ? b3 : 0) ^ ((n)&16 ? b4 : 0) ^               \
	 ((n)&32 ? b5 : 0) ^ ((n)&64 ? b6 : 0) ^ ((n)&128 ? b7 : 0))
#define ROW_4(P, n) P(ENTRY, n), P(ENTRY, (n) + 1), P(ENTRY, (n) + 2), P(ENTRY, (n) + 3)
#define ROW_16(P, n) ROW_4(P, n), ROW_4(P, (n) + 4), ROW_4(P, (n) + 8), ROW_4(P, (n) + 12)
#define ROW_64(P, n) ROW_16(P, n), ROW_16(P, (n) + 16), ROW_16(P, (n) + 32), ROW_16(P, (n) + 48)
#define TABLE(P)                                                                                                       \
	{                                                                                                              \
		ROW_64(P, 0), ROW_64(P, 64), ROW_64(P, 128), ROW_64(P, 192)                                            \
	}

static const uint32_t table[16][256] = {
	TABLE(POWERS_0),  TABLE(POWERS_1),  TABLE(POWERS_2),  TABLE(POWERS_3),  TABLE(POWERS_4),  TABLE(POWERS_5),
	TABLE(POWERS_6),  TABLE(POWERS_7),  TABLE(POWERS_8),  TABLE(POWERS_9),  TABLE(POWERS_10), TABLE(POWERS_11),
	TABLE(POWERS_12), TABLE(POWERS_13), TABLE(POWERS_14), TABLE(POWERS_15),
};

/* The four bytes of `w`, followed by `after` bytes of the same sixteen. */
static inline uint32_t four_bytes(uint32_t w, int after)
{
	return table[after + 3][w & 0xff] ^ table[after + 2][w >> 8 & 0xff] ^ table[after + 1][w >> 16 & 0xff] ^
	       table[after][w >> 24];
}

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 16; p += 16, len -= 16)
		crc = four_bytes(crc ^ bf_get_le32(p), 12) ^ four_bytes(bf_get_le32(p + 4), 8) ^
		      four_bytes(bf_get_le32(p + 8), 4) ^ four_bytes(bf_get_le32(p + 12), 0);
	for (; len >= 4; p += 4, len -= 4)
		crc = four_bytes(crc ^ bf_get_le32(p), 0);
	for (; len; p++, len--)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define FOLD_MIN 64u
#define FOLD_TARGET __attribute__((target("pclmul,sse4.1")))

static bool can_fold(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

static inline FOLD_TARGET __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Moves `x` ahead by the distance that `powers` stand for and adds what lies there. */
static inline FOLD_TARGET __m128i fold(__m128i x, __m128i powers, __m128i there)
{
	return _mm_xor_si128(
	    there, _mm_xor_si128(_mm_clmulepi64_si128(x, powers, 0x00), _mm_clmulepi64_si128(x, powers, 0x11)));
}

/* The CRC of the sixteen bytes of `x`: to 96 bits, to 64, and by Barrett reduction to 32. */
static inline FOLD_TARGET uint32_t reduce(__m128i x, __m128i by_16)
{
	const __m128i by_4 = _mm_set_epi64x(0, 0x163cd6124);
	const __m128i poly_and_inverse = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	const __m128i low_32 = _mm_set_epi64x(0, 0xffffffff);
	__m128i q;

	x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by_16, 0x10));
	x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low_32), by_4, 0x00));
	q = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low_32), poly_and_inverse, 0x10), low_32);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, _mm_clmulepi64_si128(q, poly_and_inverse, 0x00)), 1);
}

/*
 * Carry-less multiplication shortens the message: four lanes of 16 bytes, which hold the 64 bytes before `p`, move
 * ahead by 64 until one block is left, which has the CRC of everything before it (Gopal et al., "Fast CRC Computation
 * for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009; the powers of x and the inverse of the polynomial
 * are there).
 */
static inline FOLD_TARGET uint32_t by_folding(__m128i a, __m128i b, __m128i c, __m128i d, const uint8_t *p, size_t len)
{
	const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);

	for (; len >= 64; p += 64, len -= 64) {
		a = fold(a, by_64, load(p));
		b = fold(b, by_64, load(p + 16));
		c = fold(c, by_64, load(p + 32));
		d = fold(d, by_64, load(p + 48));
	}
	a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
	for (; len >= 16; p += 16, len -= 16)
		a = fold(a, by_16, load(p));
	return by_table(reduce(a, by_16), p, len);
}

static FOLD_TARGET uint32_t fold_plain(uint32_t crc, const uint8_t *p, size_t len)
{
	__m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));

	return by_folding(a, load(p + 16), load(p + 32), load(p + 48), p + 64, len - 64);
}

static FOLD_TARGET uint32_t fold_masked(uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask)
{
	__m128i a = _mm_xor_si128(_mm_or_si128(load(p), load(mask)), _mm_cvtsi32_si128((int)crc));
	__m128i b = _mm_or_si128(load(p + 16), load(mask + 16));
	__m128i c = _mm_or_si128(load(p + 32), load(mask + 32));

	return by_folding(a, b, c, load(p + 48), p + 64, len - 64);
}
#endif

uint32_t bf_crc32(uint32_t crc, const void *data, size_t len)
{
#ifdef FOLD_MIN
	if (len >= FOLD_MIN && can_fold())
		return fold_plain(crc, data, len);
#endif
	return by_table(crc, data, len);
}

uint32_t bf_crc32_masked(uint32_t crc, const void *data, size_t len, const uint8_t mask[BF_CRC32_MASK])
{
	const uint8_t *p = data;
	uint8_t head[BF_CRC32_MASK];

#ifdef FOLD_MIN
	if (len >= FOLD_MIN && can_fold())
		return fold_masked(crc, data, len, mask);
#endif
	for (size_t i = 0; i < BF_CRC32_MASK; i++)
		head[i] = p[i] | mask[i];
	return by_table(by_table(crc, head, sizeof(head)), p + sizeof(head), len - sizeof(head));
}
