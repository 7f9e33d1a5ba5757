/*
 * Code of a program: functions are decoded when they are first called. The last step is here, operations become
 * instructions; decode_internal.h tells the others.
 */
#include "models/ptx/decode_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/vectors.h"

/* Memory of a body: chunks in a list. */
struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(64) uint8_t bytes[];
};

void *bf_ptx_body_alloc(struct bf_ptx_decoder *d, size_t bytes)
{
	struct chunk *c = d->body->memory;

	bytes = (bytes + 15) & ~(size_t)15;
	if (c == NULL || c->size - c->used < bytes) {
		const size_t size = bytes > 16384 ? bytes : 16384;
		struct chunk *n = aligned_alloc(64, (sizeof(*n) + size + 63) & ~(size_t)63);
		if (n == NULL) {
			d->failed = true;
			return NULL;
		}
		memset(n, 0, sizeof(*n) + size);
		n->size = size;
		n->next = c;
		d->body->memory = c = n;
	}
	void *p = c->bytes + c->used;
	c->used += bytes;
	return p;
}

int bf_ptx_reserve(struct bf_ptx_decoder *d, void **array, uint32_t *cap, uint32_t count, size_t element)
{
	if (bf_grow_u32(array, cap, count, element) == 0)
		return 0;
	d->failed = true;
	return -1;
}

static void body_free(struct bf_ptx_body *body)
{
	if (body == NULL)
		return;
	for (struct chunk *c = body->memory, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(body->insns);
	free(body->constants);
	free(body);
}

static uint32_t ref_of(const struct bf_ptx_decoder *d, uint32_t v)
{
	if (v == BF_PTX_REF_NONE || (v & BF_PTX_REF_CONST) != 0)
		return v;
	return d->vregs[v].ref;
}

/* What registers begin as: pieces for those in `set`. */
static const struct bf_ptx_piece *set_pieces(struct bf_ptx_decoder *d, const uint64_t *set, uint32_t *count)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < d->global_count; g++)
		n += set[g / 64] >> (g & 63) & 1;
	struct bf_ptx_piece *pieces = bf_ptx_body_alloc(d, (n + 1u) * sizeof(*pieces));
	*count = 0;
	if (pieces == NULL)
		return NULL;
	for (uint32_t g = 0; g < d->global_count; g++) {
		if (!(set[g / 64] >> (g & 63) & 1))
			continue;
		const struct bf_ptx_vreg *r = &d->vregs[d->globals[g]];
		pieces[(*count)++] = (struct bf_ptx_piece){
			.ref = r->ref,
			.kind = r->cls == BF_PTX_CLASS_64     ? BF_PTX_PIECE_64
				: r->cls == BF_PTX_CLASS_PRED ? BF_PTX_PIECE_PRED
							      : BF_PTX_PIECE_32,
		};
	}
	return pieces;
}

static struct bf_ptx_insn *next_insn(struct bf_ptx_decoder *d, uint32_t control, uint32_t stmt, uint32_t count)
{
	struct bf_ptx_insn *i = &d->body->insns[d->body->insn_count++];

	*i = (struct bf_ptx_insn){ .stmt = stmt, .count = count };
	for (uint32_t k = 0; k < BF_PTX_KINDS; k++)
		i->run[k] = bf_ptx_controls[control];
	return i;
}

/* A guard before an operation: a narrower mask for arithmetic, else a way round it. */
static void emit_guard(struct bf_ptx_decoder *d, const struct bf_ptx_operation *o, uint32_t count)
{
	struct bf_ptx_insn *g = next_insn(d, o->simple ? BF_PTX_CONTROL_GUARD : BF_PTX_CONTROL_SKIP, o->stmt, count);

	g->d = ref_of(d, o->guard);
	g->mode = o->simple ? o->negate : !o->negate;
	g->target = g + 2;
}

/* A load that the quick handler takes: what it wants to know goes into the instruction. */
static void quick_load(struct bf_ptx_decoder *d, struct bf_ptx_insn *i)
{
	const struct bf_ptx_access *x = i->more;
	const struct bf_ptx_piece *to = &x->out[0];
	const int64_t offset = (int64_t)x->offset;

	if (!x->prepared.plain || (x->space != BF_PTX_SPACE_NONE && x->space != BF_PTX_GLOBAL) || x->count != 1 ||
	    x->bytes > 8 || x->base == BF_PTX_REF_NONE || !x->base_wide || x->origin != BF_PTX_ORIGIN_NONE ||
	    offset != (int32_t)offset || to->extend != BF_PTX_EXTEND_NONE ||
	    (to->kind != BF_PTX_PIECE_64 && (to->kind != BF_PTX_PIECE_32 || x->bytes > 4)))
		return;
	memcpy(i->run, d->code->lanes->run[BF_PTX_LANE_LOAD_QUICK], sizeof(i->run));
	i->d = to->ref;
	i->a = x->base;
	i->e = (uint32_t)offset;
	i->b = 0;
	i->mode = x->bytes | (to->kind == BF_PTX_PIECE_64 ? BF_PTX_QUICK_WIDE : 0);
}

/* `count` statements lie before the operation, `after` of them behind it. */
static void emit_operation(struct bf_ptx_decoder *d, const struct bf_ptx_operation *o, uint32_t count, uint32_t after)
{
	if (o->guard != BF_PTX_REF_NONE)
		emit_guard(d, o, count);
	struct bf_ptx_insn *i = next_insn(d, o->control ? o->op : BF_PTX_CONTROL_MARK, o->stmt, count);
	if (!o->control)
		memcpy(i->run, d->code->lanes->run[o->op], sizeof(i->run));
	uint32_t *const fields[BF_PTX_FIELDS] = { &i->d, &i->e, &i->a, &i->b, &i->c };
	for (uint32_t f = 0; f < BF_PTX_FIELDS; f++)
		*fields[f] = o->roles[f] == BF_PTX_ROLE_RAW ? o->v[f] : ref_of(d, o->v[f]);
	i->mode = o->mode;
	if (o->more != NULL)
		i->more = o->more;
	else
		i->imm = o->imm;
	for (uint32_t e = o->list; e < o->list + o->list_count; e++)
		*d->list[e].patch = ref_of(d, d->list[e].v);
	if (!o->control && o->op == BF_PTX_LANE_LOAD)
		quick_load(d, i);
	if (o->guard != BF_PTX_REF_NONE && o->simple)
		next_insn(d, BF_PTX_CONTROL_ALL, o->stmt, count);
	else if (o->mark || o->guard != BF_PTX_REF_NONE)
		next_insn(d, BF_PTX_CONTROL_MARK, o->stmt, after);
}

/* Targets of branches are block numbers until all blocks have their places. */
static void link_branches(struct bf_ptx_decoder *d)
{
	struct bf_ptx_body *body = d->body;

	for (uint32_t k = 0; k < d->order_count; k++) {
		struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		if (b->branch == BF_PTX_NONE)
			continue;
		struct bf_ptx_insn *i = &body->insns[b->branch];
		if (b->targets != NULL) {
			struct bf_ptx_switch *s =
			    bf_ptx_body_alloc(d, sizeof(*s) + b->targets->target_count * sizeof(s->targets[0]));
			if (s == NULL)
				return;
			s->count = b->targets->target_count;
			for (uint32_t n = 0; n < s->count; n++)
				s->targets[n] = &body->insns[d->blocks[d->block_of_label[b->targets->targets[n]]].insn];
			i->more = s;
			continue;
		}
		const struct bf_ptx_basic_block *to = &d->blocks[b->jump];
		i->target = &body->insns[to->insn];
	}
}

/* Rows that are alive where a backward branch leads. */
static void emit_backs(struct bf_ptx_decoder *d)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < d->order_count; k++) {
		const struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		if (b->branch != BF_PTX_NONE && b->targets == NULL && d->blocks[b->jump].order <= b->order &&
		    d->blocks[b->jump].back == BF_PTX_REF_NONE)
			d->blocks[b->jump].back = count++;
	}
	struct bf_ptx_back *backs = bf_ptx_body_alloc(d, (count + 1u) * sizeof(*backs));
	if (backs == NULL)
		return;
	d->body->backs = backs;
	for (uint32_t k = 0; k < d->order_count; k++) {
		struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		if (b->back != BF_PTX_REF_NONE)
			backs[b->back].live = set_pieces(d, b->live_in, &backs[b->back].live_count);
	}
	for (uint32_t k = 0; k < d->order_count; k++) {
		const struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		if (b->branch != BF_PTX_NONE && b->targets == NULL)
			d->body->insns[b->branch].a = d->blocks[b->jump].back;
	}
}

static void emit_block(struct bf_ptx_decoder *d, uint32_t at, uint32_t *count)
{
	struct bf_ptx_basic_block *b = &d->blocks[d->order[at]];
	const struct bf_ptx_operation *last = &d->ops[b->end - 1];
	uint32_t stmt = BF_PTX_NONE;

	b->insn = d->body->insn_count;
	b->branch = BF_PTX_NONE;
	next_insn(d, BF_PTX_CONTROL_MARK, d->ops[b->first].stmt, *count);
	for (uint32_t k = b->first; k < b->end; k++) {
		const struct bf_ptx_operation *o = &d->ops[k];
		const bool jump = o->control && o->op == BF_PTX_CONTROL_JUMP;
		*count += o->stmt != stmt && stmt != BF_PTX_NONE;
		stmt = o->stmt;
		/* A jump to the next block is nothing. */
		if (jump && at + 1 < d->order_count && d->order[at + 1] == b->next[1])
			continue;
		if (k + 1 == b->end && o->control &&
		    (jump || o->op == BF_PTX_CONTROL_BRANCH || o->op == BF_PTX_CONTROL_SWITCH)) {
			b->branch = d->body->insn_count;
			b->jump = b->next[1];
		}
		const bool done = k + 1 == b->end || d->ops[k + 1].stmt != o->stmt;
		emit_operation(d, o, *count, *count + done);
	}
	(*count)++;
	/* What it falls through to stands elsewhere. */
	if (b->next[0] == BF_PTX_NONE || (at + 1 < d->order_count && d->order[at + 1] == b->next[0]))
		return;
	if (b->branch == BF_PTX_NONE) {
		b->branch = d->body->insn_count;
		b->jump = b->next[0];
		next_insn(d, BF_PTX_CONTROL_JUMP, last->stmt, *count);
		return;
	}
	/* A branch has its two ways in two blocks: what follows it is a block of one jump. */
	next_insn(d, BF_PTX_CONTROL_MARK, last->stmt, *count);
	b->over = d->body->insn_count;
	next_insn(d, BF_PTX_CONTROL_JUMP, last->stmt, *count);
}

static void link_jumps_over(struct bf_ptx_decoder *d)
{
	for (uint32_t k = 0; k < d->order_count; k++) {
		const struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		if (b->over == 0)
			continue;
		struct bf_ptx_insn *i = &d->body->insns[b->over];
		i->target = &d->body->insns[d->blocks[b->next[0]].insn];
		i->a = d->blocks[b->next[0]].back;
	}
}

static int emit_code(struct bf_ptx_decoder *d)
{
	struct bf_ptx_body *body = d->body;
	uint32_t count = 0;
	/* At most a guard, itself and what follows a guard for each; a mark, a mark and a jump for each block. */
	const size_t most = 3 * (size_t)d->op_count + 3 * (size_t)d->order_count + 1;

	body->insns = aligned_alloc(64, most * sizeof(*body->insns));
	if (body->insns == NULL)
		return -1;
	for (uint32_t k = 0; k < d->order_count; k++)
		emit_block(d, k, &count);
	link_branches(d);
	emit_backs(d);
	link_jumps_over(d);
	if (!d->failed)
		body->clear = set_pieces(d, d->blocks[0].live_in, &body->clear_count);
	body->frame_bytes = d->frame_bytes;
	body->local_bytes = (d->local_bytes + 15) & ~15u;
	body->local_align = d->fn->local_align > 16 ? d->fn->local_align : 16;
	body->constants = aligned_alloc(64, (d->constant_bytes + 63 + 256) & ~(size_t)63);
	if (body->constants == NULL)
		return -1;
	if (d->constant_bytes != 0)
		memcpy(body->constants, d->constants, d->constant_bytes);
	return d->failed ? -1 : 0;
}

static int decode(struct bf_ptx_decoder *d)
{
	const struct bf_ptx_func *fn = d->fn;

	d->reg_first = calloc(fn->reg_count + 1u, sizeof(*d->reg_first));
	d->params = calloc(fn->var_count + 1u, sizeof(*d->params));
	d->stmt_op = calloc(fn->stmt_count + 1u, sizeof(*d->stmt_op));
	if (d->reg_first == NULL || d->params == NULL || d->stmt_op == NULL)
		return -1;
	d->carry = BF_PTX_REF_NONE;
	d->local_bytes = fn->local_size;
	for (uint32_t r = 0; r < fn->reg_count; r++) {
		d->reg_first[r] = bf_ptx_vreg_new(d, bf_ptx_class_of(fn->reg_types[r]));
		if (bf_ptx_bits(fn->reg_types[r]) == 128)
			bf_ptx_vreg_new(d, BF_PTX_CLASS_64);
	}
	d->program_vregs = d->vreg_count;
	if (d->failed)
		return -1;
	bf_ptx_lower(d);
	if (d->failed || bf_ptx_flow(d) != 0 || bf_ptx_colour(d) != 0)
		return -1;
	return emit_code(d);
}

static void decoder_free(struct bf_ptx_decoder *d)
{
	free(d->ops);
	free(d->list);
	free(d->vregs);
	free(d->reg_first);
	free(d->params);
	free(d->stmt_op);
	free(d->constants);
	free(d->constant_table);
	free(d->blocks);
	free(d->block_of_label);
	free(d->order);
	free(d->globals);
	free(d->sets);
}

struct bf_ptx_body *bf_ptx_body_get(struct bf_ptx_code *code, const struct bf_ptx_func *fn, const char **text)
{
	*text = "no memory to decode a function";
	if (code->bodies[fn->number] != NULL)
		return code->bodies[fn->number];
	struct bf_ptx_body *body = calloc(1, sizeof(*body));
	if (body == NULL)
		return NULL;
	body->code = code;
	body->fn = fn;
	struct bf_ptx_decoder d = { .code = code, .program = code->opts.program, .fn = fn, .body = body };
	const int rc = decode(&d);
	decoder_free(&d);
	if (rc != 0) {
		body_free(body);
		return NULL;
	}
	code->bodies[fn->number] = body;
	return body;
}

int bf_ptx_code_create(const struct bf_ptx_code_opts *opts, struct bf_ptx_code **out, struct bf_error *err)
{
	struct bf_ptx_code *code = calloc(1, sizeof(*code));

	if (code == NULL)
		return bf_fail(err, -ENOMEM, "no memory for a PTX program");
	code->opts = *opts;
	code->lanes = BF_VECTORS_BEST(bf_ptx_lanes);
	code->bodies = calloc(opts->program->func_count + 1u, sizeof(struct bf_ptx_body *));
	if (code->bodies == NULL) {
		free(code);
		return bf_fail(err, -ENOMEM, "no memory for a PTX program");
	}
	*out = code;
	return 0;
}

void bf_ptx_code_destroy(struct bf_ptx_code *code)
{
	if (code == NULL)
		return;
	for (uint32_t k = 0; k < code->opts.program->func_count; k++)
		body_free(code->bodies[k]);
	free(code->bodies);
	free(code);
}

int bf_ptx_entry_get(struct bf_ptx_code *code, const struct bf_ptx_func *fn, struct bf_ptx_entry **out,
		     struct bf_error *err)
{
	const char *text;

	if (!fn->entry || !fn->defined)
		return bf_fail(err, -EINVAL, "%s is not a kernel with a body", fn->name);
	struct bf_ptx_body *body = bf_ptx_body_get(code, fn, &text);
	if (body == NULL)
		return bf_fail(err, -ENOMEM, "%s: %s", fn->name, text);
	*out = (struct bf_ptx_entry *)body;
	return 0;
}

bool bf_ptx_code_refusal(struct bf_ptx_code *code, const struct bf_ptx_func *fn, uint32_t *at,
			 const struct bf_ptx_stmt **stmt, const char **text)
{
	const struct bf_ptx_body *body = fn->defined ? bf_ptx_body_get(code, fn, text) : NULL;

	for (; body != NULL && *at < body->insn_count; (*at)++) {
		const struct bf_ptx_insn *i = &body->insns[*at];
		if (i->run[0] != bf_ptx_controls[BF_PTX_CONTROL_TRAP] || i->mode != BF_PTX_TRAP_REFUSE)
			continue;
		*stmt = &fn->stmts[i->stmt];
		*text = i->more;
		(*at)++;
		return true;
	}
	return false;
}
