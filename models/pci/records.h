/*
 * Records of PCI functions and of the vfio-user server in front of them (type numbers 370 to 389).
 *
 * BAR accesses have the records of sim/records_io.h (mmio_arrive, mmio_load) whoever makes them.
 */
#ifndef BELFRY_MODELS_PCI_RECORDS_H
#define BELFRY_MODELS_PCI_RECORDS_H

#include "sim/record.h"

/* The host wrote configuration space; the tail is what it wrote, up to 64 bytes. The actor is the function. */
#define BF_REC_PCI_CONFIG_FIELDS(F)                                                                                    \
	F(u32, offset, HEX, "")                                                                                        \
	F(u32, len, DEC, "B")
BF_RECORD_DECLARE(pci_config, 370, BF_CLASS_MMIO, BF_REC_PCI_CONFIG_FIELDS);

#define BF_REC_PCI_RESET_FIELDS(F)                                                                                     \
	F(u32, reason, ENUM, "0=conventional;1=function-level;2=power")                                                \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(pci_reset, 371, BF_CLASS_MMIO, BF_REC_PCI_RESET_FIELDS);

/* The model wants an interrupt, or one leaves for the host; what is not sent at once stays pending. */
#define BF_REC_PCI_INTERRUPT_FIELDS(F)                                                                                 \
	F(u32, vector, DEC, "")                                                                                        \
	F(u32, what, ENUM, "0=due;1=sent;2=no-bus-master;3=no-such-vector")
BF_RECORD_DECLARE(pci_interrupt, 372, BF_CLASS_MMIO, BF_REC_PCI_INTERRUPT_FIELDS);

/* A message of a vfio-user connection; `status` is what it was answered with. The actor is the server. */
#define BF_REC_VFIO_USER_MESSAGE_FIELDS(F)                                                                             \
	F(u32, size, DEC, "B")                                                                                         \
	F(u32, fds, DEC, "")                                                                                           \
	F(i32, status, INT, "")                                                                                        \
	F(u16, id, HEX, "")                                                                                            \
	F(u8, command, ENUM,                                                                                           \
	  "1=version;2=dma-map;3=dma-unmap;4=get-info;5=region-info;6=region-io-fds;7=irq-info;8=set-irqs;"            \
	  "9=region-read;10=region-write;11=dma-read;12=dma-write;13=reset;14=dirty-pages;15=region-write-multi;"      \
	  "16=feature;17=mig-read;18=mig-write")                                                                       \
	F(u8, posted, DEC, "")
BF_RECORD_DECLARE(vfio_user_message, 373, BF_CLASS_NET, BF_REC_VFIO_USER_MESSAGE_FIELDS);

/* The client gave or took a range of its memory. */
#define BF_REC_VFIO_USER_MAP_FIELDS(F)                                                                                 \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, size, DEC, "B")                                                                                         \
	F(u64, offset, HEX, "")                                                                                        \
	F(u32, what, ENUM, "0=map;1=map-without-fd;2=unmap")                                                           \
	F(u32, access, ENUM, "0=none;1=read;2=write;3=read-write")
BF_RECORD_DECLARE(vfio_user_map, 374, BF_CLASS_DMA, BF_REC_VFIO_USER_MAP_FIELDS);

/* A client came or went. */
#define BF_REC_VFIO_USER_SESSION_FIELDS(F)                                                                             \
	F(u32, number, DEC, "")                                                                                        \
	F(u32, what, ENUM, "0=begin;1=end")
BF_RECORD_DECLARE(vfio_user_session, 375, BF_CLASS_META, BF_REC_VFIO_USER_SESSION_FIELDS);

#endif
