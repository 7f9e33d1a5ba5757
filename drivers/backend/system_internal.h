/* Calls of the system that the tables of backends have in common; `arg` is a stand-in's and not used here. */
#ifndef BELFRY_DRIVERS_BACKEND_SYSTEM_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_SYSTEM_INTERNAL_H

#include <stddef.h>

/* Negative errno instead of errno; interrupted calls are made again. */
int bf_sys_open(void *arg, const char *path);
void bf_sys_close(void *arg, int fd);
int bf_sys_ioctl(void *arg, int fd, unsigned long request, void *data);
void bf_sys_munmap(void *arg, void *addr, size_t len);

/* The text of a small file, NUL-terminated; its length. */
int bf_sys_read(void *arg, const char *path, char *buf, size_t cap);

#endif
