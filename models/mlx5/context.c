/* Contexts of objects, packed. */
#include "models/mlx5/device_internal.h"

size_t bf_mlx5_packed_size(const uint8_t *context, uint32_t len)
{
	size_t words = 0;

	for (uint32_t at = 0; at < len; at += 4)
		words += bf_get_be32(context + at) != 0;
	return sizeof(struct bf_mlx5_packed) + words * sizeof(uint32_t);
}

void bf_mlx5_pack(struct bf_mlx5_packed *to, const uint8_t *context, uint32_t len)
{
	uint32_t n = 0;

	to->have = 0;
	for (uint32_t at = 0; at < len; at += 4) {
		const uint32_t word = bf_get_be32(context + at);

		if (!word)
			continue;
		to->have |= 1ull << (at / 4);
		to->word[n++] = word;
	}
}

void bf_mlx5_unpack(const struct bf_mlx5_packed *from, uint8_t *context, uint32_t len)
{
	uint32_t n = 0;

	memset(context, 0, len);
	for (uint64_t left = from->have; left; left &= left - 1)
		bf_put_be32(context + 4 * __builtin_ctzll(left), from->word[n++]);
}
