/*
 * The folder in which programs find the devices of `belfry exec`: DIR/sys and DIR/dev stand for /sys and /dev, laid out
 * as a kernel does, with the devices on a PCI bus of a domain that no machine has.
 */
#ifndef BELFRY_TOOLS_EXEC_TREE_H
#define BELFRY_TOOLS_EXEC_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/error.h"

/*
 * Tells the library inside the program where the folder is. What processes do is noted in DIR/seen: "looked" for
 * devices, and the number of each that opened one.
 */
#define BF_EXEC_ENV_DIR "BELFRY_EXEC_DIR"

/* What stat() says of the connection manager's file: a device of the "misc" kind. */
#define BF_EXEC_CM_MAJOR 10
#define BF_EXEC_CM_MINOR 58

#define BF_EXEC_PCI_DOMAIN "bef0"
#define BF_EXEC_PCI_ROOT "/sys/devices/pci" BF_EXEC_PCI_DOMAIN ":"
#define BF_EXEC_PCI_BUSES "/sys/class/pci_bus/"
#define BF_EXEC_PCI_DEVICES "/sys/bus/pci/devices/" BF_EXEC_PCI_DOMAIN ":"

struct bf_exec_tree {
	char dir[PATH_MAX / 4]; /* empty: there is none */
	int lock;               /* held while the folder is in use, -1: none */
	int alive;              /* open as long as this process lives, -1: nobody watches it */
	pid_t keeper;           /* the process that does, and removes the folder then */
};

struct bf_exec_tree_opts {
	uint32_t devices, gpus; /* tools/exec/identity.h */
	uint32_t udp_ipv4;      /* of --udp, host order; 0: without */
	bool infiniband;        /* the link of the ports */
};

/*
 * Makes the folder in TMPDIR or /tmp, and removes
 * those that commands left which were killed. A process of its own waits for this one's end, however that comes, and
 * removes the folder then. 0 or a negative errno with `err` set; to be removed in either case.
 */
int bf_exec_tree_make(struct bf_exec_tree *t, const struct bf_exec_tree_opts *opts, struct bf_error *err);

/* Removes the folder and all in it, as far as it can. */
void bf_exec_tree_remove(struct bf_exec_tree *t);

#endif
