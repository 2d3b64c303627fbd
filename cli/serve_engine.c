// SPDX-License-Identifier: MIT
//
// Child processes: every page that is open has one, in which its models are compiled and run, so
// that nothing a model does can harm the server or another page. A request and an answer are their
// length (four bytes, least first) and their bytes.
#define _GNU_SOURCE
#include "clock.h"
#include "page.h"
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENGINES_MAX    16u
#define ANSWER_SECONDS 60
#define ANSWER_MAX     ((size_t)1 << 30)
#define MEMORY_MAX     ((rlim_t)4 << 30)
#define PAGE_NAME_SIZE 40

typedef struct Engine {
  char page[PAGE_NAME_SIZE];  // "": a free place
  pid_t pid;                  // 0: not started
  int to, from;
  double used;  // clock of the last request
  pthread_mutex_t lock;
} Engine;

struct ServeEngines {
  const char* folder;
  pthread_mutex_t lock;  // of names and times; taken before an engine's own
  Engine engines[ENGINES_MAX];
};

// ---- the parent ---------------------------------------------------------------------------------

ServeEngines* engines_create(const char* folder) {
  ServeEngines* all = calloc(1, sizeof *all);
  if (!all) return NULL;
  all->folder = folder;
  pthread_mutex_init(&all->lock, NULL);
  for (uint32_t i = 0; i < ENGINES_MAX; i++)
    pthread_mutex_init(&all->engines[i].lock, NULL);
  return all;
}

static void end_engine(Engine* engine) {
  if (engine->pid <= 0) return;
  kill(engine->pid, SIGKILL);
  while (waitpid(engine->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  close(engine->to);
  close(engine->from);
  engine->pid = 0;
}

void engines_free(ServeEngines* all) {
  if (!all) return;
  for (uint32_t i = 0; i < ENGINES_MAX; i++) {
    end_engine(&all->engines[i]);
    pthread_mutex_destroy(&all->engines[i].lock);
  }
  pthread_mutex_destroy(&all->lock);
  free(all);
}

static bool start_engine(Engine* engine, const char* folder) {
  int down[2];
  int up[2];
  if (pipe2(down, O_CLOEXEC) != 0) return false;
  if (pipe2(up, O_CLOEXEC) != 0) {
    close(down[0]);
    close(down[1]);
    return false;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  char* argv[] = {"saltus", "serve", "--engine", (char*)folder, NULL};
  bool good = posix_spawn(&engine->pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(down[0]);
  close(up[1]);
  if (!good) {
    close(down[1]);
    close(up[0]);
    engine->pid = 0;
    return false;
  }
  engine->to = down[1];
  engine->from = up[0];
  fcntl(engine->to, F_SETFL, O_NONBLOCK);
  fcntl(engine->from, F_SETFL, O_NONBLOCK);
  return true;
}

/// The place of a page: its own, a free one, or that of a page that has been silent longest.
static Engine* find_engine(ServeEngines* all, const char* page, bool make) {
  Engine* found = NULL;
  for (uint32_t i = 0; i < ENGINES_MAX; i++) {
    if (strcmp(all->engines[i].page, page) == 0) return &all->engines[i];
  }
  if (!make) return NULL;
  for (uint32_t i = 0; i < ENGINES_MAX; i++) {
    Engine* engine = &all->engines[i];
    if (!found || engine->used < found->used) found = engine;
  }
  // pages that were closed without a word leave their engine; one that was just used is not taken
  // away
  bool free_place = found->page[0] == '\0';
  if (!free_place && wall_clock() - found->used < 60.0) return NULL;
  if (pthread_mutex_trylock(&found->lock) != 0) return NULL;
  end_engine(found);
  pthread_mutex_unlock(&found->lock);
  snprintf(found->page, sizeof found->page, "%s", page);
  return found;
}

/// Wait until the pipe is ready; false when it is too late or the other end has gone.
static bool wait_for(int fd, short what, double deadline) {
  for (;;) {
    double left = deadline - wall_clock();
    if (left <= 0.0) return false;
    struct pollfd ready = {.fd = fd, .events = what};
    int count = poll(&ready, 1, (int)(left * 1000.0) + 1);
    if (count > 0) return (ready.revents & (what | POLLHUP)) != 0;
    if (count < 0 && errno != EINTR) return false;
  }
}

static bool send_bytes(int fd, const char* data, size_t length, double deadline) {
  while (length > 0) {
    ssize_t count = write(fd, data, length);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count < 0 && !wait_for(fd, POLLOUT, deadline)) return false;
    if (count < 0) continue;
    data += count;
    length -= (size_t)count;
  }
  return true;
}

static bool receive_bytes(int fd, char* data, size_t length, double deadline) {
  while (length > 0) {
    ssize_t count = read(fd, data, length);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (count < 0 && !wait_for(fd, POLLIN, deadline)) return false;
    if (count < 0) continue;
    data += count;
    length -= (size_t)count;
  }
  return true;
}

static void put_length(char bytes[4], size_t length) {
  for (int i = 0; i < 4; i++)
    bytes[i] = (char)(length >> (8 * i) & 0xff);
}

static size_t get_length(const char bytes[4]) {
  size_t length = 0;
  for (int i = 0; i < 4; i++)
    length |= (size_t)(unsigned char)bytes[i] << (8 * i);
  return length;
}

static bool converse(Engine* engine, const char* request, size_t length, double deadline,
                     char** answer, size_t* size) {
  char head[4];
  put_length(head, length);
  if (!send_bytes(engine->to, head, 4, deadline)) return false;
  if (!send_bytes(engine->to, request, length, deadline)) return false;
  if (!receive_bytes(engine->from, head, 4, deadline)) return false;
  *size = get_length(head);
  *answer = *size <= ANSWER_MAX ? malloc(*size ? *size : 1) : NULL;
  if (*answer && receive_bytes(engine->from, *answer, *size, deadline)) return true;
  free(*answer);
  *answer = NULL;
  return false;
}

EngineStatus engines_ask(ServeEngines* all, const char* page, const char* request, size_t length,
                         char** answer, size_t* size) {
  *answer = NULL;
  pthread_mutex_lock(&all->lock);
  Engine* engine = find_engine(all, page, true);
  if (engine) engine->used = wall_clock();
  pthread_mutex_unlock(&all->lock);
  if (!engine) return ENGINE_TOO_MANY;
  pthread_mutex_lock(&engine->lock);
  EngineStatus status = ENGINE_OK;
  if (engine->pid == 0 && !start_engine(engine, all->folder)) status = ENGINE_FAILED;
  double deadline = wall_clock() + ANSWER_SECONDS;
  if (status == ENGINE_OK && !converse(engine, request, length, deadline, answer, size)) {
    status = wall_clock() >= deadline ? ENGINE_SLOW : ENGINE_FAILED;
    end_engine(engine);
  }
  pthread_mutex_unlock(&engine->lock);
  return status;
}

void engines_end(ServeEngines* all, const char* page) {
  pthread_mutex_lock(&all->lock);
  Engine* engine = find_engine(all, page, false);
  if (engine) {
    // a request that is under way is cut short
    if (engine->pid > 0) kill(engine->pid, SIGKILL);
    pthread_mutex_lock(&engine->lock);
    end_engine(engine);
    engine->page[0] = '\0';
    engine->used = 0.0;
    pthread_mutex_unlock(&engine->lock);
  }
  pthread_mutex_unlock(&all->lock);
}

// ---- the child ----------------------------------------------------------------------------------

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): signals have no argument
static pid_t parent;

/// A child without its parent has nobody to work for.
static void look_for_parent(int signal) {
  (void)signal;
  if (getppid() != parent) _exit(CLI_DONE);
}

static void limit_resources(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__)  // which reserves more than there is
  struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
  setrlimit(RLIMIT_AS, &memory);
#endif
  parent = getppid();
  struct sigaction action = {.sa_handler = look_for_parent, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval second = {{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &second, NULL);
  signal(SIGINT, SIG_IGN);  // the server ends us
}

static bool read_request(char** text, size_t* length) {
  char head[4];
  if (fread(head, 1, 4, stdin) != 4) return false;
  *length = get_length(head);
  *text = *length <= SERVE_BODY_MAX ? malloc(*length + 1) : NULL;
  if (!*text) return false;
  if (fread(*text, 1, *length, stdin) != *length) {
    free(*text);
    return false;
  }
  (*text)[*length] = '\0';
  return true;
}

static bool answer_request(Page* page, char* text, size_t length) {
  PageReply reply;
  page_take(page, text, length, &reply);
  size_t size = 0;
  char* bytes = page_reply_bytes(&reply, &size);
  page_reply_clear(&reply);
  char head[4];
  put_length(head, size);
  bool good = bytes && fwrite(head, 1, 4, stdout) == 4 && fwrite(bytes, 1, size, stdout) == size &&
              fflush(stdout) == 0;
  free(bytes);
  return good;
}

int engine_main(const char* folder) {
  limit_resources();
  Page* page = page_open(folder);
  char* text = NULL;
  size_t length = 0;
  for (bool good = page != NULL; good && read_request(&text, &length);) {
    good = answer_request(page, text, length);
    free(text);
  }
  page_close(page);
  return CLI_DONE;
}
