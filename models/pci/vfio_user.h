/*
 * A vfio-user server: shows a PCI function to a client behind a UNIX socket, such as QEMU's vfio-user-pci.
 *
 * One connection at a time; the next client is accepted when the last one has gone. The function and its device keep
 * their state between clients, as a card does between resets; DMA maps and interrupt descriptors belong to a
 * connection and end with it. Guest memory appears in a space of its own ("guest"), and the maps fill the I/O address
 * space that the device uses. Memory that comes without a descriptor is reached by DMA_READ and DMA_WRITE messages;
 * while the answer to one is awaited, only the device's DMA waits. An interrupt is raised after the client has
 * confirmed the DMA_WRITE messages before it.
 *
 * A message that makes no sense gets an error reply and is counted; the connection ends only where framing is lost (a
 * size below 16), when the client takes more than 256 MiB of answers without reading them, or when it ends it.
 * A client that shortens a file after it was mapped makes the next access to the missing part raise SIGBUS, which ends
 * the process unless its handler calls bf_vfio_user_mend(). QEMU's memory backends are sealed against that.
 *
 * Protocol: models/pci/vfio_user_wire.h; what clients really do: docs/hardware/vfio-user.md. One thread, the
 * simulation's.
 */
#ifndef BELFRY_MODELS_PCI_VFIO_USER_H
#define BELFRY_MODELS_PCI_VFIO_USER_H

#include "models/pci/function.h"
#include "models/pci/window.h"
#include "sim/iommu.h"
#include "sim/live.h"

struct bf_vfio_user; /* opaque */

struct bf_vfio_user_opts {
	struct bf_pci *fn;    /* borrowed, attached */
	struct bf_ioas *ioas; /* borrowed, empty: the server fills it; pages of 4096 bytes */
	struct bf_live *live; /* borrowed; NULL: the caller calls bf_vfio_user_step() */
	/* Borrowed; shown to the client for mmap. QEMU waits for the answer of every other write then. NULL: none. */
	const struct bf_pci_window *window;
	/* Says what happened, one line each: clients that come and go, messages that are refused. NULL: silent. */
	void (*log)(void *arg, const char *text);
	/* The connection has ended and its maps are gone. NULL: nobody asks. */
	void (*ended)(void *arg);
	void *arg;
};

/* Statistics are named after the function: NAME.vfio_user.*. Returns 0 or -ENOMEM, text in sim->error. */
int bf_vfio_user_create(struct bf_sim *sim, const struct bf_vfio_user_opts *opts, struct bf_vfio_user **out);

/* Ends the connection, closes and unlinks the socket. Outside of its own callbacks. */
void bf_vfio_user_destroy(struct bf_vfio_user *s);

/*
 * Listens on `path`; needs a live loop. A socket that a dead server left there is replaced; -EADDRINUSE when somebody
 * answers on it, -EEXIST when it is no socket, or what the kernel said; text in sim->error.
 */
int bf_vfio_user_listen(struct bf_vfio_user *s, const char *path);

/*
 * Begins a connection on `fd`, a connected UNIX stream socket, which is the server's from now on, even on failure.
 * -EBUSY while there is one.
 */
int bf_vfio_user_adopt(struct bf_vfio_user *s, int fd);

/*
 * Without a live loop: takes what the client has sent and sends what it can take. True while there is a connection.
 * The simulation's events are the caller's to run.
 */
bool bf_vfio_user_step(struct bf_vfio_user *s);

/*
 * For a handler of SIGBUS, on any thread: true when `address` lies in a file of the client's, which has become shorter.
 * From its page on there is other memory now, so that the access can be repeated, and the connection is about to end.
 */
bool bf_vfio_user_mend(struct bf_vfio_user *s, const void *address);

bool bf_vfio_user_connected(const struct bf_vfio_user *s);

#endif
