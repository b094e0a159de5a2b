/* Makes the nth write below a folder fail, or kills the process group there: with a journal, that of the operation, and
   otherwise that of the process, so that git may be killed alone. tests/harness/faults.py describes `plan`.

   With a journal, it also records what tests/harness/power_cut.py needs to know: each new, renamed or deleted name, the
   content of each file and the files of each folder when it is synced (tantivy renames without libc). The disk itself is
   never synced, because the machine goes on. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT = 0, KILL_BEFORE = -1, KILL_AFTER = -2 }; /* a positive mode is an errno */
static struct plan {
    int at, mode, count, ignores_syncs, records;
    char below[1024], call[32], path[PATH_MAX], journal[1024];
} *plan; /* shared with children */

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

static void full_path(int file, const char *name, char *path) {
    int saved = errno;
    path[0] = 0;
    if (!name || name[0] != '/') path_of(file, path);
    if (name) {
        if (path[0]) strcat(path, "/");
        strncat(path, name, PATH_MAX - 1);
    }
    errno = saved;
}

static int is_below(const char *path) {
    int length = strlen(plan->below);
    return !strncmp(path, plan->below, length) && (!path[length] || path[length] == '/');
}

static void copy(const char *from, int number) {
    char to[PATH_MAX], data[65536];
    snprintf(to, sizeof to, "%s/%d", plan->journal, number);
    int source = syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
    int target = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (ssize_t n; source >= 0 && target >= 0 && (n = pread(source, data, sizeof data, lseek(target, 0, SEEK_CUR))) > 0;)
        syscall(SYS_write, target, data, n);
    close(source);
    close(target);
}

/* Append a line to the journal; `content` is the path of a file whose content is kept under the number of the line. */
static void record(const char *what, ino_t inode, const char *a, const char *b, const char *content) {
    char line[5 * PATH_MAX], name[PATH_MAX];
    int saved = errno, number = __sync_add_and_fetch(&plan->records, 1);
    if (content) copy(content, number);
    int length = snprintf(line, sizeof line, "%s\t%lu\t%d\t%s\t%s\n", what, (unsigned long) inode, number, a, b);
    snprintf(name, sizeof name, "%s/log", plan->journal);
    int log = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    syscall(SYS_write, log, line, length);
    close(log);
    errno = saved;
}

static int has_journal(void) { return plan && plan->below[0] && plan->journal[0]; }

static void named(const char *what, int file, const char *name, int other, const char *old) {
    char path[2 * PATH_MAX], from[2 * PATH_MAX] = "";
    struct stat facts = {0};
    if (!has_journal()) return;
    full_path(file, name, path);
    if (old) full_path(other, old, from);
    if (!is_below(path)) return;
    int saved = errno;
    lstat(path, &facts);
    errno = saved;
    record(S_ISDIR(facts.st_mode) && !strcmp(what, "create") ? "mkdir" : what, facts.st_ino, path, from, NULL);
}

static void list(const char *path) {
    char name[2 * PATH_MAX];
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_REG) record("entry", entry->d_ino, name, "", NULL);
    }
    if (folder) closedir(folder);
}

static void synced(int file) {
    char path[2 * PATH_MAX], content[64];
    struct stat facts;
    if (!has_journal() || plan->ignores_syncs || fstat(file, &facts)) return;
    full_path(file, NULL, path);
    if (!is_below(path)) return;
    snprintf(content, sizeof content, "/proc/self/fd/%d", file);
    if (S_ISDIR(facts.st_mode)) list(path);
    record(S_ISDIR(facts.st_mode) ? "folder" : "file", facts.st_ino, path, "", S_ISDIR(facts.st_mode) ? NULL : content);
}

static int synced_file(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    if (kind == FTW_F) record("content", facts->st_ino, path, "", path);
    return 0;
}

static void synced_all(void) {
    if (!has_journal() || plan->ignores_syncs) return;
    nftw(plan->below, synced_file, 16, FTW_PHYS);
    record("all", 0, "", "", NULL);
}

static int is_there(int file, const char *name) {
    struct stat facts;
    int saved = errno, found = !fstatat(file, name, &facts, AT_SYMLINK_NOFOLLOW);
    errno = saved;
    return found;
}

/* Count the call. Return 0 to go on, 1 to fail with errno, 2 to die after the call. */
static int met(const char *call, int file, const char *name) {
    char path[2 * PATH_MAX];
    if (!plan || !plan->below[0]) return 0;
    full_path(file, name, path);
    if (!is_below(path)) return 0;
    if (__sync_add_and_fetch(&plan->count, 1) != plan->at) return 0;
    snprintf(plan->call, sizeof plan->call, "%s", call);
    snprintf(plan->path, sizeof plan->path, "%s", path);
    if (plan->mode == KILL_BEFORE) kill(0, SIGKILL);
    if (plan->mode > 0) errno = plan->mode;
    return plan->mode > 0 ? 1 : plan->mode == KILL_AFTER ? 2 : 0;
}

#define REPLACE(type, call, parameters, file, name, arguments, after) \
    type call parameters { \
        static type (*real) parameters; \
        if (!real) real = (type (*) parameters) dlsym(RTLD_NEXT, #call); \
        int fault = met(#call, file, name); \
        if (fault == 1) return -1; \
        type result = real arguments; \
        if (result >= 0) after; \
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
        int is_new = has_journal() && flags & O_CREAT && !is_there(file, name); \
        int result = real arguments; \
        if (result >= 0 && is_new) named("create", file, name, 0, NULL); \
        if (fault == 2) kill(0, SIGKILL); \
        return result; \
    }
#define REPLACE_SYNC(call) \
    int call(int f) { \
        int fault = met(#call, f, NULL); \
        if (fault == 1) return -1; \
        synced(f); \
        if (fault == 2) kill(0, SIGKILL); \
        return 0; \
    }
#define NOTHING (void) 0

REPLACE(ssize_t, write, (int f, const void *b, size_t n), f, NULL, (f, b, n), NOTHING)
REPLACE(ssize_t, pwrite, (int f, const void *b, size_t n, off_t o), f, NULL, (f, b, n, o), NOTHING)
REPLACE(ssize_t, pwrite64, (int f, const void *b, size_t n, off64_t o), f, NULL, (f, b, n, o), NOTHING)
REPLACE(ssize_t, writev, (int f, const struct iovec *v, int n), f, NULL, (f, v, n), NOTHING)
REPLACE(int, ftruncate, (int f, off_t n), f, NULL, (f, n), NOTHING)
REPLACE(int, ftruncate64, (int f, off64_t n), f, NULL, (f, n), NOTHING)
REPLACE(int, rename, (const char *a, const char *b), AT_FDCWD, b, (a, b), named("rename", AT_FDCWD, b, AT_FDCWD, a))
REPLACE(int, renameat, (int f, const char *a, int g, const char *b), g, b, (f, a, g, b), named("rename", g, b, f, a))
REPLACE(int, renameat2, (int f, const char *a, int g, const char *b, unsigned int how), g, b, (f, a, g, b, how), named("rename", g, b, f, a))
REPLACE(int, link, (const char *a, const char *b), AT_FDCWD, b, (a, b), named("link", AT_FDCWD, b, 0, NULL))
REPLACE(int, linkat, (int f, const char *a, int g, const char *b, int how), g, b, (f, a, g, b, how), named("link", g, b, 0, NULL))
REPLACE(int, mkdir, (const char *name, mode_t mode), AT_FDCWD, name, (name, mode), named("create", AT_FDCWD, name, 0, NULL))
REPLACE(int, mkdirat, (int f, const char *name, mode_t mode), f, name, (f, name, mode), named("create", f, name, 0, NULL))
REPLACE(int, unlink, (const char *name), AT_FDCWD, name, (name), named("delete", AT_FDCWD, name, 0, NULL))
REPLACE(int, unlinkat, (int f, const char *name, int how), f, name, (f, name, how), named("delete", f, name, 0, NULL))
REPLACE(int, rmdir, (const char *name), AT_FDCWD, name, (name), named("delete", AT_FDCWD, name, 0, NULL))
REPLACE_OPEN(open, (const char *name, int flags, ...), AT_FDCWD, (AT_FDCWD, name, flags, mode))
REPLACE_OPEN(open64, (const char *name, int flags, ...), AT_FDCWD, (AT_FDCWD, name, flags | O_LARGEFILE, mode))
REPLACE_OPEN(openat, (int f, const char *name, int flags, ...), f, (f, name, flags, mode))
REPLACE_OPEN(openat64, (int f, const char *name, int flags, ...), f, (f, name, flags | O_LARGEFILE, mode))
REPLACE_SYNC(fsync)
REPLACE_SYNC(fdatasync)
void sync(void) { synced_all(); }

pid_t setsid(void) { /* a cut of the power ends git too, which Lore starts in a session, thus a group, of its own */
    static pid_t (*real) (void);
    if (!real) real = (pid_t (*) (void)) dlsym(RTLD_NEXT, "setsid");
    return has_journal() ? getpid() : real();
}
