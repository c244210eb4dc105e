/* A disk that fails on order, for files whose name contains "tenure.db":
 *   TENURE_SHIM_SYNC=n     the n-th fsync or fdatasync fails with EIO, and every one after it succeeds, as on Linux
 *   TENURE_SHIM_FULL=path  while that path exists, writes fail with ENOSPC
 * Loaded with LD_PRELOAD; built by the tests with cc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_ours(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "tenure.db") != NULL;
}

static int fails_to_sync(int fd) {
    static atomic_int count;
    const char *wanted = getenv("TENURE_SHIM_SYNC");
    if (!wanted || !is_ours(fd)) return 0;
    return atomic_fetch_add(&count, 1) + 1 == atoi(wanted);
}

static int is_full(int fd) {
    const char *flag = getenv("TENURE_SHIM_FULL");
    return flag && is_ours(fd) && access(flag, F_OK) == 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int fsync(int fd) {
    REAL(fsync);
    if (fails_to_sync(fd)) { errno = EIO; return -1; }
    return real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    if (fails_to_sync(fd)) { errno = EIO; return -1; }
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return real(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return real(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    REAL(pwrite64);
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return real(fd, bytes, count, offset);
}

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return real(fd, length);
}
