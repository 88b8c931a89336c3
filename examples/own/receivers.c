/* Two ways to receive, by syscost.h: the first should cost what the built-in recv does.
 *
 *     cc -O2 -shared -fPIC -o receivers.so receivers.c
 *     syscost run --receiver ./receivers.so,recv --mechanism send
 */
#include "syscost.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { BUFFER = 128 * 1024 };

struct way {
    int socket, flags;
    size_t at_most; /* bytes that one call asks for */
    syscost_piece filled;
    char *buffer;
};

static void *open_way(int socket, size_t at_most, int flags)
{
    struct way *way = calloc(1, sizeof *way);
    if (!way)
        return NULL;
    way->socket = socket;
    way->flags = flags;
    way->at_most = at_most;
    way->buffer = aligned_alloc(4096, (at_most + 4095) / 4096 * 4096);
    if (way->buffer)
        return way;
    free(way);
    return NULL;
}

static void *open_stream(int socket, const syscost_message *message)
{
    (void)message;
    return open_way(socket, BUFFER, 0);
}

static void *open_messages(int socket, const syscost_message *message)
{
    return open_way(socket, message->bytes, MSG_WAITALL);
}

static void close_way(void *context)
{
    struct way *way = context;
    free(way->buffer);
    free(way);
}

static int receive_bytes(void *context, syscost_received *received)
{
    struct way *way = context;
    ssize_t got;
    do {
        got = recv(way->socket, way->buffer, way->at_most, way->flags);
        received->system_calls++;
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    if (got > 0) { /* none: the sender has closed the stream */
        way->filled.data = way->buffer;
        way->filled.bytes = (size_t)got;
        received->pieces = &way->filled;
        received->piece_count = 1;
    }
    return 0;
}

#define WAY(id, does, opens)                                                                                  \
    static const syscost_receiver id = {                                                                      \
        .size = sizeof(syscost_receiver), .name = #id, .summary = does, .open = opens,                        \
        .receive = receive_bytes, .close = close_way,                                                         \
    }

WAY(my_recv, "recv(2) into one buffer of 128 KiB", open_stream);
WAY(my_recv_message, "recv(2) of one whole message (MSG_WAITALL)", open_messages);

static const syscost_receiver *const ways[] = { &my_recv, &my_recv_message };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .receivers = ways,
    .receiver_count = sizeof ways / sizeof *ways,
};
