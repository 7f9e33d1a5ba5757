/*
 * PCI configuration space: where things lie in a type 0 header and in the capabilities that our functions have.
 *
 * Sources: PCI Express Base Specification 5.0 (PCIe), section 7.5 for header, power management and PCI Express
 * capability, section 7.7.2 for MSI-X; names and offsets checked against Linux include/uapi/linux/pci_regs.h. All
 * fields are little-endian. Names only, no code.
 */
#ifndef BELFRY_MODELS_PCI_PRM_H
#define BELFRY_MODELS_PCI_PRM_H

/* Type 0 header (PCIe 7.5.1.2). */
#define BF_PCI_VENDOR 0x00u
#define BF_PCI_DEVICE 0x02u
#define BF_PCI_COMMAND 0x04u
#define BF_PCI_STATUS 0x06u
#define BF_PCI_REVISION 0x08u
#define BF_PCI_CLASS 0x09u /* 3 bytes */
#define BF_PCI_CACHE_LINE 0x0cu
#define BF_PCI_HEADER_TYPE 0x0eu
#define BF_PCI_BAR0 0x10u
#define BF_PCI_SUBSYSTEM_VENDOR 0x2cu
#define BF_PCI_SUBSYSTEM 0x2eu
#define BF_PCI_CAPABILITIES 0x34u
#define BF_PCI_INTERRUPT_LINE 0x3cu
#define BF_PCI_INTERRUPT_PIN 0x3du

#define BF_PCI_COMMAND_IO 0x0001u
#define BF_PCI_COMMAND_MEMORY 0x0002u
#define BF_PCI_COMMAND_MASTER 0x0004u
#define BF_PCI_COMMAND_PARITY 0x0040u
#define BF_PCI_COMMAND_SERR 0x0100u
#define BF_PCI_COMMAND_INTX_OFF 0x0400u
#define BF_PCI_STATUS_CAPS 0x0010u
#define BF_PCI_STATUS_ERRORS 0xf900u /* write one to clear */

#define BF_PCI_BAR_64 0x4u
#define BF_PCI_BAR_PREFETCH 0x8u

/* Capabilities: id, next, then the body. */
#define BF_PCI_CAP_PM 0x01u
#define BF_PCI_CAP_PCIE 0x10u
#define BF_PCI_CAP_MSIX 0x11u

/* Power management (PCIe 7.5.2), 8 bytes. */
#define BF_PCI_PM_CAPS 2u
#define BF_PCI_PM_CONTROL 4u
#define BF_PCI_PM_STATE 0x3u /* of the control word: D0 to D3hot */
#define BF_PCI_PM_D3 0x3u

/* MSI-X (PCIe 7.7.2), 12 bytes; 16 bytes of table and one bit of PBA a vector. */
#define BF_PCI_MSIX_CONTROL 2u
#define BF_PCI_MSIX_TABLE 4u
#define BF_PCI_MSIX_PBA 8u
#define BF_PCI_MSIX_ENABLE 0x8000u
#define BF_PCI_MSIX_MASK_ALL 0x4000u
#define BF_PCI_MSIX_ENTRY 16u
#define BF_PCI_MSIX_ENTRY_CONTROL 12u /* bit 0: masked */
#define BF_PCI_MSIX_VECTORS 2048u     /* most of one function */

/* PCI Express capability, version 2 (PCIe 7.5.3), 60 bytes. */
#define BF_PCI_EXP_CAPS 0x02u
#define BF_PCI_EXP_DEVICE_CAPS 0x04u
#define BF_PCI_EXP_DEVICE_CONTROL 0x08u
#define BF_PCI_EXP_DEVICE_STATUS 0x0au
#define BF_PCI_EXP_LINK_CAPS 0x0cu
#define BF_PCI_EXP_LINK_CONTROL 0x10u
#define BF_PCI_EXP_LINK_STATUS 0x12u
#define BF_PCI_EXP_DEVICE_CAPS2 0x24u
#define BF_PCI_EXP_DEVICE_CONTROL2 0x28u
#define BF_PCI_EXP_LINK_CAPS2 0x2cu
#define BF_PCI_EXP_LINK_CONTROL2 0x30u
#define BF_PCI_EXP_SIZE 0x3cu
#define BF_PCI_EXP_FLR 0x8000u /* of Device Control: initiate function level reset; reads as 0 */

#endif
