/*
 * Explicit byte order.
 *
 * Device layouts are structs of these types: alignment 1, size exact, order in the name, so that a layout can be laid
 * over raw bytes without undefined behaviour and a forgotten conversion does not compile. Values from unaligned byte
 * arrays go through the bf_get_* and bf_put_* functions. Compilers turn both into one load or store (plus a swap).
 *
 * No function here can fail; all are thread-safe. C and C++ (CUDA) clean.
 */
#ifndef BELFRY_SIM_BYTES_H
#define BELFRY_SIM_BYTES_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define BF_FN static __host__ __device__ inline
#else
#define BF_FN static inline
#endif

struct bf_be16 {
	uint8_t b[2];
};
struct bf_be24 {
	uint8_t b[3];
};
struct bf_be32 {
	uint8_t b[4];
};
struct bf_be64 {
	uint8_t b[8];
};
struct bf_le16 {
	uint8_t b[2];
};
struct bf_le32 {
	uint8_t b[4];
};
struct bf_le64 {
	uint8_t b[8];
};

BF_FN uint16_t bf_swap16(uint16_t v)
{
	return (uint16_t)((v << 8) | (v >> 8));
}
BF_FN uint32_t bf_swap32(uint32_t v)
{
#if defined(__CUDA_ARCH__)
	return __byte_perm(v, 0, 0x0123); /* one PRMT; nvcc does not find it in the shifts */
#endif
	return (v << 24) | ((v & 0xff00u) << 8) | ((v >> 8) & 0xff00u) | (v >> 24);
}
BF_FN uint64_t bf_swap64(uint64_t v)
{
	return ((uint64_t)bf_swap32((uint32_t)v) << 32) | bf_swap32((uint32_t)(v >> 32));
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "Belfry's record stream and memory models assume a little-endian host"
#endif

/* Host value <-> big-endian word, for code that stores whole words (drivers). */
BF_FN uint16_t bf_htobe16(uint16_t v)
{
	return bf_swap16(v);
}
BF_FN uint32_t bf_htobe32(uint32_t v)
{
	return bf_swap32(v);
}
BF_FN uint64_t bf_htobe64(uint64_t v)
{
	return bf_swap64(v);
}

BF_FN uint16_t bf_get_le16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return v;
}
BF_FN uint32_t bf_get_le32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}
BF_FN uint64_t bf_get_le64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return v;
}
BF_FN void bf_put_le16(void *p, uint16_t v)
{
	memcpy(p, &v, 2);
}
BF_FN void bf_put_le32(void *p, uint32_t v)
{
	memcpy(p, &v, 4);
}
BF_FN void bf_put_le64(void *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

BF_FN uint16_t bf_get_be16(const void *p)
{
	return bf_swap16(bf_get_le16(p));
}
BF_FN uint32_t bf_get_be32(const void *p)
{
	return bf_swap32(bf_get_le32(p));
}
BF_FN uint64_t bf_get_be64(const void *p)
{
	return bf_swap64(bf_get_le64(p));
}
BF_FN void bf_put_be16(void *p, uint16_t v)
{
	bf_put_le16(p, bf_swap16(v));
}
BF_FN void bf_put_be32(void *p, uint32_t v)
{
	bf_put_le32(p, bf_swap32(v));
}
BF_FN void bf_put_be64(void *p, uint64_t v)
{
	bf_put_le64(p, bf_swap64(v));
}
BF_FN uint32_t bf_get_be24(const void *p)
{
	const uint8_t *b = (const uint8_t *)p;
	return ((uint32_t)b[0] << 16) | ((uint32_t)b[1] << 8) | b[2];
}
BF_FN void bf_put_be24(void *p, uint32_t v)
{
	uint8_t *b = (uint8_t *)p;
	b[0] = (uint8_t)(v >> 16);
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)v;
}

BF_FN uint16_t bf_be16(struct bf_be16 v)
{
	return bf_get_be16(v.b);
}
BF_FN uint32_t bf_be24(struct bf_be24 v)
{
	return bf_get_be24(v.b);
}
BF_FN uint32_t bf_be32(struct bf_be32 v)
{
	return bf_get_be32(v.b);
}
BF_FN uint64_t bf_be64(struct bf_be64 v)
{
	return bf_get_be64(v.b);
}
BF_FN struct bf_be16 bf_to_be16(uint16_t v)
{
	struct bf_be16 r;
	bf_put_be16(r.b, v);
	return r;
}
BF_FN struct bf_be24 bf_to_be24(uint32_t v)
{
	struct bf_be24 r;
	bf_put_be24(r.b, v);
	return r;
}
BF_FN struct bf_be32 bf_to_be32(uint32_t v)
{
	struct bf_be32 r;
	bf_put_be32(r.b, v);
	return r;
}
BF_FN struct bf_be64 bf_to_be64(uint64_t v)
{
	struct bf_be64 r;
	bf_put_be64(r.b, v);
	return r;
}

BF_FN uint16_t bf_le16(struct bf_le16 v)
{
	return bf_get_le16(v.b);
}
BF_FN uint32_t bf_le32(struct bf_le32 v)
{
	return bf_get_le32(v.b);
}
BF_FN uint64_t bf_le64(struct bf_le64 v)
{
	return bf_get_le64(v.b);
}
BF_FN struct bf_le16 bf_to_le16(uint16_t v)
{
	struct bf_le16 r;
	bf_put_le16(r.b, v);
	return r;
}
BF_FN struct bf_le32 bf_to_le32(uint32_t v)
{
	struct bf_le32 r;
	bf_put_le32(r.b, v);
	return r;
}
BF_FN struct bf_le64 bf_to_le64(uint64_t v)
{
	struct bf_le64 r;
	bf_put_le64(r.b, v);
	return r;
}

/* Value of a hexadecimal digit, -1 if it is none. */
BF_FN int bf_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Fields by mask: BF_FIELD_GET(MASK, word) and BF_FIELD_PREP(MASK, value), with contiguous constant masks.
 * The shift comes from the mask (Linux include/linux/bitfield.h has the same vocabulary).
 */
#define BF_MASK(high, low) ((~0ull >> (63 - (high))) & (~0ull << (low)))
#define BF_FIELD_LOW(mask) ((uint64_t)(mask) & (~(uint64_t)(mask) + 1))
#define BF_FIELD_GET(mask, word) (((uint64_t)(word) & (uint64_t)(mask)) / BF_FIELD_LOW(mask))
#define BF_FIELD_PREP(mask, value) (((uint64_t)(value)*BF_FIELD_LOW(mask)) & (uint64_t)(mask))

#endif
