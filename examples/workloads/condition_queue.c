/* The main thread takes from a queue, guarded by a mutex and a condition variable, what another thread puts there
 * every three milliseconds, for SECONDS. Prints the kernel's account of it (see account.h).
 * Usage: condition_queue SECONDS */
#include "account.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long items;
static double end;

static void *produce(void *unused)
{
    (void)unused;
    name_thread("producer");
    struct timespec pause = {.tv_nsec = 3000000};
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&mutex);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

__attribute__((noinline)) static void consume(void)
{
    while (now_seconds() < end) {
        pthread_mutex_lock(&mutex);
        while (items == 0)
            pthread_cond_wait(&filled, &mutex);
        items--;
        pthread_mutex_unlock(&mutex);
        churn();
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: condition_queue SECONDS\n");
        return 2;
    }
    unsigned long long start = now_nanoseconds();
    end = now_seconds() + duration_argument(argv[1]);
    name_thread("consumer");
    pthread_t thread;
    if (pthread_create(&thread, NULL, produce, NULL) != 0)
        return 1;
    consume();
    print_account("consumer", start);
    return 0;
}
