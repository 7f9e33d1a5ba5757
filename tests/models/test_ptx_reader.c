/* What the PTX reader makes of texts: names, numbers, operands, forms, blocks, places in the source, and mistakes. */
#include "tests/models/ptx_text.h"

static const struct bf_ptx_func *kernel(const struct bf_ptx_program *p)
{
	const struct bf_ptx_func *f = bf_ptx_find_func(p, "k");

	ck_assert_ptr_nonnull(f);
	return f;
}

static void reg_is(const struct bf_ptx_func *f, const struct bf_ptx_operand *o, const char *name)
{
	char buf[64];

	ck_assert_int_eq(o->kind, BF_PTX_OPERAND_REG);
	ck_assert_str_eq(bf_ptx_reg_name(f, o->index, buf, sizeof(buf)), name);
}

START_TEST(test_registers)
{
	struct bf_ptx_program *p = link_text(KERNEL(".reg .b32 %r<100>, %own;\n"
						    ".reg .b64 %r1<20>;\n"
						    ".reg .v4 .f32 %v;\n"
						    "mov.b32 %r7, %own;\n"
						    "mov.b32 %r99, %r0;\n"
						    "mov.b32 %own, %r12;\n"
						    "mov.f32 %v.z, %v.x;\n"
						    "{ .reg .b32 %own, %r5; mov.b32 %own, %r5; }\n"
						    "mov.b32 %r5, %own;"));
	const struct bf_ptx_func *f = kernel(p);
	const struct bf_ptx_stmt *s = f->stmts;

	ck_assert_uint_eq(f->stmt_count, 6);
	ck_assert_uint_eq(f->reg_count, 100 + 1 + 20 + 4 + 2);
	reg_is(f, &s[0].operands[0], "%r7");
	reg_is(f, &s[0].operands[1], "%own");
	ck_assert_uint_eq(s[1].operands[0].index, 99);
	/* %r12 is number 12 of the first range and number 2 of the other one: the first declared range with that depth.
	 */
	ck_assert_uint_eq(s[2].operands[1].index, 12);
	reg_is(f, &s[3].operands[0], "%v.z");
	reg_is(f, &s[3].operands[1], "%v.x");
	ck_assert_uint_eq(f->reg_types[s[3].operands[0].index], BF_PTX_F32);
	ck_assert_uint_eq(s[4].operands[0].index, 125);
	ck_assert_uint_eq(s[4].operands[1].index, 126);
	ck_assert_uint_eq(s[5].operands[0].index, 5);
	ck_assert_uint_eq(s[5].operands[1].index, 100);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_numbers)
{
	struct bf_ptx_program *p = link_text(KERNEL(".reg .b32 %r<4>; .reg .b64 %d; .reg .f64 %e;\n"
						    "add.s32 %r0, %r1, -3;\n"
						    "mov.b64 %d, 0xffffffffffffffff;\n"
						    "mov.b32 %r0, 0b101;\n"
						    "mov.b32 %r0, 017;\n"
						    "mov.b32 %r0, (1 << 4) + WARP_SZ * 2 - 7 % 4;\n"
						    "mov.b32 %r0, -8 >> 1;\n"
						    "mov.b32 %r0, (.u64)-8 >> 1 == 0x7ffffffffffffffcU;\n"
						    "mov.f32 %r0, 0f7f800001;\n"
						    "mov.f64 %e, 0d3FF8000000000000;\n"
						    "mov.f64 %e, -1.5e1;\n"
						    "mov.b32 %r0, 1 ? 2 : 3;\n"
						    "mov.b32 %r0, ~0 & 255;\n"
						    "mov.f32 %r0, -0f3f800000;"));
	const struct bf_ptx_stmt *s = kernel(p)->stmts;
	static const uint64_t ints[] = { (uint64_t)-3, UINT64_MAX, 5, 15, 77, (uint64_t)-4, 1 };
	double d;

	for (uint32_t i = 0; i < 7; i++)
		ck_assert_uint_eq(s[i].operands[s[i].operand_count - 1].bits, ints[i]);
	ck_assert(s[7].operands[1].real);
	ck_assert_uint_eq(s[7].operands[1].width, 32);
	ck_assert_uint_eq(s[7].operands[1].single, 0x7f800001); /* a signalling NaN stays one */
	memcpy(&d, &s[8].operands[1].bits, sizeof(d));
	ck_assert_double_eq(d, 1.5);
	memcpy(&d, &s[9].operands[1].bits, sizeof(d));
	ck_assert_double_eq(d, -15.0);
	ck_assert_uint_eq(s[10].operands[1].bits, 2);
	ck_assert_uint_eq(s[11].operands[1].bits, 255);
	ck_assert_uint_eq(s[12].operands[1].single, 0xbf800000);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_forms)
{
	struct bf_ptx_program *p =
	    link_text(KERNEL(".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>; .shared .b64 bar;\n"
			     "ld.relaxed.gpu.global.L1::no_allocate.v4.u32 {%r0, %r1, _, %r3}, [%d0+-16];\n"
			     "atom.add.release.gpu.global.s32 %r0, [%d1], 1;\n"
			     "cvt.rn.satfinite.relu.e4m3x2.f32 %r0, %r1, %r2;\n"
			     "setp.lo.or.u32 %p0|%p1, %r0, %r1, !%p2;\n"
			     "mul.lo.u32 %r0, %r1, %r2;\n"
			     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
			     "[%r0], [%d0], %r1, [bar], %d2;\n"
			     "vote.sync.uni.pred %p0, %p1, -1;\n"
			     "barrier.cta.sync.aligned 0;\n"
			     "membar.gl;\n"
			     "bra.uni END;\n"
			     "@!%p3 shfl .sync.idx .b32 %r0|%p0, %r1, 0, 31, -1;\n"
			     "END: ret;"));
	const struct bf_ptx_stmt *s = kernel(p)->stmts;
	const struct bf_ptx_form *f = s[0].form;

	ck_assert_int_eq(f->op, BF_PTX_OP_LD);
	ck_assert_uint_eq(f->vec, 4);
	ck_assert_uint_eq(f->types[0], BF_PTX_U32);
	ck_assert_uint_eq(f->sem, BF_PTX_RELAXED);
	ck_assert_uint_eq(f->scope, BF_PTX_SCOPE_GPU);
	ck_assert_uint_eq(f->space, BF_PTX_GLOBAL);
	ck_assert_ptr_null(f->unknown);
	ck_assert_int_eq(s[0].operands[0].kind, BF_PTX_OPERAND_VECTOR);
	ck_assert_int_eq(s[0].operands[0].elems[2].kind, BF_PTX_OPERAND_SINK);
	ck_assert_int_eq(s[0].operands[1].kind, BF_PTX_OPERAND_AT_REG);
	ck_assert_int_eq(s[0].operands[1].offset, -16);
	ck_assert_uint_eq(s[1].form->sub, BF_PTX_SUB_ADD);
	ck_assert_uint_eq(s[1].form->sem, BF_PTX_RELEASE);
	f = s[2].form;
	ck_assert_uint_eq(f->type_count, 2);
	ck_assert_uint_eq(f->types[0], BF_PTX_E4M3X2);
	ck_assert_uint_eq(f->types[1], BF_PTX_F32);
	ck_assert_uint_eq(f->round, BF_PTX_RN);
	ck_assert(f->flags == (BF_PTX_FLAG(SATFINITE) | BF_PTX_FLAG(RELU)));
	f = s[3].form;
	ck_assert_uint_eq(f->cmp, BF_PTX_CMP_LO);
	ck_assert_uint_eq(f->sub, BF_PTX_SUB_OR);
	ck_assert_uint_eq(f->flags, 0);
	ck_assert_int_eq(s[3].operands[0].kind, BF_PTX_OPERAND_PAIR);
	ck_assert(s[3].operands[3].negate);
	ck_assert(s[4].form->flags == BF_PTX_FLAG(LO_HALF));
	f = s[5].form;
	ck_assert_int_eq(f->op, BF_PTX_OP_CP_ASYNC_BULK);
	ck_assert_uint_eq(f->space, BF_PTX_SHARED_CLUSTER);
	ck_assert_uint_eq(f->space2, BF_PTX_GLOBAL);
	ck_assert(f->flags == (BF_PTX_FLAG(COMPLETE_TX) | BF_PTX_FLAG(CACHE_HINT)));
	ck_assert_int_eq(s[5].operands[3].kind, BF_PTX_OPERAND_AT_VAR);
	ck_assert_uint_eq(s[6].form->sub, BF_PTX_SUB_UNI);
	ck_assert_int_eq(s[7].form->op, BF_PTX_OP_BARRIER_SYNC);
	ck_assert(s[7].form->flags == BF_PTX_FLAG(ALIGNED));
	ck_assert_uint_eq(s[8].form->scope, BF_PTX_SCOPE_GPU);
	ck_assert(s[9].form->flags == BF_PTX_FLAG(UNIFORM));
	ck_assert_str_eq(s[10].form->text, "shfl.sync.idx.b32");
	ck_assert(s[10].guard_negate);
	ck_assert_uint_eq(kernel(p)->reg_types[s[10].guard], BF_PTX_PRED);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_labels)
{
	struct bf_ptx_program *p = link_text(KERNEL(".reg .b32 %r<2>; .reg .pred %q;\n"
						    "bra A;\n"
						    "{ bra A; bra B; A: mov.b32 %r0, 1; }\n"
						    "dead:\n"
						    "A: @%q bra A;\n"
						    "brx.idx %r0, table;\n"
						    "table: .branchtargets A, B, L<2>;\n"
						    "L0: L1:\n"
						    "B: ret;"));
	const struct bf_ptx_func *f = kernel(p);
	const struct bf_ptx_proto *t = &f->protos[f->stmts[5].operands[1].index];
	static const uint32_t targets[] = { 4, 6, 6, 6 };

	ck_assert_uint_eq(f->stmt_count, 7);
	ck_assert_uint_eq(f->labels[f->stmts[0].operands[0].index].stmt, 4); /* not the inner A */
	ck_assert_uint_eq(f->labels[f->stmts[1].operands[0].index].stmt, 3);
	ck_assert_uint_eq(f->labels[f->stmts[2].operands[0].index].stmt, 6);
	ck_assert_uint_eq(f->labels[f->stmts[4].operands[0].index].stmt, 4);
	ck_assert_int_eq(f->stmts[5].operands[1].kind, BF_PTX_OPERAND_PROTO);
	ck_assert_int_eq(t->kind, BF_PTX_PROTO_BRANCH_TARGETS);
	ck_assert_uint_eq(t->target_count, 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(f->labels[t->targets[i]].stmt, targets[i]);
	for (uint32_t i = 0; i < f->label_count; i++)
		ck_assert_int_eq(f->labels[i].target, strcmp(f->labels[i].name, "dead") != 0);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_special_registers)
{
	struct bf_ptx_program *p = link_text(KERNEL(".reg .b32 %r<4>; .reg .b64 %d;\n"
						    "mov.u32 %r0, %tid.y;\n"
						    "mov.u32 %r0, %envreg12;\n"
						    "mov.u64 %d, %clock64;\n"
						    "mov.u64 %d, %pm3_64;\n"
						    "mov.v4.u32 {%r0, %r1, %r2, %r3}, %ctaid;\n"
						    "mov.u32 %r0, %lanemask_lt;"));
	const struct bf_ptx_stmt *s = kernel(p)->stmts;

	ck_assert_uint_eq(s[0].operands[1].index, BF_PTX_SREG_TID);
	ck_assert_uint_eq(s[0].operands[1].part, 1);
	ck_assert_uint_eq(s[1].operands[1].index, BF_PTX_SREG_ENVREG);
	ck_assert_int_eq(s[1].operands[1].offset, 12);
	ck_assert_uint_eq(s[2].operands[1].index, BF_PTX_SREG_CLOCK64);
	ck_assert_uint_eq(s[3].operands[1].index, BF_PTX_SREG_PM_64);
	ck_assert_int_eq(s[3].operands[1].offset, 3);
	ck_assert_int_eq(s[4].operands[1].kind, BF_PTX_OPERAND_VECTOR);
	ck_assert_uint_eq(s[4].operands[1].elems[3].part, 3);
	ck_assert_uint_eq(s[5].operands[1].index, BF_PTX_SREG_LANEMASK_LT);
	bf_ptx_program_destroy(p);
}
END_TEST

/* The call sequence of nvcc, an indirect call, frames. */
START_TEST(test_calls)
{
	struct bf_ptx_program *p = link_text(
	    HEAD
	    ".func (.param .b32 out) f(.param .b32 a, .param .align 8 .b8 s[20]);\n"
	    ".func g() { ret; }\n"
	    ".visible .entry k(.param .u8 c, .param .u64 p) .maxntid 256, 1, 1 .reqnctapercluster 4, 1, 1\n"
	    "{ .reg .b32 %r<4>; .reg .b64 %d<2>; .local .align 16 .b8 depot[40];\n"
	    "mov.u64 %d0, f;\n"
	    "{ .reg .b32 temp_param_reg; .param .b32 param0; .param .align 8 .b8 param1[20]; .param .b32 retval0;\n"
	    "st.param.b32 [param0+0], 5;\n"
	    "call.uni (retval0), f, (param0, param1);\n"
	    "ld.param.b32 %r0, [retval0+0]; }\n"
	    "{ .param .b32 param0; .param .align 8 .b8 param1[20]; .param .b32 retval0;\n"
	    "prototype_5 : .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[20]);\n"
	    "call (retval0), %d0, (param0, param1), prototype_5; }\n"
	    "call g; ret; }\n"
	    ".func (.param .b32 out) f(.param .b32 a, .param .align 8 .b8 s[20])\n"
	    "{ .reg .b64 %d; mov.b64 %d, s; st.param.b32 [out], 1; ret; }\n");
	const struct bf_ptx_func *k = kernel(p), *f = bf_ptx_find_func(p, "f");
	const struct bf_ptx_stmt *call = &k->stmts[2], *indirect = &k->stmts[4];

	ck_assert_uint_eq(k->param_size, 16);
	ck_assert_uint_eq(k->signature.params[1].offset, 8);
	ck_assert_uint_eq(k->maxntid[0], 256);
	ck_assert_uint_eq(k->cluster[0], 4);
	ck_assert_uint_eq(k->local_size, 40);
	ck_assert_uint_eq(k->local_align, 16);
	ck_assert_uint_eq(k->call_size, 4 + 4 + 20 + 4); /* the second block lies where the first one did */
	ck_assert_uint_eq(call->operand_count, 3);
	ck_assert_uint_eq(call->operands[0].count, 1);
	ck_assert_int_eq(call->operands[1].kind, BF_PTX_OPERAND_FUNC);
	ck_assert_ptr_eq(p->funcs[p->funcs[call->operands[1].index]->def], f);
	ck_assert_uint_eq(call->operands[2].count, 2);
	ck_assert(!p->vars[call->operands[2].elems[0].index]->addressed);
	ck_assert_uint_eq(indirect->operand_count, 4);
	ck_assert_int_eq(indirect->operands[1].kind, BF_PTX_OPERAND_REG);
	ck_assert_uint_eq(k->protos[indirect->operands[3].index].signature.params[1].size, 20);
	ck_assert_uint_eq(k->stmts[5].operand_count, 3);
	ck_assert_uint_eq(k->stmts[5].operands[0].count, 0);
	ck_assert(p->vars[f->signature.params[1].var]->addressed);
	ck_assert(!p->vars[f->signature.params[0].var]->addressed);
	ck_assert(k->kernel->indirect);
	ck_assert(!k->kernel->recursive);
	ck_assert_uint_eq(k->kernel->func_count, 3);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_source_places)
{
	struct bf_ptx_program *p = link_text(HEAD ".visible .entry k() {\n"
						  ".loc 1 7 3\n"
						  "membar.cta;\n"
						  ".loc 2 4 9, function_name $L__info_string0+2, inlined_at 1 7 3\n"
						  "membar.gl;\n"
						  ".loc 9 1 0\n"
						  "ret; }\n"
						  ".file 1 \"/src/a.cu\", 12, 34\n.file 2 \"/src\" \"b.h\"\n"
						  ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,102\n.b8 0\n}\n"
						  ".section .debug_info { .b32 12 .b64 $L__x+4 .b32 a-b }\n");
	const struct bf_ptx_func *f = kernel(p);
	const struct bf_ptx_loc *l = bf_ptx_loc(p, f, &f->stmts[1]);
	char buf[64];

	ck_assert_str_eq(bf_ptx_where(p, f, &f->stmts[0], buf, sizeof(buf)), "/src/a.cu:7");
	ck_assert_str_eq(bf_ptx_where(p, f, &f->stmts[1], buf, sizeof(buf)), "/src/b.h:4");
	ck_assert_str_eq(bf_ptx_where(p, f, &f->stmts[2], buf, sizeof(buf)), "?:1");
	ck_assert_uint_eq(l->column, 9);
	ck_assert_str_eq(l->function, "f");
	ck_assert_uint_eq(p->modules[0]->locs[l->inlined_at].line, 7);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_without_loc)
{
	struct bf_ptx_program *p = link_text(KERNEL("\n  ret;"));
	const struct bf_ptx_func *f = kernel(p);
	char buf[64];

	ck_assert_str_eq(bf_ptx_where(p, f, &f->stmts[0], buf, sizeof(buf)), "m.ptx:6");
	ck_assert_uint_eq(f->stmts[0].column, 3);
	bf_ptx_program_destroy(p);
}
END_TEST

/* Comments, preprocessor lines, blank lines before and NUL bytes behind: fat binaries and nvcc have them. */
START_TEST(test_outside_of_statements)
{
	static const char text[] = "\n\n// c\n/* d\n */\n# 1 \"x.cu\"\n" KERNEL("ret ; // end") "\n\0\0\0";
	struct bf_ptx_program *p = bf_ptx_program_create();

	ck_assert_int_eq(bf_ptx_program_add(p, "m", text, sizeof(text)), 0);
	ck_assert_uint_eq(p->modules[0]->sm, 90);
	ck_assert_int_eq(p->modules[0]->sm_suffix, 'a');
	ck_assert_uint_eq(p->modules[0]->version_major, 8);
	ck_assert_uint_eq(p->modules[0]->version_minor, 4);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_excerpt)
{
	static const char text[] = HEAD ".visible .entry k() { ret; }\n"
					"mov.b32 %r0, %r1;\n{ call f; }\n$L_1:\nret;\n}\n"
					".visible .entry k2() { ret; }\n";
	struct bf_ptx_strays strays = { 0 };
	struct bf_ptx_program *p = bf_ptx_program_create();

	ck_assert_int_eq(bf_ptx_program_add_excerpt(p, "m", text, strlen(text), &strays), 0);
	ck_assert_uint_eq(strays.count, 1);
	ck_assert_uint_eq(strays.line, 5);
	ck_assert_int_eq(bf_ptx_link(p, NULL), 0);
	ck_assert_ptr_nonnull(bf_ptx_find_func(p, "k2"));
	bf_ptx_program_destroy(p);
	refused(text, "m.ptx:5:1: a directive of a module (.entry, .func, .global, ...) expected, here is `mov`");
}
END_TEST

/* Each with the place and the reason. */
static const struct {
	const char *text, *message;
} mistakes[] = {
	{ "", "m.ptx:1:1: .version, with which PTX begins, expected, but here the text ends" },
	{ ".version 8", "m.ptx:1:10: a version like 8.4 expected, here is `8`" },
	{ ".version 8.4\n.target sm_x", "m.ptx:2:9: a target `sm_x`; sm_ and a number expected" },
	{ ".version 8.4\n.target sm_90\n.address_size 32\n",
	  "m.ptx:3:15: addresses of 32 bits: only modules with 64 are read" },
	{ KERNEL("add.s32 %r0, %r1, 2;"), "m.ptx:5:9: `%r0` is not declared" },
	{ KERNEL(".reg .b32 %r<2>;\nadd.s32 %r0, %r2, 2;"), "m.ptx:6:14: `%r2` is not declared" },
	{ KERNEL(".reg .b32 %r<2>;\nadd.s32 %r0, %r01, 2;"), "m.ptx:6:14: `%r01` is not declared" },
	{ KERNEL(".reg .b32 %r<2>;\nadd.s32 %r0, %r1;"), "m.ptx:6:1: `add.s32` takes 3 operands, here are 2" },
	{ KERNEL("ret"), "m.ptx:6:1: `;` or `,` expected, here is `}`" },
	{ KERNEL("bra NOWHERE;"), "m.ptx:5:5: no label `NOWHERE` in this function, or none that this block can see" },
	{ KERNEL("bra A; { A: }"), "m.ptx:5:5: no label `A` in this function, or none that this block can see" },
	{ KERNEL(".reg .b32 %a; .reg .b32 %a;"), "m.ptx:5:25: `%a` is declared twice in this block" },
	{ KERNEL("A: A: ret;"), "m.ptx:5:4: `A` is declared twice in this block" },
	{ KERNEL(".reg .b32 %a;\n@%a ret;"), "m.ptx:6:2: `%a` is not a predicate" },
	{ KERNEL(".reg .b32 %a;\nmov.b32 %a, 0f3f80;"), "m.ptx:6:13: 0f takes 8 hexadecimal digits" },
	{ KERNEL(".reg .b32 %a;\nmov.b32 %a, 12ab;"), "m.ptx:6:13: `12ab` is not a number" },
	{ KERNEL(".reg .b32 %a;\nmov.b32 %a, 0x10000000000000000;"), "m.ptx:6:13: a number of more than 64 bits" },
	{ KERNEL(".reg .b32 %a;\nmov.b32 %a, 1/0;"), "m.ptx:6:16: division by zero" },
	{ KERNEL(".reg .b32 %a;\nld.global.b32 %a, [%a+%a];"), "m.ptx:6:23: a constant expected, here is `%a`" },
	{ KERNEL("call f;"), "m.ptx:5:6: `f` is not declared" },
	{ HEAD ".func f(.param .b32 a) { ret; }\n.func g() { call f; }",
	  "m.ptx:5:18: `f` takes 1 arguments and returns 0, this call has 0 and 0" },
	{ HEAD ".func f() { ret; }\n.func f() { ret; }", "m.ptx:5:7: `f` has a second body, the first is in line 4" },
	{ HEAD ".global .b32 a; .global .b32 a;", "m.ptx:4:30: `a` is declared twice, first in line 4" },
	{ HEAD ".global .b32 a[2] = {1, 2, 3};", "m.ptx:4:28: more values than the variable has elements" },
	{ HEAD ".shared .b32 a = 1;", "m.ptx:4:18: variables in .shared cannot have an initialiser" },
	{ HEAD ".global .b32 a[];", "m.ptx:4:14: `a` has neither a size nor an initialiser" },
	{ HEAD ".global .align 3 .b32 a;", "m.ptx:4:16: an alignment of 3 is not a power of two" },
	{ HEAD ".global .b8 a = g;", "m.ptx:4:17: `g` is not declared" },
	{ HEAD ".global .b32 g; .global .b8 a = g;",
	  "m.ptx:4:34: an address needs elements of 4 or 8 bytes, or a mask" },
	{ HEAD ".global .pred a;", "m.ptx:4:15: a variable of type .pred" },
	{ HEAD "/* x", "m.ptx:4:1: a comment begins here and does not end" },
	{ HEAD ".file 1 \"x", "m.ptx:4:9: a string begins here and does not end on its line" },
	{ HEAD "\x01", "m.ptx:4:1: a byte 0x01 that PTX has no use for" },
	{ HEAD ".visible .entry k() .frob { }",
	  "m.ptx:4:21: `{`, `;` or a directive for this function expected, here is `.frob`" },
	{ HEAD ".visible .entry k() {",
	  "m.ptx:4:22: an instruction, a label, a declaration or `}` expected, but here the text ends" },
	{ HEAD ".alias a, b;", "m.ptx:4:8: `a` is to be an alias of `b`, which is not defined" },
};

START_TEST(test_mistake)
{
	refused(mistakes[_i].text, mistakes[_i].message);
}
END_TEST

/* A text that ends anywhere is an error or a shorter module, never more. */
START_TEST(test_cut_off)
{
	static const char text[] =
	    HEAD ".global .align 8 .u64 t[3] = {0, generic(t)+8, 0xFF};\n"
		 ".visible .entry k(.param .u64 p) {\n"
		 ".reg .b32 %r<4>; .reg .pred %p; .loc 1 2 3, function_name a, inlined_at 1 2 3\n"
		 "@!%p ld.global.v2.b32 {%r0, _}, [t+8];\n"
		 "x: .branchtargets L<2>;\n L0: L1: brx.idx %r0, x;\n"
		 "{ call (%r0), %r1, (%r2, 1.5, 0f3f800000), y; y: .callprototype (.param .b32 _) _ (); } }\n"
		 ".section .debug_str { a: .b8 1 }\n";

	for (size_t len = 0; len < sizeof(text); len++) {
		struct bf_ptx_program *p = bf_ptx_program_create();

		if (bf_ptx_program_add(p, "m", text, len) == 0)
			ck_assert(bf_ptx_link(p, NULL) <= 0);
		else
			ck_assert_ptr_nonnull(strstr(p->error.text, "m:"));
		bf_ptx_program_destroy(p);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ptx_reader");
	TCase *tc = tcase_create("reader");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_registers);
	tcase_add_test(tc, test_numbers);
	tcase_add_test(tc, test_forms);
	tcase_add_test(tc, test_labels);
	tcase_add_test(tc, test_special_registers);
	tcase_add_test(tc, test_calls);
	tcase_add_test(tc, test_source_places);
	tcase_add_test(tc, test_without_loc);
	tcase_add_test(tc, test_outside_of_statements);
	tcase_add_test(tc, test_excerpt);
	tcase_add_loop_test(tc, test_mistake, 0, (int)(sizeof(mistakes) / sizeof(mistakes[0])));
	tcase_add_test(tc, test_cut_off);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
