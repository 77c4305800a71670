/* Direct I/O in blocks of 4 KiB, each a read or a write by turns, OPERATIONS times, one after the other
 * through the first 4 MiB of FILE: a file, which is made if it isn't there, or a device, whose contents are
 * lost. Prints `elapsed_seconds 3.141593`. With CPU it is pinned to it.
 * Usage: direct_io FILE OPERATIONS [CPU] */
#include "workload.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK 4096
#define BLOCKS 1024

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: direct_io FILE OPERATIONS [CPU]\n");
        return 2;
    }
    long operations = atol(argv[2]);
    if (operations < 1 || operations > 100000000) {
        fprintf(stderr, "OPERATIONS must be 1 to 100000000\n");
        return 2;
    }
    alarm((unsigned)LONGEST_SECONDS);
    if (argc > 3)
        pin(atoi(argv[3]));
    int file = open(argv[1], O_RDWR | O_CREAT | O_DIRECT, 0600);
    must(file >= 0, argv[1]);
    void *block = NULL;
    must(posix_memalign(&block, BLOCK, BLOCK) == 0, "posix_memalign");
    memset(block, 'x', BLOCK);
    struct stat status;
    must(fstat(file, &status) == 0, argv[1]);
    /* A file without blocks would be written to by way of its journal. */
    if (S_ISREG(status.st_mode) && status.st_size < (off_t)BLOCK * BLOCKS) {
        for (long i = 0; i < BLOCKS; i++)
            must(pwrite(file, block, BLOCK, i * BLOCK) == BLOCK, "pwrite");
        must(fsync(file) == 0, "fsync");
    }
    double start = now_seconds();
    for (long i = 0; i < operations; i++) {
        off_t place = i % BLOCKS * BLOCK;
        if (i % 2 == 0)
            must(pread(file, block, BLOCK, place) == BLOCK, "pread");
        else
            must(pwrite(file, block, BLOCK, place) == BLOCK, "pwrite");
    }
    printf("elapsed_seconds %.6f\n", now_seconds() - start);
    return 0;
}
