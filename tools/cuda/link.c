/*
 * The linker of the driver API: PTX texts and fat binaries become one image, whose modules are linked when it is
 * loaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/cuda/driver_internal.h"
#include "tools/cuda/fatbin.h"

#define LINK_MAGIC 0x6b6e6c63u
#define READ_BYTES 65536u

enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBIN, INPUT_OBJECT, INPUT_LIBRARY };

struct bf_cu_link {
	uint32_t magic;
	struct bf_cu_image *image; /* its header, then fat binaries one after the other */
};

static int grow(CUlinkState s, size_t more, uint8_t **at)
{
	struct bf_cu_image *wider = realloc(s->image, s->image->size + more);

	if (!wider)
		return BF_CU_OUT_OF_MEMORY;
	s->image = wider;
	*at = (uint8_t *)wider + wider->size;
	memset(*at, 0, more);
	wider->size += more;
	return BF_CU_OK;
}

/* A text in a fat binary of its own. */
static int add_text(CUlinkState s, const char *text, size_t len)
{
	uint8_t *at = NULL;
	const int rc = grow(s, bf_fatbin_wrapped(len), &at);

	if (!rc)
		bf_fatbin_wrap(at, text, len);
	return rc;
}

static int add(CUlinkState s, int type, const void *data, size_t size)
{
	uint64_t bytes;
	uint8_t *at = NULL;
	int rc;

	if (type == INPUT_PTX) {
		while (size && !((const char *)data)[size - 1])
			size--;
		return size ? add_text(s, data, size) : BF_CU_INVALID_PTX;
	}
	if (type == INPUT_CUBIN)
		return BF_CU_NO_BINARY;
	if (type != INPUT_FATBIN)
		return bf_cu_unsupported("cuLinkAddData: objects and libraries");
	bytes = size >= 16 ? bf_fatbin_size(data) : 0;
	if (!bytes || bytes > size)
		return BF_CU_INVALID_IMAGE;
	rc = grow(s, (bytes + 7) & ~7ull, &at);
	if (!rc)
		memcpy(at, data, bytes);
	return rc;
}

int cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *out)
{
	CUlinkState s;
	const int rc = bf_cu_ready();

	(void)count; /* options of a compiler that there is none of */
	(void)options;
	(void)values;
	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	if (s)
		s->image = calloc(1, sizeof(*s->image));
	if (!s || !s->image) {
		free(s);
		return BF_CU_OUT_OF_MEMORY;
	}
	s->magic = LINK_MAGIC;
	*s->image = (struct bf_cu_image){ .magic = BF_CU_IMAGE_MAGIC, .size = sizeof(*s->image) };
	*out = s;
	return BF_CU_OK;
}

static bool is_link(const struct bf_cu_link *s)
{
	return s && s->magic == LINK_MAGIC;
}

int cuLinkAddData_v2(CUlinkState s, int type, void *data, size_t size, const char *name, unsigned count, int *options,
		     void **values)
{
	(void)name;
	(void)count;
	(void)options;
	(void)values;
	if (!is_link(s) || !data)
		return is_link(s) ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	return add(s, type, data, size);
}

int cuLinkAddFile_v2(CUlinkState s, int type, const char *path, unsigned count, int *options, void **values)
{
	FILE *f = path ? fopen(path, "rb") : NULL;
	size_t size = 0, got = 1, room = 0;
	char *bytes = NULL;
	int rc = BF_CU_OK;

	(void)count;
	(void)options;
	(void)values;
	if (!is_link(s) || !f) {
		if (f)
			fclose(f);
		return is_link(s) ? BF_CU_FILE_NOT_FOUND : BF_CU_INVALID_HANDLE;
	}
	while (!rc && got) {
		if (BF_GROW(bytes, room, size + READ_BYTES)) {
			rc = BF_CU_OUT_OF_MEMORY;
			break;
		}
		got = fread(bytes + size, 1, room - size, f);
		size += got;
	}
	fclose(f);
	rc = rc ? rc : add(s, type, bytes, size);
	free(bytes);
	return rc;
}

/* The image is the state's, and may be copied. */
int cuLinkComplete(CUlinkState s, void **image, size_t *size)
{
	if (!is_link(s) || !image)
		return is_link(s) ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	*image = s->image;
	if (size)
		*size = s->image->size;
	return s->image->size > sizeof(*s->image) ? BF_CU_OK : BF_CU_INVALID_IMAGE;
}

int cuLinkDestroy(CUlinkState s)
{
	if (!is_link(s))
		return BF_CU_INVALID_HANDLE;
	s->magic = 0;
	free(s->image);
	free(s);
	return BF_CU_OK;
}
