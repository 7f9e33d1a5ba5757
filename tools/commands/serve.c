/* belfry serve: a device model as a PCI device of a virtual machine, over vfio-user. Each device is a form of it. */
#include "tools/serve/serve.h"

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
	.run = bf_serve_unknown,
};
