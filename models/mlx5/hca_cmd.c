/*
 * Commands of a function's life: enable, pages, capabilities, initialize, tear down. The others are the device's
 * (cmd.c), most of them only once it is initialized.
 */
#include <stdlib.h>

#include "models/mlx5/hca_internal.h"
#include "sim/grow.h"

/* As many as show the host how to give and take them; a ConnectX asks for thousands. */
#define BOOT_PAGES 8u
#define INIT_PAGES 256u

#define PAGE_MASK 0xfffull
#define SET_CAP_LEN (BF_HCA_CAP + 0x1000u)
#define MAIL_MIN 16u

struct message {
	const uint8_t *in;
	uint8_t *out;
	uint32_t in_len, out_len, op_mod;
};

static uint8_t enable(struct bf_mlx5_hca *hca, const struct message *m)
{
	(void)m;
	if (hca->state == BF_HCA_DISABLED)
		hca->state = BF_HCA_ENABLED;
	return BF_MLX5_CMD_OK;
}

static uint8_t disable(struct bf_mlx5_hca *hca, const struct message *m)
{
	(void)m;
	hca->state = BF_HCA_DISABLED;
	return BF_MLX5_CMD_OK;
}

/* Not without the pages that it asked for. */
static uint8_t init(struct bf_mlx5_hca *hca, const struct message *m)
{
	(void)m;
	if (hca->npages < BOOT_PAGES + INIT_PAGES)
		return BF_MLX5_CMD_NO_RES;
	hca->state = BF_HCA_INITIALIZED;
	return BF_MLX5_CMD_OK;
}

static uint8_t tear_down(struct bf_mlx5_hca *hca, const struct message *m)
{
	(void)m;
	hca->state = BF_HCA_ENABLED;
	bf_hca_renew_later(hca);
	return BF_MLX5_CMD_OK;
}

static uint8_t query_pages(struct bf_mlx5_hca *hca, const struct message *m)
{
	const uint32_t all = m->op_mod == BF_PAGES_BOOT   ? BOOT_PAGES
			     : m->op_mod == BF_PAGES_INIT ? BOOT_PAGES + INIT_PAGES
							  : 0;

	if (m->op_mod < BF_PAGES_BOOT || m->op_mod > BF_PAGES_REGULAR)
		return BF_MLX5_CMD_BAD_PARAM;
	BF_MLX5_SET(m->out, BF_QUERY_PAGES_COUNT, all > hca->npages ? all - hca->npages : 0);
	return BF_MLX5_CMD_OK;
}

static uint8_t take_pages(struct bf_mlx5_hca *hca, const struct message *m, uint32_t n)
{
	if (n > (m->in_len - BF_MANAGE_PAGES_PAS) / 8)
		return BF_MLX5_CMD_BAD_INP_LEN;
	if (n > UINT32_MAX / 16 - hca->npages || BF_GROW(hca->pages, hca->pages_cap, hca->npages + n))
		return BF_MLX5_CMD_NO_RES;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t page = bf_get_be64(m->in + BF_MANAGE_PAGES_PAS + 8ull * i);

		if (!page || page & PAGE_MASK)
			return BF_MLX5_CMD_BAD_PARAM;
		hca->pages[hca->npages + i] = page;
	}
	hca->npages += n;
	return BF_MLX5_CMD_OK;
}

/* While it runs it needs them. */
static uint8_t give_pages(struct bf_mlx5_hca *hca, const struct message *m, uint32_t n)
{
	if (hca->state == BF_HCA_INITIALIZED)
		n = 0;
	if (n > hca->npages)
		n = hca->npages;
	if (n > (m->out_len - BF_MANAGE_PAGES_PAS) / 8)
		return BF_MLX5_CMD_BAD_OUTP_LEN;
	for (uint32_t i = 0; i < n; i++)
		bf_put_be64(m->out + BF_MANAGE_PAGES_PAS + 8ull * i, hca->pages[--hca->npages]);
	BF_MLX5_SET(m->out, BF_MANAGE_PAGES_OUT_COUNT, n);
	return BF_MLX5_CMD_OK;
}

static uint8_t manage_pages(struct bf_mlx5_hca *hca, const struct message *m)
{
	const uint32_t n = BF_MLX5_GET(m->in, BF_MANAGE_PAGES_IN_COUNT);
	uint8_t status = BF_MLX5_CMD_BAD_PARAM;

	if (m->op_mod == BF_PAGES_CANT_GIVE)
		status = BF_MLX5_CMD_OK;
	else if (m->op_mod == BF_PAGES_GIVE)
		status = take_pages(hca, m, n);
	else if (m->op_mod == BF_PAGES_TAKE)
		status = give_pages(hca, m, n);
	hca->count.pages = hca->npages;
	return status;
}

/*
 * The host tells what it will use. The model has all that it shows in any case; it has no checksums of mailboxes and
 * one size of UAR pages.
 */
static uint8_t set_cap(struct bf_mlx5_hca *hca, const struct message *m)
{
	const uint8_t *cap = m->in + BF_HCA_CAP;

	(void)hca;
	if (m->op_mod >> 1 == BF_HCA_CAP_GENERAL &&
	    (BF_MLX5_GET(cap, BF_CAP_CMDIF_CHECKSUM) || BF_MLX5_GET(cap, BF_CAP_LOG_UAR_PAGE_SZ)))
		return BF_MLX5_CMD_BAD_PARAM;
	return BF_MLX5_CMD_OK;
}

static uint8_t set_driver_version(struct bf_mlx5_hca *hca, const struct message *m)
{
	memcpy(hca->driver, m->in + BF_DRIVER_VERSION, BF_DRIVER_VERSION_LEN);
	hca->driver[BF_DRIVER_VERSION_LEN] = '\0';
	for (char *c = hca->driver; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return BF_MLX5_CMD_OK;
}

#define IN(state) (1u << BF_HCA_##state)
#define ANY (IN(DISABLED) | IN(ENABLED) | IN(INITIALIZED))

static const struct life {
	uint16_t opcode;
	uint8_t states; /* in which it may come */
	uint32_t in_min;
	const char *name;
	uint8_t (*run)(struct bf_mlx5_hca *hca, const struct message *m); /* NULL: the device does it */
} lives[] = {
	{ BF_MLX5_CMD_ENABLE_HCA, ANY, MAIL_MIN, "ENABLE_HCA", enable },
	{ BF_MLX5_CMD_DISABLE_HCA, IN(DISABLED) | IN(ENABLED), MAIL_MIN, "DISABLE_HCA", disable },
	{ BF_MLX5_CMD_QUERY_PAGES, IN(ENABLED) | IN(INITIALIZED), MAIL_MIN, "QUERY_PAGES", query_pages },
	{ BF_MLX5_CMD_MANAGE_PAGES, IN(ENABLED) | IN(INITIALIZED), MAIL_MIN, "MANAGE_PAGES", manage_pages },
	{ BF_MLX5_CMD_SET_HCA_CAP, IN(ENABLED), SET_CAP_LEN, "SET_HCA_CAP", set_cap },
	{ BF_MLX5_CMD_INIT_HCA, IN(ENABLED), MAIL_MIN, "INIT_HCA", init },
	{ BF_MLX5_CMD_TEARDOWN_HCA, IN(INITIALIZED), MAIL_MIN, "TEARDOWN_HCA", tear_down },
	{ BF_MLX5_CMD_SET_DRIVER_VERSION, IN(INITIALIZED), BF_DRIVER_VERSION + BF_DRIVER_VERSION_LEN,
	  "SET_DRIVER_VERSION", set_driver_version },
	{ BF_MLX5_CMD_QUERY_ISSI, ANY, 0, NULL, NULL },
	{ BF_MLX5_CMD_SET_ISSI, ANY, 0, NULL, NULL },
	{ BF_MLX5_CMD_QUERY_HCA_CAP, IN(ENABLED) | IN(INITIALIZED), 0, NULL, NULL },
	{ BF_MLX5_CMD_QUERY_ADAPTER, IN(ENABLED) | IN(INITIALIZED), 0, NULL, NULL },
	{ BF_MLX5_CMD_ACCESS_REG, IN(ENABLED) | IN(INITIALIZED), 0, NULL, NULL },
};

static const struct life *find(uint32_t opcode)
{
	static const struct life others = { .states = IN(INITIALIZED) };

	for (size_t i = 0; i < BF_ARRAY_LEN(lives); i++)
		if (lives[i].opcode == opcode)
			return &lives[i];
	return &others;
}

static void record(const struct bf_mlx5_hca *hca, const struct life *l, uint8_t status)
{
	struct bf_rec_cmd rec = { .opcode = l->opcode, .status = status };

	snprintf(rec.name, sizeof(rec.name), "%s", l->name);
	BF_EMIT_MADE(hca->sim, hca->actor, cmd, rec, NULL, 0);
}

uint8_t bf_hca_execute(struct bf_mlx5_hca *hca, const uint8_t *in, uint32_t in_len, uint8_t *out, uint32_t out_len)
{
	const struct message m = {
		.in = in, .out = out, .in_len = in_len, .out_len = out_len, .op_mod = BF_MLX5_GET(in, BF_CMD_OP_MOD)
	};
	const struct life *l = find(BF_MLX5_GET(in, BF_CMD_OPCODE));
	uint8_t status = BF_MLX5_CMD_BAD_SYS_STATE;

	if (l->states >> hca->state & 1) {
		if (!l->run) {
			bf_mlx5_cmd(hca->dev, in, in_len, out, out_len); /* both are long enough */
			return out[0];
		}
		status = in_len < l->in_min ? BF_MLX5_CMD_BAD_INP_LEN : l->run(hca, &m);
	}
	if (status)
		memset(out, 0, out_len);
	BF_MLX5_SET(out, BF_CMD_OUT_STATUS, status);
	if (l->name && bf_probe(hca->sim, BF_CLASS_QUEUE))
		record(hca, l, status);
	return status;
}
