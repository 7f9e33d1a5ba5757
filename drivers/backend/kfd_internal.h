/*
 * Backend "kfd": what it asks of the system, so that a test can stand in for it.
 */
#ifndef BELFRY_DRIVERS_BACKEND_KFD_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_KFD_INTERNAL_H

#include <sys/types.h>

#include "drivers/backend/backend.h"

/* Calls of the system, as their names in libc; `arg` is the stand-in's. Negative errno instead of errno. */
struct bf_kfd_sys {
	void *arg;
	int (*open)(void *arg, const char *path);
	void (*close)(void *arg, int fd);
	int (*ioctl)(void *arg, int fd, unsigned long request, void *data);
	/* `addr` NULL: reserve address space without memory behind it (fd -1), or map where there is room. */
	void *(*mmap)(void *arg, void *addr, size_t len, int fd, off_t offset);
	void (*munmap)(void *arg, void *addr, size_t len);
	/* The text of a small file, NUL-terminated; its length. */
	int (*read)(void *arg, const char *path, char *buf, size_t cap);
};
extern const struct bf_kfd_sys bf_kfd_system;

int bf_kfd_probe(const struct bf_kfd_sys *sys, char *why, size_t cap);
int bf_kfd_open(const struct bf_kfd_sys *sys, const struct bf_world_opts *opts, struct bf_error *err,
		struct bf_world **out);

#endif
