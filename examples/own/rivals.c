/* The built-in mechanisms again, by syscost.h: they should cost the same.
 *
 *     cc -O2 -shared -fPIC -o rivals.so rivals.c
 *     syscost run --mechanism ./rivals.so,send,sendmsg,pack_send
 */
#define _GNU_SOURCE
#include "syscost.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct way {
    int socket, flags;
    struct iovec *pieces, *left; /* of the message, and what a partial send leaves of them */
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
    way->left = calloc(way->count, sizeof *way->left);
    way->packed = aligned_alloc(4096, (way->bytes + 4095) / 4096 * 4096);
    if (!way->pieces || !way->left || !way->packed)
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
    free(way->left);
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

#define WAY(id, does, what)                                                                                    \
    static const syscost_mechanism id = {                                                                      \
        .size = sizeof(syscost_mechanism), .name = #id, .summary = does, .open = open_way, .send = what,       \
        .close = close_way,                                                                                    \
    }

WAY(my_send, "one contiguous buffer, one send(2)", send_one);
WAY(my_pack_send, "memcpy of the fields into one buffer, then one send(2)", send_packed);
WAY(my_send_fields, "a send(2) for each field", send_each);
WAY(my_sendmsg, "one sendmsg(2) with an iovec for each field", send_gathered);

static const syscost_mechanism *const ways[] = { &my_send, &my_pack_send, &my_send_fields, &my_sendmsg };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .mechanisms = ways,
    .mechanism_count = sizeof ways / sizeof *ways,
};
