#include "models/pci/window.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int share(struct bf_region *r, const struct bf_pci_window *w)
{
	if (ftruncate(w->fd, (off_t)(w->offset + w->bytes)) || mprotect(r->bytes, r->size, PROT_READ | PROT_WRITE))
		return -errno;
	if (mmap(r->bytes + w->offset, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->fd,
		 (off_t)w->offset) == MAP_FAILED)
		return -errno;
	return 0;
}

int bf_pci_window_open(struct bf_pci *fn, uint32_t bar, uint64_t offset, uint64_t bytes, struct bf_pci_window *out)
{
	struct bf_region *r = bf_pci_bar_region(fn, bar);
	struct bf_error *err = &bf_pci_sim(fn)->error;
	int rc;

	*out = (struct bf_pci_window){ .bar = bar, .offset = offset, .bytes = bytes, .fd = -1 };
	if (!r || r->kind != BF_MEM_MMIO || !bytes || (offset | bytes) % BF_PAGE || offset > r->size ||
	    bytes > r->size - offset)
		return bf_fail(err, -EINVAL, "%s: no window of 0x%llx bytes at 0x%llx of BAR %u", bf_pci_name(fn),
			       (unsigned long long)bytes, (unsigned long long)offset, bar);
	/* Sealed below: a host that shortens the file would make our next look end the process. */
	out->fd = memfd_create(bf_pci_name(fn), MFD_CLOEXEC | MFD_ALLOW_SEALING);
	rc = out->fd < 0 ? -errno : share(r, out);
	if (!rc && fcntl(out->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		rc = -errno;
	if (rc) {
		bf_pci_window_close(out);
		return bf_fail(err, rc, "%s: window into BAR %u: %s", bf_pci_name(fn), bar, strerror(-rc));
	}
	return 0;
}

void bf_pci_window_close(struct bf_pci_window *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
