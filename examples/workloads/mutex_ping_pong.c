/* The main thread and another one take a mutex by turns for SECONDS and hold it for five milliseconds each time:
 * one of them is nearly always waiting for it. Prints the kernel's account of both (see account.h).
 * Usage: mutex_ping_pong SECONDS */
#include "account.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double end;

__attribute__((noinline)) static void take_turns(void)
{
    /* A mutex is not fair: who has just had it would mostly take it again. */
    struct timespec pause = {.tv_nsec = 100000};
    while (now_seconds() < end) {
        pthread_mutex_lock(&mutex);
        double until = now_seconds() + 0.005;
        while (now_seconds() < until) {
        }
        pthread_mutex_unlock(&mutex);
        nanosleep(&pause, NULL);
    }
}

static void *other(void *start)
{
    name_thread("other");
    take_turns();
    print_account("other", *(unsigned long long *)start);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: mutex_ping_pong SECONDS\n");
        return 2;
    }
    unsigned long long start = now_nanoseconds();
    end = now_seconds() + duration_argument(argv[1]);
    name_thread("main");
    pthread_t thread;
    if (pthread_create(&thread, NULL, other, &start) != 0)
        return 1;
    take_turns();
    print_account("main", start);
    pthread_join(thread, NULL);
    return 0;
}
