#include "tools/timing/model.h"

#include "sim/member.h"

void bf_timing_model_init(struct bf_timing_model *m)
{
	*m = (struct bf_timing_model){
		.nics = BF_TIMING_NIC_PROFILES,
		.drives = BF_TIMING_DRIVE_PROFILES,
		.engines = BF_TIMING_ENGINE_PROFILES,
		.sw = {
#define VALUE(name, value, basis, what) .name = (value),
			BF_TIMING_SOFTWARE(VALUE)
			BF_TIMING_SOFTWARE_BAR(VALUE)
			BF_TIMING_SOFTWARE_NIC(VALUE)
			BF_TIMING_SOFTWARE_DRIVE(VALUE)
			BF_TIMING_SOFTWARE_ENGINE(VALUE)
#undef VALUE
		},
	};
}

/* clang-format off */
static const struct bf_timing_constant constants[] = {
	BF_TIMING_NICS,
	BF_TIMING_DRIVES,
	BF_TIMING_ENGINES,
#define OF(device, name, basis, what) { #name, device, BF_MEMBER(struct bf_timing_model, sw.name), BF_BASIS_##basis, what },
#define OF_ANY(name, value, basis, what) OF(NULL, name, basis, what)
#define OF_BAR(name, value, basis, what) OF("pcie", name, basis, what)
#define OF_NIC(name, value, basis, what) OF(BF_TIMING_NIC_DEVICE, name, basis, what)
#define OF_DRIVE(name, value, basis, what) OF(BF_TIMING_DRIVE_DEVICE, name, basis, what)
#define OF_ENGINE(name, value, basis, what) OF(BF_TIMING_ENGINE_DEVICE, name, basis, what)
	BF_TIMING_SOFTWARE(OF_ANY)
	BF_TIMING_SOFTWARE_BAR(OF_BAR)
	BF_TIMING_SOFTWARE_NIC(OF_NIC)
	BF_TIMING_SOFTWARE_DRIVE(OF_DRIVE)
	BF_TIMING_SOFTWARE_ENGINE(OF_ENGINE)
#undef OF_ENGINE
#undef OF_DRIVE
#undef OF_NIC
#undef OF_BAR
#undef OF_ANY
#undef OF
};
/* clang-format on */

const struct bf_timing_constant *bf_timing_constants(size_t *n)
{
	*n = BF_ARRAY_LEN(constants);
	return constants;
}
