/*
 * The health check of the image: asks /healthz of the service in this container, exit code 0 where it answers 200.
 * A container runs it every ten seconds. In C because a start of Node takes 110 ms of processor time and 84 MB each
 * time where this takes less than 1 ms, and because the image has no shell and no curl. It is linked statically, so it
 * needs nothing else of the image.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
static const char healthy[] = "HTTP/1.1 200 ";
/* The limit of the HEALTHCHECK instruction is one second more. */
enum { seconds_max = 2 };

/* HOST as the service understands it; where it is a name, or unset, the service is reached on 127.0.0.1. */
static socklen_t address_of(const char *host, in_port_t port, struct sockaddr_storage *address) {
  struct sockaddr_in *v4 = (struct sockaddr_in *)address;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
  memset(address, 0, sizeof *address);
  if (host != NULL && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    return sizeof *v6;
  }
  if (host == NULL || inet_pton(AF_INET, host, &v4->sin_addr) != 1) v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  v4->sin_family = AF_INET;
  v4->sin_port = port;
  return sizeof *v4;
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(void) {
  const char *port = getenv("PORT");
  struct sockaddr_storage address;
  socklen_t length = address_of(getenv("HOST"), htons((in_port_t)atoi(port == NULL ? "8080" : port)), &address);
  char answer[sizeof healthy - 1];
  size_t read_so_far = 0;

  /* The whole of it, whatever hangs: SIGALRM ends the process. */
  alarm(seconds_max);
  int connection = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return fail("socket");
  /* 0.0.0.0 and :: lead to the loopback address. */
  if (connect(connection, (struct sockaddr *)&address, length) < 0) return fail("connect");
  if (send(connection, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof request - 1)) return fail("send");
  /* With TLS this is no handshake, and the service ends the connection: so it is there, and its loop goes round. */
  if (getenv("TLS_CERT") != NULL) return recv(connection, answer, sizeof answer, 0) >= 0 || errno == ECONNRESET ? 0 : fail("recv");
  while (read_so_far < sizeof answer) {
    ssize_t count = recv(connection, answer + read_so_far, sizeof answer - read_so_far, 0);
    if (count <= 0) return fail("recv");
    read_so_far += (size_t)count;
  }
  if (memcmp(answer, healthy, sizeof answer) == 0) return 0;
  fprintf(stderr, "%.*s\n", (int)sizeof answer, answer);
  return 1;
}
