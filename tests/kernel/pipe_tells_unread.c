// The writing end of a pipe tells how many bytes have not been read yet; it is 0 when all are read.
#include "proof.h"
#include <sys/ioctl.h>

int main(void) {
    int ends[2], unread = -1;
    char taken[8];
    struct stat what;
    CLAIM(pipe(ends) == 0 && fstat(ends[1], &what) == 0 && S_ISFIFO(what.st_mode));
    CLAIM(ioctl(ends[1], FIONREAD, &unread) == 0 && unread == 0);
    CLAIM(write(ends[1], "last words", 10) == 10);
    CLAIM(ioctl(ends[1], FIONREAD, &unread) == 0 && unread == 10);
    CLAIM(read(ends[0], taken, 8) == 8);
    CLAIM(ioctl(ends[1], FIONREAD, &unread) == 0 && unread == 2);
    CLAIM(read(ends[0], taken, 8) == 2);
    CLAIM(ioctl(ends[1], FIONREAD, &unread) == 0 && unread == 0);
    printf("the writing end of a pipe tells what nobody has read\n");
}
