/* A disk that fails on order, for files whose name contains "tenure.db":
 *   TENURE_SHIM_SYNC=n     the n-th fsync or fdatasync fails with EIO, and every one after it succeeds, as on Linux
 *   TENURE_SHIM_SYNC_FLAG=path  while that path exists, the next one removes it and fails with EIO
 *   TENURE_SHIM_SYNC_NONE=1     each returns at once and does nothing
 *   TENURE_SHIM_COPIES=folder   each that succeeds copies the file to that folder: what a power cut leaves.
 *                               A file that is removed is removed there, too
 *   TENURE_SHIM_FULL=path  while that path exists, writes fail with ENOSPC
 * Loaded with LD_PRELOAD; built by shim.rs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
    const char *wanted = getenv("TENURE_SHIM_SYNC"), *flag = getenv("TENURE_SHIM_SYNC_FLAG");
    if (flag && is_ours(fd) && unlink(flag) == 0) return 1;
    if (!wanted || !is_ours(fd)) return 0;
    return atomic_fetch_add(&count, 1) + 1 == atoi(wanted);
}

/* The copy replaces the last one at once, before the sync returns. */
static void copy(int fd) {
    const char *folder = getenv("TENURE_SHIM_COPIES");
    static atomic_int count;
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    char link[64], path[PATH_MAX], part[PATH_MAX + 64], whole[PATH_MAX + 64], bytes[1 << 16];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = folder && is_ours(fd) ? readlink(link, path, sizeof path - 1) : -1;
    if (length < 0) return;
    path[length] = 0;
    const char *name = strrchr(path, '/') + 1;
    snprintf(part, sizeof part, "%s/%s.%d.part", folder, name, atomic_fetch_add(&count, 1));
    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    pthread_mutex_lock(&one_at_a_time);
    int to = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t at = 0;
    for (ssize_t got; (got = pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
        if (syscall(SYS_write, to, bytes, got) != got) abort();
    if (to < 0 || close(to) != 0 || rename(part, whole) != 0) abort();
    pthread_mutex_unlock(&one_at_a_time);
}

static int skips_sync(void) {
    return getenv("TENURE_SHIM_SYNC_NONE") != NULL;
}

static int is_full(int fd) {
    const char *flag = getenv("TENURE_SHIM_FULL");
    return flag && is_ours(fd) && access(flag, F_OK) == 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

int fsync(int fd) {
    REAL(fsync);
    if (skips_sync()) return 0;
    if (fails_to_sync(fd)) { errno = EIO; return -1; }
    int result = real(fd);
    if (result == 0) copy(fd);
    return result;
}

int fdatasync(int fd) {
    REAL(fdatasync);
    if (skips_sync()) return 0;
    if (fails_to_sync(fd)) { errno = EIO; return -1; }
    int result = real(fd);
    if (result == 0) copy(fd);
    return result;
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

int unlink(const char *path) {
    REAL(unlink);
    int result = real(path);
    const char *folder = getenv("TENURE_SHIM_COPIES"), *name = strrchr(path, '/');
    if (result == 0 && folder && name && strstr(name, "tenure.db")) {
        char copy[PATH_MAX + 64];
        snprintf(copy, sizeof copy, "%s%s", folder, name);
        real(copy);
    }
    return result;
}
