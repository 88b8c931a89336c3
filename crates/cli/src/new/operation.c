/* NAME: an operation, for syscost. syscost.h says what each function is given. */
#include "syscost.h"
#include <errno.h>
#include <stdlib.h>

struct context {
    uint64_t counted;
    uint64_t wanted;
};

static void *setup(const syscost_case *in)
{
    (void)in;
    return calloc(1, sizeof(struct context));
}

static int run(void *made, uint64_t iterations, syscost_done *done)
{
    volatile struct context *context = made;
    for (uint64_t i = 0; i < iterations; i++)
        context->counted++; /* what you measure */
    context->wanted += iterations;
    done->operations += iterations;
    return 0;
}

static int check(void *made)
{
    struct context *context = made;
    return context->counted == context->wanted ? 0 : EBADMSG;
}

static const syscost_operation operation = {
    .size = sizeof(syscost_operation),
    .name = "NAME",
    .summary = "counts to one",
    .setup = setup,
    .run = run,
    .check = check,
    .teardown = free,
};
static const syscost_operation *const operations[] = { &operation };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .operations = operations,
    .operation_count = 1,
};
