/* The kernel's own account of the calling thread. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "workload.h"

#include <string.h>
#include <sys/prctl.h>

struct account {
    /* Nanoseconds on a CPU and ready but waiting for one: fields 1 and 2 of schedstat. */
    unsigned long long run, wait;
    /* Switches away because it blocked, and while it could have gone on. */
    unsigned long long voluntary, involuntary;
};

static inline double seconds_of(unsigned long long nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

static inline unsigned long long now_nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

/* Nanoseconds that the calling thread has waited for a CPU. */
static inline struct account own_account(void)
{
    struct account account = {0};
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &account.run, &account.wait) != 2) {
        perror("/proc/thread-self/schedstat");
        exit(1);
    }
    fclose(file);
    file = fopen("/proc/thread-self/status", "r");
    if (file == NULL) {
        perror("/proc/thread-self/status");
        exit(1);
    }
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "voluntary_ctxt_switches: %llu", &account.voluntary);
        sscanf(line, "nonvoluntary_ctxt_switches: %llu", &account.involuntary);
    }
    fclose(file);
    return account;
}

/* Names the calling thread, in at most 15 bytes. */
static inline void name_thread(const char *name)
{
    prctl(PR_SET_NAME, name);
}

/* Prints `thread NAME WALL RUN WAIT VOLUNTARY INVOLUNTARY` of the calling thread, which was created at
 * `start`; times in nanoseconds. One write, so that lines of several threads don't mix. */
static inline void print_account(const char *name, unsigned long long start)
{
    struct account account = own_account();
    char line[160];
    int length = snprintf(line, sizeof line, "thread %s %llu %llu %llu %llu %llu\n", name, now_nanoseconds() - start,
                          account.run, account.wait, account.voluntary, account.involuntary);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        exit(1);
}

#endif
