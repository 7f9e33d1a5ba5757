/* belfry ptx run: one kernel on its own, with arguments from the command line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/launch.h"
#include "sim/grow.h"
#include "sim/sim.h"
#include "tools/commands/ptx_arg.h"
#include "tools/workloads/choice.h"
#include "traces/container/trace.h"

struct run {
	const struct bf_args *args;
	struct bf_sim *sim;
	struct bf_space space;
	bool has_space;
	struct bf_ptx_device *device;
	struct bf_ptx_library *lib;
	struct bf_ptx_arg *arg;
	uint32_t arg_count;
	uint8_t *params;
	uint32_t param_bytes;
	struct bf_trace_writer *trace;
	enum bf_run_end end;
	char *printed; /* with --json: the kernel's printf */
	size_t printed_len, printed_cap;
	struct bf_error err;
};

/* X, X,Y or X,Y,Z of an option. */
static int take_shape(struct run *r, const char *option, uint32_t out[3])
{
	const char *text = bf_arg_text(r->args, option), *p = text;

	out[0] = out[1] = out[2] = text ? 1 : 0;
	for (uint32_t i = 0; text && i < 3; i++) {
		char *end;
		unsigned long v = strtoul(p, &end, 10);

		if (*p < '0' || *p > '9' || !v || v > UINT32_MAX || (*end && (*end != ',' || i == 2)))
			return bf_fail(&r->err, -EINVAL, "--%s expects X, X,Y or X,Y,Z, not '%s'", option, text);
		out[i] = (uint32_t)v;
		if (!*end)
			break;
		p = end + 1;
	}
	return 0;
}

static int read_file(struct run *r, const char *path, struct bf_ptx_source *out)
{
	FILE *f = fopen(path, "rb");
	size_t room = 0, got = 1;
	char *text = NULL;

	*out = (struct bf_ptx_source){ .name = path };
	if (!f)
		return bf_fail(&r->err, -errno, "cannot open %s: %s", path, strerror(errno));
	while (got) {
		if (out->len == room && BF_GROW(text, room, room + 65536)) {
			free(text);
			fclose(f);
			return bf_fail(&r->err, -ENOMEM, "out of memory");
		}
		got = fread(text + out->len, 1, room - out->len, f);
		out->len += got;
	}
	out->text = text;
	if (ferror(f))
		bf_fail(&r->err, -EIO, "cannot read %s", path);
	fclose(f);
	return r->err.code;
}

static int load(struct run *r)
{
	uint32_t count = bf_arg_positional_count(r->args) - 1, n = 0;
	struct bf_ptx_source *sources = calloc(count, sizeof(*sources));
	int rc = sources ? 0 : bf_fail(&r->err, -ENOMEM, "out of memory");

	while (!rc && n < count) {
		rc = read_file(r, bf_arg_positional(r->args, n + 1), &sources[n]);
		n++;
	}
	if (!rc && bf_ptx_device_load(r->device, sources, count, &r->lib))
		rc = bf_fail(&r->err, -EINVAL, "%s", r->sim->error.text);
	while (n)
		free((void *)(uintptr_t)sources[--n].text);
	free(sources);
	return rc;
}

static void print(void *arg, const char *text, size_t len)
{
	struct run *r = arg;

	if (!bf_arg_json(r->args)) {
		fwrite(text, 1, len, stdout);
		return;
	}
	if (BF_GROW(r->printed, r->printed_cap, r->printed_len + len + 1))
		return;
	memcpy(r->printed + r->printed_len, text, len);
	r->printed_len += len;
	r->printed[r->printed_len] = 0;
}

static int open_device(struct run *r)
{
	struct bf_ptx_device_opts opts = { .space = &r->space,
					   .ordering = (enum bf_ordering)bf_arg_u64(r->args, "ordering"),
					   .print = print,
					   .print_arg = r };

	if (bf_sim_create(bf_arg_u64(r->args, "seed"), &r->sim))
		return bf_fail(&r->err, -ENOMEM, "out of memory");
	if (bf_begin_trace(r->args, "ptx run", &r->trace, &r->err))
		return r->err.code;
	if (r->trace && bf_stream_open(&r->sim->rec, &r->sim->now_ps, UINT32_MAX, bf_trace_sink(r->trace)))
		return bf_fail(&r->err, -EIO, "cannot write the trace");
	if (bf_space_init(&r->space, r->sim, "pe0", 0))
		return bf_fail(&r->err, -ENOMEM, "%s", r->sim->error.text);
	r->has_space = true;
	if (bf_ptx_device_create(r->sim, &opts, &r->device))
		return bf_fail(&r->err, -ENOMEM, "%s", r->sim->error.text);
	return load(r);
}

/* The arguments, one after the other, as the kernel's parameters lie. */
static int take_args(struct run *r, const char *kernel)
{
	struct bf_ptx_kernel_info info;
	unsigned given = bf_arg_count(r->args, "arg");

	if (bf_ptx_library_kernel(r->lib, kernel, &info))
		return bf_fail(&r->err, -ENOENT, "there is no kernel '%s'", kernel);
	if (given != info.params)
		return bf_fail(&r->err, -EINVAL, "%s takes %" PRIu32 " arguments, %u are given", kernel, info.params,
			       given);
	r->arg = calloc(given + 1u, sizeof(*r->arg));
	r->params = calloc(info.param_bytes + 1u, 1);
	r->param_bytes = info.param_bytes;
	if (!r->arg || !r->params)
		return bf_fail(&r->err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < given; i++) {
		struct bf_ptx_arg *a = &r->arg[i];
		struct bf_error why = { 0 };
		uint32_t offset, size;

		r->arg_count = i;
		bf_ptx_library_param(r->lib, kernel, i, &offset, &size);
		if (bf_ptx_arg_parse(bf_arg_nth(r->args, "arg", i), a, &why) ||
		    (a->buffer && bf_ptx_arg_open(a, i, &r->space, &why)))
			return bf_fail(&r->err, why.code, "argument %" PRIu32 ": %s", i, why.text);
		if (a->len != size)
			return bf_fail(&r->err, -EINVAL,
				       "argument %" PRIu32 " has %" PRIu32
				       " bytes, the kernel's parameter has %" PRIu32,
				       i, a->len, size);
		memcpy(r->params + offset, a->bytes, size);
	}
	r->arg_count = given;
	return 0;
}

static int launch(struct run *r)
{
	struct bf_ptx_launch l = { .kernel = bf_arg_text(r->args, "kernel"),
				   .shared_bytes = (uint32_t)bf_arg_u64(r->args, "shared"),
				   .cooperative = bf_arg_flag(r->args, "cooperative") };
	int rc = take_shape(r, "grid", l.grid);

	if (!l.kernel)
		return bf_fail(&r->err, -EINVAL, "--kernel is missing: belfry ptx check lists them");
	if (!rc)
		rc = take_shape(r, "block", l.block);
	if (!rc)
		rc = take_shape(r, "cluster", l.cluster);
	if (!rc)
		rc = take_args(r, l.kernel);
	if (rc)
		return rc;
	l.params = r->params;
	l.param_bytes = r->param_bytes;
	if (bf_ptx_device_launch(r->device, r->lib, &l))
		return bf_fail(&r->err, -EINVAL, "%s", r->sim->error.text);
	r->end = bf_sim_run(r->sim, bf_arg_u64(r->args, "time-limit"));
	for (uint32_t i = 0; i < r->arg_count && !rc; i++)
		if (r->arg[i].buffer)
			rc = bf_ptx_arg_close(&r->arg[i], &r->err);
	return rc;
}

/* Why it did not end well, or NULL. */
static const char *failure(const struct run *r)
{
	const struct bf_ptx_fault *f = bf_ptx_device_fault(r->device);

	if (f)
		return f->text;
	if (r->end == BF_RUN_DEADLOCK)
		return r->sim->error.text;
	return r->end == BF_RUN_LIMIT ? "the time limit was reached" : NULL;
}

static void tell(const struct run *r)
{
	const struct bf_ptx_counts n = *bf_ptx_device_counts(r->device);
	const char *why = failure(r);
	char text[8192];

	if (r->end == BF_RUN_DEADLOCK && bf_agents_describe(r->sim, text, sizeof(text)))
		printf("%s: deadlock\n%s", bf_arg_text(r->args, "kernel"), text);
	else if (why)
		printf("%s: %s\n", bf_arg_text(r->args, "kernel"), why);
	printf("%s: %" PRIu64 " blocks, %" PRIu64 " warps, %" PRIu64
	       " instructions of single threads, %.3f us simulated\n",
	       bf_arg_text(r->args, "kernel"), n.blocks, n.warps, n.instructions,
	       (double)r->sim->now_ps / (double)BF_US);
	for (uint32_t i = 0; i < r->arg_count; i++)
		bf_ptx_arg_print(&r->arg[i], i);
}

static void tell_json(const struct run *r)
{
	const struct bf_ptx_counts n = *bf_ptx_device_counts(r->device);
	const struct bf_ptx_fault *f = bf_ptx_device_fault(r->device);
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "kernel", bf_arg_text(r->args, "kernel"));
	bf_json_text(&j, "failure", failure(r));
	if (f) {
		bf_json_u64(&j, "error", f->kind);
		bf_json_text(&j, "source", f->file);
		bf_json_u64(&j, "line", f->line);
	}
	bf_json_u64(&j, "time_ps", r->sim->now_ps);
	bf_json_u64(&j, "blocks", n.blocks);
	bf_json_u64(&j, "warps", n.warps);
	bf_json_u64(&j, "instructions", n.instructions);
	bf_json_text(&j, "printed", r->printed ? r->printed : "");
	bf_json_open(&j, "arguments", '[');
	for (uint32_t i = 0; i < r->arg_count; i++) {
		bf_json_open(&j, NULL, '{');
		if (r->arg[i].buffer)
			bf_ptx_arg_json(&r->arg[i], &j);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int finish(struct run *r, int rc)
{
	int code = BF_EXIT_GOOD;

	if (!rc) {
		if (bf_arg_json(r->args))
			tell_json(r);
		else
			tell(r);
		code = failure(r) ? BF_EXIT_FAILED : BF_EXIT_GOOD;
		for (uint32_t i = 0; i < r->arg_count; i++)
			code = r->arg[i].differs ? BF_EXIT_FAILED : code;
	}
	bf_ptx_device_destroy(r->device);
	if (r->has_space)
		bf_space_fini(&r->space);
	if (r->sim && r->trace)
		bf_stream_close(&r->sim->rec);
	if (r->sim)
		bf_sim_destroy(r->sim);
	if (r->trace && bf_trace_writer_close(r->trace) && !rc)
		rc = bf_fail(&r->err, -EIO, "cannot write the trace");
	free(r->arg);
	free(r->params);
	free(r->printed);
	return rc ? bf_cli_error(r->args, BF_EXIT_USAGE, "%s", r->err.text) : code;
}

static int run(const struct bf_args *args)
{
	struct run r = { .args = args };
	int rc;

	if (strcmp(bf_arg_positional(args, 0), "run") != 0 || bf_arg_positional_count(args) < 2)
		return bf_cli_error(args, BF_EXIT_USAGE, "usage: belfry ptx run FILE... --kernel NAME");
	rc = open_device(&r);
	if (!rc)
		rc = launch(&r);
	return finish(&r, rc);
}

static const struct bf_opt options[] = {
	{ .name = "kernel", .kind = BF_OPT_TEXT, .arg = "NAME", .help = "the kernel to run, as the module names it" },
	{ .name = "grid", .kind = BF_OPT_TEXT, .arg = "X,Y,Z", .initial = "1", .help = "blocks" },
	{ .name = "block", .kind = BF_OPT_TEXT, .arg = "X,Y,Z", .initial = "1", .help = "threads of a block" },
	{ .name = "cluster", .kind = BF_OPT_TEXT, .arg = "X,Y,Z", .help = "blocks of a cluster; as the kernel says" },
	{ .name = "shared",
	  .kind = BF_OPT_U64,
	  .arg = "BYTES",
	  .initial = "0",
	  .max = 1u << 20,
	  .help = "dynamic shared memory of a block" },
	{ .name = "cooperative",
	  .kind = BF_OPT_FLAG,
	  .help = "all blocks at once, so that they can wait for each other" },
	{ .name = "arg", .kind = BF_OPT_MULTI, .arg = "VALUE", .help = "an argument, in the order of the parameters" },
	{ .name = "ordering",
	  .kind = BF_OPT_ENUM,
	  .arg = "sc|tso|gpu|adversarial",
	  .initial = "sc",
	  .help = "how late stores become visible to others" },
	{ .name = "seed", .kind = BF_OPT_U64, .arg = "N", .initial = "1", .help = "seed of everything random" },
	{ .name = "time-limit", .kind = BF_OPT_TIME, .arg = "TIME", .initial = "10s", .help = "simulated time" },
	{ .name = "trace", .kind = BF_OPT_OUT, .arg = "FILE", .help = "write all records" },
	{ 0 },
};

const struct bf_command bf_cmd_ptx_run = {
	.name = "ptx",
	.usage = "ptx run FILE... --kernel NAME [options]",
	.summary = "run one kernel of PTX modules",
	.details =
	    "VALUE of --arg is TYPE:NUMBER (u8 to u64, s8 to s64, f32, f64), bytes:HEX for structures, or\n"
	    "buffer:SIZE: memory whose address is the argument. More may follow the size, each after a comma.\n"
	    "Initial contents: zero, fill=BYTE, count (words 0, 1, 2, ...), random=SEED (word i is the low half of\n"
	    "splitmix64(SEED << 32 | i)) or file=PATH. Printed at the end: hex, words or floats, or the first N of\n"
	    "them (words=N). save=PATH writes the buffer; expect=PATH compares it with a file.\n"
	    "\n"
	    "Exit code 1: the kernel failed, hangs, or a buffer is not as expected. 2: the modules or the\n"
	    "options are wrong, or the kernel can reach something that is refused.\n"
	    "\n"
	    "  belfry ptx run saxpy.ptx --kernel saxpy --grid 4 --block 128 \\\n"
	    "    --arg buffer:2K,count,words=8 --arg u32:3",
	.options = options,
	.min_args = 1,
	.max_args = 64,
	.run = run,
	.prefix = "run",
};
