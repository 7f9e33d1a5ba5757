/* belfry ptx check: what is in PTX modules, and what of it the machine would refuse to a kernel. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/launch.h"
#include "models/ptx/module.h"
#include "sim/grow.h"
#include "tools/cli/cli.h"

/* Functions that the machine provides: what nvcc declares .extern and no module defines. */
static const char *const builtins[] = { "vprintf", "malloc", "free", "__assertfail" };

/* A statement at which a lane would stop: its form or operands are not the machine's. */
struct stop {
	const struct bf_ptx_func *func;
	const struct bf_ptx_stmt *stmt;
	char why[96];
};

struct check {
	const struct bf_args *args;
	struct bf_ptx_program *p;
	struct bf_ptx_strays strays; /* of all files */
	uint32_t *uses;              /* by form, for one kernel */
	const char **told;           /* symbols that were told of */
	uint32_t told_count;
	struct stop *stops; /* by function, then by statement */
	uint32_t stop_count, stop_room;
	bool out_of_memory;
	uint32_t kernels, refused; /* kernels that can reach something that is refused */
};

/* An instruction that is refused, or a symbol that is missing. */
static bool is_symbol(const struct bf_ptx_refusal *r)
{
	return !r->stmt || strcmp(r->what, r->stmt->form->text) != 0;
}

static uint32_t statements(const struct check *c, const struct bf_ptx_kernel *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->func_count; i++)
		n += c->p->funcs[k->funcs[i]]->stmt_count;
	return n;
}

/* How often a kernel and what it calls have each form; how many forms that are. */
static uint32_t count_forms(struct check *c, const struct bf_ptx_kernel *k)
{
	uint32_t n = 0;

	memset(c->uses, 0, c->p->form_count * sizeof(*c->uses));
	for (uint32_t i = 0; i < k->func_count; i++) {
		const struct bf_ptx_func *f = c->p->funcs[k->funcs[i]];

		for (uint32_t s = 0; s < f->stmt_count; s++)
			n += c->uses[f->stmts[s].form->number]++ == 0;
	}
	return n;
}

static uint32_t local_bytes(const struct check *c, const struct bf_ptx_kernel *k)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < k->func_count; i++)
		if (c->p->funcs[k->funcs[i]]->local_size > most)
			most = c->p->funcs[k->funcs[i]]->local_size;
	return most;
}

/* The next refused instruction, or the next missing symbol, of a kernel. */
static bool next(struct check *c, const struct bf_ptx_kernel *k, bool symbols, struct bf_ptx_refusal *it)
{
	while (bf_ptx_next_refusal(c->p, k, it))
		if (is_symbol(it) == symbols)
			return true;
	return false;
}

static uint32_t count_refused(struct check *c, const struct bf_ptx_kernel *k, struct bf_ptx_refusal *first)
{
	struct bf_ptx_refusal it = { 0 };
	uint32_t n = 0;

	while (next(c, k, false, &it))
		if (n++ == 0)
			*first = it;
	return n;
}

/* ---- what the decoder refuses ---- */

static void take_stop(void *arg, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s, const char *why)
{
	struct check *c = arg;
	const char *reason = strstr(why, ": ");
	struct stop *stop;

	if (BF_GROW(c->stops, c->stop_room, c->stop_count + 1)) {
		c->out_of_memory = true;
		return;
	}
	stop = &c->stops[c->stop_count++];
	stop->func = f;
	stop->stmt = s;
	snprintf(stop->why, sizeof(stop->why), "%s", reason ? reason + 2 : why);
}

static int by_place(const void *a, const void *b)
{
	const struct stop *x = a, *y = b;

	if (x->func != y->func)
		return x->func->number < y->func->number ? -1 : 1;
	return x->stmt < y->stmt ? -1 : x->stmt > y->stmt;
}

/* Those that the vocabulary refuses are told as such: the launch fails. */
static int find_stops(struct check *c)
{
	struct bf_ptx_refusal it = { 0 };
	struct bf_error err = { 0 };
	uint32_t kept = 0;

	if (bf_ptx_each_refused(c->p, take_stop, c, &err) || c->out_of_memory)
		return bf_cli_error(c->args, BF_EXIT_USAGE, "%s", err.code ? err.text : "out of memory");
	if (c->stop_count)
		qsort(c->stops, c->stop_count, sizeof(*c->stops), by_place);
	while (bf_ptx_next_refusal(c->p, NULL, &it))
		for (uint32_t i = 0; !is_symbol(&it) && i < c->stop_count; i++)
			if (c->stops[i].stmt == it.stmt)
				c->stops[i].func = NULL;
	for (uint32_t i = 0; i < c->stop_count; i++)
		if (c->stops[i].func)
			c->stops[kept++] = c->stops[i];
	c->stop_count = kept;
	return 0;
}

static bool reaches(const struct bf_ptx_kernel *k, const struct bf_ptx_func *f)
{
	for (uint32_t i = 0; i < k->func_count; i++)
		if (k->funcs[i] == f->number)
			return true;
	return false;
}

/* The next one from *at on that a kernel can reach, NULL: there are no more. */
static const struct stop *next_stop(const struct check *c, const struct bf_ptx_kernel *k, uint32_t *at)
{
	while (*at < c->stop_count) {
		const struct stop *s = &c->stops[(*at)++];

		if (!k || reaches(k, s->func))
			return s;
	}
	return NULL;
}

/* ---- text ---- */

static void print_place(struct check *c, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s)
{
	if (bf_ptx_loc(c->p, f, s))
		printf(" (%s:%" PRIu32 ")", c->p->modules[f->module]->name, s->line);
	printf("\n");
}

static void print_refusal(struct check *c, const struct bf_ptx_refusal *r, const char *indent)
{
	char where[512];

	bf_ptx_where(c->p, r->func, r->stmt, where, sizeof(where));
	printf("%s%s: %s: %s", indent, where, r->what, r->reason);
	print_place(c, r->func, r->stmt);
}

static void print_stops(struct check *c, const struct bf_ptx_kernel *k, const char *indent)
{
	uint32_t at = 0, more = 0;
	const struct stop *s = next_stop(c, k, &at);
	char where[512];

	if (!s)
		return;
	bf_ptx_where(c->p, s->func, s->stmt, where, sizeof(where));
	printf("%sstops at: %s: %s: %s", indent, where, s->stmt->form->text, s->why);
	print_place(c, s->func, s->stmt);
	while (next_stop(c, k, &at))
		more++;
	if (more)
		printf("%sand %" PRIu32 " more\n", indent, more);
}

static void print_head(const struct check *c)
{
	const struct bf_ptx_program *p = c->p;
	uint32_t defined = 0;

	for (uint32_t i = 0; i < p->module_count; i++) {
		const struct bf_ptx_module *m = p->modules[i];

		printf("%s: PTX %" PRIu32 ".%" PRIu32 " for sm_%" PRIu32 "%.1s%s, %" PRIu32 " lines\n", m->name,
		       m->version_major, m->version_minor, m->sm, m->sm_suffix ? &m->sm_suffix : "",
		       m->debug ? " with debug information" : "", m->lines);
	}
	if (c->strays.count)
		printf("%" PRIu32 " bodies without a head, the first in line %" PRIu32 ", were passed over\n",
		       c->strays.count, c->strays.line);
	for (uint32_t i = 0; i < p->func_count; i++)
		defined += p->funcs[i]->defined;
	printf("%" PRIu32 " functions, %" PRIu32 " of them kernels; %" PRIu32 " forms of instructions; .global %" PRIu64
	       ", .const %" PRIu64 " bytes\n",
	       defined, c->kernels, p->form_count, p->global_size, p->const_size);
}

static void print_kernel(struct check *c, const struct bf_ptx_func *f)
{
	const struct bf_ptx_kernel *k = f->kernel;
	struct bf_ptx_refusal first;
	uint32_t refused = count_refused(c, k, &first);

	printf("%9" PRIu32 " %5" PRIu32 " %9" PRIu32 " %9" PRIu32 " %7" PRIu32 " %c %6" PRIu32 " %6" PRIu32 "  %s\n",
	       statements(c, k), count_forms(c, k), k->func_count - 1, f->reg_count, k->static_shared,
	       k->dynamic_align ? '+' : ' ', local_bytes(c, k), f->param_size, f->name);
	if (refused) {
		c->refused++;
		print_refusal(c, &first, "      refused: ");
		if (refused > 1)
			printf("      and %" PRIu32 " more\n", refused - 1);
	}
	print_stops(c, k, "      ");
}

static int by_uses(const void *a, const void *b)
{
	const struct bf_ptx_form *const *x = a, *const *y = b;

	if ((*x)->uses != (*y)->uses)
		return (*x)->uses < (*y)->uses ? 1 : -1;
	return strcmp((*x)->text, (*y)->text);
}

static void print_forms(const struct check *c)
{
	const struct bf_ptx_form **forms = calloc(c->p->form_count + 1, sizeof(*forms));

	if (!forms)
		return;
	for (uint32_t i = 0; i < c->p->form_count; i++)
		forms[i] = c->p->forms[i];
	qsort(forms, c->p->form_count, sizeof(*forms), by_uses);
	printf("\n   uses  instruction\n");
	for (uint32_t i = 0; i < c->p->form_count; i++)
		printf("%7" PRIu32 "  %s\n", forms[i]->uses, forms[i]->text);
	free(forms);
}

/* Whether this is the first time that the symbol is told of. A program has each name once in memory. */
static bool first_time(struct check *c, const struct bf_ptx_refusal *r)
{
	for (uint32_t i = 0; i < c->told_count; i++)
		if (c->told[i] == r->what)
			return false;
	c->told[c->told_count++] = r->what;
	return true;
}

static void print_missing(struct check *c)
{
	struct bf_ptx_refusal it = { 0 };
	uint32_t n = 0;

	while (next(c, NULL, true, &it)) {
		if (!first_time(c, &it))
			continue;
		if (n++ == 0)
			printf("\nfor other modules to define:\n");
		print_refusal(c, &it, "  ");
	}
}

/* Instructions that are refused once a kernel can reach them; now none of this program can. */
static void print_unreached(struct check *c)
{
	struct bf_ptx_refusal first;
	uint32_t n = count_refused(c, NULL, &first);

	if (!c->kernels && c->stop_count) {
		printf("\n");
		print_stops(c, NULL, "");
	}
	if (!n || c->refused)
		return;
	printf("\nrefused if a kernel reached it: %" PRIu32 " instructions, the first is\n", n);
	print_refusal(c, &first, "  ");
}

static void print_all(struct check *c)
{
	const char *only = bf_arg_text(c->args, "kernel");

	print_head(c);
	if (c->kernels)
		printf("\nstatements forms functions registers  shared    local params  kernel\n");
	for (uint32_t i = 0; i < c->p->func_count; i++) {
		const struct bf_ptx_func *f = c->p->funcs[i];

		if (f->kernel && (!only || strcmp(only, f->name) == 0))
			print_kernel(c, f);
	}
	if (bf_arg_flag(c->args, "forms"))
		print_forms(c);
	print_missing(c);
	print_unreached(c);
}

/* ---- JSON ---- */

static void json_refusals(struct check *c, struct bf_json *j, const struct bf_ptx_kernel *k, bool symbols)
{
	struct bf_ptx_refusal it = { 0 };

	bf_json_open(j, symbols ? "undefined" : "refused", '[');
	while (next(c, k, symbols, &it)) {
		const struct bf_ptx_loc *l;
		char where[512];

		if (symbols && !first_time(c, &it))
			continue;
		l = it.stmt ? bf_ptx_loc(c->p, it.func, it.stmt) : NULL;
		bf_json_open(j, NULL, '{');
		bf_json_text(j, symbols ? "symbol" : "instruction", it.what);
		bf_json_text(j, "reason", it.reason);
		bf_json_text(j, "where", bf_ptx_where(c->p, it.func, it.stmt, where, sizeof(where)));
		bf_json_text(j, "module", c->p->modules[it.func->module]->name);
		bf_json_u64(j, "line", it.stmt ? it.stmt->line : it.func->line);
		bf_json_u64(j, "column", it.stmt ? it.stmt->column : it.func->column);
		if (l) {
			bf_json_text(j, "source", l->file);
			bf_json_u64(j, "source_line", l->line);
		}
		bf_json_text(j, "function", it.func->name);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void json_stops(struct check *c, struct bf_json *j, const struct bf_ptx_kernel *k)
{
	const struct stop *s;
	uint32_t at = 0;

	bf_json_open(j, "stops", '[');
	while ((s = next_stop(c, k, &at)) != NULL) {
		char where[512];

		bf_json_open(j, NULL, '{');
		bf_json_text(j, "instruction", s->stmt->form->text);
		bf_json_text(j, "reason", s->why);
		bf_json_text(j, "where", bf_ptx_where(c->p, s->func, s->stmt, where, sizeof(where)));
		bf_json_text(j, "module", c->p->modules[s->func->module]->name);
		bf_json_u64(j, "line", s->stmt->line);
		bf_json_text(j, "function", s->func->name);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void json_three(struct bf_json *j, const char *key, const uint32_t v[3])
{
	if (!v[0])
		return;
	bf_json_open(j, key, '[');
	for (uint32_t i = 0; i < 3; i++)
		bf_json_u64(j, NULL, v[i]);
	bf_json_close(j, ']');
}

static void json_forms(struct check *c, struct bf_json *j)
{
	bf_json_open(j, "instructions", '{');
	for (uint32_t i = 0; i < c->p->form_count; i++)
		if (c->uses[i])
			bf_json_u64(j, c->p->forms[i]->text, c->uses[i]);
	bf_json_close(j, '}');
}

static void json_kernel(struct check *c, struct bf_json *j, const struct bf_ptx_func *f)
{
	const struct bf_ptx_kernel *k = f->kernel;
	struct bf_ptx_refusal first;

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "name", f->name);
	bf_json_text(j, "module", c->p->modules[f->module]->name);
	bf_json_u64(j, "line", f->line);
	bf_json_u64(j, "statements", statements(c, k));
	bf_json_u64(j, "functions", k->func_count);
	bf_json_u64(j, "registers", f->reg_count);
	bf_json_u64(j, "shared", k->static_shared);
	bf_json_bool(j, "dynamic_shared", k->dynamic_align != 0);
	bf_json_u64(j, "local", local_bytes(c, k));
	bf_json_u64(j, "params", f->param_size);
	bf_json_bool(j, "indirect_calls", k->indirect);
	bf_json_bool(j, "recursive", k->recursive);
	json_three(j, "maxntid", f->maxntid);
	json_three(j, "reqntid", f->reqntid);
	json_three(j, "cluster", f->cluster);
	count_forms(c, k);
	json_forms(c, j);
	json_refusals(c, j, k, false);
	json_stops(c, j, k);
	c->refused += count_refused(c, k, &first) != 0;
	bf_json_close(j, '}');
}

static void json_module(struct bf_json *j, const struct bf_ptx_module *m)
{
	char text[32];

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "name", m->name);
	snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, m->version_major, m->version_minor);
	bf_json_text(j, "version", text);
	snprintf(text, sizeof(text), "sm_%" PRIu32 "%.1s", m->sm, m->sm_suffix ? &m->sm_suffix : "");
	bf_json_text(j, "target", text);
	bf_json_bool(j, "debug", m->debug);
	bf_json_u64(j, "lines", m->lines);
	bf_json_close(j, '}');
}

static void json_all(struct check *c)
{
	const char *only = bf_arg_text(c->args, "kernel");
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "modules", '[');
	for (uint32_t i = 0; i < c->p->module_count; i++)
		json_module(&j, c->p->modules[i]);
	bf_json_close(&j, ']');
	bf_json_u64(&j, "passed_over", c->strays.count);
	bf_json_u64(&j, "global", c->p->global_size);
	bf_json_u64(&j, "const", c->p->const_size);
	bf_json_open(&j, "kernels", '[');
	for (uint32_t i = 0; i < c->p->func_count; i++) {
		const struct bf_ptx_func *f = c->p->funcs[i];

		if (f->kernel && (!only || strcmp(only, f->name) == 0))
			json_kernel(c, &j, f);
	}
	bf_json_close(&j, ']');
	json_refusals(c, &j, NULL, true);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* ---- */

static int read_files(struct check *c)
{
	const struct bf_ptx_link_opts link = { .builtins = builtins,
					       .builtin_count = BF_ARRAY_LEN(builtins),
					       .allow_unresolved = true };

	for (unsigned i = 0; i < bf_arg_positional_count(c->args) - 1; i++) {
		struct bf_ptx_strays strays = { 0 };
		int rc = bf_ptx_program_add_file(c->p, bf_arg_positional(c->args, i + 1),
						 bf_arg_flag(c->args, "excerpt") ? &strays : NULL);

		if (rc)
			return rc;
		c->strays.line = c->strays.count ? c->strays.line : strays.line;
		c->strays.count += strays.count;
	}
	return bf_ptx_link(c->p, &link);
}

static int check(struct check *c)
{
	const char *only = bf_arg_text(c->args, "kernel");
	const struct bf_ptx_func *f;

	if (read_files(c))
		return bf_cli_error(c->args, BF_EXIT_USAGE, "%s", c->p->error.text);
	f = only ? bf_ptx_find_func(c->p, only) : NULL;
	if (only && (!f || !f->kernel))
		return bf_cli_error(c->args, BF_EXIT_USAGE, "there is no kernel '%s'", only);
	for (uint32_t i = 0; i < c->p->func_count; i++)
		c->kernels += c->p->funcs[i]->kernel != NULL;
	c->uses = calloc(c->p->form_count + 1, sizeof(*c->uses));
	c->told = calloc((size_t)c->p->var_count + c->p->func_count + 1, sizeof(*c->told));
	if (!c->uses || !c->told)
		return bf_cli_error(c->args, BF_EXIT_USAGE, "out of memory");
	if (find_stops(c))
		return BF_EXIT_USAGE;
	if (bf_arg_json(c->args))
		json_all(c);
	else
		print_all(c);
	return c->refused ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

static int run(const struct bf_args *args)
{
	struct check c = { .args = args, .p = bf_ptx_program_create() };
	int code;

	if (strcmp(bf_arg_positional(args, 0), "check") != 0 || bf_arg_positional_count(args) < 2)
		code = bf_cli_error(args, BF_EXIT_USAGE, "usage: belfry ptx check FILE...");
	else
		code = c.p ? check(&c) : bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	free(c.uses);
	free(c.told);
	free(c.stops);
	bf_ptx_program_destroy(c.p);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "kernel", .kind = BF_OPT_TEXT, .arg = "NAME", .help = "of this kernel only" },
	{ .name = "forms",
	  .kind = BF_OPT_FLAG,
	  .help = "list the instructions of the modules, the most frequent first" },
	{ .name = "excerpt",
	  .kind = BF_OPT_FLAG,
	  .help = "the file was cut out of a larger one: skip statements outside of functions" },
	{ 0 },
};

const struct bf_command bf_cmd_ptx_check = {
	.name = "ptx",
	.usage = "ptx check FILE...",
	.summary = "list what PTX modules need, and what would be refused",
	.details =
	    "Reads the files and links them as one program, as nvlink does; '-' is standard input. Errors are\n"
	    "reported with file, line and column. For each kernel it prints: statements of it and of what it calls,\n"
	    "number of forms of instructions, number of functions that it calls, registers as declared, static\n"
	    "shared memory (+: and dynamic), the largest .local frame, bytes of parameters. An unsupported\n"
	    "instruction is listed under the kernels that can reach it. \"stops at\": the kernel starts, and fails\n"
	    "when a lane gets there.\n"
	    "\n"
	    "Exit code 1: a kernel can reach something that is refused. Symbols that other modules must\n"
	    "define, and \"stops at\", do not count.\n"
	    "\n"
	    "  nvcc -ptx -arch=sm_90 -lineinfo kernel.cu && belfry ptx check kernel.ptx",
	.options = options,
	.min_args = 1,
	.max_args = 64,
	.run = run,
	.prefix = "check",
};
