/*
 * Basic blocks, their loops, and the order of the code: reverse post-order in which a loop's blocks stand together,
 * before what its exits lead to. Groups of lanes run lowest place first, so this order is where they meet.
 *
 * Loops are found as in Wei, Mao, Zou, Chen, "A New Algorithm for Identifying Loops in Decompilation" (SAS 2007), which
 * takes irreducible graphs as well.
 */
#include "models/ptx/decode_internal.h"

#include <stdlib.h>
#include <string.h>

static bool ends_block(const struct bf_ptx_operation *o)
{
	if (!o->control)
		return false;
	switch (o->op) {
	case BF_PTX_CONTROL_JUMP:
	case BF_PTX_CONTROL_BRANCH:
	case BF_PTX_CONTROL_SWITCH:
		return true;
	case BF_PTX_CONTROL_RET:
	case BF_PTX_CONTROL_EXIT:
	case BF_PTX_CONTROL_TRAP:
		return o->guard == BF_PTX_REF_NONE;
	default:
		return false;
	}
}

/* Cuts operations into blocks. */
static int cut(struct bf_ptx_decoder *d)
{
	const struct bf_ptx_func *fn = d->fn;
	uint8_t *leader = calloc(d->op_count + 1u, 1);
	uint32_t *block_at = calloc(d->op_count + 1u, sizeof(*block_at));

	if (leader == NULL || block_at == NULL)
		goto fail;
	leader[0] = 1;
	for (uint32_t k = 0; k < fn->label_count; k++)
		if (fn->labels[k].target)
			leader[d->stmt_op[fn->labels[k].stmt]] = 1;
	for (uint32_t k = 0; k < d->op_count; k++)
		if (ends_block(&d->ops[k]))
			leader[k + 1] = 1;
	for (uint32_t k = 0; k < d->op_count; k++) {
		d->block_count += leader[k];
		block_at[k] = d->block_count - 1;
	}
	d->blocks = calloc(d->block_count, sizeof(*d->blocks));
	d->block_of_label = calloc(fn->label_count + 1u, sizeof(*d->block_of_label));
	if (d->blocks == NULL || d->block_of_label == NULL)
		goto fail;
	for (uint32_t k = 0; k < d->op_count; k++) {
		struct bf_ptx_basic_block *b = &d->blocks[block_at[k]];
		if (leader[k])
			*b = (struct bf_ptx_basic_block){ .first = k,
							  .next = { BF_PTX_NONE, BF_PTX_NONE },
							  .header = BF_PTX_NONE,
							  .order = BF_PTX_NONE,
							  .back = BF_PTX_REF_NONE };
		b->end = k + 1;
	}
	for (uint32_t k = 0; k < fn->label_count; k++)
		if (fn->labels[k].target)
			d->block_of_label[k] = block_at[d->stmt_op[fn->labels[k].stmt]];
	for (uint32_t n = 0; n < d->block_count; n++) {
		struct bf_ptx_basic_block *b = &d->blocks[n];
		const struct bf_ptx_operation *last = &d->ops[b->end - 1];
		if (last->control && last->op == BF_PTX_CONTROL_SWITCH)
			b->targets = last->more;
		else if (last->control && (last->op == BF_PTX_CONTROL_JUMP || last->op == BF_PTX_CONTROL_BRANCH))
			b->next[1] = d->block_of_label[last->label];
		const bool falls = !ends_block(last) || (last->op == BF_PTX_CONTROL_BRANCH);
		if (falls && n + 1 < d->block_count)
			b->next[0] = n + 1;
	}
	free(leader);
	free(block_at);
	return 0;
fail:
	free(leader);
	free(block_at);
	return -1;
}

/* Successor `k` of a block; BF_PTX_NONE behind the last one. A branch to what follows counts once. */
static uint32_t successor(const struct bf_ptx_decoder *d, const struct bf_ptx_basic_block *b, uint32_t k)
{
	if (b->targets != NULL)
		return k < b->targets->target_count ? d->block_of_label[b->targets->targets[k]] : BF_PTX_NONE;
	if (k >= 2)
		return BF_PTX_NONE;
	if (b->next[0] == BF_PTX_NONE)
		return k == 0 ? b->next[1] : BF_PTX_NONE;
	return b->next[k];
}

/* Block b lies in the loop of h: h becomes its innermost header, or one of those around it, by their depth on the path.
 */
static void tag(struct bf_ptx_basic_block *blocks, uint32_t b, uint32_t h)
{
	if (b == h || h == BF_PTX_NONE)
		return;
	while (blocks[b].header != BF_PTX_NONE) {
		const uint32_t ih = blocks[b].header;
		if (ih == h)
			return;
		if (blocks[ih].path < blocks[h].path) {
			blocks[b].header = h;
			b = h;
			h = ih;
		} else {
			b = ih;
		}
	}
	blocks[b].header = h;
}

struct step {
	uint32_t block, next;
};

/* An edge from b to an already seen block s. */
static void meet_seen(struct bf_ptx_basic_block *blocks, uint32_t b, uint32_t s)
{
	if (blocks[s].path != 0) {
		blocks[s].is_header = true;
		tag(blocks, b, s);
		return;
	}
	for (uint32_t h = blocks[s].header; h != BF_PTX_NONE; h = blocks[h].header) {
		if (blocks[h].path != 0) {
			tag(blocks, b, h);
			return;
		}
	}
}

static void find_loops(struct bf_ptx_decoder *d, struct step *stack)
{
	struct bf_ptx_basic_block *blocks = d->blocks;
	uint32_t depth = 0;

	stack[depth++] = (struct step){ 0, 0 };
	blocks[0].seen = true;
	blocks[0].path = 1;
	while (depth > 0) {
		struct step *top = &stack[depth - 1];
		const uint32_t b = top->block, s = successor(d, &blocks[b], top->next++);
		if (s == BF_PTX_NONE) {
			const uint32_t header = blocks[b].header;
			blocks[b].path = 0;
			depth--;
			if (depth > 0)
				tag(blocks, stack[depth - 1].block, header);
		} else if (blocks[s].seen) {
			meet_seen(blocks, b, s);
		} else {
			blocks[s].seen = true;
			blocks[s].path = depth + 1;
			stack[depth++] = (struct step){ s, 0 };
		}
	}
}

/* How many loops a block is in. */
static uint32_t loop_depth(const struct bf_ptx_basic_block *blocks, uint32_t b)
{
	uint32_t depth = blocks[b].is_header;

	for (uint32_t h = blocks[b].header; h != BF_PTX_NONE; h = blocks[h].header)
		depth++;
	return depth;
}

/*
 * The walk that gives the order: of a block's successors those in fewer loops are walked first, so that they come last;
 * what a branch falls through to comes before its target.
 */
static uint32_t walk_next(const struct bf_ptx_decoder *d, uint32_t b)
{
	uint32_t best = BF_PTX_NONE;

	for (uint32_t k = 0;; k++) {
		const uint32_t s = successor(d, &d->blocks[b], k);
		if (s == BF_PTX_NONE)
			return best;
		if (d->blocks[s].seen && (best == BF_PTX_NONE || d->blocks[s].depth <= d->blocks[best].depth))
			best = s;
	}
}

static void put_in_order(struct bf_ptx_decoder *d, struct step *stack)
{
	struct bf_ptx_basic_block *blocks = d->blocks;
	uint32_t depth = 0, left = 0;

	for (uint32_t n = 0; n < d->block_count; n++)
		left += blocks[n].seen;
	d->order_count = left;
	/* `seen` now means: reachable and not walked yet. */
	stack[depth++].block = 0;
	blocks[0].seen = false;
	while (depth > 0) {
		const uint32_t b = stack[depth - 1].block, s = walk_next(d, b);
		if (s != BF_PTX_NONE) {
			blocks[s].seen = false;
			stack[depth++].block = s;
			continue;
		}
		d->order[--left] = b;
		blocks[b].order = left;
		depth--;
	}
}

int bf_ptx_flow(struct bf_ptx_decoder *d)
{
	if (cut(d) != 0)
		return -1;
	struct step *stack = calloc(d->block_count + 1u, sizeof(*stack));
	d->order = calloc(d->block_count + 1u, sizeof(*d->order));
	if (stack == NULL || d->order == NULL) {
		free(stack);
		return -1;
	}
	find_loops(d, stack);
	for (uint32_t n = 0; n < d->block_count; n++)
		d->blocks[n].depth = d->blocks[n].seen ? loop_depth(d->blocks, n) : 0;
	put_in_order(d, stack);
	free(stack);
	return 0;
}
