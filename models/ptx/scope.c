#include "models/ptx/parse_internal.h"

/* Names within a function: blocks, what they declare, and references to what stands further down. */

#define BLOCKS_MOST 256

void bf_ptx_block_open(struct bf_ptx_reader *r)
{
	if (r->block_count == BLOCKS_MOST)
		bf_ptx_fail_here(r, "blocks are nested deeper than %d", BLOCKS_MOST);
	*BF_PTX_PUSH(r, block) = (struct bf_ptx_text_block){ .first_fixup = r->fixup_count, .call_size = r->call_size };
}

/* Labels of a block are known when it ends: what it does not have may be an outer one's. */
static bool resolve(struct bf_ptx_reader *r, const struct bf_ptx_fixup *f)
{
	const struct bf_ptx_local *l = f->name->local;

	if (!l || l->depth < r->block_count || l->kind != (f->table ? BF_PTX_LOCAL_PROTO : BF_PTX_LOCAL_LABEL))
		return false;
	if (!f->table)
		r->labels[l->index].target = true;
	if (f->operand)
		f->operand->index = l->index;
	else
		*f->target = l->index;
	return true;
}

static void not_declared(struct bf_ptx_reader *r, const struct bf_ptx_fixup *f)
{
	bf_ptx_fail(r, f->line, f->column, "no %s `%.100s` in this function, or none that this block can see",
		    f->table ? "table or prototype" : "label", f->name->text);
}

void bf_ptx_block_close(struct bf_ptx_reader *r)
{
	struct bf_ptx_text_block *b = &r->blocks[r->block_count - 1];
	uint32_t kept = b->first_fixup;

	for (uint32_t i = b->first_fixup; i < r->fixup_count; i++)
		if (!resolve(r, &r->fixups[i]))
			r->fixups[kept++] = r->fixups[i];
	r->fixup_count = kept;
	if (r->block_count == 1 && kept)
		not_declared(r, &r->fixups[0]);
	for (struct bf_ptx_local *l = b->locals, *next; l; l = next) {
		next = l->in_block;
		l->name->local = l->outer;
		l->in_block = r->free_locals;
		r->free_locals = l;
	}
	r->call_size = b->call_size;
	r->block_count--;
}

void bf_ptx_declare(struct bf_ptx_reader *r, struct bf_ptx_name *name, enum bf_ptx_local_kind kind, uint32_t index,
		    uint32_t count, const struct bf_ptx_token *where)
{
	struct bf_ptx_text_block *b = &r->blocks[r->block_count - 1];
	struct bf_ptx_local *l = r->free_locals;

	if (name->local && name->local->depth == r->block_count)
		bf_ptx_fail(r, where->line, where->column, "`%.100s` is declared twice in this block", name->text);
	if (l)
		r->free_locals = l->in_block;
	else
		l = bf_ptx_arena_take(&r->p->arena, sizeof(*l));
	*l = (struct bf_ptx_local){ .kind = kind,
				    .index = index,
				    .count = count,
				    .depth = r->block_count,
				    .name = name,
				    .outer = name->local,
				    .in_block = b->locals };
	name->local = l;
	b->locals = l;
}

void bf_ptx_fixup_later(struct bf_ptx_reader *r, const struct bf_ptx_fixup *f)
{
	*BF_PTX_PUSH(r, fixup) = *f;
}

void bf_ptx_refer(struct bf_ptx_reader *r, enum bf_ptx_ref_kind kind, uint32_t index)
{
	struct bf_ptx_ref *ref = bf_ptx_arena_take(&r->p->arena, sizeof(*ref));

	ref->kind = kind;
	ref->index = index;
	ref->stmt = r->stmt_count;
	*r->last_ref = ref;
	r->last_ref = &ref->next;
}
