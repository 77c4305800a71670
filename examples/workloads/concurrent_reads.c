/* COUNT processes that read BYTES at random places of a file or device, past the page cache, for SECONDS,
 * all into one buffer. Each reads at least once. Prints how many reads there were: `reads NUMBER`.
 * Usage: concurrent_reads FILE COUNT SECONDS BYTES */
#include "workload.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void read_until(int file, double end, char *buffer, size_t bytes, off_t places, atomic_ulong *reads)
{
    unsigned seed = (unsigned)getpid();
    do {
        off_t place = rand_r(&seed) % places;
        if (pread(file, buffer, bytes, place * (off_t)bytes) != (ssize_t)bytes) {
            perror("pread");
            exit(1);
        }
        atomic_fetch_add(reads, 1);
    } while (now_seconds() < end);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: concurrent_reads FILE COUNT SECONDS BYTES\n");
        return 2;
    }
    int count = atoi(argv[2]);
    double seconds = duration_argument(argv[3]);
    long bytes = atol(argv[4]);
    if (count < 1 || count > 2048 || bytes < 4096 || bytes > 1 << 20 || bytes % 4096 != 0) {
        fprintf(stderr, "COUNT must be 1 to 2048, BYTES a multiple of 4096 up to 1 MiB\n");
        return 2;
    }
    int file = open(argv[1], O_RDONLY | O_DIRECT);
    off_t length = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    if (length < bytes) {
        perror(argv[1]);
        return 1;
    }
    char *shared = mmap(NULL, (size_t)bytes + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    atomic_ulong *reads = (atomic_ulong *)(shared + bytes);
    double end = now_seconds() + seconds;
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 1;
        }
        if (child == 0) {
            /* Killing the parent ends the load. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            read_until(file, end, shared, (size_t)bytes, length / bytes, reads);
            return 0;
        }
    }
    int failed = 0;
    for (int i = 0; i < count; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0)
            failed = 1;
    }
    printf("reads %lu\n", atomic_load(reads));
    return failed;
}
