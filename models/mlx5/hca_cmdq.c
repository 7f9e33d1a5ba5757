/*
 * The command queue: entries and mailboxes in the host's memory.
 *
 * A message's first 16 bytes lie in its entry, the others in a chain of mailboxes. The answer's chain is walked before
 * the command is executed: what cannot be answered is not done. Source: Linux
 * drivers/net/ethernet/mellanox/mlx5/core/cmd.c; which check comes first is assumed.
 */
#include <stdlib.h>

#include "models/mlx5/hca_internal.h"

#define IN_MAX (8u << 20) /* pages of a key of 4 GiB */
#define OUT_MAX (1u << 20)
#define LEN_MIN 8u /* opcode and op_mod; status and syndrome */
#define BLOCK_DATA ((uint32_t)sizeof(((struct bf_mlx5_cmd_block *)0)->data))

static void in_block_read(struct bf_dma_op *op);
static void out_block_read(struct bf_dma_op *op);

static uint8_t xor_of(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint8_t x = 0;

	for (size_t i = 0; i < len; i++)
		x ^= p[i];
	return x;
}

static void start_read(struct bf_mlx5_hca *hca, uint64_t iova, void *to, uint32_t len, bf_dma_fn *done)
{
	struct bf_hca_command *c = &hca->cmd;

	c->op.iova = iova;
	c->op.dst = to;
	c->op.len = len;
	c->op.done = done;
	bf_dma_read(bf_mlx5_dma(hca->dev), &c->op);
}

static struct bf_mlx5_hca *hca_of(struct bf_dma_op *op)
{
	return BF_CONTAINER_OF(op, struct bf_mlx5_hca, cmd.op);
}

static void forget(struct bf_hca_command *c)
{
	free(c->in);
	free(c->out);
	free(c->out_block);
	c->in = c->out = NULL;
	c->out_block = NULL;
	c->busy = false;
}

void bf_hca_drop(struct bf_mlx5_hca *hca)
{
	forget(&hca->cmd);
	hca->pending = 0;
}

static void record_entry(const struct bf_mlx5_hca *hca, enum bf_mlx5_delivery delivery, uint8_t status, bool event)
{
	const struct bf_mlx5_cmd_entry *e = &hca->cmd.entry;

	BF_EMIT_TAIL(hca->sim, hca->actor, cmd_entry, e, sizeof(*e), .slot = hca->cmd.slot,
		     .in_len = bf_be32(e->in_len), .out_len = bf_be32(e->out_len),
		     .opcode = (uint16_t)BF_MLX5_GET(e->in, BF_CMD_OPCODE), .token = e->token,
		     .delivery = (uint8_t)delivery, .status = status, .event = event);
}

/*
 * The host looks at status_own, so that is written last. An event comes only when somebody had asked for them before
 * the command came: whoever makes the event queue waits for that by looking.
 */
static void finish(struct bf_mlx5_hca *hca, enum bf_mlx5_delivery delivery)
{
	struct bf_hca_command *c = &hca->cmd;
	struct bf_mlx5_cmd_entry *e = &c->entry;
	const uint64_t at = hca->queue + (uint64_t)c->slot * sizeof(*e);
	const bool event = c->had_listener && bf_mlx5_event_wanted(hca->dev, BF_MLX5_EVENT_CMD);
	const size_t tail = offsetof(struct bf_mlx5_cmd_entry, out_len);

	memset(e->out, 0, sizeof(e->out));
	if (!delivery)
		memcpy(e->out, c->out, c->out_len < sizeof(e->out) ? c->out_len : sizeof(e->out));
	e->status_own = (uint8_t)(delivery << 1);
	e->signature = 0;
	e->signature = (uint8_t)~xor_of(e, sizeof(*e));
	bf_dma_write(bf_mlx5_dma(hca->dev), at + offsetof(struct bf_mlx5_cmd_entry, out), e->out, sizeof(e->out), 0);
	bf_dma_write(bf_mlx5_dma(hca->dev), at + tail, (const uint8_t *)e + tail, (uint32_t)(sizeof(*e) - tail), 0);
	hca->count.commands++;
	hca->count.refused += delivery != BF_MLX5_DELIVERY_OK;
	hca->count.events += event;
	record_entry(hca, delivery, e->out[0], event);
	if (event)
		bf_mlx5_event_cmd(hca->dev, 1u << c->slot);
	forget(c);
	bf_hca_next(hca);
}

/* What a short message lacks of its 16 bytes in the entry is zero, or not for the host. */
static uint32_t room_for(uint32_t len)
{
	return len > BF_CMD_INLINE ? len : BF_CMD_INLINE;
}

static void execute(struct bf_mlx5_hca *hca)
{
	struct bf_hca_command *c = &hca->cmd;

	bf_hca_execute(hca, c->in, room_for(c->in_len), c->out, room_for(c->out_len));
	for (uint32_t i = 0, from = BF_CMD_INLINE; from < c->out_len; i++, from += BLOCK_DATA) {
		const uint32_t left = c->out_len - from;

		bf_dma_write(bf_mlx5_dma(hca->dev), c->out_block[i], c->out + from,
			     left < BLOCK_DATA ? left : BLOCK_DATA, 0);
	}
	finish(hca, BF_MLX5_DELIVERY_OK);
}

/* What is wrong with a mailbox that was read, number `at` of its chain. */
static enum bf_mlx5_delivery check_block(const struct bf_mlx5_hca *hca)
{
	const struct bf_hca_command *c = &hca->cmd;

	if (c->op.status)
		return BF_MLX5_DELIVERY_FIRMWARE; /* assumed: there is no code for memory that cannot be read */
	if (c->block.token != c->entry.token)
		return BF_MLX5_DELIVERY_TOKEN;
	return bf_be32(c->block.number) != c->at ? BF_MLX5_DELIVERY_BLOCK_NUMBER : BF_MLX5_DELIVERY_OK;
}

static void read_out_block(struct bf_mlx5_hca *hca, uint64_t iova)
{
	struct bf_hca_command *c = &hca->cmd;

	if (iova & (BF_CMD_BLOCK_ALIGN - 1)) {
		finish(hca, BF_MLX5_DELIVERY_OUT_POINTER);
		return;
	}
	c->out_block[c->at] = iova;
	start_read(hca, iova + BLOCK_DATA, (uint8_t *)&c->block + BLOCK_DATA, sizeof(c->block) - BLOCK_DATA,
		   out_block_read);
}

static void out_block_read(struct bf_dma_op *op)
{
	struct bf_mlx5_hca *hca = hca_of(op);
	struct bf_hca_command *c = &hca->cmd;
	const enum bf_mlx5_delivery wrong = check_block(hca);

	if (wrong)
		finish(hca, wrong);
	else if (++c->at < c->blocks)
		read_out_block(hca, bf_be64(c->block.next));
	else
		execute(hca);
}

static uint32_t blocks_of(uint32_t len)
{
	return len > BF_CMD_INLINE ? (len - BF_CMD_INLINE + BLOCK_DATA - 1) / BLOCK_DATA : 0;
}

static void walk_out(struct bf_mlx5_hca *hca)
{
	struct bf_hca_command *c = &hca->cmd;

	c->at = 0;
	c->blocks = blocks_of(c->out_len);
	if (c->blocks)
		read_out_block(hca, bf_be64(c->entry.out_ptr));
	else
		execute(hca);
}

static void read_in_block(struct bf_mlx5_hca *hca, uint64_t iova)
{
	if (iova & (BF_CMD_BLOCK_ALIGN - 1))
		finish(hca, BF_MLX5_DELIVERY_IN_POINTER);
	else
		start_read(hca, iova, &hca->cmd.block, sizeof(hca->cmd.block), in_block_read);
}

static void in_block_read(struct bf_dma_op *op)
{
	struct bf_mlx5_hca *hca = hca_of(op);
	struct bf_hca_command *c = &hca->cmd;
	const uint32_t from = BF_CMD_INLINE + c->at * BLOCK_DATA, left = c->in_len - from;
	const enum bf_mlx5_delivery wrong = check_block(hca);

	if (wrong) {
		finish(hca, wrong);
		return;
	}
	memcpy(c->in + from, c->block.data, left < BLOCK_DATA ? left : BLOCK_DATA);
	if (++c->at < c->blocks)
		read_in_block(hca, bf_be64(c->block.next));
	else
		walk_out(hca);
}

static enum bf_mlx5_delivery check_entry(const struct bf_mlx5_cmd_entry *e)
{
	const uint32_t in = bf_be32(e->in_len), out = bf_be32(e->out_len);

	if (xor_of(e, sizeof(*e)) != 0xff)
		return BF_MLX5_DELIVERY_SIGNATURE;
	if (e->type != BF_CMD_TYPE_PCI)
		return BF_MLX5_DELIVERY_TYPE;
	if (e->reserved_1[0] | e->reserved_1[1] | e->reserved_1[2] | e->reserved_62)
		return BF_MLX5_DELIVERY_RESERVED;
	if (in < LEN_MIN || in > IN_MAX)
		return BF_MLX5_DELIVERY_IN_LENGTH;
	return out < LEN_MIN || out > OUT_MAX ? BF_MLX5_DELIVERY_OUT_LENGTH : BF_MLX5_DELIVERY_OK;
}

static bool make_room(struct bf_hca_command *c)
{
	const uint32_t blocks = blocks_of(c->out_len);

	c->in = calloc(1, room_for(c->in_len));
	c->out = calloc(1, room_for(c->out_len));
	c->out_block = calloc(blocks ? blocks : 1, sizeof(*c->out_block));
	return c->in && c->out && c->out_block;
}

static void entry_read(struct bf_dma_op *op)
{
	struct bf_mlx5_hca *hca = hca_of(op);
	struct bf_hca_command *c = &hca->cmd;
	enum bf_mlx5_delivery wrong;

	if (op->status || !(c->entry.status_own & BF_CMD_OWN_HW)) {
		hca->count.lost++;
		forget(c);
		bf_hca_next(hca);
		return;
	}
	wrong = check_entry(&c->entry);
	if (!wrong) {
		c->in_len = bf_be32(c->entry.in_len);
		c->out_len = bf_be32(c->entry.out_len);
		wrong = make_room(c) ? BF_MLX5_DELIVERY_OK : BF_MLX5_DELIVERY_FIRMWARE;
	}
	c->had_listener = bf_mlx5_event_wanted(hca->dev, BF_MLX5_EVENT_CMD);
	if (wrong) {
		finish(hca, wrong);
		return;
	}
	memcpy(c->in, c->entry.in, c->in_len < BF_CMD_INLINE ? c->in_len : BF_CMD_INLINE);
	c->at = 0;
	c->blocks = blocks_of(c->in_len);
	if (c->blocks)
		read_in_block(hca, bf_be64(c->entry.in_ptr));
	else
		walk_out(hca);
}

void bf_hca_next(struct bf_mlx5_hca *hca)
{
	struct bf_hca_command *c = &hca->cmd;

	if (c->busy || !hca->pending || !hca->master || !hca->dev || hca->renewing || !hca->queue ||
	    hca->nic != BF_SEG_NIC_FULL)
		return;
	c->busy = true;
	c->slot = (uint32_t)__builtin_ctz(hca->pending);
	hca->pending &= hca->pending - 1;
	start_read(hca, hca->queue + (uint64_t)c->slot * sizeof(c->entry), &c->entry, sizeof(c->entry), entry_read);
}

void bf_hca_ring(struct bf_mlx5_hca *hca, uint32_t entries)
{
	hca->count.doorbells++;
	hca->pending |= entries;
	bf_hca_next(hca);
}
