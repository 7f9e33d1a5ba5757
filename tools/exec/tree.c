#include "tools/exec/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/rdmacm/rdmacm.h"
#include "models/uverbs/mlx5/mlx5_ib.h"
#include "tools/exec/identity.h"

/* A ConnectX behind a root port of its own, one function a device: /sys/devices/.../NAME and what leads there. */
#define ROOT "sys/devices/pci" BF_EXEC_PCI_DOMAIN ":80"
#define PORT BF_EXEC_PCI_DOMAIN ":80:01.0"
#define PCI_RESOURCES 6u
#define FUNCTION BF_EXEC_PCI_DOMAIN ":81:00.%u"

struct writer {
	const char *dir;
	const char *name; /* of the device that is being written */
	uint32_t index;
	struct bf_error *err;
	int rc;
};

/* ---- files ---- */

static void failed(struct writer *t, const char *path)
{
	if (!t->rc)
		t->rc = bf_fail(t->err, -errno, "%s: %s", path, strerror(errno));
}

/* The folders that `path` lies in. */
static void make_folders(struct writer *t, char *path)
{
	for (char *slash = strchr(path + strlen(t->dir) + 1, '/'); slash && !t->rc; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			failed(t, path);
		*slash = '/';
	}
}

static void join(struct writer *t, char path[PATH_MAX], const char *below)
{
	if (!t->rc && snprintf(path, PATH_MAX, "%s/%s", t->dir, below) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		failed(t, below);
	}
	if (!t->rc)
		make_folders(t, path);
}

static void put_bytes(struct writer *t, const char *below, const void *bytes, size_t len, bool line)
{
	char path[PATH_MAX];
	FILE *f;

	join(t, path, below);
	if (t->rc)
		return;
	f = fopen(path, "we");
	if (!f || fwrite(bytes, 1, len, f) != len || (line && putc('\n', f) < 0))
		failed(t, path);
	if (f && fclose(f))
		failed(t, path);
}

/* As files of sysfs: one line, with its end. */
static void put_file(struct writer *t, const char *below, const char *text)
{
	const size_t len = strlen(text);

	put_bytes(t, below, text, len, len && text[len - 1] != '\n');
}

static void put_link(struct writer *t, const char *below, const char *to)
{
	char path[PATH_MAX];

	join(t, path, below);
	if (!t->rc && symlink(to, path) && errno != EEXIST)
		failed(t, path);
}

/* ---- a device ---- */

/*
 * The model names files as the class folders have them: "infiniband/NAME/FILE". Their place is the device's, where the
 * class folders lead.
 */
static void put_class_file(void *arg, const char *class_path, const char *text)
{
	struct writer *t = arg;
	char below[PATH_MAX];
	const char *path = strncmp(class_path, "class/", 6) ? class_path : class_path + 6, *slash = strchr(path, '/');
	const char *rest = slash ? strchr(slash + 1, '/') : NULL;

	if (!rest) { /* infiniband_verbs/abi_version */
		snprintf(below, sizeof(below), "sys/class/%s", path);
		if (t->index)
			return;
	} else if (strncmp(rest, "/device/", 8) == 0) {
		snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/%s", t->index, rest + 8);
	} else {
		snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/%s", t->index, path);
	}
	put_file(t, below, text);
}

/* What a PCI function has, for those who ask where a device sits: UCX, hwloc, NCCL. `function` is its address. */
static void put_place(struct writer *t, const char *function)
{
	static const char *const files[][2] = {
		{ "numa_node", "-1" },
		{ "local_cpulist", "0" },
		{ "local_cpus", "ffffffff" },
		{ "current_link_width", "16" },
		{ "max_link_width", "16" },
		{ "current_link_speed", "32.0 GT/s PCIe" },
		{ "max_link_speed", "32.0 GT/s PCIe" },
	};
	char below[PATH_MAX], to[PATH_MAX];

	for (size_t i = 0; i < BF_ARRAY_LEN(files); i++) {
		snprintf(below, sizeof(below), ROOT "/" PORT "/%s/%s", function, files[i][0]);
		put_file(t, below, files[i][1]);
	}
	snprintf(below, sizeof(below), ROOT "/" PORT "/%s/subsystem", function);
	put_link(t, below, "../../../../bus/pci");
	snprintf(below, sizeof(below), "sys/bus/pci/devices/%s", function);
	snprintf(to, sizeof(to), "../../../devices/pci" BF_EXEC_PCI_DOMAIN ":80/" PORT "/%s", function);
	put_link(t, below, to);
	/* Its bus, whose folder lies beside the function. */
	snprintf(below, sizeof(below), ROOT "/" PORT "/pci_bus/%.7s/cpuaffinity", function);
	put_file(t, below, "ffffffff");
	snprintf(below, sizeof(below), "sys/class/pci_bus/%.7s", function);
	snprintf(to, sizeof(to), "../../devices/pci" BF_EXEC_PCI_DOMAIN ":80/" PORT "/pci_bus/%.7s", function);
	put_link(t, below, to);
}

/* The configuration space, as far as it says what the function is (PCI Local Bus 3.0, figure 6-1). */
static void put_config(struct writer *t, const char *function, uint16_t vendor, uint16_t device, uint32_t class)
{
	uint8_t config[256] = { (uint8_t)vendor, (uint8_t)(vendor >> 8), (uint8_t)device, (uint8_t)(device >> 8) };
	char below[PATH_MAX];

	config[9] = (uint8_t) class;
	config[10] = (uint8_t)(class >> 8);
	config[11] = (uint8_t)(class >> 16);
	config[44] = config[0]; /* the subsystem's */
	config[45] = config[1];
	snprintf(below, sizeof(below), ROOT "/" PORT "/%s/config", function);
	put_bytes(t, below, config, sizeof(config), false);
}

/* What those read who look for the function on its bus, as DPDK does: its driver, and BARs that nobody maps. */
static void put_bus_files(struct writer *t, const char *function)
{
	char below[PATH_MAX], text[512];
	int len = 0;

	snprintf(text, sizeof(text), "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\nPCI_SLOT_NAME=%s", function);
	snprintf(below, sizeof(below), ROOT "/" PORT "/%s/uevent", function);
	put_file(t, below, text);
	for (uint32_t i = 0; i < PCI_RESOURCES; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "0x%016x 0x%016x 0x%016x\n", 0u, 0u, 0u);
	snprintf(below, sizeof(below), ROOT "/" PORT "/%s/resource", function);
	put_file(t, below, text);
	snprintf(below, sizeof(below), ROOT "/" PORT "/%s/driver", function);
	put_link(t, below, "../../../../bus/pci/drivers/mlx5_core");
	snprintf(below, sizeof(below), "sys/bus/pci/drivers/mlx5_core/%s", function);
	snprintf(text, sizeof(text), "../../../../devices/pci" BF_EXEC_PCI_DOMAIN ":80/" PORT "/%s", function);
	put_link(t, below, text);
}

/* The machine's own functions stand on the bus beside ours. */
static void put_other_functions(struct writer *t)
{
	DIR *bus = opendir("/sys/bus/pci/devices");
	struct dirent *d;

	while (bus && (d = readdir(bus))) {
		char at[PATH_MAX], place[PATH_MAX], below[PATH_MAX];

		if (d->d_name[0] == '.' ||
		    snprintf(at, sizeof(at), "/sys/bus/pci/devices/%s", d->d_name) >= (int)sizeof(at) ||
		    !realpath(at, place) ||
		    snprintf(below, sizeof(below), "sys/bus/pci/devices/%s", d->d_name) >= (int)sizeof(below))
			continue;
		put_link(t, below, place);
	}
	if (bus)
		closedir(bus);
}

static void put_function(struct writer *t)
{
	char function[32], below[PATH_MAX];

	snprintf(function, sizeof(function), FUNCTION, t->index);
	snprintf(below, sizeof(below), ROOT "/" PORT "/%s/class", function);
	put_file(t, below, "0x020000");
	put_config(t, function, 0x15b3, 0x1021, 0x020000);
	put_bus_files(t, function);
	put_place(t, function);
}

/* A GPU of `belfry exec --gpu`, at the address that libcuda.so.1 tells. */
static void put_gpu(struct writer *t)
{
	static const char *const files[][2] = {
		{ "class", "0x030200" },          { "vendor", "0x10de" },           { "device", "0x1de5" },
		{ "subsystem_vendor", "0x10de" }, { "subsystem_device", "0x0000" },
	};
	char function[32], below[PATH_MAX];

	snprintf(function, sizeof(function), "%04x:%02x:00.0", (unsigned)bf_exec_gpu_domain(),
		 (unsigned)(BF_EXEC_GPU_BUS + t->index));
	for (size_t i = 0; i < BF_ARRAY_LEN(files); i++) {
		snprintf(below, sizeof(below), ROOT "/" PORT "/%s/%s", function, files[i][0]);
		put_file(t, below, files[i][1]);
	}
	put_config(t, function, 0x10de, 0x1de5, 0x030200);
	put_place(t, function);
}

/* /sys/class/CLASS/NAME leads to the device's folder, whose "device" leads back to the function. */
static void put_class(struct writer *t, const char *class, const char *name)
{
	char below[PATH_MAX], to[PATH_MAX];

	snprintf(below, sizeof(below), "sys/class/%s/%s", class, name);
	snprintf(to, sizeof(to), "../../devices/pci" BF_EXEC_PCI_DOMAIN ":80/" PORT "/" FUNCTION "/%s/%s", t->index,
		 class, name);
	put_link(t, below, to);
	snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/%s/%s/device", t->index, class, name);
	snprintf(to, sizeof(to), "../../../" FUNCTION, t->index);
	put_link(t, below, to);
}

/* The network interface of its own: what is asked by sockets is in interface.c. */
static void put_interface(struct writer *t, const struct bf_exec_identity *id)
{
	static const char *const files[][2] = {
		{ "mtu", "1500" },     { "dev_port", "0" },   { "dev_id", "0x0" },  { "type", "1" },
		{ "operstate", "up" }, { "carrier", "1" },    { "duplex", "full" }, { "speed", "400000" },
		{ "addr_len", "6" },   { "flags", "0x1003" }, { "iflink", NULL },   { "ifindex", NULL },
		{ "address", NULL },
	};
	char name[IF_NAMESIZE], number[16], mac[18], below[PATH_MAX];

	snprintf(name, sizeof(name), BF_EXEC_OWN_INTERFACE "%u", t->index);
	snprintf(number, sizeof(number), "%u", BF_EXEC_OWN_IFINDEX + t->index);
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", id->mac[0], id->mac[1], id->mac[2], id->mac[3],
		 id->mac[4], id->mac[5]);
	put_class(t, "net", name);
	for (size_t i = 0; i < BF_ARRAY_LEN(files); i++) {
		const char *text = files[i][1] ? files[i][1] : strcmp(files[i][0], "address") ? number : mac;

		snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/net/%s/%s", t->index, name, files[i][0]);
		put_file(t, below, text);
	}
}

/* Beside it the one that has the addresses, as another port's: who looks for the first port finds ours. */
static void put_addressed(struct writer *t, const char *name)
{
	static const char *const files[] = { "address", "flags", "ifindex", "mtu", "operstate", "type" };
	char below[PATH_MAX], to[PATH_MAX];

	for (size_t i = 0; i < BF_ARRAY_LEN(files); i++) {
		snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/net/%s/%s", t->index, name, files[i]);
		snprintf(to, sizeof(to), "/sys/class/net/%s/%s", name, files[i]);
		put_link(t, below, to);
	}
	snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/net/%s/dev_port", t->index, name);
	put_file(t, below, "1");
	snprintf(below, sizeof(below), ROOT "/" PORT "/" FUNCTION "/net/%s/dev_id", t->index, name);
	put_file(t, below, "0x1");
}

static void put_device(struct writer *t, const struct bf_exec_tree_opts *tree)
{
	struct bf_exec_identity id;
	struct bf_uverbs_opts opts = { 0 };
	char below[PATH_MAX], file[32], interface[BF_EXEC_INTERFACE_ROOM];

	bf_exec_interface(tree->udp_ipv4, interface);
	bf_exec_identity(&id, t->index, tree->udp_ipv4);
	opts.provider = &bf_mlx5_ib;
	opts.name = id.name;
	opts.interface = interface;
	opts.infiniband = tree->infiniband;
	opts.ipv4 = id.ipv4;
	opts.node_guid = id.node_guid;
	memcpy(opts.mac, id.mac, sizeof(opts.mac));
	bf_uverbs_sysfs(&opts, t->index, put_class_file, t);
	put_function(t);
	put_interface(t, &id);
	put_addressed(t, interface);
	snprintf(file, sizeof(file), "uverbs%u", t->index);
	put_class(t, "infiniband", id.name);
	put_class(t, "infiniband_verbs", file);
	/* Opened, this is a character device that takes anything; its number is what the model's "dev" file says. */
	snprintf(below, sizeof(below), "dev/infiniband/%s", file);
	put_link(t, below, "/dev/null");
}

/* The connection manager is one for all devices. */
static void put_manager(struct writer *t)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", BF_RDMACM_ABI);
	put_file(t, "sys/class/misc/rdma_cm/abi_version", text);
	snprintf(text, sizeof(text), "%d:%d", BF_EXEC_CM_MAJOR, BF_EXEC_CM_MINOR);
	put_file(t, "sys/class/misc/rdma_cm/dev", text);
	put_link(t, "dev/infiniband/rdma_cm", "/dev/null");
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

static void remove_all(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static const char *temporary(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp == '/' && strlen(tmp) < PATH_MAX / 8 ? tmp : "/tmp";
}

/* Folders of commands that were killed: nobody holds their lock any more. */
static void remove_stale(void)
{
	DIR *tmp = opendir(temporary());
	struct dirent *d;

	while (tmp && (d = readdir(tmp))) {
		char path[PATH_MAX], lock[PATH_MAX];
		int fd;

		if (strncmp(d->d_name, "belfry-exec-", 12) ||
		    snprintf(path, sizeof(path), "%s/%s", temporary(), d->d_name) >= (int)sizeof(path) ||
		    snprintf(lock, sizeof(lock), "%s/lock", path) >= (int)sizeof(lock))
			continue;
		fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_all(path);
		close(fd);
	}
	if (tmp)
		closedir(tmp);
}

/* Created under another name and locked there: no other command may take it for a stale one in between. */
static int lock_folder(struct bf_exec_tree *t)
{
	char made[PATH_MAX], lock[PATH_MAX];

	snprintf(made, sizeof(made), "%s/lock.new", t->dir);
	snprintf(lock, sizeof(lock), "%s/lock", t->dir);
	t->lock = open(made, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return t->lock < 0 || flock(t->lock, LOCK_EX) || rename(made, lock) ? -errno : 0;
}

/*
 * A command that is killed can remove nothing: somebody else has to. That process is in a session of its own, since
 * what kills a command's group must not kill it as well, and hears of the end by the pipe that nobody else holds.
 */
static int start_keeper(struct bf_exec_tree *t)
{
	int ends[2];
	sigset_t all;
	char word;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	t->keeper = fork();
	if (t->keeper == 0) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		close(ends[1]);
		setsid();
		while (read(ends[0], &word, 1) < 0 && errno == EINTR)
			;
		remove_all(t->dir);
		_exit(0);
	}
	close(ends[0]);
	if (t->keeper < 0) {
		close(ends[1]);
		return -errno;
	}
	t->alive = ends[1];
	return 0;
}

int bf_exec_tree_make(struct bf_exec_tree *t, const struct bf_exec_tree_opts *opts, struct bf_error *err)
{
	struct writer w = { .dir = t->dir, .err = err };
	char seen[PATH_MAX];
	int rc;

	t->lock = t->alive = -1;
	remove_stale();
	snprintf(t->dir, sizeof(t->dir), "%s/belfry-exec-XXXXXX", temporary());
	if (!mkdtemp(t->dir)) {
		rc = bf_fail(err, -errno, "%s: %s", t->dir, strerror(errno));
		t->dir[0] = '\0';
		return rc;
	}
	snprintf(seen, sizeof(seen), "%s/seen", t->dir);
	rc = start_keeper(t);
	if (!rc)
		rc = lock_folder(t);
	if (!rc && mkdir(seen, 0700))
		rc = -errno;
	if (rc)
		return bf_fail(err, rc, "%s: %s", t->dir, strerror(-rc));
	for (w.index = 0; !w.rc && w.index < opts->devices; w.index++)
		put_device(&w, opts);
	for (w.index = 0; !w.rc && w.index < opts->gpus; w.index++)
		put_gpu(&w);
	put_manager(&w);
	put_other_functions(&w);
	return w.rc;
}

void bf_exec_tree_remove(struct bf_exec_tree *t)
{
	if (t->alive >= 0) {
		close(t->alive);
		while (waitpid(t->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	} else if (t->dir[0]) {
		remove_all(t->dir);
	}
	if (t->lock >= 0)
		close(t->lock);
}
