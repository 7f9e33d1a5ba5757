/* The functions behind those that this library puts its own in front of: the C library's, or another preload's. */
#ifndef BELFRY_TOOLS_EXEC_REAL_INTERNAL_H
#define BELFRY_TOOLS_EXEC_REAL_INTERNAL_H

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BF_REAL_FUNCTIONS(X)                                                                                           \
	X(_exit)                                                                                                       \
	X(access)                                                                                                      \
	X(canonicalize_file_name)                                                                                      \
	X(chdir)                                                                                                       \
	X(close)                                                                                                       \
	X(close_range)                                                                                                 \
	X(closefrom)                                                                                                   \
	X(dup)                                                                                                         \
	X(dup2)                                                                                                        \
	X(dup3)                                                                                                        \
	X(execve)                                                                                                      \
	X(execvpe)                                                                                                     \
	X(faccessat)                                                                                                   \
	X(fcntl)                                                                                                       \
	X(fopen)                                                                                                       \
	X(fstat)                                                                                                       \
	X(fstatat)                                                                                                     \
	X(getxattr)                                                                                                    \
	X(if_indextoname)                                                                                              \
	X(if_nametoindex)                                                                                              \
	X(ioctl)                                                                                                       \
	X(lgetxattr)                                                                                                   \
	X(listxattr)                                                                                                   \
	X(llistxattr)                                                                                                  \
	X(lstat)                                                                                                       \
	X(mmap)                                                                                                        \
	X(open)                                                                                                        \
	X(openat)                                                                                                      \
	X(opendir)                                                                                                     \
	X(posix_spawn)                                                                                                 \
	X(posix_spawnp)                                                                                                \
	X(prlimit)                                                                                                     \
	X(pthread_sigmask)                                                                                             \
	X(pthread_spin_unlock)                                                                                         \
	X(readlink)                                                                                                    \
	X(readlinkat)                                                                                                  \
	X(realpath)                                                                                                    \
	X(scandir)                                                                                                     \
	X(sigaction)                                                                                                   \
	X(signal)                                                                                                      \
	X(sigprocmask)                                                                                                 \
	X(socket)                                                                                                      \
	X(stat)                                                                                                        \
	X(statfs)                                                                                                      \
	X(statx)                                                                                                       \
	X(syscall)                                                                                                     \
	X(write)                                                                                                       \
	X(writev)

#define BF_REAL_NUMBER(name) BF_REAL_##name,
enum bf_real { BF_REAL_FUNCTIONS(BF_REAL_NUMBER) BF_REAL_COUNT };
#undef BF_REAL_NUMBER

/* Found when first asked for, since others' constructors run before ours. 0: this C library has none of the name. */
uintptr_t bf_real(enum bf_real which);

#define BF_CALL_REAL(name) ((__typeof__(&name))bf_real(BF_REAL_##name))

#endif
