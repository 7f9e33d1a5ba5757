/* The forms of `belfry decode`: a line each. */
#include "tools/decodes/decode.h"

extern const struct bf_decode_form bf_decode_wqe, bf_decode_dc_wqe, bf_decode_ud_wqe, bf_decode_cqe;
extern const struct bf_command bf_cmd_decode_sdma;

static const struct bf_decode_form *const forms[] = { &bf_decode_wqe, &bf_decode_dc_wqe, &bf_decode_ud_wqe,
						      &bf_decode_cqe };

const struct bf_command *const bf_decode_families[] = { &bf_cmd_decode_sdma, NULL };

const struct bf_decode_form *bf_decode_form_at(unsigned i)
{
	return i < BF_ARRAY_LEN(forms) ? forms[i] : NULL;
}
