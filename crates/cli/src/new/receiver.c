/* NAME: a way to receive, for syscost. `make check` verifies every byte; syscost.h says what each function is given. */
#include "syscost.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { AT_MOST = 128 * 1024 };

struct context {
    int socket;
    syscost_piece filled;
    char buffer[AT_MOST];
};

static void *open_way(int socket, const syscost_message *message)
{
    struct context *context = malloc(sizeof *context);
    (void)message;
    if (context)
        context->socket = socket;
    return context;
}

/* One recv(2): all that it took is handed back. */
static int receive_bytes(void *opened, syscost_received *received)
{
    struct context *context = opened;
    ssize_t got;
    do {
        got = recv(context->socket, context->buffer, sizeof context->buffer, 0);
        received->system_calls++;
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    if (got == 0)
        return 0;
    context->filled.data = context->buffer;
    context->filled.bytes = (size_t)got;
    received->pieces = &context->filled;
    received->piece_count = 1;
    return 0;
}

static const syscost_receiver way = {
    .size = sizeof(syscost_receiver),
    .name = "NAME",
    .summary = "recv(2) into one buffer",
    .open = open_way,
    .receive = receive_bytes,
    .close = free,
};
static const syscost_receiver *const ways[] = { &way };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .receivers = ways,
    .receiver_count = 1,
};
