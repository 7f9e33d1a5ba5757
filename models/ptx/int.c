#include "models/ptx/int.h"

uint32_t bf_ptx_fns_b32(uint32_t mask, uint32_t base, uint32_t offset)
{
	if (offset == 1u << 31)
		return 0; /* as an H100 does */
	if (base > 31)
		return ~0u;
	const int32_t steps = (int32_t)offset;
	if (steps == 0)
		return mask >> base & 1 ? base : ~0u;
	const int32_t direction = steps > 0 ? 1 : -1;
	uint32_t left = steps > 0 ? offset : 0u - offset;
	for (int32_t place = (int32_t)base; place >= 0 && place < 32; place += direction)
		if ((mask >> place & 1) != 0 && --left == 0)
			return (uint32_t)place;
	return ~0u;
}

/* Lane `lane` of a SIMD operand: the byte or half of {b:a} that the selector names, as its type's number. */
static int32_t video_lane(const struct bf_ptx_video *form, uint64_t both, uint16_t select, uint32_t lane, bool sign)
{
	const uint32_t place = select >> 4 * lane & 7;
	if (form->lanes == 4)
		return (int32_t)bf_ptx_byte((uint32_t)(both >> 32 * (place >> 2)), place & 3, sign);
	return (int32_t)bf_ptx_half((uint32_t)(both >> 32 * (place >> 1 & 1)), place & 1, sign);
}

static int32_t video_result(const struct bf_ptx_video *form, int32_t a, int32_t b)
{
	switch (form->op) {
	case BF_PTX_VADD:
		return a + b;
	case BF_PTX_VSUB:
		return a - b;
	case BF_PTX_VAVRG:
		/* Half rounded away from zero. */
		return (a + b + (a + b >= 0)) >> 1;
	case BF_PTX_VABSDIFF:
		return a < b ? b - a : a - b;
	case BF_PTX_VMIN:
		return a < b ? a : b;
	case BF_PTX_VMAX:
		return a > b ? a : b;
	case BF_PTX_VSET:
		return bf_ptx_compare_s64(form->compare, (uint64_t)(int64_t)a, (uint64_t)(int64_t)b);
	}
	return 0;
}

uint32_t bf_ptx_video(const struct bf_ptx_video *form, uint32_t a, uint32_t b, uint32_t c)
{
	const uint64_t both = (uint64_t)b << 32 | a;
	const uint32_t width = 32u / form->lanes;
	const int32_t top = form->d_signed ? (1 << (width - 1)) - 1 : (1 << width) - 1;
	const int32_t bottom = form->d_signed ? -(1 << (width - 1)) : 0;
	const uint32_t all = (1u << width) - 1;
	uint32_t result = form->add ? c : 0;
	for (uint32_t lane = 0; lane < form->lanes; lane++) {
		if ((form->mask >> lane & 1) == 0) {
			if (!form->add)
				result |= c & all << width * lane;
			continue;
		}
		int32_t value = video_result(form, video_lane(form, both, form->a_select, lane, form->a_signed),
					     video_lane(form, both, form->b_select, lane, form->b_signed));
		if (form->saturate)
			value = value > top ? top : value < bottom ? bottom : value;
		if (form->add) {
			result += (uint32_t)value; /* not cut to the lane */
		} else {
			result |= ((uint32_t)value & all) << width * lane;
		}
	}
	return result;
}
