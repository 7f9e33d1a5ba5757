/* What `belfry serve` has: a line for each device. */
#include "tools/serve/serve.h"

extern const struct bf_command bf_cmd_serve_nvme, bf_cmd_serve_mlx5;

const struct bf_command *const bf_serve_devices[] = { &bf_cmd_serve_nvme, &bf_cmd_serve_mlx5, NULL };
