/*
 * DMA-BUFs of a GPU's memory that this process has made: which addresses of its own their descriptors stand for. A
 * kernel asks the exporter for pages; here the CUDA driver's copies go by address.
 *
 * Any thread, none from signal handlers.
 */
#ifndef BELFRY_TOOLS_EXEC_DMABUFS_H
#define BELFRY_TOOLS_EXEC_DMABUFS_H

#include <stdint.h>

/* `fd` is a DMA-BUF of that memory. Forgotten when there have been too many since. */
void bf_dmabufs_note(int fd, uint64_t address, uint64_t bytes);

/*
 * Where `len` bytes lie that begin at `offset` of a DMA-BUF, of which `fd` is any descriptor. 0, -EBADF, -EINVAL beyond
 * its end, or -EOPNOTSUPP when it is none of those noted.
 */
int bf_dmabufs_find(int fd, uint64_t offset, uint64_t len, uint64_t *address);

#endif
