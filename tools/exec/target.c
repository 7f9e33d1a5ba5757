#include "tools/exec/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sim/compiler.h"
#include "tools/cli/cli.h"

#define SCRIPTS_MAX 4 /* interpreters that are scripts themselves; Linux's own limit */

/* ---- where ---- */

static int runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int bf_exec_target_find(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");
	int best = -ENOENT;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? runnable(path) : -ENAMETOOLONG;
	if (!*name)
		return -ENOENT;
	for (dirs = dirs ? dirs : "/usr/bin:/bin";;) {
		const size_t len = strcspn(dirs, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", len ? (int)len : 1, len ? dirs : ".", name) < PATH_MAX) {
			const int rc = runnable(path);

			if (!rc)
				return 0;
			if (rc == -EACCES)
				best = rc;
		}
		if (!dirs[len])
			return best;
		dirs += len + 1;
	}
}

/* ---- whether ---- */

/* The kernel then says AT_SECURE, and the dynamic linker takes no library from the environment. */
static bool has_other_rights(int fd, const struct stat *st)
{
	return ((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
	       ((st->st_mode & S_ISGID) && st->st_gid != getgid()) ||
	       (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

static bool has_interpreter(int fd, const ElfW(Ehdr) * h)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		ElfW(Phdr) p;
		const off_t at = (off_t)(h->e_phoff + (uint64_t)i * h->e_phentsize);

		if (pread(fd, &p, sizeof(p), at) != (ssize_t)sizeof(p))
			return true; /* damaged: the kernel will say so */
		if (p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static int check_elf(int fd, const char *path, const ElfW(Ehdr) * h, struct bf_error *err)
{
	ElfW(Ehdr) own;
	const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const bool known = self >= 0 && pread(self, &own, sizeof(own), 0) == (ssize_t)sizeof(own);

	if (self >= 0)
		close(self);
	if (known && (own.e_machine != h->e_machine || own.e_ident[EI_CLASS] != h->e_ident[EI_CLASS]))
		return bf_fail(err, -ENOTSUP, "%s is a program for another kind of machine than this belfry", path);
	if (!has_interpreter(fd, h))
		return bf_fail(err, -ENOTSUP,
			       "%s is linked statically: no library can be loaded into it, so it would not see the "
			       "device. Link it dynamically. (If it only starts others: belfry exec -- sh -c '...')",
			       path);
	return 0;
}

/* "#!INTERPRETER ARGUMENT": its name into `path`. */
static bool read_script(const char *head, size_t len, char path[PATH_MAX])
{
	size_t from = 2, to;

	if (len < 3 || head[0] != '#' || head[1] != '!')
		return false;
	while (from < len && (head[from] == ' ' || head[from] == '\t'))
		from++;
	for (to = from; to < len && !strchr(" \t\n", head[to]);)
		to++;
	snprintf(path, PATH_MAX, "%.*s", (int)(to - from), head + from);
	return to > from;
}

static int check_one(char path[PATH_MAX], bool *script, struct bf_error *err)
{
	union {
		ElfW(Ehdr) elf;
		char text[256];
	} head;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t len;
	int rc = 0;

	*script = false;
	if (fd < 0)
		return errno == EACCES ? 0 : bf_fail(err, -errno, "%s: %s", path, strerror(errno));
	len = read(fd, &head, sizeof(head));
	if (len >= (ssize_t)sizeof(head.elf) && memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
		if (fstat(fd, &st) == 0 && has_other_rights(fd, &st))
			rc =
			    bf_fail(err, -ENOTSUP,
				    "%s runs with rights other than yours (setuid, setgid or file capabilities), so no "
				    "library may be loaded into it. Run a copy of it that has none of these.",
				    path);
		else
			rc = check_elf(fd, path, &head.elf, err);
	} else if (len > 0) {
		*script = read_script(head.text, (size_t)len, path);
	}
	close(fd);
	return rc;
}

int bf_exec_target_check(const char *path, struct bf_error *err)
{
	char at[PATH_MAX];
	bool script = true;
	int rc = 0;

	snprintf(at, sizeof(at), "%s", path);
	for (int i = 0; !rc && script && i < SCRIPTS_MAX; i++)
		rc = check_one(at, &script, err);
	return rc;
}

/* ---- the library ---- */

int bf_exec_library(const char *name, char path[PATH_MAX], struct bf_error *err)
{
	static const char *const places[] = { "", BELFRY_UP_TO_LIBRARIES "/" };
	char self[PATH_MAX], found[PATH_MAX];

	if (bf_cli_folder(self))
		return bf_fail(err, -ENOTSUP, "/proc/self/exe cannot be read, so %s cannot be found", name);
	for (size_t i = 0; i < BF_ARRAY_LEN(places); i++) {
		if (snprintf(found, sizeof(found), "%s/%s%s", self, places[i], name) >= (int)sizeof(found) ||
		    !realpath(found, path))
			continue;
		if (strpbrk(path, " :"))
			return bf_fail(err, -ENOTSUP, "%s: LD_PRELOAD takes no name with a blank or colon in it", path);
		return 0;
	}
	return bf_fail(err, -ENOTSUP, "%s is neither in %s nor in %s%s", name, self, self, BELFRY_UP_TO_LIBRARIES);
}
