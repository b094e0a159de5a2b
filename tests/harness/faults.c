/* Makes the nth write below a folder fail, or kills the process group there. tests/harness/faults.py describes `plan`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT = 0, KILL_BEFORE = -1, KILL_AFTER = -2 }; /* a positive mode is an errno */
static struct plan { int at, mode, count; char below[1024], call[32], path[PATH_MAX]; } *plan; /* shared with children */

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("LORE_FAULTS");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *memory = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) plan = memory;
}

static void path_of(int file, char *path) { /* of a descriptor, or of the working directory */
    char link[32];
    snprintf(link, sizeof link, file == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

/* Count the call. Return 0 to go on, 1 to fail with errno, 2 to die after the call. */
static int met(const char *call, int file, const char *name) {
    char path[2 * PATH_MAX] = "";
    if (!plan || !plan->below[0]) return 0;
    int saved = errno, length = strlen(plan->below);
    if (!name || name[0] != '/') path_of(file, path);
    if (name) {
        if (path[0]) strcat(path, "/");
        strncat(path, name, PATH_MAX - 1);
    }
    errno = saved;
    if (strncmp(path, plan->below, length) || (path[length] && path[length] != '/')) return 0;
    if (__sync_add_and_fetch(&plan->count, 1) != plan->at) return 0;
    snprintf(plan->call, sizeof plan->call, "%s", call);
    snprintf(plan->path, sizeof plan->path, "%s", path);
    if (plan->mode == KILL_BEFORE) kill(0, SIGKILL);
    if (plan->mode > 0) errno = plan->mode;
    return plan->mode > 0 ? 1 : plan->mode == KILL_AFTER ? 2 : 0;
}

#define REPLACE(type, call, parameters, file, name, arguments) \
    type call parameters { \
        static type (*real) parameters; \
        if (!real) real = (type (*) parameters) dlsym(RTLD_NEXT, #call); \
        int fault = met(#call, file, name); \
        if (fault == 1) return -1; \
        type result = real arguments; \
        if (fault == 2) kill(0, SIGKILL); \
        return result; \
    }
#define REPLACE_OPEN(call, parameters, file, arguments) \
    int call parameters { \
        static int (*real) (int, const char *, int, ...); \
        if (!real) real = (int (*) (int, const char *, int, ...)) dlsym(RTLD_NEXT, "openat"); \
        va_list rest; \
        va_start(rest, flags); \
        int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, int) : 0; \
        va_end(rest); \
        int fault = flags & (O_CREAT | O_TRUNC) ? met(#call, file, name) : 0; \
        if (fault == 1) return -1; \
        int result = real arguments; \
        if (fault == 2) kill(0, SIGKILL); \
        return result; \
    }

REPLACE(ssize_t, write, (int f, const void *b, size_t n), f, NULL, (f, b, n))
REPLACE(ssize_t, pwrite, (int f, const void *b, size_t n, off_t o), f, NULL, (f, b, n, o))
REPLACE(ssize_t, pwrite64, (int f, const void *b, size_t n, off64_t o), f, NULL, (f, b, n, o))
REPLACE(ssize_t, writev, (int f, const struct iovec *v, int n), f, NULL, (f, v, n))
REPLACE(int, fsync, (int f), f, NULL, (f))
REPLACE(int, fdatasync, (int f), f, NULL, (f))
REPLACE(int, ftruncate, (int f, off_t n), f, NULL, (f, n))
REPLACE(int, ftruncate64, (int f, off64_t n), f, NULL, (f, n))
REPLACE(int, rename, (const char *a, const char *b), AT_FDCWD, b, (a, b))
REPLACE(int, renameat, (int f, const char *a, int g, const char *b), g, b, (f, a, g, b))
REPLACE(int, renameat2, (int f, const char *a, int g, const char *b, unsigned int how), g, b, (f, a, g, b, how))
REPLACE(int, mkdir, (const char *name, mode_t mode), AT_FDCWD, name, (name, mode))
REPLACE(int, mkdirat, (int f, const char *name, mode_t mode), f, name, (f, name, mode))
REPLACE(int, unlink, (const char *name), AT_FDCWD, name, (name))
REPLACE(int, unlinkat, (int f, const char *name, int how), f, name, (f, name, how))
REPLACE(int, rmdir, (const char *name), AT_FDCWD, name, (name))
REPLACE_OPEN(open, (const char *name, int flags, ...), AT_FDCWD, (AT_FDCWD, name, flags, mode))
REPLACE_OPEN(open64, (const char *name, int flags, ...), AT_FDCWD, (AT_FDCWD, name, flags | O_LARGEFILE, mode))
REPLACE_OPEN(openat, (int f, const char *name, int flags, ...), f, (f, name, flags, mode))
REPLACE_OPEN(openat64, (int f, const char *name, int flags, ...), f, (f, name, flags | O_LARGEFILE, mode))
