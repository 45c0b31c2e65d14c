// SCM_RIGHTS carries a memfd to another process, and SO_PEERCRED tells who is at the other end.
#include "proof.h"

static struct msghdr *envelope(char *byte, char *room, size_t size) {
    static struct iovec data;
    static struct msghdr message;
    data = (struct iovec){byte, 1};
    message = (struct msghdr){.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = size};
    return &message;
}

int main(void) {
    struct sockaddr_un address = {AF_UNIX, ""};  // one zero byte and no name: the kernel picks an abstract one
    socklen_t size = sizeof address.sun_family, cred_size = sizeof(struct ucred);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), status;
    CLAIM(bind(listener, (void *)&address, size) == 0 && listen(listener, 1) == 0);
    size = sizeof address;
    CLAIM(getsockname(listener, (void *)&address, &size) == 0);
    char byte = 'm', room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
    pid_t child = fork_guarded();
    if (child == 0) {
        int line = socket(AF_UNIX, SOCK_STREAM, 0), fd = memfd_create("passed", MFD_CLOEXEC);
        CLAIM(connect(line, (void *)&address, size) == 0 && write(fd, "payload", 7) == 7);
        struct msghdr *message = envelope(&byte, room, sizeof room);
        *CMSG_FIRSTHDR(message) = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(message)), &fd, sizeof fd);
        CLAIM(sendmsg(line, message, 0) == 1);
        _exit(0);
    }
    int line = accept(listener, NULL, NULL), fd = -1;
    struct ucred peer;
    CLAIM(line >= 0 && recvmsg(line, envelope(&byte, room, sizeof room), MSG_CMSG_CLOEXEC) == 1);
    memcpy(&fd, CMSG_DATA((struct cmsghdr *)room), sizeof fd);
    CLAIM(waitpid(child, &status, 0) == child && status == 0);
    char *payload = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    CLAIM(payload != MAP_FAILED && memcmp(payload, "payload", 7) == 0);  // though its maker is gone
    CLAIM(getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &cred_size) == 0);
    CLAIM(peer.pid == child && peer.uid == getuid());
    printf("memfd read after its maker ended; peer was pid %d, uid %d\n", (int)peer.pid, (int)peer.uid);
}
