/* A device of the kernel's half: what the driver makes when it finds the hardware, and the way to its mailbox. */
#include "models/uverbs/uverbs_internal.h"

#include <stdlib.h>

#define MAIL 16u

/* Linux drivers/net/ethernet/mellanox/mlx5/core/cmd.c cmd_status_to_err(). */
int bf_uv_status_errno(uint32_t status)
{
	switch (status) {
	case BF_MLX5_CMD_OK:
		return 0;
	case BF_MLX5_CMD_RES_BUSY:
		return -EBUSY;
	case BF_MLX5_CMD_LIM:
		return -ENOMEM;
	case BF_MLX5_CMD_NO_RES:
		return -EAGAIN;
	case BF_MLX5_CMD_BAD_OP:
	case BF_MLX5_CMD_BAD_PARAM:
	case BF_MLX5_CMD_BAD_RES:
	case BF_MLX5_CMD_BAD_RES_STATE:
	case BF_MLX5_CMD_IX:
	case BF_MLX5_CMD_BAD_QP_STATE:
	case BF_MLX5_CMD_BAD_SIZE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

int bf_uv_cmd(struct bf_uverbs *u, uint32_t opcode, void *in, size_t in_len, void *out, size_t out_len)
{
	int err;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	err = bf_mlx5_cmd(u->opts.device, in, in_len, out, out_len);
	return err ? err : bf_uv_status_errno(BF_MLX5_GET(out, BF_CMD_OUT_STATUS));
}

int bf_uv_simple(struct bf_uverbs *u, uint32_t opcode, uint32_t number, uint32_t *out)
{
	uint8_t in[MAIL] = { 0 }, answer[MAIL];
	int err;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	err = bf_uv_cmd(u, opcode, in, sizeof(in), answer, sizeof(answer));
	if (!err && out)
		*out = BF_MLX5_GET(answer, BF_CMD_OUT_NUMBER);
	return err;
}

int bf_uv_caps(struct bf_uverbs *u, uint32_t type, uint8_t cap[BF_HCA_CAP_LEN])
{
	uint8_t in[MAIL] = { 0 }, out[BF_HCA_CAP + BF_HCA_CAP_LEN];
	int err;

	BF_MLX5_SET(in, BF_CMD_OP_MOD, type << 1 | 1);
	err = bf_uv_cmd(u, BF_MLX5_CMD_QUERY_HCA_CAP, in, sizeof(in), out, sizeof(out));
	memcpy(cap, out + BF_HCA_CAP, BF_HCA_CAP_LEN);
	return err;
}

/* Time stamps count nanoseconds from simulated time 0, so that the page never needs what a kernel changes in it. */
static void start_clock(struct bf_uverbs *u)
{
	const struct mlx5_ib_clock_info info = {
		.nsec = u->opts.epoch_ns, .mult = 1, .mask = BF_UV_CLOCK_MASK, .overflow_period = BF_UV_CLOCK_MASK
	};

	memcpy(u->clock, &info, sizeof(info));
}

int bf_uverbs_create(struct bf_sim *sim, const struct bf_uverbs_opts *opts, struct bf_uverbs **out)
{
	struct bf_uverbs *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory for the kernel's half", opts->name);
	u->sim = sim;
	u->opts = *opts;
	u->actor = bf_stream_actor(&sim->rec, "kernel", opts->name);
	start_clock(u);
	err = bf_uv_simple(u, BF_MLX5_CMD_ALLOC_UAR, 0, &u->uar);
	if (err)
		bf_fail(&sim->error, err, "%s: the device gives no UAR page", opts->name);
	u->has_uar = !err;
	if (!err)
		err = bf_uv_eqs_open(u);
	if (err) {
		bf_uverbs_destroy(u);
		return err;
	}
	*out = u;
	return 0;
}

void bf_uverbs_destroy(struct bf_uverbs *u)
{
	if (!u)
		return;
	while (u->files)
		bf_uverbs_close(u->files);
	bf_uverbs_mad_close(u);
	bf_uv_eqs_close(u);
	if (u->has_uar)
		bf_uv_simple(u, BF_MLX5_CMD_DEALLOC_UAR, u->uar, NULL);
	free(u);
}

int bf_uverbs_open(struct bf_uverbs *u, struct bf_uverbs_file **out)
{
	struct bf_uverbs_file *f = calloc(1, sizeof(*f)), **at = &u->files;

	if (!f)
		return -ENOMEM;
	f->u = u;
	f->number = ++u->last_file;
	while (*at)
		at = &(*at)->next;
	*at = f;
	u->count.files++;
	*out = f;
	return 0;
}

void bf_uverbs_close(struct bf_uverbs_file *f)
{
	struct bf_uverbs_file **at;

	if (!f)
		return;
	bf_uv_close_objects(f);
	while (f->channels) {
		f->channels->o.users = 0;
		bf_uv_channel_destroy(f->channels);
	}
	bf_uv_context_close(f);
	at = &f->u->files;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->u->count.files--;
	free(f);
}

void bf_uverbs_counts(const struct bf_uverbs *u, struct bf_uverbs_counts *out)
{
	*out = u->count;
}
