/* Threads of one process give memory back to the kernel, so that each CPU has to tell the others to forget
 * its address (TLB shootdowns). Usage: unmap SECONDS */
#include "workload.h"

#include <pthread.h>
#include <sys/mman.h>

#define THREADS 2
#define BYTES (16 * 4096)

static double end;

static void *unmap(void *argument)
{
    (void)argument;
    while (now_seconds() < end)
        for (int i = 0; i < 16; i++) {
            char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) {
                perror("mmap");
                exit(1);
            }
            for (int page = 0; page < BYTES; page += 4096)
                memory[page] = 1;
            munmap(memory, BYTES);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: unmap SECONDS\n");
        return 2;
    }
    end = now_seconds() + duration_argument(argv[1]);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, unmap, NULL) != 0) {
            perror("pthread_create");
            return 1;
        }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
