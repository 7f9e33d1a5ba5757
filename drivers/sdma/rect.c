#include "drivers/sdma/rect.h"

#include "sim/compiler.h"

const char *bf_sdma_drv_rect_error_name(enum bf_sdma_drv_rect_error e)
{
	static const char *const names[BF_SDMA_DRV_RECT_ERRORS] = {
		[BF_SDMA_DRV_RECT_OK] = "ok",
		[BF_SDMA_DRV_RECT_BASE_ALIGN] = "base_align",
		[BF_SDMA_DRV_RECT_PITCH_ALIGN] = "pitch_align",
		[BF_SDMA_DRV_RECT_SLICE_ALIGN] = "slice_align",
		[BF_SDMA_DRV_RECT_WIDTH_RANGE] = "width_range",
		[BF_SDMA_DRV_RECT_HEIGHT_RANGE] = "height_range",
		[BF_SDMA_DRV_RECT_SLICE_NEEDED] = "slice_needed",
		[BF_SDMA_DRV_RECT_PITCH_LIMIT] = "pitch_limit",
		[BF_SDMA_DRV_RECT_SLICE_LIMIT] = "slice_limit",
	};

	return (uint32_t)e < BF_SDMA_DRV_RECT_ERRORS ? names[e] : "?";
}
