/* The forms of `belfry check`: a line each. */
#include "tools/checks/check.h"

extern const struct bf_check_form bf_check_cqe, bf_check_nvme, bf_check_hopper_mbarrier, bf_check_hopper_timing,
    bf_check_litmus, bf_check_ptx, bf_check_sdma_rect, bf_check_timing;

static const struct bf_check_form *const forms[] = {
	&bf_check_cqe,           &bf_check_nvme,   &bf_check_sdma_rect, &bf_check_hopper_mbarrier,
	&bf_check_hopper_timing, &bf_check_litmus, &bf_check_ptx,       &bf_check_timing,
};

const struct bf_check_form *bf_check_form_at(unsigned i)
{
	return i < BF_ARRAY_LEN(forms) ? forms[i] : NULL;
}
