/*
 * Messages to a vfio-user server, as bytes, without a network: a socket pair and a small device on one thread. Each
 * step is one byte kind, one byte length L and L bytes:
 *
 *   0-159    a message: the kind modulo 20 is its command, with the no-reply flag from 80 on; the L bytes are its
 * payload 160-175  the same with descriptors: kind modulo 4 of them, a memory file and eventfds in turn 176-207  L raw
 * bytes 208-231  an answer to the last message that the server sent as a command, L bytes of payload 232-255  time
 * passes, or the client goes and another one comes (240 and up)
 */
#include "tests/models/vfio_user_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	struct rig rig;
	int memory, event;
	uint16_t asked_id, asked; /* the server's last command */
	struct rig_message *message;
};

static void drain(struct fuzz *f)
{
	rig_pump(&f->rig);
	while (rig_receive(&f->rig, f->message)) {
		const struct rig_message *m = f->message;

		if (m->fd >= 0)
			close(m->fd);
		if ((m->flags & BF_VFU_TYPE) == BF_VFU_TYPE_COMMAND) {
			f->asked_id = m->id;
			f->asked = m->command;
		}
	}
}

static void connect_client(struct fuzz *f)
{
	static const char text[] = "\0\0\0\0{\"capabilities\":{\"write_multiple\":true}}";

	if (f->rig.fd >= 0)
		close(f->rig.fd);
	f->rig.fd = -1;
	rig_pump(&f->rig); /* it hears of the end */
	if (rig_connect(&f->rig))
		abort();
	rig_send(&f->rig, BF_VFU_VERSION, 0, text, sizeof(text), NULL, 0);
}

static void answer(struct fuzz *f, const uint8_t *bytes, size_t len, bool error)
{
	uint8_t frame[16 + 256];

	rig_frame(&f->rig, frame, f->asked, BF_VFU_TYPE_REPLY | (error ? BF_VFU_ERROR : 0), bytes, len);
	bf_put_le16(frame, f->asked_id);
	rig_send_raw(&f->rig, frame, 16 + len, NULL, 0);
}

static void step(struct fuzz *f, uint8_t kind, const uint8_t *bytes, size_t len)
{
	const int fds[4] = { f->memory, f->event, f->memory, f->event };

	if (kind < 160)
		rig_send(&f->rig, kind % 20, kind >= 80 ? BF_VFU_NO_REPLY : 0, bytes, len, NULL, 0);
	else if (kind < 176)
		rig_send(&f->rig, kind < 168 ? BF_VFU_DMA_MAP : BF_VFU_SET_IRQS, 0, bytes, len, fds + (kind & 1),
			 kind % 4);
	else if (kind < 208)
		rig_send_raw(&f->rig, bytes, len, NULL, 0);
	else if (kind < 232)
		answer(f, bytes, len, kind >= 228);
	else if (kind >= 240)
		connect_client(f);
	drain(f);
	if (!bf_vfio_user_connected(f->rig.server))
		connect_client(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .memory = memfd_create("fuzz", MFD_CLOEXEC), .event = eventfd(0, EFD_CLOEXEC) };
	size_t at = 0;

	f.message = malloc(sizeof(*f.message));
	if (!f.message || ftruncate(f.memory, 0x10000) || rig_open(&f.rig, size & 1))
		abort();
	connect_client(&f);
	while (at + 2 <= size) {
		size_t len = data[at + 1];

		if (len > size - at - 2)
			len = size - at - 2;
		step(&f, data[at], data + at + 2, len);
		at += 2 + len;
	}
	rig_close(&f.rig);
	free(f.message);
	close(f.memory);
	close(f.event);
	return 0;
}
