/*
 * Modules: from what a program hands over (fat binaries, PTX) to kernels and variables.
 *
 * A module's PTX is read when something of it is asked for on a device. Code without PTX loads all the same, and only
 * who wants something of it hears why that is not possible.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/cuda/driver_internal.h"
#include "tools/cuda/fatbin.h"

#define MODULE_MAGIC 0x646f6d63u
#define FUNCTION_MAGIC 0x6e756663u
#define SHARED_USUAL (48u << 10)

static struct bf_cu_module *modules, *unloaded;

/* ---- what is in an image ---- */

static int add_source(struct bf_cu_module *m, char *text, size_t len)
{
	char name[64];

	if (BF_GROW(m->sources, m->source_cap, m->source_count + 1)) {
		free(text);
		return BF_CU_OUT_OF_MEMORY;
	}
	snprintf(name, sizeof(name), "%.40s#%u", m->name, (unsigned)m->source_count);
	m->sources[m->source_count++] = (struct bf_ptx_source){ .name = strdup(name), .text = text, .len = len };
	return BF_CU_OK;
}

/* The newest PTX that suits, if there is any. */
static int add_fatbin(struct bf_cu_module *m, const void *data)
{
	const uint64_t size = bf_fatbin_size(data);
	struct bf_error err = { 0 };
	struct bf_fatbin_choice choice;
	size_t len = 0;
	char *text;

	if (!size || bf_fatbin_choose(data, size, bf_cu_arch(), &choice, &err)) {
		bf_cu_say("%s: %s", m->name, size ? err.text : "no fat binary");
		return BF_CU_INVALID_IMAGE;
	}
	if (!choice.ptx.kind) {
		if (choice.ltos)
			snprintf(m->missing, sizeof(m->missing),
				 "it has code for the linker (-dlto) without PTX beside it");
		else if (choice.cubins)
			snprintf(m->missing, sizeof(m->missing), "it has machine code (sm_%u) without PTX",
				 (unsigned)choice.cubin_arch);
		return BF_CU_OK;
	}
	text = bf_fatbin_text(&choice.ptx, &len, &err);
	if (!text) {
		snprintf(m->missing, sizeof(m->missing), "%s", err.text);
		return BF_CU_OK;
	}
	return add_source(m, text, len);
}

static int add_linked(struct bf_cu_module *m, const void *image)
{
	struct bf_cu_image head;
	int rc = BF_CU_OK;

	memcpy(&head, image, sizeof(head));
	for (uint64_t at = sizeof(head), size; !rc && at < head.size; at += (size + 7) & ~7ull) {
		const void *data = (const uint8_t *)image + at;

		size = bf_fatbin_size(data);
		rc = size ? add_fatbin(m, data) : BF_CU_INVALID_IMAGE;
	}
	return rc;
}

static int add_image(struct bf_cu_module *m, const void *image)
{
	struct bf_fatbin_wrapper w;
	uint32_t magic;
	int rc = BF_CU_OK;

	memcpy(&magic, image, sizeof(magic));
	if (magic == BF_FATBIN_MAGIC)
		return add_fatbin(m, image);
	if (magic == BF_CU_IMAGE_MAGIC)
		return add_linked(m, image);
	if (magic == 0x464c457fu) { /* ELF */
		snprintf(m->missing, sizeof(m->missing), "it is machine code (a cubin) without PTX");
		return BF_CU_OK;
	}
	if (magic != BF_FATBIN_WRAPPER) {
		char *text = strdup(image);

		return text ? add_source(m, text, strlen(text)) : BF_CU_OUT_OF_MEMORY;
	}
	memcpy(&w, image, sizeof(w));
	if (w.version == 2 && w.more) {
		for (const void *const *object = w.more; !rc && *object; object++)
			rc = add_fatbin(m, *object);
		if (!m->source_count && !m->missing[0])
			snprintf(m->missing, sizeof(m->missing), "its objects have no PTX");
		return rc;
	}
	return add_fatbin(m, w.data);
}

/* The one function of the device's runtime that needs nothing but a store: a handle is its word's address. */
static int add_runtime(struct bf_cu_module *m)
{
	static const char name[] = "cudaGraphSetConditional";
	static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				  ".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n{\n"
				  "	.reg .b32 %r<2>;\n	.reg .b64 %rd<2>;\n"
				  "	ld.param.u64 %rd1, [handle];\n	ld.param.u32 %r1, [value];\n"
				  "	st.global.u32 [%rd1], %r1;\n	ret;\n}\n";
	char *text;

	for (uint32_t i = 0; i < m->source_count; i++)
		if (memmem(m->sources[i].text, m->sources[i].len, name, sizeof(name) - 1)) {
			text = strdup(ptx);
			return text ? add_source(m, text, sizeof(ptx) - 1) : BF_CU_OUT_OF_MEMORY;
		}
	return BF_CU_OK;
}

static int make_module(const void *image, const char *name, struct bf_cu_module **out)
{
	struct bf_cu_module *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return BF_CU_OUT_OF_MEMORY;
	m->name = strdup(name);
	rc = m->name ? add_image(m, image) : BF_CU_OUT_OF_MEMORY;
	rc = rc ? rc : add_runtime(m);
	if (rc) {
		free(m->name);
		free(m);
		return rc;
	}
	m->magic = MODULE_MAGIC;
	m->next = modules;
	modules = m;
	*out = m;
	return BF_CU_OK;
}

/* ---- loading ---- */

static int tell_missing(const struct bf_cu_module *m, const char *what)
{
	bf_cu_say("%s%s%s cannot run: %s. Belfry runs PTX: compile with -gencode arch=compute_90,code=compute_90 (nvcc "
		  "-arch=sm_90 has it, too; CMAKE_CUDA_ARCHITECTURES 90-virtual)",
		  what ? what : "", what ? " of " : "", m->name, m->missing);
	return BF_CU_NO_BINARY;
}

int bf_cu_load(struct bf_cu_module *m, int device, struct bf_ptx_library **out)
{
	char why[1024];
	int rc;

	*out = m->lib[device];
	if (*out)
		return BF_CU_OK;
	if (m->failed)
		return m->failed;
	if (!m->source_count)
		return BF_CU_NO_BINARY;
	rc = bf_cu.machine->load((uint32_t)device, m->sources, m->source_count, &m->lib[device], why, sizeof(why));
	*out = m->lib[device];
	if (!rc)
		return BF_CU_OK;
	bf_cu_say("%s: its PTX cannot be loaded: %s", m->name, why);
	m->failed = rc == -ENOMEM ? BF_CU_OUT_OF_MEMORY : BF_CU_INVALID_PTX;
	return m->failed;
}

static void sweep(void);

static int load_module(const void *image, const char *name, CUmodule *out)
{
	int rc = bf_cu_ready();

	if (rc || !image || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	sweep();
	rc = make_module(image, name, out);
	bf_cu_unlock();
	return rc;
}

int cuModuleLoadData(CUmodule *out, const void *image)
{
	struct bf_cu_context *c;
	struct bf_ptx_library *lib;
	int rc = bf_cu_enter(&c);

	rc = rc ? rc : load_module(image, "a module", out);
	if (rc)
		return rc;
	bf_cu_lock();
	rc = (*out)->source_count ? bf_cu_load(*out, c->device, &lib) : tell_missing(*out, NULL);
	bf_cu_unlock();
	return rc;
}

int cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, int *options, void **values)
{
	(void)count;
	(void)options; /* of a compiler that there is none of */
	(void)values;
	return cuModuleLoadData(out, image);
}

int cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
	return cuModuleLoadData(out, image);
}

static int read_file(const char *path, char **out)
{
	FILE *f = fopen(path, "rb");
	long size = -1;
	char *bytes = NULL;

	if (!f)
		return BF_CU_FILE_NOT_FOUND;
	if (!fseek(f, 0, SEEK_END))
		size = ftell(f);
	rewind(f);
	bytes = size >= 0 ? calloc((size_t)size + 32, 1) : NULL;
	if (bytes && fread(bytes, 1, (size_t)size, f) != (size_t)size) {
		free(bytes);
		bytes = NULL;
	}
	fclose(f);
	*out = bytes;
	return bytes ? BF_CU_OK : BF_CU_INVALID_IMAGE;
}

int cuModuleLoad(CUmodule *out, const char *path)
{
	char *bytes = NULL;
	int rc = path ? read_file(path, &bytes) : BF_CU_INVALID_VALUE;

	if (!rc)
		rc = cuModuleLoadData(out, bytes);
	free(bytes);
	return rc;
}

int bf_cu_library_load(CUmodule *out, const void *image, const char *name)
{
	return load_module(image, name, out);
}

int cuLibraryLoadData(CUmodule *out, const void *image, int *jit, void **jit_values, unsigned jit_count, int *options,
		      void **values, unsigned count)
{
	(void)jit;
	(void)jit_values;
	(void)jit_count;
	(void)options;
	(void)values;
	(void)count;
	return load_module(image, "a library", out);
}

int cuLibraryLoadFromFile(CUmodule *out, const char *path, int *jit, void **jit_values, unsigned jit_count,
			  int *options, void **values, unsigned count)
{
	char *bytes = NULL;
	int rc = path ? read_file(path, &bytes) : BF_CU_INVALID_VALUE;

	if (!rc)
		rc = cuLibraryLoadData(out, bytes, jit, jit_values, jit_count, options, values, count);
	free(bytes);
	return rc;
}

static bool is_module(const struct bf_cu_module *m)
{
	return m && m->magic == MODULE_MAGIC;
}

/* What was unloaded gives up what it has; its handles stay, to be told from others. */
static void give_up(struct bf_cu_module *m)
{
	for (int i = 0; i < (int)BF_EXEC_GPUS_MAX; i++)
		if (m->lib[i] && !bf_cu.machine->unload((uint32_t)i, m->lib[i]))
			m->lib[i] = NULL;
	for (uint32_t i = 0; i < m->source_count; i++) {
		free((void *)(uintptr_t)m->sources[i].name);
		free((void *)(uintptr_t)m->sources[i].text);
	}
	free(m->sources);
	m->sources = NULL;
	m->source_count = m->source_cap = 0;
	snprintf(m->missing, sizeof(m->missing), "it has been unloaded");
}

/* As soon as nothing runs: who unloads does not wait for kernels. */
static void sweep(void)
{
	struct bf_cu_module **link = &modules;
	bool any = false;

	for (struct bf_cu_module *m = modules; m; m = m->next)
		any = any || m->gone;
	if (!any || bf_cu.ended || !bf_cu_streams_idle())
		return;
	while (*link) {
		struct bf_cu_module *m = *link;

		if (!m->gone) {
			link = &m->next;
			continue;
		}
		*link = m->next;
		m->next = unloaded;
		unloaded = m;
		give_up(m);
	}
}

int cuModuleUnload(CUmodule m)
{
	if (!is_module(m))
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	m->gone = true;
	m->magic = 0;
	for (struct bf_cu_function *f = m->functions; f; f = f->next)
		f->magic = 0;
	sweep();
	bf_cu_unlock();
	return BF_CU_OK;
}

void bf_cu_modules_renew(int device)
{
	for (struct bf_cu_module *m = modules; m; m = m->next)
		if (m->lib[device])
			bf_cu.machine->renew(m->lib[device]);
}

int cuLibraryUnload(CUmodule m)
{
	return cuModuleUnload(m);
}

int cuLibraryGetModule(CUmodule *out, CUmodule m)
{
	*out = m;
	return is_module(m) ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

/* ---- kernels ---- */

struct bf_cu_function *bf_cu_function_of(void *handle)
{
	struct bf_cu_function *f = handle;

	return f && f->magic == FUNCTION_MAGIC ? f : NULL;
}

int bf_cu_is_function(const void *handle, CUfunction *out)
{
	*out = bf_cu_function_of((void *)(uintptr_t)handle);
	return *out != NULL;
}

static int look_at(struct bf_cu_function *f, const struct bf_ptx_library *lib)
{
	char why[1024];

	bf_cu.machine->kernel(lib, f->name, &f->info);
	if (bf_cu.machine->refusal(lib, f->name, why, sizeof(why)) && !(f->refused = strdup(why)))
		return BF_CU_OUT_OF_MEMORY;
	f->params = calloc(f->info.params + 1u, sizeof(*f->params));
	if (!f->params)
		return BF_CU_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < f->info.params; i++)
		bf_cu.machine->param(lib, f->name, i, &f->params[i].offset, &f->params[i].size);
	memcpy(f->cluster, f->info.cluster, sizeof(f->cluster));
	f->registers = 32; /* ptxas decides on a GPU; this is what small kernels get */
	f->dynamic_shared = f->info.static_shared < SHARED_USUAL ? SHARED_USUAL - f->info.static_shared : 0;
	f->carveout = -1;
	return BF_CU_OK;
}

static int find_function(struct bf_cu_module *m, int device, const char *name, struct bf_cu_function **out)
{
	struct bf_ptx_kernel_info info;
	struct bf_ptx_library *lib;
	struct bf_cu_function *f = m->functions;
	int rc;

	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	if (!f) {
		rc = m->source_count ? bf_cu_load(m, device, &lib) : tell_missing(m, name);
		if (rc)
			return rc;
		if (bf_cu.machine->kernel(lib, name, &info))
			return BF_CU_NOT_FOUND;
		f = calloc(1, sizeof(*f));
		if (!f || !(f->name = strdup(name))) {
			free(f);
			return BF_CU_OUT_OF_MEMORY;
		}
		f->magic = FUNCTION_MAGIC;
		f->module = m;
		rc = look_at(f, lib);
		if (rc)
			return rc;
		f->next = m->functions;
		m->functions = f;
	}
	*out = f;
	return BF_CU_OK;
}

static int get_function(CUfunction *out, CUmodule m, const char *name)
{
	int rc = bf_cu_ready();

	if (rc || !out || !name || !is_module(m))
		return rc ? rc : !out || !name ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	rc = find_function(m, bf_cu_current() ? bf_cu_current()->device : 0, name, out);
	bf_cu_unlock();
	return rc;
}

int cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	return get_function(out, m, name);
}

int cuLibraryGetKernel(CUfunction *out, CUmodule m, const char *name)
{
	return get_function(out, m, name);
}

int cuKernelGetFunction(CUfunction *out, CUfunction kernel)
{
	*out = bf_cu_function_of(kernel);
	return *out ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuKernelGetLibrary(CUmodule *out, CUfunction kernel)
{
	const struct bf_cu_function *f = bf_cu_function_of(kernel);

	*out = f ? f->module : NULL;
	return f ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuFuncGetModule(CUmodule *out, CUfunction kernel)
{
	return cuKernelGetLibrary(out, kernel);
}

int cuFuncGetName(const char **name, CUfunction function)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);

	*name = f ? f->name : NULL;
	return f ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuKernelGetName(const char **name, CUfunction kernel)
{
	return cuFuncGetName(name, kernel);
}

int cuKernelGetParamInfo(CUfunction kernel, size_t index, size_t *offset, size_t *size)
{
	const struct bf_cu_function *f = bf_cu_function_of(kernel);

	if (!f || index >= f->info.params)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	if (offset)
		*offset = f->params[index].offset;
	if (size)
		*size = f->params[index].size;
	return BF_CU_OK;
}

int cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size)
{
	return cuKernelGetParamInfo(f, index, offset, size);
}

int cuFuncIsLoaded(int *state, CUfunction f)
{
	*state = 1;
	return bf_cu_function_of(f) ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuFuncLoad(CUfunction f)
{
	return bf_cu_function_of(f) ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuLibraryGetKernelCount(unsigned *count, CUmodule m)
{
	const struct bf_ptx_program *p;
	struct bf_ptx_library *lib;
	int rc;

	if (!is_module(m) || !count)
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	rc = bf_cu_load(m, 0, &lib);
	*count = 0;
	p = rc ? NULL : bf_cu.machine->program(lib);
	for (uint32_t i = 0; p && i < p->func_count; i++)
		*count += p->funcs[i]->entry && p->funcs[i]->defined;
	bf_cu_unlock();
	return rc;
}

int cuLibraryEnumerateKernels(CUfunction *kernels, unsigned count, CUmodule m)
{
	const struct bf_ptx_program *p;
	struct bf_ptx_library *lib;
	unsigned n = 0;
	int rc;

	if (!is_module(m) || !kernels)
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	rc = bf_cu_load(m, 0, &lib);
	p = rc ? NULL : bf_cu.machine->program(lib);
	for (uint32_t i = 0; p && !rc && n < count && i < p->func_count; i++)
		if (p->funcs[i]->entry && p->funcs[i]->defined)
			rc = find_function(m, 0, p->funcs[i]->name, &kernels[n++]);
	bf_cu_unlock();
	return rc;
}

int cuModuleGetFunctionCount(unsigned *count, CUmodule m)
{
	return cuLibraryGetKernelCount(count, m);
}

int cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule m)
{
	return cuLibraryEnumerateKernels(functions, count, m);
}

/* ---- variables ---- */

static int get_variable(CUdeviceptr *at, size_t *size, CUmodule m, const char *name)
{
	struct bf_cu_context *c;
	struct bf_ptx_library *lib;
	uint64_t va = 0, bytes = 0;
	int rc = bf_cu_enter(&c);

	if (rc || !name || !is_module(m))
		return rc ? rc : !name ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	rc = m->source_count ? bf_cu_load(m, c->device, &lib) : tell_missing(m, name);
	if (!rc && bf_cu.machine->variable(lib, name, &va, &bytes))
		rc = BF_CU_NOT_FOUND;
	bf_cu_unlock();
	if (!rc && at)
		*at = va;
	if (!rc && size)
		*size = bytes;
	return rc;
}

int cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *size, CUmodule m, const char *name)
{
	return get_variable(at, size, m, name);
}

int cuLibraryGetGlobal(CUdeviceptr *at, size_t *size, CUmodule m, const char *name)
{
	return get_variable(at, size, m, name);
}

int cuLibraryGetManaged(CUdeviceptr *at, size_t *size, CUmodule m, const char *name)
{
	return get_variable(at, size, m, name);
}
