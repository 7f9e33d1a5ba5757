/* What the devices of `belfry serve` have in common: one thread, one live loop, a server, a trace, signals that end it.
 */
#ifndef BELFRY_TOOLS_SERVE_SERVE_H
#define BELFRY_TOOLS_SERVE_SERVE_H

#include "models/pci/vfio_user.h"
#include "tools/serve/station.h"

struct bf_serve;

struct bf_serve_device {
	const char *name;
	size_t size; /* of its state, zeroed */
	/* Makes `s->fn` with the device attached. 0 or a negative errno, text in the simulation's error. */
	int (*build)(struct bf_serve *s);
	/* The client has gone: as if the power went off. */
	void (*power_cycle)(struct bf_serve *s);
	/* Frees what it has made, which may be little; the server has gone, `s->fn` goes next. */
	void (*tear_down)(struct bf_serve *s);
	/* Beside what all say with --json. May be NULL. */
	void (*report)(const struct bf_serve *s, struct bf_json *j);
};

struct bf_serve {
	struct bf_station st;
	const struct bf_serve_device *device;
	void *state; /* the device's */
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_pci *fn;
	const struct bf_pci_window *window; /* NULL: every store is a message */
	struct bf_vfio_user *server;
	uint32_t spin_us; /* 0: as the options say */
};

/* That there is no device of the name that the command line has, and which there are; an exit code. */
int bf_serve_unknown(const struct bf_args *args);

/* Serves until the end, if `device` is what the command line names; an exit code. */
int bf_serve_run(const struct bf_args *args, const struct bf_serve_device *device);

/* Options of all devices, for a table of options. */
#define BF_SERVE_OPTION_SOCKET                                                                                         \
	{                                                                                                              \
		.name = "socket", .kind = BF_OPT_TEXT, .arg = "PATH",                                                  \
		.help = "where to listen; the socket of a dead server is replaced"                                     \
	}
#define BF_SERVE_OPTION_ONCE                                                                                           \
	{                                                                                                              \
		.name = "once", .kind = BF_OPT_FLAG, .help = "end after the first client"                              \
	}

/* The forms of the command, a device each; ends with NULL. */
extern const struct bf_command *const bf_serve_devices[];

#endif
