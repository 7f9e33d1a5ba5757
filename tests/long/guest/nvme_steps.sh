#!/bin/sh
# Runs in a guest of the lab: what a stock kernel, nvme-cli, ext4 and fio do with an NVMe controller, one named check
# each.
#
#	nvme_steps.sh all		everything, then a reboot; after it, whether the data is still there
#	nvme_steps.sh short [rings]	the driver, a file system, fio, a reset; rings that wrap all the time
#	nvme_steps.sh wait-for-death	writes, flushes, says so, and reads until the controller is gone
#	nvme_steps.sh survived		whether what wait-for-death wrote is still there
#
# Media: a file system in the first 32 MiB, then room for fio, and in the last MiB a mark that outlives a reboot.
. checks.sh

device=0000:01:00.0
pci=/sys/bus/pci/devices/$device
disk=none
mark_at=120 # MiB

# Linux looks at namespaces in parallel: the first name need not be namespace 1.
find_disk() {
	for block in /sys/block/nvme*n*; do
		[ "$(cat "$block/nsid" 2>/dev/null)" != 1 ] || disk=/dev/${block##*/}
	done
	test -b "$disk"
}

ready() {
	within 10 find_disk && within 10 grep -qx live /sys/class/nvme/nvme0/state
}

two_queues() {
	[ "$(ls /sys/block/${disk##*/}/mq | wc -l)" -eq 2 ] && grep -q nvme0q2 /proc/interrupts
}

# Nothing in the kernel's log that a driver says of a controller that misbehaves.
no_complaint() {
	! dmesg | grep -iE -e 'nvme.*(timeout|abort|not ready|failed|invalid|error|dead|disabl|frozen|I/O Cmd)' \
		-e 'AER: .*error' -e 'DMAR:.*fault'
}

random_file() {
	dd if=/dev/urandom of="$1" bs=1M count="$2" 2>/dev/null
}

# save_sum FILE, same_sum FILE: a checksum on the media itself, beside the file.
save_sum() {
	md5sum <"$1" >"$1.md5"
}

same_sum() {
	[ "$(md5sum <"$1")" = "$(cat "$1.md5")" ]
}

raw_round_trip() {
	random_file /tmp/raw 4
	dd if=/tmp/raw of=$disk bs=64k seek=$((40 * 16)) oflag=direct conv=fsync 2>/dev/null || return 1
	dd if=$disk of=/tmp/back bs=16k skip=$((40 * 64)) count=256 iflag=direct 2>/dev/null || return 1
	cmp /tmp/raw /tmp/back
}

mount_fs() {
	mkdir -p /mnt && mount -t ext4 $disk /mnt
}

copy_and_compare() {
	random_file /tmp/data 6 && cp /tmp/data /mnt/data && cp /mnt/data /mnt/copy && save_sum /mnt/data &&
		sync && umount /mnt && mount_fs && cmp /tmp/data /mnt/data && cmp /mnt/data /mnt/copy
}

still_there() {
	mount_fs && same_sum /mnt/data && umount /mnt
}

file_system() {
	check mkfs mkfs.ext4 -q -F $disk 32M
	check mount mount_fs
	check copy-and-compare copy_and_compare
	check unmount umount /mnt
	check fsck e2fsck -f -n $disk
}

# fio NAME OPTIONS...: writes, reads back and verifies checksums of 32 MiB that belong to nothing else.
verify() {
	name=$1
	shift
	check "fio-$name" fio --name="$name" --filename=$disk --offset=48m --size=32m --direct=1 --verify=crc32c \
		--verify_fatal=1 --group_reporting "$@"
}

fio_all() {
	verify 4k-qd1 --rw=randwrite --bs=4k --iodepth=1 --ioengine=libaio --io_size=2m
	verify 4k-qd32 --rw=randwrite --bs=4k --iodepth=32 --ioengine=libaio --io_size=8m
	verify mixed-sizes --rw=randwrite --bsrange=512-256k --blockalign=512 --iodepth=16 --ioengine=libaio \
		--io_size=16m
	verify large --rw=write --bs=1m --iodepth=8 --ioengine=libaio
	verify io-uring --rw=randwrite --bs=8k --iodepth=32 --ioengine=io_uring --iodepth_batch=8 --io_size=16m
	verify four-jobs --rw=randwrite --bs=4k --iodepth=8 --ioengine=libaio --size=8m --io_size=2m \
		--offset_increment=8m --numjobs=4
	check fio-mixed-load fio --name=load --filename=$disk --offset=48m --size=32m --direct=1 --rw=randrw --bs=16k \
		--iodepth=16 --numjobs=2 --ioengine=libaio --io_size=8m --group_reporting
	check fio-trim fio --name=trim --filename=$disk --offset=48m --size=8m --direct=1 --rw=randtrim --bs=64k \
		--ioengine=libaio
}

# says PATTERN COMMAND...: the command's output has a line that matches.
says() {
	pattern=$1
	shift
	"$@" >/tmp/said 2>&1
	grep -qE "$pattern" /tmp/said || {
		tail -n 2 /tmp/said
		return 1
	}
}

nvme_cli() {
	sectors=$(cat /sys/block/${disk##*/}/size)
	serial=$(sed 's/ *$//' /sys/class/nvme/nvme0/serial)
	check list says "^$disk .* $serial " nvme list
	check id-ctrl says '^nn +: [1-9]' nvme id-ctrl /dev/nvme0
	check id-ctrl-decoded says 'Persistent Event log' nvme id-ctrl -H /dev/nvme0
	check id-ns says "^nsze +: 0x$(printf %x "$sectors")$" nvme id-ns $disk
	check id-ns-descriptors nvme ns-descs $disk
	check list-ns says '0x1$' nvme list-ns /dev/nvme0
	check smart-log says '^critical_warning\s*: 0$' nvme smart-log /dev/nvme0
	check error-log says '^error_count' nvme error-log /dev/nvme0
	check fw-log says '^frs1|^afi' nvme fw-log /dev/nvme0
	check get-queue-count says 'Number of Queues' nvme get-feature /dev/nvme0 -f 7
	check set-volatile-cache nvme set-feature /dev/nvme0 -f 6 -V 1
	check flush nvme flush $disk
	check write-zeroes-and-compare zeroes_compare
	check deallocate nvme dsm $disk --ad --slbs=$((100 * 2048)) --blocks=64
	check read-beyond-end says 'LBA Out of Range' nvme read $disk --start-block="$sectors" --block-count=0 \
		--data-size=512
	check unknown-opcode says 'Invalid Command Opcode' nvme admin-passthru /dev/nvme0 --opcode=0x7f
	check unknown-log-page says 'Invalid Log Page|Invalid Field' nvme get-log /dev/nvme0 --log-id=0x7f --log-len=512
}

zeroes_compare() {
	at=$((101 * 2048))
	random_file /tmp/block 1
	dd if=/tmp/block of=$disk bs=512 count=8 seek=$at oflag=direct 2>/dev/null || return 1
	nvme write-zeroes $disk --start-block=$at --block-count=7 || return 1
	dd if=$disk of=/tmp/zero bs=512 count=8 skip=$at iflag=direct 2>/dev/null || return 1
	cmp -n 4096 /tmp/zero /dev/zero
}

controller_reset() {
	echo 1 >/sys/class/nvme/nvme0/reset_controller && ready && still_there
}

function_reset() {
	echo flr >$pci/reset_method && echo 1 >$pci/reset && ready && still_there
}

unbind_and_bind() {
	echo $device >/sys/bus/pci/drivers/nvme/unbind && [ ! -e $disk ] &&
		echo $device >/sys/bus/pci/drivers/nvme/bind && ready && still_there
}

# Rings of three entries wrap all the time: indices, phases and shadow doorbells meet values that they had before. What
# gets lost shows as a timeout in the kernel's log.
small_rings() {
	depth=/sys/module/nvme/parameters/io_queue_depth
	usual=$(cat $depth)
	echo 3 >$depth && unbind_and_bind && echo 3000 >/sys/block/${disk##*/}/queue/io_timeout &&
		fio --name=rings --filename=$disk --offset=48m --size=32m --direct=1 --rw=randread --bs=4k --iodepth=4 \
			--numjobs=2 --ioengine=libaio --io_size=4m
	code=$?
	echo "$usual" >$depth && unbind_and_bind && [ $code -eq 0 ]
}

remove_and_rescan() {
	echo 1 >$pci/remove && [ ! -e $disk ] && echo 1 >/sys/bus/pci/rescan && ready && still_there
}

# Two of a kind, reads and writes, that the device has not answered.
under_load() {
	grep -q '[1-9]' /sys/block/${disk##*/}/inflight
}

# Reset while two processes read: what was in flight must come back as success by the driver's own retry.
reset_under_load() {
	fio --name=load --filename=$disk --offset=48m --size=32m --direct=1 --rw=randread --bs=4k --iodepth=16 \
		--numjobs=2 --ioengine=libaio --runtime=2 --time_based >/tmp/load.log 2>&1 &
	load=$!
	within 20 under_load
	echo 1 >/sys/class/nvme/nvme0/reset_controller || return 1
	wait $load && ready
}

unreadable() {
	! dd if=$disk of=/dev/null bs=4k count=1 iflag=direct
}

marked() {
	dd if=$disk bs=1M skip=$mark_at count=1 2>/dev/null | grep -q 'second boot'
}

mark() {
	echo 'second boot' | dd of=$disk bs=512 seek=$((mark_at * 2048)) conv=sync,fsync 2>/dev/null
}

check driver-binds ready
check two-queues two_queues
case $1 in
all)
	if ! marked; then
		check raw-round-trip raw_round_trip
		file_system
		nvme_cli
		fio_all
		check controller-reset controller_reset
		check function-level-reset function_reset
		check unbind-and-bind unbind_and_bind
		check small-rings small_rings
		check remove-and-rescan remove_and_rescan
		check reset-under-load reset_under_load
		check no-complaint-of-the-kernel no_complaint
		mark
		echo "$failed failed before the reboot"
		sync
		stty -F /dev/ttyS1 raw # once it has sent all that it holds
		reboot -f
		sleep 60
	fi
	check data-after-reboot still_there
	verify after-reboot --rw=randwrite --bs=4k --iodepth=32 --ioengine=libaio --io_size=8m
	check no-complaint-after-reboot no_complaint
	;;
short)
	file_system
	verify 4k-qd32 --rw=randwrite --bs=4k --iodepth=32 --ioengine=libaio --io_size=8m
	check controller-reset controller_reset
	check function-level-reset function_reset
	[ "${2-}" != rings ] || check small-rings small_rings
	check no-complaint-of-the-kernel no_complaint
	;;
wait-for-death)
	file_system
	echo 3000 >/sys/block/${disk##*/}/queue/io_timeout
	echo "written"
	check driver-gives-up within 60 unreadable
	;;
survived)
	check data-after-the-server-died still_there
	check fsck e2fsck -f -n $disk
	;;
esac
[ "$failed" -eq 0 ]
