#include "drivers/backend/ptx_world_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/gpu_kernels.h"

/* A launch that waits for the next run. */
struct waiting {
	struct waiting *next;
	struct bf_ptx_device *device;
	struct bf_ptx_library *lib;
	struct bf_ptx_launch launch;
	char kernel[128];
	uint8_t params[];
};

struct gpu {
	struct bf_ptx_device *device;
	struct bf_ptx_library *drivers;
};

struct bf_ptx_world {
	struct bf_world *m;
	struct bf_domain **domain;
	struct gpu *gpu; /* [npes] */
	struct waiting *first, **last;
	char *drivers; /* the file; NULL: grids of our drivers are C */
};

int bf_ptx_world_open(struct bf_world *m, struct bf_domain **gpu, const char *drivers, struct bf_ptx_world **out)
{
	struct bf_ptx_world *w = calloc(1, sizeof(*w));

	*out = w;
	if (!w)
		return -ENOMEM;
	w->m = m;
	w->domain = gpu;
	w->last = &w->first;
	w->gpu = calloc(m->npes, sizeof(*w->gpu));
	w->drivers = drivers ? strdup(drivers) : NULL;
	if (w->gpu && (w->drivers || !drivers))
		return 0;
	bf_ptx_world_close(w);
	*out = NULL;
	return -ENOMEM;
}

void bf_ptx_world_close(struct bf_ptx_world *w)
{
	if (!w)
		return;
	while (w->first) {
		struct waiting *l = w->first;

		w->first = l->next;
		free(l);
	}
	for (uint32_t i = 0; w->gpu && i < w->m->npes; i++)
		bf_ptx_device_destroy(w->gpu[i].device);
	free(w->gpu);
	free(w->drivers);
	free(w);
}

/* ---- devices ---- */

/* A kernel's fault ends the run, as an access does that a processor does not survive. */
static void grid_ended(void *arg, bool failed)
{
	struct bf_ptx_device *d = arg;

	if (failed)
		bf_ptx_device_stop_run(d);
}

static int device_of(struct bf_ptx_world *w, uint32_t pe, struct bf_ptx_device **out)
{
	struct bf_world *m = w->m;
	char name[16];
	int rc = bf_machine_check_pe(m, pe);

	*out = NULL;
	if (rc)
		return rc;
	if (!w->gpu[pe].device) {
		const struct bf_ptx_device_opts opts = {
			.name = name, .space = &m->pe[pe].space, .domain = w->domain[pe], .ordering = m->ordering
		};

		snprintf(name, sizeof(name), "pe%u.", pe % BF_PES_MAX);
		rc = bf_ptx_device_create(m->sim, &opts, &w->gpu[pe].device);
	}
	*out = w->gpu[pe].device;
	return rc ? bf_fail(m->err, rc, "the GPU of PE %u: %s", pe, m->sim->error.text) : 0;
}

int bf_ptx_world_load(struct bf_ptx_world *w, uint32_t pe, const struct bf_ptx_source *sources, uint32_t count,
		      struct bf_ptx_library **out)
{
	struct bf_ptx_device *d;
	int rc = device_of(w, pe, &d);

	*out = NULL;
	if (rc)
		return rc;
	rc = bf_ptx_device_load(d, sources, count, out);
	return rc ? bf_fail(w->m->err, rc, "%s", w->m->sim->error.text) : 0;
}

/* ---- launches ---- */

int bf_ptx_world_launch(struct bf_ptx_world *w, uint32_t pe, struct bf_ptx_library *lib,
			const struct bf_ptx_launch *launch)
{
	struct bf_ptx_kernel_info info;
	struct bf_ptx_device *d;
	struct waiting *l;
	int rc = device_of(w, pe, &d);

	if (rc)
		return rc;
	if (bf_ptx_library_kernel(lib, launch->kernel, &info))
		return bf_fail(w->m->err, -ENOENT, "no kernel '%s' in the modules", launch->kernel);
	l = calloc(1, sizeof(*l) + launch->param_bytes);
	if (!l)
		return bf_fail(w->m->err, -ENOMEM, "no memory for a launch");
	l->device = d;
	l->lib = lib;
	l->launch = *launch;
	snprintf(l->kernel, sizeof(l->kernel), "%s", launch->kernel);
	if (launch->param_bytes)
		memcpy(l->params, launch->params, launch->param_bytes);
	l->launch.params = l->params;
	if (!l->launch.done) {
		l->launch.done = grid_ended;
		l->launch.arg = d;
	}
	*w->last = l;
	w->last = &l->next;
	return 0;
}

int bf_ptx_world_start(struct bf_ptx_world *w)
{
	int rc = 0;

	while (w->first) {
		struct waiting *l = w->first;

		w->first = l->next;
		l->launch.kernel = l->kernel;
		if (!rc)
			rc = bf_ptx_device_launch(l->device, l->lib, &l->launch);
		free(l);
	}
	w->last = &w->first;
	return rc;
}

/* ---- our drivers ---- */

bool bf_ptx_world_runs_drivers(const struct bf_ptx_world *w)
{
	return w->drivers != NULL;
}

int bf_ptx_drivers_read(const char *path, struct bf_error *err, char **text, size_t *len)
{
	FILE *f = fopen(path, "rb");
	long size = -1;
	int rc = 0;

	*text = NULL;
	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	if (size < 0 || fseek(f, 0, SEEK_SET) != 0)
		rc = bf_fail(err, -ENOENT, "cannot read the drivers' PTX, %s: %s", path, strerror(errno));
	if (!rc) {
		*text = malloc((size_t)size + 1);
		*len = *text ? fread(*text, 1, (size_t)size, f) : 0;
		if (!*text || *len != (size_t)size)
			rc = bf_fail(err, -EIO, "cannot read the drivers' PTX, %s", path);
	}
	if (f)
		fclose(f);
	if (rc) {
		free(*text);
		*text = NULL;
	}
	return rc;
}

static int load_drivers(struct bf_ptx_world *w, uint32_t pe)
{
	struct bf_ptx_source source = { .name = w->drivers };
	struct bf_ptx_library *other = NULL;
	char *text;
	int rc;

	for (uint32_t i = 0; i < w->m->npes && !other; i++)
		other = w->gpu[i].drivers;
	if (other) {
		rc = bf_ptx_device_load_again(w->gpu[pe].device, other, &w->gpu[pe].drivers);
		return rc ? bf_fail(w->m->err, rc, "%s", w->m->sim->error.text) : 0;
	}
	rc = bf_ptx_drivers_read(w->drivers, w->m->err, &text, &source.len);
	if (rc)
		return rc;
	source.text = text;
	rc = bf_ptx_world_load(w, pe, &source, 1, &w->gpu[pe].drivers);
	free(text);
	return rc;
}

static int start(struct bf_ptx_world *w, const struct bf_grid *g, const char *kernel, const void *params, size_t bytes)
{
	struct bf_ptx_device *d = w->gpu[g->pe].device;
	const struct bf_ptx_launch l = { .kernel = kernel,
					 .grid = { g->blocks },
					 .block = { g->warps * BF_LANES },
					 .params = params,
					 .param_bytes = bytes,
					 .stream = w->m->streams++,
					 .done = grid_ended,
					 .arg = d };

	return bf_ptx_device_launch(d, w->gpu[g->pe].drivers, &l);
}

int bf_ptx_world_start_driver(struct bf_ptx_world *w, const struct bf_grid *g)
{
	uint8_t params[BF_GPU_KERNEL_JOB_MAX + sizeof(uint32_t)];
	struct bf_ptx_device *d;
	struct bf_gpu_kernel k;
	int rc = device_of(w, g->pe, &d);

	if (!rc && !w->gpu[g->pe].drivers)
		rc = load_drivers(w, g->pe);
	if (rc)
		return rc;
	if (!bf_gpu_kernel_find(BF_PLATFORM_SIM, g->kernel, &k))
		return bf_fail(w->m->err, -ENOTSUP, "the drivers' PTX has no such kernel");
	memcpy(params, g->arg, k.bytes);
	memcpy(params + k.bytes, &k.work, sizeof(k.work));
	return start(w, g, k.name, params, k.bytes + (k.numbered ? sizeof(k.work) : 0));
}
