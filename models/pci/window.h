/*
 * A part of a BAR that the host maps and stores to without a message (a page of doorbells).
 *
 * The part becomes a memory file; the rest of the device's region becomes ordinary memory, for models that look at
 * their registers as memory. Nobody announces a store there, so the model must be polled; if a register is stored to
 * several times between two polls, the model sees the last value.
 */
#ifndef BELFRY_MODELS_PCI_WINDOW_H
#define BELFRY_MODELS_PCI_WINDOW_H

#include "models/pci/function.h"

/* Read-only for everybody else. Offsets in the file are those in the BAR. */
struct bf_pci_window {
	uint32_t bar;
	uint64_t offset, bytes;
	int fd;
};

/*
 * Makes `bytes` at `offset` of a BAR such a part: multiples of the page size, within the device's MMIO region. Returns
 * 0, -EINVAL, or what the kernel said; text in the simulation's error.
 */
int bf_pci_window_open(struct bf_pci *fn, uint32_t bar, uint64_t offset, uint64_t bytes, struct bf_pci_window *out);

/* Closes the file; the device's region keeps its memory until it is destroyed. */
void bf_pci_window_close(struct bf_pci_window *w);

#endif
