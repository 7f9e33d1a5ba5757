/*
 * Processes of one machine that find each other by sockets: each has a stream to each other one, on a libuv loop of its
 * own that turns only inside calls. No process stands between two others, so small calls take one system call each way.
 *
 * `belfry launch` makes the address and starts the processes with
 *
 *   BELFRY_RANK=I BELFRY_RANKS=N BELFRY_BOOT=unix:DIRECTORY
 *
 * By hand the same works, also with BELFRY_BOOT=tcp:PORT (127.0.0.1; rank I listens at PORT + I). A directory should be
 * its owner's alone: whoever can connect can speak. Strangers that do not greet as they must are turned away.
 *
 * A process that ends, however it does, or gives up, makes all calls of the others fail with -ECONNRESET and a text
 * that names it; nothing waits for ever for somebody who is gone.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_SOCKET_H
#define BELFRY_DRIVERS_BOOTSTRAP_SOCKET_H

#include "drivers/bootstrap/bootstrap.h"

/* Each process has a connection to each other one. */
#define BF_BOOT_RANKS_MAX 256u

struct bf_boot_socket_opts {
	uint32_t rank, ranks;
	const char *address; /* "unix:DIRECTORY", "tcp:PORT"; borrowed during open */
	uint64_t wait_ms;    /* for the others to come; 0: 30 s */
};

/*
 * Connects to all others: a handle for bf_boot_close(), or a negative errno with text in `err`, which is kept for
 * later calls. -ETIMEDOUT: somebody has not come, -EPROTO: another version or another number of processes, -ENOTSUP:
 * built without libuv.
 */
int bf_boot_socket_open(const struct bf_boot_socket_opts *opts, struct bf_error *err, struct bf_boot **out);

#endif
