/* Modules as compilers write them: tests/models/ptx, which has their sources. */
#include <stdio.h>

#include "tests/models/ptx_text.h"

#define FOLDER BELFRY_SOURCE_DIR "/tests/models/ptx/"

static struct bf_ptx_program *program_of(const char *file)
{
	static const char *const builtins[] = { "vprintf", "__assertfail", "free" };
	const struct bf_ptx_link_opts o = { .builtins = builtins, .builtin_count = 3 };
	struct bf_ptx_program *p = bf_ptx_program_create();
	char path[512];

	snprintf(path, sizeof(path), "%s%s", FOLDER, file);
	ck_assert_msg(bf_ptx_program_add_file(p, path, NULL) == 0, "%s", p->error.text);
	ck_assert_msg(bf_ptx_link(p, &o) == 0, "%s", p->error.text);
	return p;
}

static const struct {
	const char *file;
	uint32_t kernels, functions;
} modules[] = {
	{ "features.sm_90.ptx", 10, 12 }, { "features.sm_90.lines.ptx", 10, 12 }, { "features.sm_100.ptx", 10, 12 },
	{ "headers.sm_90.ptx", 6, 1 },    { "headers.sm_120.ptx", 6, 1 },         { "plain.clang_19.ptx", 0, 9 },
};

/* Nothing is refused, every word is known, every label that a branch names is found. */
START_TEST(test_module)
{
	struct bf_ptx_program *p = program_of(modules[_i].file);
	struct bf_ptx_refusal it = { 0 };
	uint32_t kernels = 0, functions = 0;

	for (uint32_t i = 0; i < p->func_count; i++) {
		kernels += p->funcs[i]->kernel != NULL;
		functions += p->funcs[i]->defined && !p->funcs[i]->entry;
	}
	ck_assert_uint_eq(kernels, modules[_i].kernels);
	ck_assert_uint_eq(functions, modules[_i].functions);
	for (uint32_t i = 0; i < p->form_count; i++)
		ck_assert_msg(p->forms[i]->op && !p->forms[i]->unknown, "%s", p->forms[i]->text);
	ck_assert_msg(!bf_ptx_next_refusal(p, NULL, &it), "%s: %s", it.what, it.reason);
	bf_ptx_program_destroy(p);
}
END_TEST

static const struct bf_ptx_kernel *kernel(const struct bf_ptx_program *p, const char *name)
{
	const struct bf_ptx_func *f = bf_ptx_find_func(p, name);

	ck_assert_msg(f && f->kernel, "%s", name);
	return f->kernel;
}

START_TEST(test_features)
{
	struct bf_ptx_program *p = program_of("features.sm_90.ptx");
	const struct bf_ptx_kernel *k = kernel(p, "_Z3sumILi128EfEvPKT0_PS0_");
	const struct bf_ptx_func *f = bf_ptx_find_func(p, "_Z5growsPi");

	ck_assert_uint_eq(k->static_shared, 512);
	ck_assert_uint_eq(k->func_count, 1);
	k = kernel(p, "_Z9polymorphPfi"); /* both areas, as virtual functions */
	ck_assert(k->indirect && !k->recursive);
	ck_assert_uint_eq(k->func_count, 3);
	k = kernel(p, "_Z8pointersPii"); /* add and sub by pointer, fib by name and by itself */
	ck_assert(k->indirect && k->recursive);
	ck_assert_uint_eq(k->func_count, 4);
	ck_assert_uint_eq(f->kernel->dynamic_align, 16);
	ck_assert_uint_eq(f->maxntid[0], 256);
	ck_assert_uint_eq(f->min_ctas_per_sm, 2);
	ck_assert_uint_eq(p->const_size, 16);
	ck_assert_uint_eq(bf_ptx_find_func(p, "_Z6localsPii")->local_size, 160);
	bf_ptx_program_destroy(p);
}
END_TEST

/* A table of functions: each word is the value of one, by its name. */
START_TEST(test_table)
{
	struct bf_ptx_program *p = program_of("features.sm_90.ptx");
	const struct bf_ptx_var *table = bf_ptx_find_var(p, "table");
	unsigned char *image = malloc(p->global_size);
	static const char *const names[] = { "_Z3addii", "_Z3subii" };

	ck_assert_ptr_nonnull(table);
	bf_ptx_image(p, BF_PTX_GLOBAL, UINT64_C(0x7f0000000000), 0, image);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t value;

		memcpy(&value, image + table->offset + 8 * i, sizeof(value));
		ck_assert_str_eq(bf_ptx_func_of_value(p, value)->name, names[i]);
	}
	free(image);
	bf_ptx_program_destroy(p);
}
END_TEST

/* Each statement of a kernel that was compiled with -lineinfo has a place in its source. */
START_TEST(test_lines)
{
	struct bf_ptx_program *p = program_of("features.sm_90.lines.ptx");
	const struct bf_ptx_func *f = bf_ptx_find_func(p, "_Z4asmsPj");
	char where[64];

	for (uint32_t i = 0; i < f->stmt_count; i++)
		if (f->stmts[i].form->op == BF_PTX_OP_FENCE) {
			bf_ptx_where(p, f, &f->stmts[i], where, sizeof(where));
			ck_assert_str_eq(where, "/src/features.cu:46");
			bf_ptx_program_destroy(p);
			return;
		}
	ck_abort_msg("no fence");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ptx_modules");
	TCase *tc = tcase_create("modules");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_module, 0, (int)(sizeof(modules) / sizeof(modules[0])));
	tcase_add_test(tc, test_features);
	tcase_add_test(tc, test_table);
	tcase_add_test(tc, test_lines);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
