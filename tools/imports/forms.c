/* The forms of `belfry import`: a line each. */
#include "tools/imports/import.h"

extern const struct bf_import_form bf_import_mlx5_capture, bf_import_ftrace, bf_import_sdma_ring;

static const struct bf_import_form *const forms[] = { &bf_import_mlx5_capture, &bf_import_ftrace,
						      &bf_import_sdma_ring };

const struct bf_import_form *bf_import_form_at(unsigned i)
{
	return i < BF_ARRAY_LEN(forms) ? forms[i] : NULL;
}
