/* What the C workloads share: time limits, CPU pinning, and the process's own account of its CPU time. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* No workload outlives this, whatever its arguments say. */
#define LONGEST_SECONDS 900.0

static inline double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads a duration in seconds and arms an alarm a little above it, so that a stuck workload ends. */
static inline double duration_argument(const char *text)
{
    double seconds = atof(text);
    if (seconds <= 0.0 || seconds > LONGEST_SECONDS) {
        fprintf(stderr, "the duration must be above 0 and at most %.0f seconds, not %s\n", LONGEST_SECONDS, text);
        exit(2);
    }
    alarm((unsigned)(seconds * 4.0) + 30);
    return seconds;
}

/* Pins the calling thread to one CPU. */
static inline void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

/* User and system CPU time of the calling process in seconds. */
static inline double own_cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

/* A tenth of a millisecond to a millisecond of arithmetic that the compiler can't remove. */
__attribute__((always_inline)) static inline void churn(void)
{
    for (volatile unsigned i = 0; i < 400000; i++) {
    }
}

#endif
