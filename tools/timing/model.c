#include "tools/timing/model.h"

#include "sim/member.h"

void bf_timing_model_init(struct bf_timing_model *m)
{
	*m = (struct bf_timing_model){
		.nics = BF_TIMING_NIC_PROFILES,
		.drives = BF_TIMING_DRIVE_PROFILES,
		.engines = BF_TIMING_ENGINE_PROFILES,
		.sw = {
#define VALUE(device, name, value, basis, what) .name = (value),
			BF_TIMING_SOFTWARE_ALL(VALUE)
#undef VALUE
		},
	};
}

/* clang-format off */
static const struct bf_timing_constant constants[] = {
	BF_TIMING_NICS,
	BF_TIMING_DRIVES,
	BF_TIMING_ENGINES,
#define CONSTANT(device, name, value, basis, what) { #name, device, BF_MEMBER(struct bf_timing_model, sw.name), BF_BASIS_##basis, what },
	BF_TIMING_SOFTWARE_ALL(CONSTANT)
#undef CONSTANT
};
/* clang-format on */

const struct bf_timing_constant *bf_timing_constants(size_t *n)
{
	*n = BF_ARRAY_LEN(constants);
	return constants;
}
