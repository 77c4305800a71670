/* Seven threads on CPUs 0 and 1 (or on the only one) for SECONDS: one spins on each, and beside these one sleeps by turns, one
 * changes its CPU every few milliseconds, one yields, and two pass a byte to and fro. Each prints the kernel's
 * own account of it: `thread NAME WALL RUN WAIT VOLUNTARY INVOLUNTARY`, times in nanoseconds.
 * Usage: thread_mix SECONDS */
#include "account.h"

#include <pthread.h>

enum { THREADS = 7 };

static double end;
static int there[2], back[2];

static void pin_to(int cpu)
{
    pin(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? cpu : 0);
}

static void spin_on(int cpu)
{
    pin_to(cpu);
    while (now_seconds() < end)
        churn();
}

static void spin_0(void)
{
    spin_on(0);
}

static void spin_1(void)
{
    spin_on(1);
}

static void sleep_by_turns(void)
{
    struct timespec nap = {.tv_nsec = 7000000};
    while (now_seconds() < end) {
        churn();
        nanosleep(&nap, NULL);
    }
}

static void migrate(void)
{
    for (int cpu = 0; now_seconds() < end; cpu ^= 1) {
        pin_to(cpu);
        for (int i = 0; i < 4; i++)
            churn();
    }
}

static void yield(void)
{
    while (now_seconds() < end)
        sched_yield();
}

static void block_first(void)
{
    char byte = 'x';
    while (now_seconds() < end) {
        churn();
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            exit(1);
    }
    close(there[1]);
}

static void block_second(void)
{
    char byte;
    while (read(there[0], &byte, 1) == 1) {
        churn();
        if (write(back[1], &byte, 1) != 1)
            exit(1);
    }
}

static const struct {
    const char *name;
    void (*work)(void);
} kinds[THREADS] = {
    {"mix-spin-0", spin_0},     {"mix-spin-1", spin_1},          {"mix-sleep", sleep_by_turns},
    {"mix-migrate", migrate},   {"mix-yield", yield},            {"mix-block-a", block_first},
    {"mix-block-b", block_second},
};

static unsigned long long created[THREADS];

static void *run(void *number)
{
    long kind = (long)number;
    name_thread(kinds[kind].name);
    kinds[kind].work();
    print_account(kinds[kind].name, created[kind]);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: thread_mix SECONDS\n");
        return 2;
    }
    double seconds = duration_argument(argv[1]);
    unsigned long long start = now_nanoseconds();
    name_thread("main");
    end = now_seconds() + seconds;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    CPU_SET(1, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0 || pipe(there) != 0 || pipe(back) != 0) {
        perror("thread_mix");
        return 1;
    }
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) {
        created[i] = now_nanoseconds();
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    print_account("main", start);
    return 0;
}
