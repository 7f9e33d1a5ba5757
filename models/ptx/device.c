/* A device and its libraries: what a program's variables and constants are in memory, and who finds what by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

#define CONST_BYTES (64u << 10)
#define STACK_BYTES (16u << 10)

/* ---- a device ---- */

/* A phase of a barrier is complete: who polls that with test_wait looks again. */
static void phase_completed(void *arg, uint32_t sm, uint32_t address)
{
	struct bf_ptx_device *d = arg;

	(void)address;
	for (struct bf_ptx_block *b = d->sm[sm].blocks; b; b = b->next) {
		b->phases++;
		for (uint32_t i = 0; i < b->nwarps; i++)
			if (b->warp[i] && b->warp[i]->polls_phase)
				bf_agent_nudge(b->warp[i]->agent);
	}
}

static int build(struct bf_ptx_device *d)
{
	struct bf_sim *sim = d->sim;
	char name[40];
	const struct bf_hopper_opts gpu = { .name = name, .profile = d->opts.profile };
	const struct bf_view_opts view = {
		.ordering = d->opts.ordering, .space = d->opts.space, .cost = d->pays, .name = name
	};
	int rc = 0;

	snprintf(name, sizeof(name), "%sgpu", d->name);
	d->domain = d->opts.domain;
	if (!d->domain) {
		rc = bf_domain_create(sim, BF_SCOPE_GPU, NULL, &d->domain);
		d->owns_domain = !rc;
	}
	if (!rc)
		rc = bf_hopper_create(sim, &gpu, &d->gpu);
	if (!rc)
		rc = bf_bulk_create(d->gpu, d->opts.space, &d->bulk);
	/* It also says that an ordering is in force, before the first lane has a view. */
	if (!rc)
		rc = bf_view_create(sim, &view, &d->view);
	if (rc)
		return rc;
	bf_hopper_on_phase(d->gpu, phase_completed, d);
	d->nsms = bf_hopper_profile(d->gpu)->sms;
	d->sm = calloc(d->nsms, sizeof(*d->sm));
	return d->sm ? 0 : bf_fail(&sim->error, -ENOMEM, "no memory for a GPU");
}

int bf_ptx_device_create(struct bf_sim *sim, const struct bf_ptx_device_opts *opts, struct bf_ptx_device **out)
{
	struct bf_ptx_device *d;
	int rc;

	*out = NULL;
	if (!opts->space || (uint32_t)opts->ordering > BF_ORDER_ADVERSARIAL)
		return bf_fail(&sim->error, -EINVAL, "a GPU needs an address space and an ordering");
	d = calloc(1, sizeof(*d));
	if (!d)
		return bf_fail(&sim->error, -ENOMEM, "no memory for a GPU");
	d->sim = sim;
	d->opts = *opts;
	if (!d->opts.stack_bytes)
		d->opts.stack_bytes = STACK_BYTES;
	snprintf(d->name, sizeof(d->name), "%s", opts->name ? opts->name : "");
	d->opts.name = d->name;
	d->pays = opts->cost ? opts->cost : &bf_cost_gpu;
	d->last_grid = &d->grids;
	rc = build(d);
	if (rc) {
		bf_ptx_device_destroy(d);
		return rc;
	}
	*out = d;
	return 0;
}

static void library_free(struct bf_ptx_library *lib)
{
	struct bf_ptx_shared *s = lib->shared;

	if (lib->code != s->code)
		bf_ptx_code_destroy(lib->code);
	if (--s->users == 0) {
		bf_ptx_code_destroy(s->code);
		bf_ptx_program_destroy(s->program);
		free(s);
	}
	free(lib->by_stmts);
	free(lib->traits);
	free(lib);
}

void bf_ptx_device_destroy(struct bf_ptx_device *d)
{
	if (!d)
		return;
	d->scheduling = true; /* nothing starts any more */
	while (d->grids)
		bf_ptx_grid_free(d->grids);
	while (d->libraries) {
		struct bf_ptx_library *lib = d->libraries;

		d->libraries = lib->next;
		library_free(lib);
	}
	bf_ptx_heap_destroy(d->heap);
	bf_view_destroy(d->view);
	if (d->owns_domain)
		bf_domain_destroy(d->domain);
	bf_bulk_destroy(d->bulk);
	bf_hopper_destroy(d->gpu);
	free(d->params);
	free(d->slots);
	free(d->sm);
	free(d);
}

const struct bf_ptx_fault *bf_ptx_device_fault(const struct bf_ptx_device *d)
{
	return bf_ptx_is_dead(d) ? &d->fault : NULL;
}

void bf_ptx_device_stop_run(struct bf_ptx_device *d)
{
	if (d->sim->error.code != -ENOMEM)
		bf_fail(&d->sim->error, -EFAULT, "%s", d->fault.text);
	bf_sim_stop(d->sim);
}

const struct bf_ptx_counts *bf_ptx_device_counts(const struct bf_ptx_device *d)
{
	return &d->counts;
}

/* ---- libraries ---- */

static int by_place(const void *a, const void *b)
{
	const struct bf_ptx_func *x = *(const struct bf_ptx_func *const *)a, *y = *(const struct bf_ptx_func *const *)b;

	return x->stmts < y->stmts ? -1 : x->stmts > y->stmts;
}

/* Statements know neither their function nor their module: tables to find them, for those who report. */
static int index_functions(struct bf_ptx_library *lib)
{
	const struct bf_ptx_program *p = lib->program;

	lib->by_stmts = calloc(p->func_count + 1u, sizeof(*lib->by_stmts));
	lib->traits = calloc(p->func_count + 1u, sizeof(*lib->traits));
	if (!lib->by_stmts || !lib->traits)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->func_count; i++)
		if (p->funcs[i]->stmt_count)
			lib->by_stmts[lib->nfuncs++] = p->funcs[i];
	qsort(lib->by_stmts, lib->nfuncs, sizeof(*lib->by_stmts), by_place);
	return 0;
}

const struct bf_ptx_func *bf_ptx_func_of(const struct bf_ptx_library *lib, const struct bf_ptx_stmt *stmt)
{
	uint32_t low = 0, high = lib->nfuncs;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct bf_ptx_func *f = lib->by_stmts[middle];

		if (stmt < f->stmts)
			high = middle;
		else if (stmt >= f->stmts + f->stmt_count)
			low = middle + 1;
		else
			return f;
	}
	return NULL;
}

/* Lines of toolkits and of our own platform are nobody's to look at: their caller's are. */
static bool is_library(const char *file)
{
	return strstr(file, "/include/crt/") || strstr(file, "/include/cuda/") || strstr(file, "/include/cccl/") ||
	       strstr(file, "/include/sm_") || strstr(file, "/include/cooperative_groups") ||
	       strstr(file, "/targets/") || strstr(file, "drivers/platform/");
}

bool bf_ptx_line(const struct bf_ptx_library *lib, const struct bf_ptx_stmt *stmt, const char **file, uint32_t *line)
{
	const struct bf_ptx_program *p = lib->program;
	const struct bf_ptx_func *f = stmt ? bf_ptx_func_of(lib, stmt) : NULL;
	const struct bf_ptx_loc *loc = f ? bf_ptx_loc(p, f, stmt) : NULL;
	const struct bf_ptx_module *m = f ? p->modules[f->module] : NULL;

	while (loc && is_library(loc->file) && loc->inlined_at < m->loc_count)
		loc = &m->locs[loc->inlined_at];
	if (loc && loc->line) {
		*file = loc->file;
		*line = loc->line;
		return true;
	}
	bf_ptx_line_of_text(lib, stmt, file, line);
	return false;
}

void bf_ptx_line_of_text(const struct bf_ptx_library *lib, const struct bf_ptx_stmt *stmt, const char **file,
			 uint32_t *line)
{
	const struct bf_ptx_func *f = stmt ? bf_ptx_func_of(lib, stmt) : NULL;

	*file = f ? lib->program->modules[f->module]->name : "?";
	*line = stmt ? stmt->line : 0;
}

static void fill_images(const struct bf_ptx_library *lib)
{
	const struct bf_ptx_program *p = lib->program;

	if (lib->globals)
		bf_ptx_image(p, BF_PTX_GLOBAL, lib->globals->va, lib->constants->va, lib->globals->bytes);
	if (p->const_size)
		bf_ptx_image(p, BF_PTX_CONST, lib->globals ? lib->globals->va : 0, lib->constants->va,
			     lib->constants->bytes);
}

static int place_images(struct bf_ptx_library *lib)
{
	const struct bf_ptx_program *p = lib->program;
	struct bf_space *space = lib->device->opts.space;
	struct bf_region_opts globals = { .name = "ptx.globals", .kind = BF_MEM_VRAM, .size = p->global_size };
	struct bf_region_opts constants = { .name = "ptx.constants", .kind = BF_MEM_VRAM, .size = CONST_BYTES };
	int rc = p->global_size ? bf_region_create(space, &globals, &lib->globals) : 0;

	if (!rc)
		rc = bf_region_create(space, &constants, &lib->constants);
	if (!rc)
		fill_images(lib);
	return rc;
}

void bf_ptx_library_renew(struct bf_ptx_library *lib)
{
	if (lib->globals)
		memset(lib->globals->bytes, 0, lib->globals->size);
	memset(lib->constants->bytes, 0, lib->constants->size);
	fill_images(lib);
}

static int read_and_link(struct bf_ptx_library *lib, const struct bf_ptx_source *sources, uint32_t count)
{
	const struct bf_ptx_link_opts link = { .builtins = bf_ptx_builtins,
					       .builtin_count = bf_ptx_builtin_count,
					       .allow_unresolved = true };
	struct bf_error *err = &lib->device->sim->error;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < count; i++)
		rc = bf_ptx_program_add_excerpt(lib->program, sources[i].name, sources[i].text, sources[i].len,
						sources[i].strays);
	if (!rc)
		rc = bf_ptx_link(lib->program, &link);
	return rc ? bf_fail(err, rc, "%s", lib->program->error.text) : 0;
}

/* A library of what is shared, which gets one user more. */
static struct bf_ptx_library *library_new(struct bf_ptx_device *d, struct bf_ptx_shared *shared)
{
	struct bf_ptx_library *lib = calloc(1, sizeof(*lib));

	if (!lib)
		return NULL;
	lib->device = d;
	lib->shared = shared;
	lib->program = shared->program;
	shared->users++;
	return lib;
}

/* Its code: the one that others have, where addresses in it are the same, too. */
static int take_code(struct bf_ptx_library *lib)
{
	struct bf_ptx_shared *s = lib->shared;
	const struct bf_ptx_code_opts opts = { .program = lib->program,
					       .port = &bf_ptx_machine_port,
					       .global_base = lib->globals ? lib->globals->va : 0,
					       .const_base = lib->constants->va };
	int rc;

	if (s->code && s->global_base == opts.global_base && s->const_base == opts.const_base) {
		lib->code = s->code;
		return 0;
	}
	rc = bf_ptx_code_create(&opts, &lib->code, &lib->device->sim->error);
	if (!rc && !s->code) {
		s->code = lib->code;
		s->global_base = opts.global_base;
		s->const_base = opts.const_base;
	}
	return rc;
}

/* Takes its place on the device, or is gone with `rc`. */
static int settle(struct bf_ptx_library *lib, int rc, struct bf_ptx_library **out)
{
	if (!rc)
		rc = index_functions(lib);
	if (!rc)
		rc = place_images(lib);
	if (!rc)
		rc = take_code(lib);
	if (rc) {
		library_free(lib);
		return rc;
	}
	lib->next = lib->device->libraries;
	lib->device->libraries = lib;
	*out = lib;
	return 0;
}

int bf_ptx_device_load(struct bf_ptx_device *d, const struct bf_ptx_source *sources, uint32_t count,
		       struct bf_ptx_library **out)
{
	struct bf_ptx_shared *shared = calloc(1, sizeof(*shared));
	struct bf_ptx_library *lib = NULL;

	*out = NULL;
	if (shared)
		shared->program = bf_ptx_program_create();
	if (shared && shared->program)
		lib = library_new(d, shared);
	if (!lib) {
		if (shared)
			bf_ptx_program_destroy(shared->program);
		free(shared);
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a library");
	}
	return settle(lib, read_and_link(lib, sources, count), out);
}

int bf_ptx_device_load_again(struct bf_ptx_device *d, const struct bf_ptx_library *other, struct bf_ptx_library **out)
{
	struct bf_ptx_library *lib = library_new(d, other->shared);

	*out = NULL;
	return lib ? settle(lib, 0, out) : bf_fail(&d->sim->error, -ENOMEM, "no memory for a library");
}

static void forget_region(struct bf_ptx_device *d, struct bf_region *r)
{
	if (!r)
		return;
	bf_ptx_device_forget(d, r);
	bf_region_destroy(r);
}

int bf_ptx_device_unload(struct bf_ptx_device *d, struct bf_ptx_library *lib)
{
	struct bf_ptx_library **link = &d->libraries;

	for (const struct bf_ptx_grid *g = d->grids; g; g = g->next)
		if (g->lib == lib)
			return -EBUSY;
	while (*link != lib)
		link = &(*link)->next;
	forget_region(d, lib->globals);
	forget_region(d, lib->constants);
	lib->globals = lib->constants = NULL;
	if (bf_probe(d->sim, BF_CLASS_WHERE))
		return 0; /* the trace knows files by where their names lie */
	*link = lib->next;
	library_free(lib);
	return 0;
}

/* ---- names ---- */

const struct bf_ptx_program *bf_ptx_library_program(const struct bf_ptx_library *lib)
{
	return lib->program;
}

int bf_ptx_library_variable(const struct bf_ptx_library *lib, const char *name, uint64_t *va, uint64_t *size)
{
	const struct bf_ptx_var *v = bf_ptx_find_var(lib->program, name);

	if (!v || (v->space != BF_PTX_GLOBAL && v->space != BF_PTX_CONST))
		return -ENOENT;
	*va = (v->space == BF_PTX_GLOBAL ? lib->globals : lib->constants)->va + v->offset;
	*size = v->size;
	return 0;
}

static const struct bf_ptx_func *find_kernel(const struct bf_ptx_library *lib, const char *name)
{
	const struct bf_ptx_func *f = bf_ptx_find_func(lib->program, name);

	return f && f->entry && f->defined ? f : NULL;
}

int bf_ptx_library_kernel(const struct bf_ptx_library *lib, const char *name, struct bf_ptx_kernel_info *out)
{
	const struct bf_ptx_func *f = find_kernel(lib, name);
	uint32_t most;

	memset(out, 0, sizeof(*out));
	if (!f)
		return -ENOENT;
	out->params = f->signature.param_count;
	out->param_bytes = f->param_size;
	out->static_shared = f->kernel->static_shared;
	most = f->reqntid[0] * f->reqntid[1] * f->reqntid[2];
	if (!most)
		most = f->maxntid[0] * f->maxntid[1] * f->maxntid[2];
	out->max_threads = most ? most : 1024;
	memcpy(out->cluster, f->cluster, sizeof(out->cluster));
	out->local_bytes = (uint32_t)bf_ptx_local_bytes(lib->program, f->kernel);
	return 0;
}

int bf_ptx_library_refusal(const struct bf_ptx_library *lib, const char *kernel, char *why, size_t cap)
{
	const struct bf_ptx_func *f = find_kernel(lib, kernel);

	return f ? bf_ptx_refusal_text(lib->program, f, why, cap) : 0;
}

int bf_ptx_library_param(const struct bf_ptx_library *lib, const char *kernel, uint32_t index, uint32_t *offset,
			 uint32_t *size)
{
	const struct bf_ptx_func *f = find_kernel(lib, kernel);

	if (!f || index >= f->signature.param_count)
		return -ENOENT;
	*offset = f->signature.params[index].offset;
	*size = f->signature.params[index].size;
	return 0;
}
