/* NAME: a way to send, for syscost. `make check` verifies every byte; syscost.h says what each function is given. */
#include "syscost.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

struct context {
    int socket;
    const syscost_message *message;
};

static void *open_way(int socket, const syscost_message *message)
{
    struct context *context = malloc(sizeof *context);
    if (!context)
        return NULL;
    context->socket = socket;
    context->message = message;
    return context;
}

/* A send(2) for each piece, until all of it is out. */
static int send_messages(void *opened, uint64_t messages, syscost_counts *counts)
{
    struct context *context = opened;
    const syscost_message *message = context->message;
    while (messages--)
        for (size_t i = 0; i < message->piece_count; i++) {
            const char *from = message->pieces[i].data;
            size_t left = message->pieces[i].bytes;
            while (left > 0) {
                ssize_t sent = send(context->socket, from, left, message->flags);
                counts->system_calls++;
                if (sent < 0 && errno == EINTR)
                    continue;
                if (sent < 0)
                    return errno;
                from += sent;
                left -= (size_t)sent;
            }
        }
    return 0;
}

static const syscost_mechanism way = {
    .size = sizeof(syscost_mechanism),
    .name = "NAME",
    .summary = "a send(2) for each piece",
    .open = open_way,
    .send = send_messages,
    .close = free,
};
static const syscost_mechanism *const ways[] = { &way };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .mechanisms = ways,
    .mechanism_count = 1,
};
