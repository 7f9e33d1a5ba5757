/* Programs from texts in tests of the PTX reader. */
#ifndef BELFRY_TESTS_MODELS_PTX_TEXT_H
#define BELFRY_TESTS_MODELS_PTX_TEXT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/module.h"

#define HEAD ".version 8.4\n.target sm_90a\n.address_size 64\n"
#define KERNEL(body) HEAD ".visible .entry k(.param .u64 p) {\n" body "\n}\n"

static inline struct bf_ptx_program *read_text(const char *text)
{
	struct bf_ptx_program *p = bf_ptx_program_create();

	ck_assert_ptr_nonnull(p);
	ck_assert_msg(bf_ptx_program_add(p, "m.ptx", text, strlen(text)) == 0, "%s", p->error.text);
	return p;
}

static inline struct bf_ptx_program *link_text(const char *text)
{
	struct bf_ptx_program *p = read_text(text);

	ck_assert_msg(bf_ptx_link(p, NULL) == 0, "%s", p->error.text);
	return p;
}

/* The text is refused with exactly this message. */
static inline void refused(const char *text, const char *message)
{
	struct bf_ptx_program *p = bf_ptx_program_create();

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(bf_ptx_program_add(p, "m.ptx", text, strlen(text)), -22);
	ck_assert_str_eq(p->error.text, message);
	bf_ptx_program_destroy(p);
}

#endif
