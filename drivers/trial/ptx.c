/* Device code as PTX in trials. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/backend/ptx.h"
#include "drivers/trial/trial_internal.h"

#define ARGS_BYTES 4096u

static int read_file(struct bf_trial *t, const char *path, struct bf_ptx_source *out)
{
	FILE *f = fopen(path, "rb");
	long size = -1;
	char *text = NULL;
	size_t len = 0;

	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	if (size >= 0 && fseek(f, 0, SEEK_SET) == 0)
		text = malloc((size_t)size + 1);
	if (text)
		len = fread(text, 1, (size_t)size, f);
	if (f)
		fclose(f);
	*out = (struct bf_ptx_source){ .name = path, .text = text, .len = len };
	if (!text || len != (size_t)size)
		return bf_trial_fail(t, -EIO, "%s: cannot be read", path);
	return 0;
}

int bf_trial_ptx(struct bf_trial *t, uint32_t pe, const char *const *files, uint32_t count, struct bf_ptx_library **out)
{
	struct bf_ptx_source *sources = calloc(count + 1u, sizeof(*sources));
	int rc = 0;

	*out = NULL;
	if (!sources)
		return bf_trial_fail(t, -ENOMEM, "no memory for modules");
	for (uint32_t i = 0; !rc && i < count; i++)
		rc = read_file(t, files[i], &sources[i]);
	if (!rc) {
		rc = t->be->ptx_load(t->world, pe, sources, count, out);
		if (rc)
			bf_trial_fail(t, rc, "%s", t->err.text);
	}
	for (uint32_t i = 0; i < count; i++)
		free((char *)(uintptr_t)sources[i].text);
	free(sources);
	return rc;
}

int bf_trial_ptx_start(struct bf_trial *t, uint32_t pe, struct bf_ptx_library *lib, const struct bf_ptx_launch *launch)
{
	const int rc = t->be->ptx_launch(t->world, pe, lib, launch);

	return rc ? bf_trial_fail(t, rc, "launch of %s: %s", launch->kernel, t->err.text) : 0;
}

void bf_trial_ptx_follow(struct bf_trial *t)
{
	t->grids -= t->grids != 0;
}

int bf_trial_ptx_launch(struct bf_trial *t, uint32_t pe, struct bf_ptx_library *lib, const char *kernel,
			uint32_t blocks, uint32_t threads, const uint64_t *args, uint32_t nargs)
{
	struct bf_ptx_kernel_info info;
	uint8_t params[ARGS_BYTES] = { 0 };
	struct bf_ptx_launch launch = {
		.kernel = kernel, .grid = { blocks }, .block = { threads }, .params = params, .stream = t->grids++
	};

	if (bf_ptx_library_kernel(lib, kernel, &info))
		return bf_trial_fail(t, -ENOENT, "no kernel '%s' in the modules", kernel);
	if (info.params != nargs || info.param_bytes > sizeof(params))
		return bf_trial_fail(t, -EINVAL, "kernel %s takes %u parameters in %u bytes, not %u", kernel,
				     info.params, info.param_bytes, nargs);
	for (uint32_t i = 0; i < nargs; i++) {
		uint32_t offset, size;

		if (bf_ptx_library_param(lib, kernel, i, &offset, &size) || size > sizeof(args[i]))
			return bf_trial_fail(t, -EINVAL, "parameter %u of kernel %s is not a pointer or integer", i,
					     kernel);
		memcpy(params + offset, &args[i], size);
	}
	launch.param_bytes = info.param_bytes;
	return bf_trial_ptx_start(t, pe, lib, &launch);
}
