// Loaded before the C library (LD_PRELOAD): a machine whose clock is set again and again, and whose
// disk is slow.
//
// ODD_CLOCK_S=N: the time of day jumps by N s ahead and back every 50 ms; monotonic clocks do not.
//
// ODD_WRITE_MS=N: each write to a file takes N ms more. ODD_WRITES=PATH: each such write adds a
// byte to PATH-PROGRAM-PID.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

static int real_gettime(clockid_t clock, struct timespec* now) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "clock_gettime");
  return next(clock, now);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = real_gettime(clock, now);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  struct timespec steady;
  real_gettime(CLOCK_MONOTONIC, &steady);
  const long turn = (steady.tv_sec * 20 + steady.tv_nsec / 50000000) % 3;
  now->tv_sec += (turn - 1) * number("ODD_CLOCK_S");
  return result;
}

int gettimeofday(struct timeval* now, void* zone) {
  (void)zone;
  struct timespec exact;
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return result;
}

time_t time(time_t* kept) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (kept != NULL) *kept = exact.tv_sec;
  return exact.tv_sec;
}

// Without write(), which is slow here, and at once: programs may end by _Exit.
static void tell(void) {
  const char* name = getenv("ODD_WRITES");
  char path[4096];
  if (name == NULL) return;
  snprintf(path, sizeof path, "%s-%s-%d", name, program_invocation_short_name, (int)getpid());
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, ".", 1);
  close(file);
}

static void dally(int file) {
  const long wait = number("ODD_WRITE_MS");
  struct stat kind;
  if (wait > 0 && fstat(file, &kind) == 0 && S_ISREG(kind.st_mode)) {
    usleep((useconds_t)(1000 * wait));
    tell();
  }
}

#define SLOW(result, name, parameters, file, ...)               \
  result name parameters {                                      \
    static result(*next) parameters;                            \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
    dally(file);                                                \
    return next(file, __VA_ARGS__);                             \
  }

SLOW(ssize_t, write, (int file, const void* data, size_t size), file, data, size)
SLOW(ssize_t, writev, (int file, const struct iovec* parts, int n), file, parts, n)
SLOW(ssize_t, pwrite, (int file, const void* data, size_t size, off_t at), file, data, size, at)
SLOW(ssize_t, pwrite64, (int file, const void* data, size_t size, off64_t at), file, data, size, at)
SLOW(ssize_t, pwritev, (int file, const struct iovec* parts, int n, off_t at), file, parts, n, at)
SLOW(ssize_t, pwritev64, (int file, const struct iovec* parts, int n, off64_t at), file, parts, n,
     at)
