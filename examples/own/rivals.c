/* The built-in mechanisms again, by syscost.h: they should cost the same.
 *
 *     cc -O2 -shared -fPIC -o rivals.so rivals.c
 *     syscost run --mechanism ./rivals.so,send,sendmsg,pack_send
 */
#define _GNU_SOURCE
#include "syscost.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
/* It needs time.h. */
#include <linux/errqueue.h>

enum { PAGE = 4096, LINE = 64 };

struct way {
    int socket, flags;
    struct iovec *pieces; /* of the message */
    size_t count, bytes;
    char *packed;
};

static void *open_way(int socket, const syscost_message *message)
{
    struct way *way = calloc(1, sizeof *way);
    if (!way)
        return NULL;
    way->socket = socket;
    way->flags = message->flags;
    way->count = message->piece_count;
    way->bytes = message->bytes;
    way->pieces = calloc(way->count, sizeof *way->pieces);
    way->packed = aligned_alloc(PAGE, (way->bytes + PAGE - 1) / PAGE * PAGE);
    if (!way->pieces || !way->packed)
        return NULL;
    char *to = way->packed;
    for (size_t i = 0; i < way->count; i++) {
        way->pieces[i].iov_base = (void *)message->pieces[i].data;
        way->pieces[i].iov_len = message->pieces[i].bytes;
        memcpy(to, message->pieces[i].data, message->pieces[i].bytes);
        to += message->pieces[i].bytes;
    }
    return way;
}

static void close_way(void *context)
{
    struct way *way = context;
    free(way->pieces);
    free(way->packed);
    free(way);
}

static int send_all(struct way *way, const char *from, size_t bytes, syscost_counts *counts)
{
    while (bytes > 0) {
        ssize_t sent = send(way->socket, from, bytes, way->flags);
        counts->system_calls++;
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno;
        from += sent;
        bytes -= (size_t)sent;
    }
    return 0;
}

/* One buffer that was packed beforehand, one send(2). */
static int send_one(void *context, uint64_t messages, syscost_counts *counts)
{
    struct way *way = context;
    while (messages--) {
        int error = send_all(way, way->packed, way->bytes, counts);
        if (error)
            return error;
    }
    return 0;
}

/* memcpy of the fields into one buffer, one send(2). */
static int send_packed(void *context, uint64_t messages, syscost_counts *counts)
{
    struct way *way = context;
    while (messages--) {
        char *to = way->packed;
        for (size_t i = 0; i < way->count; i++) {
            memcpy(to, way->pieces[i].iov_base, way->pieces[i].iov_len);
            to += way->pieces[i].iov_len;
        }
        counts->copied_bytes += way->bytes;
        int error = send_all(way, way->packed, way->bytes, counts);
        if (error)
            return error;
    }
    return 0;
}

/* A send(2) for each field. */
static int send_each(void *context, uint64_t messages, syscost_counts *counts)
{
    struct way *way = context;
    while (messages--)
        for (size_t i = 0; i < way->count; i++) {
            int error = send_all(way, way->pieces[i].iov_base, way->pieces[i].iov_len, counts);
            if (error)
                return error;
        }
    return 0;
}

/* What a partial sendmsg(2) left. */
static int send_rest(struct way *way, size_t sent, syscost_counts *counts)
{
    for (size_t i = 0; i < way->count; i++) {
        size_t length = way->pieces[i].iov_len, skipped = sent < length ? sent : length;
        sent -= skipped;
        int error = send_all(way, (char *)way->pieces[i].iov_base + skipped, length - skipped, counts);
        if (error)
            return error;
    }
    return 0;
}

/* One sendmsg(2) with an iovec for each field. */
static int send_gathered(void *context, uint64_t messages, syscost_counts *counts)
{
    struct way *way = context;
    struct msghdr header = { .msg_iov = way->pieces, .msg_iovlen = way->count };
    while (messages--) {
        ssize_t sent;
        do {
            sent = sendmsg(way->socket, &header, way->flags);
            counts->system_calls++;
        } while (sent < 0 && errno == EINTR);
        if (sent < 0)
            return errno;
        int error = (size_t)sent == way->bytes ? 0 : send_rest(way, (size_t)sent, counts);
        if (error)
            return error;
    }
    return 0;
}

/* sendmsg(2) with MSG_ZEROCOPY: a ring of messages, each in memory of its own, which is sent again only when the error queue
 * has said that the kernel needs it no more (Documentation/networking/msg_zerocopy.rst). */
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

enum { FEWEST = 32, MOST = 256, HELD = 4 << 20, REAP_EVERY = 8, NUMBERS = 4096 };

struct ring {
    int socket, flags;
    size_t count, bytes, slots, next;
    struct iovec *pieces;     /* of every slot */
    struct iovec *left;       /* what a partial send leaves of one */
    char *memory;
    uint32_t pending[MOST];   /* sends of each slot that are not complete */
    uint16_t slot_of[NUMBERS]; /* of each send that is not complete, by its number */
    uint32_t sent, done;      /* the kernel numbers sends from 0 */
};

/* The kernel charges a page for each piece that it holds: a send buffer that begins small would make every second call sleep. */
static void start_send_buffer(const struct ring *ring)
{
    size_t charged = ring->count * PAGE;
    int unlocked = 0, room = (int)(ring->slots * charged / 2);
    if (ring->bytes > charged / 2 || setsockopt(ring->socket, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof unlocked))
        return;
    setsockopt(ring->socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(ring->socket, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof unlocked);
}

static void close_ring(void *context)
{
    struct ring *ring = context;
    if (ring->done == ring->sent) /* else the kernel may still read it */
        free(ring->memory);
    free(ring->pieces);
    free(ring->left);
    free(ring);
}

static void *open_ring(int socket, const syscost_message *message)
{
    struct ring *ring = calloc(1, sizeof *ring);
    int on = 1;
    if (!ring)
        return NULL;
    ring->socket = socket;
    ring->flags = message->flags | MSG_ZEROCOPY;
    ring->count = message->piece_count;
    ring->bytes = message->bytes;
    ring->slots = HELD / message->bytes;
    ring->slots = ring->slots < FEWEST ? FEWEST : ring->slots > MOST ? MOST : ring->slots;
    size_t room = 0;
    for (size_t i = 0; i < ring->count; i++)
        room += (message->pieces[i].bytes + LINE - 1) / LINE * LINE;
    ring->pieces = calloc(ring->slots * ring->count, sizeof *ring->pieces);
    ring->left = calloc(ring->count, sizeof *ring->left);
    ring->memory = aligned_alloc(LINE, ring->slots * room);
    if (!ring->pieces || !ring->left || !ring->memory || setsockopt(socket, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on)) {
        int error = errno;
        close_ring(ring);
        errno = error;
        return NULL;
    }
    char *to = ring->memory;
    for (size_t i = 0; i < ring->slots * ring->count; i++) {
        const syscost_piece *piece = &message->pieces[i % ring->count];
        ring->pieces[i] = (struct iovec){ .iov_base = memcpy(to, piece->data, piece->bytes), .iov_len = piece->bytes };
        to += (piece->bytes + LINE - 1) / LINE * LINE;
    }
    start_send_buffer(ring);
    return ring;
}

/* Takes the notifications that are there. */
static int reap(struct ring *ring, syscost_counts *counts)
{
    while (ring->done != ring->sent) {
        char control[128];
        struct msghdr header = { .msg_control = control, .msg_controllen = sizeof control };
        ssize_t got = recvmsg(ring->socket, &header, MSG_ERRQUEUE | MSG_DONTWAIT);
        counts->system_calls++;
        if (got < 0)
            return errno == EAGAIN ? 0 : errno;
        struct cmsghdr *said = CMSG_FIRSTHDR(&header);
        struct sock_extended_err about;
        if (!said)
            return EPROTO;
        memcpy(&about, CMSG_DATA(said), sizeof about);
        if (about.ee_errno || about.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
            return about.ee_errno ? (int)about.ee_errno : EPROTO;
        uint32_t completed = about.ee_data - about.ee_info + 1;
        for (uint32_t n = 0; n < completed; n++)
            ring->pending[ring->slot_of[(about.ee_info + n) % NUMBERS]]--;
        ring->done += completed;
        counts->completions += completed;
        counts->completions_copied += about.ee_code & SO_EE_CODE_ZEROCOPY_COPIED ? completed : 0;
    }
    return 0;
}

static int wait_for_completion(struct ring *ring, syscost_counts *counts)
{
    struct pollfd socket = { .fd = ring->socket };
    counts->system_calls++;
    if (poll(&socket, 1, -1) < 0 && errno != EINTR)
        return errno;
    return reap(ring, counts);
}

static int send_slot(struct ring *ring, size_t slot, syscost_counts *counts)
{
    struct msghdr header = { .msg_iov = &ring->pieces[slot * ring->count], .msg_iovlen = ring->count };
    size_t bytes = ring->bytes;
    for (;;) {
        ssize_t sent = sendmsg(ring->socket, &header, ring->flags);
        counts->system_calls++;
        if (sent < 0 && errno == ENOBUFS && ring->done != ring->sent) {
            int error = wait_for_completion(ring, counts);
            if (error)
                return error;
            continue;
        }
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno;
        ring->slot_of[ring->sent++ % NUMBERS] = (uint16_t)slot;
        ring->pending[slot]++;
        bytes -= (size_t)sent;
        if (bytes == 0)
            return 0;
        memmove(ring->left, header.msg_iov, header.msg_iovlen * sizeof *ring->left);
        for (header.msg_iov = ring->left; (size_t)sent >= header.msg_iov->iov_len; header.msg_iov++, header.msg_iovlen--)
            sent -= (ssize_t)header.msg_iov->iov_len;
        header.msg_iov->iov_base = (char *)header.msg_iov->iov_base + sent;
        header.msg_iov->iov_len -= (size_t)sent;
    }
}

static int send_lent(void *context, uint64_t messages, syscost_counts *counts)
{
    struct ring *ring = context;
    while (messages--) {
        int error = 0;
        while (!error && ring->pending[ring->next])
            error = wait_for_completion(ring, counts);
        error = error ? error : send_slot(ring, ring->next, counts);
        ring->next = (ring->next + 1) % ring->slots;
        if (!error && ring->next % REAP_EVERY == 0)
            error = reap(ring, counts);
        if (error)
            return error;
    }
    return 0;
}

static int flush_ring(void *context, syscost_counts *counts)
{
    struct ring *ring = context;
    int error = 0;
    while (!error && ring->done != ring->sent)
        error = wait_for_completion(ring, counts);
    return error;
}

#define WAY(id, does, what)                                                                                    \
    static const syscost_mechanism id = {                                                                      \
        .size = sizeof(syscost_mechanism), .name = #id, .summary = does, .open = open_way, .send = what,       \
        .close = close_way,                                                                                    \
    }

WAY(my_send, "one contiguous buffer, one send(2)", send_one);
WAY(my_pack_send, "memcpy of the fields into one buffer, then one send(2)", send_packed);
WAY(my_send_fields, "a send(2) for each field", send_each);
WAY(my_sendmsg, "one sendmsg(2) with an iovec for each field", send_gathered);

static const syscost_mechanism my_msg_zerocopy = {
    .size = sizeof(syscost_mechanism), .name = "my_msg_zerocopy", .summary = "sendmsg(2) of the fields with MSG_ZEROCOPY",
    .open = open_ring, .send = send_lent, .flush = flush_ring, .close = close_ring,
};

static const syscost_mechanism *const ways[] = { &my_send, &my_pack_send, &my_send_fields, &my_sendmsg, &my_msg_zerocopy };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .mechanisms = ways,
    .mechanism_count = sizeof ways / sizeof *ways,
};
