/* Several PTX modules as one program: symbols, places, initialisers, what kernels reach, what is refused. */
#include "tests/models/ptx_text.h"

static struct bf_ptx_program *program(const char *const *texts, uint32_t count)
{
	struct bf_ptx_program *p = bf_ptx_program_create();
	static const char *const names[] = { "a.ptx", "b.ptx", "c.ptx", "d.ptx" };

	for (uint32_t i = 0; i < count; i++)
		ck_assert_msg(bf_ptx_program_add(p, names[i], texts[i], strlen(texts[i])) == 0, "%s", p->error.text);
	return p;
}

static struct bf_ptx_program *linked(const char *const *texts, uint32_t count)
{
	struct bf_ptx_program *p = program(texts, count);

	ck_assert_msg(bf_ptx_link(p, NULL) == 0, "%s", p->error.text);
	return p;
}

static uint64_t word_at(const unsigned char *image, uint64_t offset, uint32_t bytes)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < bytes; i++)
		v |= (uint64_t)image[offset + i] << 8 * i;
	return v;
}

#define GLOBAL_BASE UINT64_C(0x7f0011223300)
#define CONST_BASE UINT64_C(0x7f0000550000)

static unsigned char *image(const struct bf_ptx_program *p, enum bf_ptx_space space)
{
	unsigned char *bytes = malloc((space == BF_PTX_GLOBAL ? p->global_size : p->const_size) + 1);

	bf_ptx_image(p, space, GLOBAL_BASE, CONST_BASE, bytes);
	return bytes;
}

static uint64_t offset_of(const struct bf_ptx_program *p, const char *name)
{
	const struct bf_ptx_var *v = bf_ptx_find_var(p, name);

	ck_assert_msg(v != NULL, "%s", name);
	return v->offset;
}

START_TEST(test_initialisers)
{
	static const char *const texts[] = {
		HEAD ".func f() { ret; }\n"
		     ".const .align 4 .b8 c[3] = {1, 2, -1};\n"
		     ".const .u64 cc = generic(c) + 1;\n"
		     ".global .b8 one = 7;\n"
		     ".global .align 8 .b8 short_one[20] = {1, 2, 3};\n"
		     ".global .u16 m[2][3] = {{1, 2}, {3, 4, 5}};\n"
		     ".global .u64 t[] = {0, f, m, m + 4, generic(m) - 2, c};\n"
		     ".global .b8 packed[8] = {0xFF(generic(m)), 0xFF00(generic(m)), 0xFF0000(generic(m)), 9};\n"
		     ".global .f32 r[3] = {0f3f800000, 1.5, 2};\n"
		     ".global .f64 d = 0d4000000000000000;\n"
		     ".global .v2 .u32 v[2] = {{1, 2}, {3, 4}};\n"
		     ".global .u64 self = self;\n"
		     ".global .b128 wide = -2;\n"
	};
	struct bf_ptx_program *p = linked(texts, 1);
	unsigned char *g = image(p, BF_PTX_GLOBAL), *c = image(p, BF_PTX_CONST);
	uint64_t m = offset_of(p, "m"), t = offset_of(p, "t"), at = GLOBAL_BASE + m;
	const uint64_t table[] = { 0,      bf_ptx_func_value(p, bf_ptx_find_func(p, "f")->number),
				   at,     at + 4,
				   at - 2, offset_of(p, "c") };

	ck_assert_mem_eq(c + offset_of(p, "c"), "\x01\x02\xff", 3);
	ck_assert_uint_eq(word_at(c, offset_of(p, "cc"), 8), CONST_BASE + offset_of(p, "c") + 1);
	ck_assert_uint_eq(g[offset_of(p, "one")], 7);
	ck_assert_uint_eq(offset_of(p, "short_one") % 8, 0);
	ck_assert_mem_eq(g + offset_of(p, "short_one"), "\1\2\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	ck_assert_mem_eq(g + m, "\1\0\2\0\0\0\3\0\4\0\5\0", 12);
	ck_assert_uint_eq(bf_ptx_find_var(p, "t")->size, 48);
	for (uint32_t i = 0; i < 6; i++)
		ck_assert_uint_eq(word_at(g, t + 8 * i, 8), table[i]);
	ck_assert_uint_eq(word_at(g, offset_of(p, "packed"), 4), (at & 0xffffff) | 9 << 24);
	ck_assert_uint_eq(word_at(g, offset_of(p, "r"), 4), 0x3f800000);
	ck_assert_uint_eq(word_at(g, offset_of(p, "r") + 4, 4), 0x3fc00000);
	ck_assert_uint_eq(word_at(g, offset_of(p, "d"), 8), UINT64_C(0x4000000000000000));
	ck_assert_uint_eq(word_at(g, offset_of(p, "v") + 8, 8), UINT64_C(0x400000003));
	ck_assert_uint_eq(word_at(g, offset_of(p, "self"), 8), GLOBAL_BASE + offset_of(p, "self"));
	ck_assert_uint_eq(offset_of(p, "wide") % 16, 0);
	ck_assert_uint_eq(word_at(g, offset_of(p, "wide") + 8, 8), UINT64_MAX);
	free(g);
	free(c);
	bf_ptx_program_destroy(p);
}
END_TEST

/* Before PTX 3.1 a bare name is the generic address. */
START_TEST(test_old_initialiser)
{
	static const char *const texts[] = {
		".version 3.0\n.target sm_20\n.address_size 64\n.const .b32 c;\n.global .u64 a = c;\n"
	};
	struct bf_ptx_program *p = linked(texts, 1);
	unsigned char *g = image(p, BF_PTX_GLOBAL);

	ck_assert_uint_eq(word_at(g, offset_of(p, "a"), 8), CONST_BASE + offset_of(p, "c"));
	free(g);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_symbols)
{
	static const char *const texts[] = {
		HEAD ".weak .func f() { trap; }\n.extern .func g();\n.extern .global .b32 x[];\n.global .b32 own;\n"
		     ".common .global .b32 shared_by_all;\n.weak .global .b32 w = 1;\n"
		     ".visible .entry k() { .reg .b64 %d; call f; call g; mov.b64 %d, x; mov.b64 %d, own; ret; }\n",
		HEAD ".visible .func f() { ret; }\n.visible .func g() { ret; }\n.visible .global .b32 x[4] = {1};\n"
		     ".global .b32 own;\n.common .global .b32 shared_by_all[6];\n.weak .global .b32 w = 2;\n",
	};
	struct bf_ptx_program *p = linked(texts, 2);
	const struct bf_ptx_func *k = bf_ptx_find_func(p, "k");

	ck_assert_uint_eq(p->funcs[k->stmts[0].operands[1].index]->module, 0);
	ck_assert_uint_eq(p->funcs[p->funcs[k->stmts[0].operands[1].index]->def]->module, 1);
	ck_assert_uint_eq(p->funcs[p->funcs[k->stmts[1].operands[1].index]->def]->module, 1);
	ck_assert_uint_eq(p->vars[k->stmts[2].operands[1].index]->def, bf_ptx_find_var(p, "x")->number);
	ck_assert_uint_eq(p->vars[k->stmts[3].operands[1].index]->module, 0);
	ck_assert_uint_eq(bf_ptx_find_var(p, "shared_by_all")->size, 24);
	ck_assert_uint_eq(bf_ptx_find_var(p, "w")->module, 0);
	bf_ptx_program_destroy(p);
}
END_TEST

static void fails(const char *const *texts, uint32_t count, int code, const char *message)
{
	struct bf_ptx_program *p = program(texts, count);

	ck_assert_int_eq(bf_ptx_link(p, NULL), code);
	ck_assert_str_eq(p->error.text, message);
	ck_assert(!p->linked);
	bf_ptx_program_destroy(p);
}

START_TEST(test_failures)
{
	static const char *const twice[] = { HEAD ".visible .func f() { ret; }\n",
					     HEAD "\n.visible .func f() { ret; }\n" };
	static const char *const twice_var[] = { HEAD ".visible .global .b32 x;\n", HEAD ".visible .global .b32 x;\n" };
	static const char *const nobody[] = {
		HEAD ".extern .global .b8 state[8];\n.visible .entry k() { .reg .b64 %d; mov.b64 %d, state; }\n"
	};
	static const char *const no_function[] = { HEAD ".extern .func f();\n.visible .entry k() { call f; }\n" };
	static const char *const unused[] = { HEAD ".extern .func f();\n.extern .global .b32 x;\n" };
	static const char *const spaces[] = { HEAD ".extern .const .b32 x;\n", HEAD ".visible .global .b32 x;\n" };
	static const char *const large[] = { HEAD ".const .b8 x[40000];\n.const .b8 y[30000];\n" };

	fails(twice, 2, -17, "`f` is defined twice: a.ptx:4 and b.ptx:5");
	fails(twice_var, 2, -17, "`x` is defined twice: a.ptx:4 and b.ptx:4");
	fails(nobody, 1, -2, "no module defines the variable `state`, declared in a.ptx:4");
	fails(no_function, 1, -2, "no module defines the function `f` that a.ptx:5 speaks of");
	fails(spaces, 2, -22, "`x` is in .const (a.ptx:4) and in .global (b.ptx:4)");
	fails(large, 1, -7, "`y` does not fit: .const has 65536 bytes, 40000 are used");
	bf_ptx_program_destroy(linked(unused, 1));
}
END_TEST

START_TEST(test_builtins_and_unresolved)
{
	static const char text[] = HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
					".extern .func f();\n.extern .global .b32 x;\n"
					".visible .entry k() { .param .b32 r; .reg .b32 %r;\n"
					"call (r), vprintf, (0, 0);\n"
					"call f;\n"
					"ld.global.b32 %r, [x]; }\n";
	static const char *const builtins[] = { "malloc", "vprintf" };
	const struct bf_ptx_link_opts o = { .builtins = builtins, .builtin_count = 2, .allow_unresolved = true };
	struct bf_ptx_refusal it = { 0 };
	struct bf_ptx_program *p = read_text(text);
	const struct bf_ptx_func *k;

	ck_assert_int_eq(bf_ptx_link(p, &o), 0);
	k = bf_ptx_find_func(p, "k");
	ck_assert_uint_eq(p->funcs[k->stmts[0].operands[1].index]->builtin, 1);
	ck_assert(bf_ptx_next_refusal(p, k->kernel, &it));
	ck_assert_str_eq(it.what, "f");
	ck_assert_ptr_eq(it.stmt, &k->stmts[1]);
	ck_assert(bf_ptx_next_refusal(p, k->kernel, &it));
	ck_assert_str_eq(it.what, "x");
	ck_assert_ptr_eq(it.stmt, &k->stmts[2]);
	ck_assert(!bf_ptx_next_refusal(p, k->kernel, &it));
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_alias)
{
	static const char *const texts[] = {
		HEAD
		".visible .func other(.param .b32 a);\n.visible .func f(.param .b32 a) { ret; }\n.alias other, f;\n"
		".global .u64 t[2] = {other, f};\n.visible .entry k() { call other, (3); ret; }\n"
	};
	struct bf_ptx_program *p = linked(texts, 1);
	unsigned char *g = image(p, BF_PTX_GLOBAL);

	ck_assert_ptr_eq(bf_ptx_find_func(p, "other"), bf_ptx_find_func(p, "f"));
	ck_assert_uint_eq(word_at(g, 0, 8), word_at(g, 8, 8));
	ck_assert_ptr_eq(bf_ptx_func_of_value(p, word_at(g, 0, 8)), bf_ptx_find_func(p, "f"));
	ck_assert_ptr_null(bf_ptx_func_of_value(p, 0));
	ck_assert_ptr_null(bf_ptx_func_of_value(p, 4));
	ck_assert_ptr_null(bf_ptx_func_of_value(p, 8 * UINT64_C(1000)));
	ck_assert_uint_eq(bf_ptx_find_func(p, "k")->kernel->func_count, 2);
	free(g);
	bf_ptx_program_destroy(p);
}
END_TEST

/* Instructions out of scope are refused of kernels that reach them: by calls, by function values of the same shape. */
START_TEST(test_refusals)
{
	static const char *const texts[] = {
		HEAD ".func direct() { wgmma.fence.sync.aligned; ret; }\n"
		     ".func taken(.param .b32 a) { tex.2d.v4.f32.s32 {_, _, _, _}, [nothing, {1, 2}]; ret; }\n"
		     ".func other_shape(.param .b64 a) { frobnicate.u32 1; ret; }\n"
		     ".global .u64 t[2] = {taken, other_shape};\n"
		     ".visible .entry clean() { ret; }\n"
		     ".visible .entry calls() { call direct; ret; }\n"
		     ".visible .entry indirect() { .reg .b64 %d; ld.global.u64 %d, [t];\n"
		     "p: .callprototype _ (.param .b32 _);\n call %d, (1), p; add.frob.u32 1, 2, 3, 4, 5; ret; }\n"
	};
	struct bf_ptx_program *p = linked(texts, 1);
	struct bf_ptx_refusal it = { 0 };
	char buf[64];

	ck_assert(!bf_ptx_next_refusal(p, bf_ptx_find_func(p, "clean")->kernel, &it));
	it = (struct bf_ptx_refusal){ 0 };
	ck_assert(bf_ptx_next_refusal(p, bf_ptx_find_func(p, "calls")->kernel, &it));
	ck_assert_str_eq(it.what, "wgmma.fence.sync.aligned");
	ck_assert_str_eq(it.reason, "out of the machine's scope");
	ck_assert_str_eq(bf_ptx_where(p, it.func, it.stmt, buf, sizeof(buf)), "a.ptx:4");
	ck_assert(!bf_ptx_next_refusal(p, bf_ptx_find_func(p, "calls")->kernel, &it));
	it = (struct bf_ptx_refusal){ 0 };
	ck_assert(bf_ptx_next_refusal(p, bf_ptx_find_func(p, "indirect")->kernel, &it));
	ck_assert_str_eq(it.what, "add.frob.u32");
	ck_assert_str_eq(it.reason, "a modifier that is not known");
	ck_assert(bf_ptx_next_refusal(p, bf_ptx_find_func(p, "indirect")->kernel, &it));
	ck_assert_str_eq(it.what, "tex.2d.v4.f32.s32");
	ck_assert(!bf_ptx_next_refusal(p, bf_ptx_find_func(p, "indirect")->kernel, &it));
	it = (struct bf_ptx_refusal){ 0 };
	for (int i = 0; i < 4; i++)
		ck_assert(bf_ptx_next_refusal(p, NULL, &it));
	ck_assert(!bf_ptx_next_refusal(p, NULL, &it));
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_recursion)
{
	static const char *const texts[] = {
		HEAD ".func b();\n.func a() { call b; ret; }\n.func b() { call a; ret; }\n.func c() { ret; }\n"
		     ".visible .entry yes() { call a; ret; }\n.visible .entry no() { call c; call c; ret; }\n"
	};
	struct bf_ptx_program *p = linked(texts, 1);

	ck_assert(bf_ptx_find_func(p, "yes")->kernel->recursive);
	ck_assert(!bf_ptx_find_func(p, "no")->kernel->recursive);
	ck_assert_uint_eq(bf_ptx_find_func(p, "no")->kernel->func_count, 2);
	bf_ptx_program_destroy(p);
}
END_TEST

/* A kernel counts what it reaches; two variables of one kernel never overlap; dynamic ones follow the static ones. */
START_TEST(test_shared_memory)
{
	static const char *const texts[] = {
		HEAD
		".shared .align 4 .b8 of_f[100];\n.shared .b8 nobodys[4096];\n"
		".extern .shared .align 16 .b8 d1[];\n.extern .shared .align 64 .b32 d2[];\n"
		".extern .shared .align 16 .b8 elsewhere[36];\n"
		".func f() { .reg .b32 %r; mov.u32 %r, of_f; ret; }\n"
		".visible .entry one() { .shared .align 16 .b8 own[40]; .reg .b32 %r; mov.u32 %r, own; call f; ret; }\n"
		".visible .entry two() { .shared .b8 own[7]; .reg .b32 %r; mov.u32 %r, own; mov.u32 %r, d1; ret; }\n"
		".visible .entry three() { .reg .b32 %r; ld.shared.b32 %r, [d1]; mov.u32 %r, d2;\n"
		"ld.shared.b32 %r, [elsewhere+4]; ret; }\n"
		".visible .entry both() { .reg .b32 %r; call f; mov.u32 %r, elsewhere; ret; }\n",
		HEAD ".visible .shared .align 16 .b8 elsewhere[36];\n",
	};
	struct bf_ptx_program *p = linked(texts, 2);
	const struct bf_ptx_kernel *one = bf_ptx_find_func(p, "one")->kernel, *two = bf_ptx_find_func(p, "two")->kernel,
				   *three = bf_ptx_find_func(p, "three")->kernel,
				   *both = bf_ptx_find_func(p, "both")->kernel;
	uint64_t f = offset_of(p, "of_f"), elsewhere = offset_of(p, "elsewhere");

	ck_assert(f + 100 <= elsewhere || elsewhere + 36 <= f);
	ck_assert_uint_eq(elsewhere % 16, 0);
	ck_assert_uint_eq(both->static_shared, f > elsewhere ? f + 100 : elsewhere + 36);
	ck_assert_uint_eq(both->static_shared, 148);
	ck_assert_uint_eq(one->static_shared, 152);
	ck_assert_uint_eq(one->dynamic_align, 0);
	ck_assert_uint_eq(two->static_shared, 7);
	ck_assert_uint_eq(two->dynamic_offset, 16);
	ck_assert_uint_eq(three->dynamic_align, 64);
	ck_assert_uint_eq(three->dynamic_offset % 64, 0);
	ck_assert(bf_ptx_find_var(p, "d1")->dynamic);
	ck_assert(!bf_ptx_find_var(p, "elsewhere")->dynamic);
	bf_ptx_program_destroy(p);
}
END_TEST

START_TEST(test_modules_of_any_version)
{
	static const char *const texts[] = {
		".version 9.0\n.target sm_120a, debug\n.address_size 64\n.visible .func g() { ret; }\n",
		".version 7.0\n.target sm_75\n.extern .func g();\n.visible .entry k() { call g; ret; }\n",
	};
	struct bf_ptx_program *p = linked(texts, 2);

	ck_assert(p->modules[0]->debug);
	ck_assert_uint_eq(p->modules[1]->pointer, 64);
	ck_assert_int_eq(bf_ptx_program_add(p, "c", texts[0], strlen(texts[0])), -16);
	bf_ptx_program_destroy(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ptx_link");
	TCase *tc = tcase_create("link");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_initialisers);
	tcase_add_test(tc, test_old_initialiser);
	tcase_add_test(tc, test_symbols);
	tcase_add_test(tc, test_failures);
	tcase_add_test(tc, test_builtins_and_unresolved);
	tcase_add_test(tc, test_alias);
	tcase_add_test(tc, test_refusals);
	tcase_add_test(tc, test_recursion);
	tcase_add_test(tc, test_shared_memory);
	tcase_add_test(tc, test_modules_of_any_version);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
