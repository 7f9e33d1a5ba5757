/*
 * belfry doctor: what works on this machine, and how to get the rest.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/backend/backend.h"
#include "drivers/bootstrap/mpi.h"
#include "tools/cli/cli.h"
#include "tools/exec/needs.h"
#include "tools/exec/target.h"

/* A library that a build may lack, or a program that some commands call. */
struct optional_part {
	const char *name;
	bool here;
	const char *use;  /* what does not work without it */
	const char *get;  /* how to get it */
	const char *what; /* which one is here; may be NULL */
};

#ifdef BELFRY_HAVE_LIBUV
#define HAVE_LIBUV true
#else
#define HAVE_LIBUV false
#endif
#ifdef BELFRY_HAVE_ZSTD
#define HAVE_ZSTD true
#else
#define HAVE_ZSTD false
#endif
#ifdef BELFRY_HAVE_XXHASH
#define HAVE_XXHASH true
#else
#define HAVE_XXHASH false
#endif
#ifdef BELFRY_HAVE_LIBDW
#define HAVE_LIBDW true
#else
#define HAVE_LIBDW false
#endif

static bool runnable(const char *dir, size_t dir_len, const char *name)
{
	char path[4096];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)dir_len, dir, name);

	return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

/* Whether a program called `name` is on the PATH. */
static bool on_path(const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (len > 0 && runnable(path, len, name))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static void print_remark(const char *text)
{
	printf("%18s", "");
	bf_cli_wrap(stdout, text, 18, 18);
}

/* Memory of a GPU, for a backend whose device may work on it. */
static void print_gpu_memory(struct bf_json *json, const struct bf_backend *b)
{
	char why[300] = "", text[340];
	bool usable;

	if (!b->probe_gpu)
		return;
	usable = b->probe_gpu(false, why, sizeof(why)) == 0;
	if (json) {
		bf_json_open(json, "gpu_memory", '{');
		bf_json_bool(json, "usable", usable);
		bf_json_text(json, usable ? "what" : "why", why);
		bf_json_close(json, '}');
	} else {
		snprintf(text, sizeof(text), "%sGPU memory: %s", usable ? "" : "no ", why);
		print_remark(text);
	}
}

static void print_backends(struct bf_json *json)
{
	if (json)
		bf_json_open(json, "backends", '[');
	else
		puts("Backends");
	for (const struct bf_backend *const *b = bf_backends(); *b; b++) {
		char why[512] = "";
		bool usable = (*b)->probe(why, sizeof(why)) == 0;

		if (json) {
			bf_json_open(json, NULL, '{');
			bf_json_text(json, "name", (*b)->name);
			bf_json_bool(json, "usable", usable);
			bf_json_text(json, "summary", (*b)->summary);
			if (why[0])
				bf_json_text(json, usable ? "what" : "why", why);
			print_gpu_memory(json, *b);
			bf_json_close(json, '}');
		} else {
			printf("  %-8s %-4s %s\n", (*b)->name, usable ? "yes" : "no", (*b)->summary);
			if (why[0])
				print_remark(why);
			print_gpu_memory(json, *b);
		}
	}
	if (json)
		bf_json_close(json, ']');
}

/* What --backend=auto takes, by kind of device. */
static void print_auto(struct bf_json *json)
{
	const char *kind;
	char why[512], text[160] = "";

	if (json)
		bf_json_open(json, "auto", '{');
	for (uint32_t i = 0; (kind = bf_device_kind(i)) != NULL; i++) {
		const char *name = bf_backend_auto(1u << i, why, sizeof(why))->name;
		const size_t used = strlen(text);

		if (json)
			bf_json_text(json, kind, name);
		snprintf(text + used, sizeof(text) - used, "%s%s for %s", used ? ", " : "", name, kind);
	}
	if (json)
		bf_json_close(json, '}');
	else
		printf("  %-8s %-4s %s\n", "auto", "", text);
}

static void print_parts(struct bf_json *json, const char *key, const char *title, const struct optional_part *parts,
			size_t n)
{
	if (json)
		bf_json_open(json, key, '[');
	else
		printf("%s\n", title);
	for (size_t i = 0; i < n; i++) {
		const struct optional_part *p = &parts[i];

		if (json) {
			bf_json_open(json, NULL, '{');
			bf_json_text(json, "name", p->name);
			bf_json_bool(json, "here", p->here);
			bf_json_text(json, "use", p->use);
			if (!p->here)
				bf_json_text(json, "get", p->get);
			else if (p->what)
				bf_json_text(json, "what", p->what);
			bf_json_close(json, '}');
		} else {
			printf("  %-8s %-4s %s\n", p->name, p->here ? "yes" : "no", p->use);
			if (!p->here)
				print_remark(p->get);
			else if (p->what)
				print_remark(p->what);
		}
	}
	if (json)
		bf_json_close(json, ']');
}

/* The file that the dynamic linker takes for `name`: its own name has the version. False: there is none. */
static bool find_library(const char *name, char path[PATH_MAX])
{
	/* It stays: a provider of libibverbs keeps what it has registered itself with. */
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	struct link_map *map = NULL;
	bool found;

	if (!library)
		return false;
	found = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path);
	dlclose(library);
	return found;
}

#define NEEDS_MAX 8u

/* What `belfry exec` needs. */
static void print_exec(struct bf_json *json)
{
	char exec[PATH_MAX] = "", gpu[PATH_MAX] = "", library[NEEDS_MAX][PATH_MAX] = { "" };
	struct bf_error no_gpu = { .text = "as for exec" };
	struct bf_error why = { .text =
				    "without the kernel's RDMA headers this build has no belfry exec: apt-get install "
				    "linux-libc-dev, then configure again" };
#ifdef BELFRY_HAVE_EXEC
	const bool have = bf_exec_library("libbelfry-exec.so", exec, &why) == 0;
	const bool have_gpu = bf_exec_library("belfry-gpu/libcuda.so.1", gpu, &no_gpu) == 0;
#else
	const bool have = false, have_gpu = false;
#endif
	struct optional_part parts[2 + NEEDS_MAX] = {
		{ "exec", have, "the library that belfry exec loads into programs", why.text, exec },
		{ "gpu", have_gpu, "CUDA programs for belfry exec --gpu", no_gpu.text, gpu },
	};
	size_t n = 2;

	for (const struct bf_exec_need *need = bf_exec_needs; need->name && n < BF_ARRAY_LEN(parts); need++, n++) {
		const bool found = find_library(need->library, library[n - 2]);

		parts[n] = (struct optional_part){ need->name, found, need->use, need->get, library[n - 2] };
	}
	print_parts(json, "exec", "Unmodified RDMA programs", parts, n);
}

static int run_doctor(const struct bf_args *args)
{
	const struct bf_mpi_api *mpi;
	char why[240];
	const struct optional_part libraries[] = {
		{ "libuv", HAVE_LIBUV, "the live backend, processes of belfry launch",
		  "apt-get install libuv1-dev, then configure again", NULL },
		{ "zstd", HAVE_ZSTD, "compressed traces", "apt-get install libzstd-dev, then configure again", NULL },
		{ "xxhash", HAVE_XXHASH, "checksums of traces", "apt-get install libxxhash-dev, then configure again",
		  NULL },
		{ "libdw", HAVE_LIBDW, "source lines of findings", "apt-get install libdw-dev, then configure again",
		  NULL },
		{ "mpi", bf_mpi_load(&mpi, why, sizeof(why)) == 0, "simulations spread over processes by mpirun",
		  "apt-get install openmpi-bin; if this build has no libbelfry-mpi.so, libopenmpi-dev and configure "
		  "again",
		  NULL },
	};
	const struct optional_part programs[] = {
		{ "tshark", on_path("tshark"), "the test that dissects exported packets", "apt-get install tshark",
		  NULL },
		{ "nvcc", on_path("nvcc"), "the test that compiles the drivers as CUDA device code",
		  "install the CUDA toolkit", NULL },
	};
	struct bf_json writer, *json = NULL;

	if (bf_arg_json(args)) {
		json = &writer;
		bf_json_begin(json, stdout);
		bf_json_open(json, NULL, '{');
	}
	print_backends(json);
	print_auto(json);
	print_parts(json, "libraries", "Libraries in this build", libraries, BF_ARRAY_LEN(libraries));
	print_exec(json);
	print_parts(json, "programs", "Programs on this machine", programs, BF_ARRAY_LEN(programs));
	if (json) {
		bf_json_close(json, '}');
		bf_json_end(json);
	}
	return BF_EXIT_GOOD;
}

static const struct bf_opt options[] = { { .name = NULL } };

const struct bf_command bf_cmd_doctor = {
	.name = "doctor",
	.usage = "doctor",
	.summary = "list which backends work here, and why others do not",
	.details = "For each backend: whether it works on this machine, and on which device. If not: which device, "
		   "module, library or permission is missing, and how to get it. Then: which backend --backend=auto "
		   "selects, the libraries that this build has or lacks, what belfry exec needs, and programs that "
		   "some tests use.\n"
		   "\n"
		   "The exit code is always 0: a missing backend is an error only when you use it.",
	.options = options,
	.run = run_doctor,
	.ranks = true,
};
