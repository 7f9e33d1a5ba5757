#include "tools/serve/serve.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tools/serve/crash.h"
#include "tools/workloads/choice.h"

static void log_line(void *arg, const char *text)
{
	struct bf_serve *s = arg;

	if (bf_arg_flag(s->st.args, "verbose"))
		fprintf(stderr, "belfry serve: %s\n", text);
}

/* When the guest exits, the device loses power: the next client finds one that has just been switched on. */
static void client_ended(void *arg)
{
	struct bf_serve *s = arg;

	s->device->power_cycle(s);
	bf_pci_reset(s->fn, BF_PCI_RESET_CONVENTIONAL);
	malloc_trim(0); /* what that guest's lists took goes back to this machine */
	if (bf_arg_flag(s->st.args, "once"))
		bf_live_stop(s->st.live);
}

static bool mend(void *arg, const void *address)
{
	return bf_vfio_user_mend(arg, address);
}

static int open_server(struct bf_serve *s)
{
	const struct bf_vfio_user_opts opts = {
		.fn = s->fn,
		.ioas = &s->ioas,
		.live = s->st.live,
		.window = s->window,
		.log = log_line,
		.ended = client_ended,
		.arg = s,
	};
	int rc = bf_vfio_user_create(s->st.sim, &opts, &s->server);

	if (!rc)
		bf_crash_mend(mend, s->server);
	return rc ? rc : bf_vfio_user_listen(s->server, bf_arg_text(s->st.args, "socket"));
}

static int build(struct bf_serve *s)
{
	int rc = bf_station_open(&s->st);

	rc = rc ? rc : bf_space_init(&s->space, s->st.sim, "device", 0);
	rc = rc ? rc : bf_ioas_init(&s->ioas, s->st.sim, "guest", BF_PAGE);
	rc = rc ? rc : s->device->build(s);
	return rc ? rc : open_server(s);
}

static void tear_down(struct bf_serve *s)
{
	bf_crash_mend(NULL, NULL);
	bf_vfio_user_destroy(s->server);
	s->device->tear_down(s);
	bf_pci_destroy(s->fn);
	bf_ioas_fini(&s->ioas);
	bf_space_fini(&s->space);
}

static void report(const void *arg, struct bf_json *j)
{
	const struct bf_serve *s = arg;

	bf_json_text(j, "device", s->device->name);
	bf_json_text(j, "socket", bf_arg_text(s->st.args, "socket"));
	if (s->device->report)
		s->device->report(s, j);
}

int bf_serve_run(const struct bf_args *args, const struct bf_serve_device *device)
{
	struct bf_serve s = { .st.args = args, .device = device };
	char command[40], ready[160];
	int rc, code;

	if (strcmp(bf_arg_positional(args, 0), device->name) != 0)
		return bf_serve_unknown(args);
	if (!bf_arg_text(args, "socket"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--socket PATH is needed");
	s.state = calloc(1, device->size);
	if (!s.state || bf_sim_create(1, &s.st.sim)) {
		free(s.state);
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	}
	snprintf(command, sizeof(command), "belfry serve %s", device->name);
	snprintf(ready, sizeof(ready), "listening on %s", bf_arg_text(args, "socket"));
	s.st.command = command;
	rc = build(&s);
	if (!rc)
		rc = bf_station_run(&s.st, ready, s.spin_us);
	tear_down(&s);
	code = bf_station_close(&s.st, rc, report, &s);
	free(s.state);
	return code;
}
