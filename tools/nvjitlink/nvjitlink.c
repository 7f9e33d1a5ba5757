/*
 * libnvJitLink.so.12 and .13: the linker that programs bring along, on the driver's own. What it makes is no machine
 * code but the PTX together, as cuLinkComplete() does, for cuModuleLoadData() and its like.
 *
 * Source: nvJitLink.h of the CUDA toolkit, which names each function by the version of its library.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cuda/driver.h"

enum result {
	SUCCESS = 0,
	UNRECOGNIZED_OPTION = 1,
	MISSING_ARCH = 2,
	INVALID_INPUT = 3,
	PTX_COMPILE = 4,
	INTERNAL = 6,
	UNRECOGNIZED_INPUT = 8,
	NULL_INPUT = 10,
	LTO_NOT_ENABLED = 18,
};

enum input { CUBIN = 1, PTX = 2, LTO = 3, FATBIN = 4, ANY = 10 };

#define DRIVER_PTX 1
#define DRIVER_FATBIN 2
#define FATBIN_MAGIC 0xba55ed50u

struct link {
	CUlinkState state;
	void *image;
	size_t size;
	char log[256];
};

/* -arch=sm_NN or -arch=compute_NN must be there; the others say how to optimise and what to keep. */
static int create(struct link **out, uint32_t count, const char *const *options)
{
	bool arch = false;
	struct link *l;

	if (!out || (count && !options))
		return NULL_INPUT;
	for (uint32_t i = 0; i < count; i++) {
		if (!options[i] || options[i][0] != '-')
			return UNRECOGNIZED_OPTION;
		if (!strcmp(options[i], "-lto")) {
			bf_cu_unsupported("nvJitLinkCreate: -lto");
			return UNRECOGNIZED_OPTION;
		}
		arch = arch || !strncmp(options[i], "-arch=", 6);
	}
	if (!arch)
		return MISSING_ARCH;
	l = calloc(1, sizeof(*l));
	if (!l || cuInit(0) || cuLinkCreate_v2(0, NULL, NULL, &l->state)) {
		free(l);
		return INTERNAL;
	}
	*out = l;
	return SUCCESS;
}

static int destroy(struct link **l)
{
	if (!l || !*l)
		return NULL_INPUT;
	cuLinkDestroy((*l)->state);
	free(*l);
	*l = NULL;
	return SUCCESS;
}

static int refuse(struct link *l, int result, const char *name, const char *why)
{
	snprintf(l->log, sizeof(l->log), "%s: %s", name ? name : "an input", why);
	return result;
}

static bool is_fatbin(const void *data, size_t size)
{
	uint32_t magic = 0;

	if (size >= sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	return magic == FATBIN_MAGIC;
}

static int add_data(struct link *l, int type, const void *data, size_t size, const char *name)
{
	const bool fatbin = type == FATBIN || (type == ANY && data && is_fatbin(data, size));
	int rc;

	if (!l || !data)
		return NULL_INPUT;
	if (type == LTO)
		return refuse(l, LTO_NOT_ENABLED, name, "code for the linker (LTO), without PTX");
	if (type != PTX && type != FATBIN && type != ANY)
		return refuse(l, UNRECOGNIZED_INPUT, name, "Belfry links PTX and fat binaries with PTX");
	rc = cuLinkAddData_v2(l->state, fatbin ? DRIVER_FATBIN : DRIVER_PTX, (void *)(uintptr_t)data, size, name, 0,
			      NULL, NULL);
	return rc ? refuse(l, fatbin ? INVALID_INPUT : PTX_COMPILE, name, "it has no PTX that can be linked") : SUCCESS;
}

static int add_file(struct link *l, int type, const char *path)
{
	FILE *f = l && path ? fopen(path, "rb") : NULL;
	char *bytes = NULL;
	long size = -1;
	int rc;

	if (!l || !path)
		return NULL_INPUT;
	if (f && !fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size >= 0) {
		rewind(f);
		bytes = calloc((size_t)size + 1, 1);
	}
	rc = bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size
		 ? add_data(l, type, bytes, (size_t)size, path)
		 : refuse(l, INVALID_INPUT, path, "it cannot be read");
	if (f)
		fclose(f);
	free(bytes);
	return rc;
}

static int complete(struct link *l)
{
	if (!l)
		return NULL_INPUT;
	return cuLinkComplete(l->state, &l->image, &l->size) ? refuse(l, INTERNAL, NULL, "nothing was added") : SUCCESS;
}

static int image_size(const struct link *l, size_t *size)
{
	if (!l || !size)
		return NULL_INPUT;
	*size = l->size;
	return l->image ? SUCCESS : INVALID_INPUT;
}

static int image(const struct link *l, void *to)
{
	if (!l || !to)
		return NULL_INPUT;
	if (l->image)
		memcpy(to, l->image, l->size);
	return l->image ? SUCCESS : INVALID_INPUT;
}

/* PTX comes out of LTO only. */
static int ptx(const struct link *l, const void *to)
{
	if (!l || !to)
		return NULL_INPUT;
	bf_cu_unsupported("nvJitLinkGetLinkedPtx");
	return LTO_NOT_ENABLED;
}

static int log_size(const struct link *l, size_t *size)
{
	if (!l || !size)
		return NULL_INPUT;
	*size = strlen(l->log) + 1;
	return SUCCESS;
}

static int get_log(const struct link *l, char *to)
{
	if (!l || !to)
		return NULL_INPUT;
	memcpy(to, l->log, strlen(l->log) + 1);
	return SUCCESS;
}

/* There is nothing to say besides errors. */
static int info_size(const struct link *l, size_t *size)
{
	if (!l || !size)
		return NULL_INPUT;
	*size = 1;
	return SUCCESS;
}

static int info(const struct link *l, char *to)
{
	if (!l || !to)
		return NULL_INPUT;
	*to = '\0';
	return SUCCESS;
}

BF_CU_API int nvJitLinkVersion(unsigned *major, unsigned *minor);
BF_CU_API int nvJitLinkVersion(unsigned *major, unsigned *minor)
{
	if (!major || !minor)
		return NULL_INPUT;
	*major = BELFRY_NVJITLINK;
	*minor = 0;
	return SUCCESS;
}

#define CALL(name, of, params, args)                                                                                   \
	BF_CU_API int __nvJitLink##name##_##of params;                                                                 \
	BF_CU_API int __nvJitLink##name##_##of params                                                                  \
	{                                                                                                              \
		return args;                                                                                           \
	}
#define ALL(of)                                                                                                        \
	CALL(Create, of, (struct link * *out, uint32_t count, const char *const *options),                             \
	     create(out, count, options))                                                                              \
	CALL(Destroy, of, (struct link * *l), destroy(l))                                                              \
	CALL(AddData, of, (struct link * l, int type, const void *data, size_t size, const char *name),                \
	     add_data(l, type, data, size, name))                                                                      \
	CALL(AddFile, of, (struct link * l, int type, const char *path), add_file(l, type, path))                      \
	CALL(Complete, of, (struct link * l), complete(l))                                                             \
	CALL(GetLinkedCubinSize, of, (struct link * l, size_t * size), image_size(l, size))                            \
	CALL(GetLinkedCubin, of, (struct link * l, void *to), image(l, to))                                            \
	CALL(GetLinkedPtxSize, of, (struct link * l, size_t * size), ptx(l, size))                                     \
	CALL(GetLinkedPtx, of, (struct link * l, char *to), ptx(l, to))                                                \
	CALL(GetErrorLogSize, of, (struct link * l, size_t * size), log_size(l, size))                                 \
	CALL(GetErrorLog, of, (struct link * l, char *to), get_log(l, to))                                             \
	CALL(GetInfoLogSize, of, (struct link * l, size_t * size), info_size(l, size))                                 \
	CALL(GetInfoLog, of, (struct link * l, char *to), info(l, to))
#if BELFRY_NVJITLINK == 12
ALL(12_0)
ALL(12_1)
ALL(12_2)
ALL(12_3)
ALL(12_4)
ALL(12_5)
ALL(12_6)
ALL(12_8)
ALL(12_9)
#else
ALL(13_0)
ALL(13_1)
ALL(13_2)
ALL(13_3)
#endif
