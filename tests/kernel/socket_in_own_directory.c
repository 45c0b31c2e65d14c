// Other users cannot connect to a socket in a directory of mode 0700, whatever the mode of the socket is. Its
// file outlives its process.
#include "proof.h"

int main(void) {
    if (geteuid() != 0) SKIP("only root can be another user");
    char directory[] = "/tmp/kernel-proof-XXXXXX";
    struct sockaddr_un address = {AF_UNIX, ""};
    int told[2], status;
    char byte;
    CLAIM(mkdtemp(directory) != NULL && pipe(told) == 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/agent", directory);
    pid_t owner = fork_guarded();
    if (owner == 0) {
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);
        CLAIM(bind(listener, (void *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
        CLAIM(chmod(address.sun_path, 0777) == 0 && write(told[1], "l", 1) == 1);
        for (;;) pause();
    }
    CLAIM(read(told[0], &byte, 1) == 1);
    pid_t stranger = fork_guarded();
    if (stranger == 0) {
        int line = socket(AF_UNIX, SOCK_STREAM, 0);
        CLAIM(setresuid(65534, 65534, 65534) == 0);
        CLAIM(connect(line, (void *)&address, sizeof address) == -1 && errno == EACCES);
        _exit(0);
    }
    CLAIM(waitpid(stranger, &status, 0) == stranger && status == 0);
    CLAIM(kill(owner, SIGKILL) == 0 && waitpid(owner, &status, 0) == owner);
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    CLAIM(connect(line, (void *)&address, sizeof address) == -1 && errno == ECONNREFUSED);
    CLAIM(unlink(address.sun_path) == 0 && rmdir(directory) == 0);  // somebody has to
    printf("another user: permission denied; after SIGKILL: refused, and the file was still there\n");
}
