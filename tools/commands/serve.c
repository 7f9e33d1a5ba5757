/* belfry serve: a device model as a PCI device of a virtual machine, over vfio-user. Each device is a form of it. */
#include <string.h>

#include "tools/serve/serve.h"

static int run_serve(const struct bf_args *args)
{
	char known[128] = "";

	for (const struct bf_command *const *d = bf_serve_devices; *d; d++) {
		const size_t n = strlen(known);

		snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", (*d)->words);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no device \"%s\" to serve; there are: %s",
			    bf_arg_positional(args, 0), known);
}

static const struct bf_opt options[] = { BF_SERVE_OPTION_SOCKET, { 0 } };

const struct bf_command bf_cmd_serve = {
	.name = "serve",
	.usage = "serve DEVICE --socket PATH [options]",
	.summary = "offer a device model to a virtual machine, over vfio-user",
	.details =
	    "A client, such as QEMU 10.1 or later, sees our model as a PCI device, and a stock kernel in the guest "
	    "binds its own driver. Each device has options of its own, which 'belfry serve DEVICE --help' lists.",
	.list = true,
	.families = bf_serve_devices,
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_serve,
};
