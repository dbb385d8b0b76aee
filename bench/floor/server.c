/*
 * The floor in C, the same as server.js: a client sends the documents it wants (4 bytes each, answered by an empty
 * frame); the publisher sends a mark, and then document, length and frame. The only argument is the port.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PUBLISHER 0xffffffffu
#define MAX_DESCRIPTORS 65536
#define MAX_DOCUMENTS 1000000
#define MAX_RECORDS (4 << 20)

struct document { int *members; uint32_t count, room; };
struct request { unsigned char bytes[4]; uint32_t length; };

static struct document *documents;
static struct request requests[MAX_DESCRIPTORS];
static unsigned char records[MAX_RECORDS];
static size_t recorded;
static int publisher = -1;

static void fail (const char *what) { perror(what); exit(1); }

/* A client with a full socket ends the measurement, which would no longer be one of writes only. */
static void write_all (int fd, const void *bytes, size_t length) {
  ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);
  if (written >= 0 && (size_t) written != length) { fprintf(stderr, "a socket is full\n"); exit(1); }
}

static void join (int fd, uint32_t number) {
  static const unsigned char joined[2] = { 0x82, 0 };
  if (number >= MAX_DOCUMENTS) { fprintf(stderr, "document %u is out of range\n", number); exit(1); }
  struct document *document = &documents[number];
  if (document->count == document->room) {
    document->room = document->room ? document->room * 2 : 4;
    document->members = realloc(document->members, document->room * sizeof(int));
    if (!document->members) fail("realloc");
  }
  document->members[document->count++] = fd;
  write_all(fd, joined, sizeof joined);
}

static void publish (int fd) {
  ssize_t length = read(fd, records + recorded, MAX_RECORDS - recorded);
  if (length <= 0) { close(fd); return; }
  recorded += (size_t) length;
  size_t at = 0;
  while (recorded - at >= 8) {
    uint32_t number, size;
    memcpy(&number, records + at, 4);
    memcpy(&size, records + at + 4, 4);
    if (recorded - at < 8 + size) break;
    struct document *document = &documents[number];
    for (uint32_t i = 0; i < document->count; i++) write_all(document->members[i], records + at + 8, size);
    at += 8 + size;
  }
  memmove(records, records + at, recorded - at);
  recorded -= at;
}

static void hear (int fd) {
  struct request *request = &requests[fd];
  ssize_t length = read(fd, request->bytes + request->length, 4 - request->length);
  if (length <= 0) { close(fd); return; }
  request->length += (uint32_t) length;
  if (request->length < 4) return;
  uint32_t number;
  memcpy(&number, request->bytes, 4);
  request->length = 0;
  if (number == PUBLISHER) publisher = fd; else join(fd, number);
}

int main (int argc, char **argv) {
  int yes = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), poll = epoll_create1(0);
  struct sockaddr_in address = {
    .sin_family = AF_INET, .sin_port = htons((uint16_t) atoi(argc > 1 ? argv[1] : "0")),
    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
  };
  struct epoll_event events[256], event = { .events = EPOLLIN, .data.fd = listener };

  documents = calloc(MAX_DOCUMENTS, sizeof *documents);
  if (listener < 0 || poll < 0 || !documents) fail("setup");
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *) &address, sizeof address) || listen(listener, 4096)) fail("listen");
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  puts("listening");
  fflush(stdout);

  for (;;) {
    int count = epoll_wait(poll, events, 256, -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
          if (fd >= MAX_DESCRIPTORS) { close(fd); continue; }
          requests[fd].length = 0;
          setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
          event.data.fd = fd;
          epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
        }
      } else if (fd == publisher) {
        publish(fd);
      } else {
        hear(fd);
      }
    }
  }
}
