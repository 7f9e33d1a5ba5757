/*
 * Instructions of the machine, when their function is decoded: what each is becomes a few words, so that performing it
 * looks at no modifier. What is not known here is refused by name, when a lane gets there.
 */
#include <errno.h>
#include <stdio.h>

#include "models/ptx/machine_internal.h"

enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_RED }; /* barrier.c's */

static int refuse(struct bf_ptx_prepared *op, const char *why)
{
	snprintf(op->text, sizeof(op->text), "%s", why); /* the decoder names the instruction */
	return -ENOTSUP;
}

static bool is_address(const struct bf_ptx_operand *o)
{
	return o->kind == BF_PTX_OPERAND_AT_REG || o->kind == BF_PTX_OPERAND_AT_VAR || o->kind == BF_PTX_OPERAND_AT_IMM;
}

/* Spaces as place.c knows them. */
static uint32_t space_of(uint32_t space)
{
	switch (space) {
	case BF_PTX_SHARED_CTA:
	case BF_PTX_SHARED_CLUSTER:
		return BF_PTX_SHARED;
	case BF_PTX_PARAM_ENTRY:
		return BF_PTX_PARAM;
	default:
		return space;
	}
}

/* A cluster is within its GPU: what reaches the GPU's point of coherence reaches it. */
static uint32_t scope_of(uint32_t scope, enum bf_scope other)
{
	switch ((enum bf_ptx_scope)scope) {
	case BF_PTX_SCOPE_CTA:
		return BF_SCOPE_CTA;
	case BF_PTX_SCOPE_CLUSTER:
	case BF_PTX_SCOPE_GPU:
		return BF_SCOPE_GPU;
	case BF_PTX_SCOPE_SYS:
		return BF_SCOPE_SYS;
	default:
		return other;
	}
}

static uint32_t sem_of(uint32_t sem, enum bf_sem other)
{
	switch ((enum bf_ptx_sem)sem) {
	case BF_PTX_WEAK:
		return BF_WEAK;
	case BF_PTX_VOLATILE:
	case BF_PTX_RELAXED:
		return BF_RELAXED;
	case BF_PTX_ACQUIRE:
		return BF_ACQUIRE;
	case BF_PTX_RELEASE:
		return BF_RELEASE;
	case BF_PTX_ACQ_REL:
	case BF_PTX_SC:
		return BF_ACQ_REL;
	default:
		return other;
	}
}

static void common(const struct bf_ptx_form *f, struct bf_ptx_prepared *op, enum bf_ptx_does does)
{
	const enum bf_ptx_type type = f->type_count ? (enum bf_ptx_type)f->types[f->type_count - 1] : BF_PTX_TYPE_NONE;

	op->words[BF_PTX_W_DOES] = does;
	op->words[BF_PTX_W_SPACE] = space_of(f->space);
	op->words[BF_PTX_W_SEM] = sem_of(f->sem, BF_WEAK);
	op->words[BF_PTX_W_SCOPE] = scope_of(f->scope, BF_SCOPE_SYS);
	op->words[BF_PTX_W_BYTES] = bf_ptx_type_bits(type) / 8;
	op->words[BF_PTX_W_ELEMS] = f->vec ? f->vec : 1;
	op->words[BF_PTX_W_SUB] = f->sub;
	op->words[BF_PTX_W_TYPE] = type;
}

static int access_(const struct bf_ptx_form *f, struct bf_ptx_prepared *op, enum bf_ptx_does does)
{
	const uint32_t space = space_of(f->space);

	common(f, op, does);
	if (f->flags & BF_PTX_FLAG(MMIO))
		op->words[BF_PTX_W_SEM] = BF_RELAXED;
	if (f->flags & BF_PTX_FLAG(NC))
		op->words[BF_PTX_W_SEM] = BF_WEAK;
	/* Volatile reaches the system (PTX ISA, "ld"); in shared memory it orders nothing that weak does not. */
	if (f->sem == BF_PTX_VOLATILE)
		op->words[BF_PTX_W_SCOPE] = BF_SCOPE_SYS;
	op->plain = op->words[BF_PTX_W_SEM] == BF_WEAK;
	if (!op->words[BF_PTX_W_BYTES] || op->words[BF_PTX_W_BYTES] * op->words[BF_PTX_W_ELEMS] > 32)
		return refuse(op, "of more bytes than an access has");
	if (does == BF_PTX_DOES_STORE && (space == BF_PTX_CONST || space == BF_PTX_PARAM))
		return refuse(op, "a store to what is read-only");
	if (space != BF_PTX_SPACE_NONE && space != BF_PTX_GLOBAL && space != BF_PTX_SHARED && space != BF_PTX_CONST &&
	    space != BF_PTX_PARAM)
		return refuse(op, "not in this state space");
	op->words[BF_PTX_W_OUTS] = does == BF_PTX_DOES_LOAD;
	/* What is not to stay in the cache is found anew. */
	op->words[BF_PTX_W_MORE] = (f->flags & BF_PTX_FLAG(NC)) != 0 && !strstr(f->text, "L1::no_allocate");
	return 0;
}

static int atomic(const struct bf_ptx_form *f, struct bf_ptx_prepared *op)
{
	common(f, op, BF_PTX_DOES_ATOMIC);
	op->words[BF_PTX_W_SEM] = sem_of(f->sem, BF_RELAXED);
	op->words[BF_PTX_W_SCOPE] = scope_of(f->scope, BF_SCOPE_GPU);
	op->words[BF_PTX_W_OUTS] = f->op == BF_PTX_OP_ATOM;
	if (!bf_ptx_atomic_known(f->sub, op->words[BF_PTX_W_TYPE]))
		return refuse(op, "no atomic of this kind");
	return 0;
}

static int fence(const struct bf_ptx_form *f, struct bf_ptx_prepared *op)
{
	common(f, op, BF_PTX_DOES_FENCE);
	/* Between virtual addresses of one location, of descriptors, of barriers just made: nothing is late here. */
	if (f->op == BF_PTX_OP_MEMBAR_PROXY)
		op->words[BF_PTX_W_DOES] = BF_PTX_DOES_NOTHING;
	if (f->op == BF_PTX_OP_FENCE_MBARRIER_INIT)
		op->words[BF_PTX_W_DOES] = BF_PTX_DOES_INIT_FENCE;
	if (f->op == BF_PTX_OP_FENCE_PROXY)
		op->words[BF_PTX_W_DOES] = f->flags & (BF_PTX_FLAG(ASYNC) | BF_PTX_FLAG(ASYNC_GENERIC))
					       ? BF_PTX_DOES_PROXY_FENCE
					       : BF_PTX_DOES_NOTHING;
	return 0;
}

/* Rows: the barrier, the count if there is one, the predicate of red. */
static int barrier(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op, uint32_t kind)
{
	const uint32_t first = kind == BARRIER_RED ? 1 : 0;
	const uint32_t ins = s->operand_count - first - (kind == BARRIER_RED ? 1 : 0);

	common(s->form, op, BF_PTX_DOES_BARRIER);
	op->words[BF_PTX_W_MORE] = kind;
	op->words[BF_PTX_W_MORE2] = ins > 1;
	op->words[BF_PTX_W_OUTS] = first;
	return 0;
}

/* mbarrier.*: whether a token is wanted, and what the row behind the address is. */
static int mbarrier(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op, enum bf_sync_op sync)
{
	const struct bf_ptx_form *f = s->form;
	const bool arrives = sync == BF_SYNC_ARRIVE || sync == BF_SYNC_ARRIVE_DROP;
	const bool tests = sync >= BF_SYNC_TEST_PARITY;
	const bool has_out = !is_address(&s->operands[0]);
	const uint32_t ins = s->operand_count - has_out;

	common(f, op, BF_PTX_DOES_MBARRIER);
	op->words[BF_PTX_W_SCOPE] = scope_of(f->scope, BF_SCOPE_CTA);
	op->words[BF_PTX_W_SEM] = sem_of(f->sem, arrives ? BF_RELEASE : tests ? BF_ACQUIRE : BF_RELAXED);
	op->words[BF_PTX_W_OUTS] = has_out && s->operands[0].kind != BF_PTX_OPERAND_SINK;
	op->words[BF_PTX_W_MORE] = sync;
	op->words[BF_PTX_W_MORE2] = ins > 1;
	op->words[BF_PTX_W_SUB] = arrives && (f->flags & BF_PTX_FLAG(EXPECT_TX));
	if (tests && !(f->flags & BF_PTX_FLAG(PARITY)))
		op->words[BF_PTX_W_MORE] = sync == BF_SYNC_TEST_PARITY ? BF_SYNC_TEST_STATE : BF_SYNC_TRY_STATE;
	return 0;
}

/* Rows: to, from, [source size or ignore-src], policy. */
static int copy(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op)
{
	const struct bf_ptx_operand *size = &s->operands[2];
	const bool hint = s->form->flags & BF_PTX_FLAG(CACHE_HINT);
	const bool has_more = s->operand_count > 3u + hint;

	common(s->form, op, BF_PTX_DOES_COPY);
	if (size->kind != BF_PTX_OPERAND_IMM || (size->bits != 4 && size->bits != 8 && size->bits != 16))
		return refuse(op, "copies 4, 8 or 16 bytes");
	op->words[BF_PTX_W_BYTES] = (uint32_t)size->bits;
	op->words[BF_PTX_W_MORE] = has_more ? 3 : 0;
	op->words[BF_PTX_W_MORE2] = 0;
	return 0;
}

/* Asynchronous reductions do what red does, but for compare-and-swap and exchange. */
static bool reduces(const struct bf_ptx_form *f)
{
	const uint32_t type = f->type_count ? f->types[f->type_count - 1] : BF_PTX_TYPE_NONE;

	return f->sub != BF_PTX_SUB_NONE && f->sub != BF_PTX_SUB_CAS && f->sub != BF_PTX_SUB_EXCH &&
	       bf_ptx_atomic_known(f->sub, type);
}

static int bulk(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op)
{
	const struct bf_ptx_form *f = s->form;
	const bool from_global = f->space2 == BF_PTX_GLOBAL, to_global = f->space == BF_PTX_GLOBAL;

	common(f, op, BF_PTX_DOES_BULK);
	if (f->flags & (BF_PTX_FLAG(CP_MASK) | BF_PTX_FLAG(IGNORE_OOB) | BF_PTX_FLAG(MULTICAST_ALL)))
		return refuse(op, "not on this GPU");
	op->words[BF_PTX_W_MORE] = from_global ? BF_BULK_LOAD : to_global ? BF_BULK_STORE : BF_BULK_PEER;
	op->words[BF_PTX_W_MORE2] = (f->flags & BF_PTX_FLAG(MULTICAST)) != 0;
	op->words[BF_PTX_W_SUB] = BF_PTX_SUB_NONE;
	if (f->op != BF_PTX_OP_CP_REDUCE_ASYNC_BULK)
		return 0;
	op->words[BF_PTX_W_SUB] = f->sub;
	return reduces(f) && !from_global ? 0 : refuse(op, "no reduction of this kind");
}

static int group_wait(const struct bf_ptx_form *f, struct bf_ptx_prepared *op, enum bf_ptx_does does)
{
	common(f, op, does);
	op->words[BF_PTX_W_MORE] = (f->flags & BF_PTX_FLAG(READ)) != 0;
	op->words[BF_PTX_W_MORE2] = f->op == BF_PTX_OP_CP_ASYNC_WAIT_ALL;
	return 0;
}

static int special(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op)
{
	const struct bf_ptx_operand *o = &s->operands[s->operand_count - 1];

	if (o->kind != BF_PTX_OPERAND_SREG)
		return refuse(op, "not an instruction of the machine");
	op->words[BF_PTX_W_DOES] = BF_PTX_DOES_SREG;
	op->words[BF_PTX_W_OUTS] = 1;
	op->words[BF_PTX_W_MORE] = o->index;
	op->words[BF_PTX_W_MORE2] = (uint32_t)o->offset;
	return 0;
}

static int nothing(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op)
{
	common(s->form, op, BF_PTX_DOES_NOTHING);
	op->words[BF_PTX_W_OUTS] = s->form->op == BF_PTX_OP_CREATEPOLICY;
	return 0;
}

static int plain(const struct bf_ptx_form *f, struct bf_ptx_prepared *op, enum bf_ptx_does does)
{
	common(f, op, does);
	return 0;
}

static int cluster_arrive(const struct bf_ptx_form *f, struct bf_ptx_prepared *op)
{
	common(f, op, BF_PTX_DOES_CLUSTER_ARRIVE);
	op->words[BF_PTX_W_SEM] = sem_of(f->sem, BF_RELEASE);
	return 0;
}

static int st_async(const struct bf_ptx_form *f, struct bf_ptx_prepared *op)
{
	common(f, op, BF_PTX_DOES_ST_ASYNC);
	op->words[BF_PTX_W_SEM] = BF_RELAXED;
	op->words[BF_PTX_W_SUB] = f->op == BF_PTX_OP_RED_ASYNC ? f->sub : BF_PTX_SUB_NONE;
	if (f->flags & BF_PTX_FLAG(MMIO) || space_of(f->space) == BF_PTX_GLOBAL)
		return refuse(op, "not on this GPU");
	if (f->op == BF_PTX_OP_RED_ASYNC && !reduces(f))
		return refuse(op, "no reduction of this kind");
	return 0;
}

/* Rows: the address, how many bytes; the value is 0 (PTX ISA, "st.bulk"). */
static int store_zeros(const struct bf_ptx_form *f, struct bf_ptx_prepared *op)
{
	common(f, op, BF_PTX_DOES_STORE_ZEROS);
	op->words[BF_PTX_W_BYTES] = 8;
	return 0;
}

/* Nothing that waits is ever taken away from a grid: try_cancel answers so. Then query_cancel's are zeros. */
static int try_cancel(const struct bf_ptx_form *f, struct bf_ptx_prepared *op)
{
	common(f, op, BF_PTX_DOES_TRY_CANCEL);
	op->words[BF_PTX_W_SEM] = BF_RELAXED;
	op->words[BF_PTX_W_SUB] = BF_PTX_SUB_NONE;
	op->words[BF_PTX_W_MORE] = (f->flags & BF_PTX_FLAG(MULTICAST_ALL)) != 0;
	return 0;
}

static int query_cancel(const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op)
{
	const struct bf_ptx_operand *o = &s->operands[0];

	common(s->form, op, BF_PTX_DOES_NOTHING);
	op->words[BF_PTX_W_OUTS] = o->kind == BF_PTX_OPERAND_VECTOR ? o->count : 1;
	return 0;
}

int bf_ptx_prepare(void *machine, const struct bf_ptx_stmt *stmt, struct bf_ptx_prepared *op)
{
	const struct bf_ptx_form *f = stmt->form;

	(void)machine;
	switch (f->op) {
	case BF_PTX_OP_LD:
	case BF_PTX_OP_LDU:
		return access_(f, op, BF_PTX_DOES_LOAD);
	case BF_PTX_OP_ST:
		return access_(f, op, BF_PTX_DOES_STORE);
	case BF_PTX_OP_ATOM:
	case BF_PTX_OP_RED:
		return atomic(f, op);
	case BF_PTX_OP_FENCE:
	case BF_PTX_OP_MEMBAR:
	case BF_PTX_OP_FENCE_PROXY:
	case BF_PTX_OP_FENCE_MBARRIER_INIT:
	case BF_PTX_OP_MEMBAR_PROXY:
		return fence(f, op);
	case BF_PTX_OP_BAR_SYNC:
	case BF_PTX_OP_BARRIER_SYNC:
		return barrier(stmt, op, BARRIER_SYNC);
	case BF_PTX_OP_BAR_ARRIVE:
	case BF_PTX_OP_BARRIER_ARRIVE:
		return barrier(stmt, op, BARRIER_ARRIVE);
	case BF_PTX_OP_BAR_RED:
	case BF_PTX_OP_BARRIER_RED:
		return barrier(stmt, op, BARRIER_RED);
	case BF_PTX_OP_BARRIER_CLUSTER_ARRIVE:
		return cluster_arrive(f, op);
	case BF_PTX_OP_BARRIER_CLUSTER_WAIT:
		return plain(f, op, BF_PTX_DOES_CLUSTER_WAIT);
	case BF_PTX_OP_NANOSLEEP:
		return plain(f, op, BF_PTX_DOES_SLEEP);
	case BF_PTX_OP_MBARRIER_INIT:
		return mbarrier(stmt, op, BF_SYNC_INIT);
	case BF_PTX_OP_MBARRIER_INVAL:
		return mbarrier(stmt, op, BF_SYNC_INVAL);
	case BF_PTX_OP_MBARRIER_ARRIVE:
		return mbarrier(stmt, op, BF_SYNC_ARRIVE);
	case BF_PTX_OP_MBARRIER_ARRIVE_DROP:
		return mbarrier(stmt, op, BF_SYNC_ARRIVE_DROP);
	case BF_PTX_OP_MBARRIER_EXPECT_TX:
		return mbarrier(stmt, op, BF_SYNC_EXPECT_TX);
	case BF_PTX_OP_MBARRIER_COMPLETE_TX:
		return mbarrier(stmt, op, BF_SYNC_COMPLETE_TX);
	case BF_PTX_OP_MBARRIER_TEST_WAIT:
		return mbarrier(stmt, op, BF_SYNC_TEST_PARITY);
	case BF_PTX_OP_MBARRIER_TRY_WAIT:
		return mbarrier(stmt, op, BF_SYNC_TRY_PARITY);
	case BF_PTX_OP_MBARRIER_PENDING_COUNT:
		return plain(f, op, BF_PTX_DOES_PENDING_COUNT);
	case BF_PTX_OP_ST_ASYNC:
	case BF_PTX_OP_RED_ASYNC:
		return st_async(f, op);
	case BF_PTX_OP_ST_BULK:
		return store_zeros(f, op);
	case BF_PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL:
		return try_cancel(f, op);
	case BF_PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL:
		return query_cancel(stmt, op);
	case BF_PTX_OP_CP_ASYNC:
		return copy(stmt, op);
	case BF_PTX_OP_CP_ASYNC_COMMIT_GROUP:
		return plain(f, op, BF_PTX_DOES_COPY_COMMIT);
	case BF_PTX_OP_CP_ASYNC_WAIT_GROUP:
	case BF_PTX_OP_CP_ASYNC_WAIT_ALL:
		return group_wait(f, op, BF_PTX_DOES_COPY_WAIT);
	case BF_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		common(f, op, BF_PTX_DOES_COPY_ARRIVE);
		op->words[BF_PTX_W_MORE] = (f->flags & BF_PTX_FLAG(NOINC)) != 0;
		return 0;
	case BF_PTX_OP_CP_ASYNC_BULK:
	case BF_PTX_OP_CP_REDUCE_ASYNC_BULK:
		return bulk(stmt, op);
	case BF_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
		return plain(f, op, BF_PTX_DOES_BULK_COMMIT);
	case BF_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		return group_wait(f, op, BF_PTX_DOES_BULK_WAIT);
	case BF_PTX_OP_BAR_WARP_SYNC: /* its lanes have fenced when they came: synced() */
	case BF_PTX_OP_PREFETCH:
	case BF_PTX_OP_PREFETCHU:
	case BF_PTX_OP_DISCARD:
	case BF_PTX_OP_APPLYPRIORITY:
	case BF_PTX_OP_CREATEPOLICY:
	case BF_PTX_OP_CP_ASYNC_BULK_PREFETCH:
	case BF_PTX_OP_GRIDDEPCONTROL_LAUNCH_DEPENDENTS:
	case BF_PTX_OP_GRIDDEPCONTROL_WAIT:
	case BF_PTX_OP_SETMAXNREG:
	case BF_PTX_OP_PMEVENT:
		return nothing(stmt, op);
	case BF_PTX_OP_MOV:
	case BF_PTX_OP_CVT:
		return special(stmt, op);
	default:
		return refuse(op, "not an instruction of this machine");
	}
}
