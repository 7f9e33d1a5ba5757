/* Any bytes as a send WQE (of RC, of a DC initiator and of UD), a receive WQE and a CQE: decoded and printed without
 * harm. */
#include "models/mlx5/wqe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bf_mlx5_wqe w;
	struct bf_mlx5_sge sge[BF_MLX5_MAX_SGE];
	struct bf_error err = { 0 };
	uint64_t total;
	uint32_t len = size > 4096 ? 4096 : (uint32_t)size;
	static FILE *out;

	if (!out)
		out = fopen("/dev/null", "w");
	if (!bf_mlx5_wqe_decode(data, len, &w, &err) &&
	    (w.nsge > BF_MLX5_MAX_SGE || w.inline_offset + w.inline_len > len))
		__builtin_trap();
	bf_mlx5_wqe_print(out, data, len);
	if (!bf_mlx5_dc_wqe_decode(data, len, &w, &err) &&
	    (w.nsge > BF_MLX5_MAX_SGE || w.inline_offset + w.inline_len > len || w.av_len > len))
		__builtin_trap();
	bf_mlx5_dc_wqe_print(out, data, len);
	if (!bf_mlx5_ud_wqe_decode(data, len, &w, &err) &&
	    (w.nsge > BF_MLX5_MAX_SGE || w.inline_offset + w.inline_len > len || w.av_len > len ||
	     (w.opcode == BF_MLX5_OP_UMR && BF_MLX5_UMR_LIST_AT + w.umr_octowords * BF_MLX5_DS > len)))
		__builtin_trap();
	bf_mlx5_ud_wqe_print(out, data, len);
	if (bf_mlx5_recv_decode(data, len & ~15u, sge, BF_MLX5_MAX_SGE, &total) > BF_MLX5_MAX_SGE)
		__builtin_trap();
	if (len >= sizeof(struct bf_mlx5_cqe))
		bf_mlx5_cqe_print(out, data);
	return 0;
}
