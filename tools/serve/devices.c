/* What `belfry serve` has: a line for each device. */
#include <string.h>

#include "tools/serve/serve.h"

extern const struct bf_command bf_cmd_serve_nvme, bf_cmd_serve_mlx5;

const struct bf_command *const bf_serve_devices[] = { &bf_cmd_serve_nvme, &bf_cmd_serve_mlx5, NULL };

int bf_serve_unknown(const struct bf_args *args)
{
	char known[128] = "";

	for (const struct bf_command *const *d = bf_serve_devices; *d; d++) {
		const size_t n = strlen(known);

		snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", (*d)->words);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no device \"%s\" to serve; there are: %s",
			    bf_arg_positional(args, 0), known);
}
