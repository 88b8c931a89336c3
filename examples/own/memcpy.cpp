// Two ways to copy a page, in C++.
//
//     c++ -O2 -shared -fPIC -o memcpy.so memcpy.cpp
//     syscost run --operation ./memcpy.so
#include "syscost.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace {

struct Pages {
    char from[4096];
    char to[4096];
};

void *setup(const syscost_case *)
{
    Pages *pages = new (std::nothrow) Pages;
    if (pages)
        std::memset(pages->from, 'x', sizeof pages->from);
    return pages;
}

template <void (*copy)(Pages &)>
int run(void *context, uint64_t iterations, syscost_done *done)
{
    Pages &pages = *static_cast<Pages *>(context);
    for (uint64_t i = 0; i < iterations; i++) {
        copy(pages);
        __asm__ volatile("" : : "g"(&pages) : "memory");
    }
    done->operations += iterations;
    done->bytes += iterations * sizeof pages.from;
    return 0;
}

void by_memcpy(Pages &pages) { std::memcpy(pages.to, pages.from, sizeof pages.to); }
void by_copy(Pages &pages) { std::copy(pages.from, pages.from + sizeof pages.from, pages.to); }

int check(void *context)
{
    Pages &pages = *static_cast<Pages *>(context);
    return std::memcmp(pages.from, pages.to, sizeof pages.to) ? EBADMSG : 0;
}

void teardown(void *context) { delete static_cast<Pages *>(context); }

const syscost_operation with_memcpy = { sizeof(syscost_operation), "page_memcpy", "memcpy of 4 KiB", nullptr, 0,
                                        setup, run<by_memcpy>, check, teardown };
const syscost_operation with_copy = { sizeof(syscost_operation), "page_copy", "std::copy of 4 KiB", nullptr, 0,
                                      setup, run<by_copy>, check, teardown };
const syscost_operation *const operations[] = { &with_memcpy, &with_copy };

} // namespace

const syscost_exports syscost_object = { SYSCOST_VERSION, sizeof(syscost_exports), operations, 2, nullptr, 0, nullptr, 0 };
