/*
 * The ICRC covers the IP identification (annex A17 leaves out only what routers change), which senders choose as they
 * like, and a UDP socket does not say what it was. But a CRC is linear: two frames that differ in the identification
 * alone have CRCs that differ by the difference, moved ahead by the bytes behind it, and moving back gives it. Of the
 * 2^32 differences 2^16 are one of an identification, so that this is still a check: one broken frame in 65536 passes
 * it, beside those that the link's own check lets through.
 */
#include "models/fabric/roce.h"
#include "models/fabric/udp_internal.h"

#define POLYNOMIAL 0xedb88320u /* bit-reflected: the highest bit is the coefficient of x^0 */
#define ONE 0x80000000u
#define ID_OFFSET (BF_ROCE_ETH_LEN + 4)

static uint32_t times_x(uint32_t a)
{
	return a >> 1 ^ (a & 1 ? POLYNOMIAL : 0);
}

static uint32_t over_x(uint32_t a)
{
	return a & ONE ? (a ^ POLYNOMIAL) << 1 | 1 : a << 1;
}

static uint32_t times(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1, b = times_x(b))
		product ^= a & ONE ? b : 0;
	return product;
}

/* x^-n */
static uint32_t power_back(uint32_t n)
{
	uint32_t result = ONE;

	for (uint32_t square = over_x(ONE); n; n >>= 1, square = times(square, square))
		if (n & 1)
			result = times(result, square);
	return result;
}

bool bf_find_ip_id(struct bf_id_finder *f, uint32_t len, uint32_t with_zero, uint32_t icrc, uint8_t id[2])
{
	size_t at = (len >> 2) % BF_ARRAY_LEN(f->known);
	uint32_t found;

	if (f->known[at].len != len) {
		f->known[at].len = len;
		f->known[at].factor = power_back(8 * (len - BF_ROCE_ICRC_LEN - ID_OFFSET));
	}
	found = times(with_zero ^ icrc, f->known[at].factor);
	id[0] = (uint8_t)found;
	id[1] = (uint8_t)(found >> 8);
	return found <= 0xffff;
}
