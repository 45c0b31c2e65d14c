// A client learns which user owns the socket that answers: SO_PEERCRED has the user of the process that called
// listen(), even before a call of accept().
#include "proof.h"

int main(void) {
    if (geteuid() != 0) SKIP("only root can be another user");
    struct sockaddr_un address = {AF_UNIX, ""};
    int told[2];
    char byte;
    socklen_t size = offsetof(struct sockaddr_un, sun_path) +
        1 + snprintf(address.sun_path + 1, 60, "kernel-proof-%d", (int)getpid());
    CLAIM(pipe(told) == 0);
    pid_t child = fork_guarded();
    if (child == 0) {
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);  // made by root, and bound
        CLAIM(bind(listener, (void *)&address, size) == 0 && setresuid(65534, 65534, 65534) == 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // another user's process has lost it
        CLAIM(listen(listener, 1) == 0 && write(told[1], "l", 1) == 1);
        for (;;) pause();
    }
    CLAIM(read(told[0], &byte, 1) == 1);
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    struct ucred peer;
    socklen_t length = sizeof peer;
    CLAIM(connect(line, (void *)&address, size) == 0);
    CLAIM(getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0);
    CLAIM(peer.uid == 65534);
    CLAIM(kill(child, SIGKILL) == 0);
    printf("before anybody accepted, the client knew that user %d listens\n", (int)peer.uid);
}
