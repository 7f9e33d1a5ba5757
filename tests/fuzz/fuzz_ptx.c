/*
 * Any text is a program, or an error with its place. Modules are separated by bytes of 0x1e. What the reader gives is
 * walked whole: every number in it must lead somewhere. Then every function is decoded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/launch.h"
#include "models/ptx/module.h"

#define SEPARATOR 0x1e
#define IMAGE_MOST (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

static void walk_operand(const struct bf_ptx_program *p, const struct bf_ptx_func *f, const struct bf_ptx_operand *o)
{
	char name[64];

	switch (o->kind) {
	case BF_PTX_OPERAND_REG:
	case BF_PTX_OPERAND_AT_REG:
		must(o->index < f->reg_count);
		bf_ptx_reg_name(f, o->index, name, sizeof(name));
		must(name[0] != '?' && f->reg_types[o->index] != BF_PTX_TYPE_NONE);
		break;
	case BF_PTX_OPERAND_SREG:
		must(o->index < BF_PTX_SREGS_COUNT && o->part < 4);
		break;
	case BF_PTX_OPERAND_VAR:
	case BF_PTX_OPERAND_AT_VAR:
		must(o->index < p->var_count);
		break;
	case BF_PTX_OPERAND_FUNC:
		must(o->index < p->func_count);
		break;
	case BF_PTX_OPERAND_LABEL:
		must(o->index < f->label_count && f->labels[o->index].target);
		break;
	case BF_PTX_OPERAND_PROTO:
		must(o->index < f->proto_count);
		break;
	case BF_PTX_OPERAND_VECTOR:
	case BF_PTX_OPERAND_PAIR:
	case BF_PTX_OPERAND_LIST:
	case BF_PTX_OPERAND_AT_LIST:
		for (uint32_t i = 0; i < o->count; i++)
			walk_operand(p, f, &o->elems[i]);
		break;
	default:
		break;
	}
}

static void walk_protos(const struct bf_ptx_program *p, const struct bf_ptx_func *f)
{
	for (uint32_t i = 0; i < f->proto_count; i++)
		for (uint32_t t = 0; t < f->protos[i].target_count; t++)
			must(f->protos[i].targets[t] <
			     (f->protos[i].kind == BF_PTX_PROTO_BRANCH_TARGETS ? f->label_count : p->func_count));
}

static void walk_func(const struct bf_ptx_program *p, const struct bf_ptx_func *f)
{
	char where[256];

	for (uint32_t i = 0; i < f->stmt_count; i++) {
		const struct bf_ptx_stmt *s = &f->stmts[i];

		for (uint32_t o = 0; o < s->operand_count; o++)
			walk_operand(p, f, &s->operands[o]);
		must(s->guard == BF_PTX_NONE || f->reg_types[s->guard] == BF_PTX_PRED);
		bf_ptx_where(p, f, s, where, sizeof(where));
	}
	for (uint32_t i = 0; i < f->label_count; i++)
		must(f->labels[i].stmt <= f->stmt_count);
	for (uint32_t i = 0; i < f->var_count; i++)
		must(p->vars[f->vars[i]]->func == f->number);
	walk_protos(p, f);
}

static void walk_image(const struct bf_ptx_program *p, enum bf_ptx_space space, uint64_t size)
{
	void *image = size <= IMAGE_MOST ? malloc(size + 1) : NULL;

	if (image)
		bf_ptx_image(p, space, UINT64_C(0x700000000000), UINT64_C(0x7fff00000000), image);
	free(image);
}

static void told(void *arg, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s, const char *why)
{
	(void)arg;
	must(s >= f->stmts && s < f->stmts + f->stmt_count && why[0]);
}

static void walk_linked(const struct bf_ptx_program *p)
{
	struct bf_ptx_refusal it = { 0 };

	for (uint32_t i = 0; i < p->func_count; i++) {
		const struct bf_ptx_func *f = p->funcs[i];

		must(f->def == BF_PTX_NONE || p->funcs[f->def]->defined);
		must(!f->kernel || (f->kernel->func_count && f->kernel->funcs[0] == i &&
				    f->kernel->dynamic_offset >= f->kernel->static_shared));
		must(bf_ptx_func_of_value(p, bf_ptx_func_value(p, i)) == p->funcs[f->def == BF_PTX_NONE ? i : f->def]);
	}
	while (bf_ptx_next_refusal(p, NULL, &it))
		must(it.what && it.reason);
	must(bf_ptx_each_refused(p, told, NULL, NULL) == 0);
	walk_image(p, BF_PTX_GLOBAL, p->global_size);
	walk_image(p, BF_PTX_CONST, p->const_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bf_ptx_link_opts link = { .allow_unresolved = true };
	struct bf_ptx_program *p = bf_ptx_program_create();
	struct bf_ptx_strays strays = { 0 };
	bool excerpt = size && data[size - 1] == SEPARATOR;
	int rc = p ? 0 : -ENOMEM;

	for (size_t at = 0; !rc && at <= size;) {
		const uint8_t *end = memchr(data + at, SEPARATOR, size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;

		rc = bf_ptx_program_add_excerpt(p, "m", (const char *)data + at, len, excerpt ? &strays : NULL);
		must(!rc || rc == -ENOMEM || (rc == -EINVAL && strncmp(p->error.text, "m:", 2) == 0));
		at += len + 1;
		if (excerpt && at == size)
			break;
	}
	if (!rc) {
		for (uint32_t i = 0; i < p->func_count; i++)
			walk_func(p, p->funcs[i]);
		if (bf_ptx_link(p, &link) == 0)
			walk_linked(p);
		else
			must(p->error.text[0] != 0);
	}
	bf_ptx_program_destroy(p);
	return 0;
}
