/* The PCI function's inside, shared by function.c (BARs, interrupts, resets) and config.c. */
#ifndef BELFRY_MODELS_PCI_FUNCTION_INTERNAL_H
#define BELFRY_MODELS_PCI_FUNCTION_INTERNAL_H

#include "models/pci/function.h"

/* The header and the capabilities end here; above there is nothing, which reads as zero (PCIe 7.6.1). */
#define BF_PCI_CONFIG_USED 256u

/* Where our capabilities lie. */
#define BF_PCI_AT_PM 0x40u
#define BF_PCI_AT_MSIX 0x50u
#define BF_PCI_AT_PCIE 0x60u

struct bf_pci {
	struct bf_sim *sim;
	char name[40];
	uint32_t actor;
	bool attached;
	struct bf_pci_opts opts;
	/* Bytes, which of their bits the host may write or clears by writing one, and what a reset makes them. */
	uint8_t config[BF_PCI_CONFIG_USED];
	uint8_t initial[BF_PCI_CONFIG_USED];
	uint8_t writable[BF_PCI_CONFIG_USED];
	uint8_t clears[BF_PCI_CONFIG_USED];
	uint64_t bar_size[BF_PCI_BARS];
	uint64_t table_at, table_size, pba_at, pba_size; /* in bar_size[msix_bar] */
	uint8_t *table;
	uint64_t *pending;
	bool master; /* what the model was told last */
	void (*ready)(void *arg);
	void *ready_arg;
	struct {
		uint64_t interrupts, resets, config_writes, bar_reads, bar_writes;
	} count;
};

/* Fills the tables of a function whose options and BAR sizes are known. */
void bf_pci_config_init(struct bf_pci *fn);

/* Bus mastering as configuration space has it now: tells the model and the listener when it changed. */
void bf_pci_update_master(struct bf_pci *fn);

#endif
