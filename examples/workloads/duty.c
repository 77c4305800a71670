/* THREADS threads that run for RUN and sleep for SLEEP milliseconds by turns, for SECONDS; with a SLEEP of 0 they only run.
 * All are pinned to CPU if one is given. Each prints the kernel's account of it (see account.h).
 * Usage: duty THREADS RUN SLEEP SECONDS [CPU] */
#include "account.h"

#include <pthread.h>

static double run_seconds, end;
static struct timespec nap;
static unsigned long long created[64];

__attribute__((noinline)) static void work(void)
{
    while (now_seconds() < end) {
        double until = now_seconds() + run_seconds;
        do {
            for (volatile unsigned i = 0; i < 20000; i++) {
            }
        } while (now_seconds() < until);
        if (nap.tv_nsec > 0)
            nanosleep(&nap, NULL);
    }
}

static void *run(void *number)
{
    long thread = (long)number;
    char name[16];
    snprintf(name, sizeof name, "duty-%ld", thread);
    name_thread(name);
    work();
    print_account(name, created[thread]);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: duty THREADS RUN SLEEP SECONDS [CPU]\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    run_seconds = atof(argv[2]) / 1e3;
    double sleep_milliseconds = atof(argv[3]);
    if (threads < 1 || threads > 64 || sleep_milliseconds < 0 || sleep_milliseconds >= 1000) {
        fprintf(stderr, "THREADS must be 1 to 64 and SLEEP below 1000\n");
        return 2;
    }
    nap.tv_nsec = (long)(sleep_milliseconds * 1e6);
    end = now_seconds() + duration_argument(argv[4]);
    if (argc > 5)
        pin(atoi(argv[5]));
    pthread_t ids[64];
    for (long i = 0; i < threads; i++) {
        created[i] = now_nanoseconds();
        if (pthread_create(&ids[i], NULL, run, (void *)i) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
