/*
 * A PCI function around a device model: what a host finds in configuration space and in the BARs.
 *
 * The function owns configuration space (a type 0 header with power management, MSI-X and PCI Express capabilities) and
 * the MSI-X table; the model owns the registers behind its BARs and learns of the rest by two calls: reset, and whether
 * it may use the bus. Whoever stands for the host (a vfio-user server, a test) reads and writes through the functions
 * below. Device-neutral: no model is named here.
 *
 * Memory space enable is stored but gates nothing: who routes an access here has decided that already, and user-space
 * hosts are known to leave the bit alone (SPDK lib/vfio_user/host sets bus master and INTx disable only). In D3hot
 * reads of a BAR give all ones and writes are lost.
 *
 * One thread, the simulation's.
 */
#ifndef BELFRY_MODELS_PCI_FUNCTION_H
#define BELFRY_MODELS_PCI_FUNCTION_H

#include <stdbool.h>

#include "models/pci/prm.h"
#include "sim/mem.h"

#define BF_PCI_CONFIG_BYTES 4096u
#define BF_PCI_BARS 6u

struct bf_pci; /* opaque */

enum bf_pci_reset {
	BF_PCI_RESET_CONVENTIONAL, /* the bus, or a client that asks for it */
	BF_PCI_RESET_FLR,          /* Device Control, bit 15 */
	BF_PCI_RESET_POWER,        /* from D3hot to D0 */
};

/* What the model is told. Both may be NULL. Called inside config and reset calls; `dev` is bf_pci_opts.dev. */
struct bf_pci_ops {
	void (*reset)(void *dev);
	/* Bus master enable and D0: otherwise the model must start no DMA. Off after each reset, without a call. */
	void (*bus_master)(void *dev, bool on);
};

struct bf_pci_opts {
	uint16_t vendor, device, subsystem_vendor, subsystem;
	uint32_t class_code; /* base class, sub-class, interface: 0x010802 */
	uint8_t revision;
	uint8_t link_speed, link_width; /* as in Link Capabilities: 3 = 8 GT/s; lanes */
	/*
	 * What the BARs show, borrowed; NULL: not there. All are 64-bit, so only 0, 2 and 4 may be used. Memory (a
	 * controller memory buffer) is prefetchable. A BAR is the next power of two.
	 */
	struct bf_region *bar[BF_PCI_BARS];
	uint32_t vectors;  /* MSI-X, 1..2048 */
	uint32_t msix_bar; /* table and PBA lie on pages of their own behind this BAR's region */
	const struct bf_pci_ops *ops;
	void *dev;
};

/*
 * A function `name` (copied; an actor of kind "pci", statistics NAME.pci.*) without a device yet: models need it as the
 * target of their interrupts before they exist. Returns 0 or -ENOMEM.
 */
int bf_pci_create(struct bf_sim *sim, const char *name, struct bf_pci **out);
void bf_pci_destroy(struct bf_pci *fn);

/*
 * Gives the function its device; once, before anything below. -EINVAL for a BAR, vector count or link that does not
 * fit, -ENOMEM; text in sim->error.
 */
int bf_pci_attach(struct bf_pci *fn, const struct bf_pci_opts *opts);

/*
 * Configuration space. `offset` + `len` must lie within BF_PCI_CONFIG_BYTES: -EINVAL. A write may reset the function
 * (FLR, D3hot to D0) and tell the model about bus mastering before it returns. BAR sizing by all-ones works.
 */
int bf_pci_config_read(const struct bf_pci *fn, uint32_t offset, void *dst, uint32_t len);
int bf_pci_config_write(struct bf_pci *fn, uint32_t offset, const void *src, uint32_t len);

/* Size of a BAR in bytes, a power of two; 0: not there (upper halves, too). */
uint64_t bf_pci_bar_size(const struct bf_pci *fn, uint32_t bar);

/*
 * BAR accesses. Registers see accesses of 1, 2, 4 and 8 bytes as they are made and longer ones in pieces of at most 8.
 * -EINVAL outside of the BAR, and nothing happens.
 */
int bf_pci_bar_read(struct bf_pci *fn, uint32_t bar, uint64_t offset, void *dst, uint32_t len);
int bf_pci_bar_write(struct bf_pci *fn, uint32_t bar, uint64_t offset, const void *src, uint32_t len);

/* Configuration space, MSI-X table and pending bits to their defaults, bus mastering off, then the model's reset. */
void bf_pci_reset(struct bf_pci *fn, enum bf_pci_reset kind);

/* True when the function may use the bus: bus master enable is set and it is in D0. */
bool bf_pci_is_master(const struct bf_pci *fn);

/*
 * Interrupts. The model calls bf_pci_interrupt() (`fn` is the struct bf_pci: the shape of the models' callbacks). The
 * vector's pending bit is set, and `ready(arg)` is called when the function is bus master; it is called, too, when that
 * comes to be and bits are pending. Whoever listens takes vectors with bf_pci_next_pending(), the first at or above
 * `from` or -1, and bf_pci_sent(), which clears the bit. Vectors above the count are ignored.
 */
void bf_pci_interrupt(void *arg, uint32_t vector);
void bf_pci_listen(struct bf_pci *fn, void (*ready)(void *arg), void *arg);
int32_t bf_pci_next_pending(const struct bf_pci *fn, uint32_t from);
void bf_pci_sent(struct bf_pci *fn, uint32_t vector);
uint32_t bf_pci_vectors(const struct bf_pci *fn);

/* The device's region behind a BAR, NULL when there is none. */
struct bf_region *bf_pci_bar_region(const struct bf_pci *fn, uint32_t bar);

/* The name it was created with; its simulation. */
const char *bf_pci_name(const struct bf_pci *fn);
struct bf_sim *bf_pci_sim(const struct bf_pci *fn);

#endif
