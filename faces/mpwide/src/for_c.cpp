// The calls of MPWide.h that C and other languages use. Those without a result end the program after a failure,
// whose reason the inner call has printed.

#include "MPWide.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

static void need(int result) {
    if (result < 0) std::exit(1);
}

extern "C" {

int MPW_Init_c(char **url, int *ports, int numsockets) {
    std::vector<std::string> hosts(url, url + std::max(numsockets, 0));
    return MPW_Init(hosts.data(), ports, numsockets);
}

int MPW_Init1_c(char *url, int port) { return MPW_Init(std::string(url), port); }

int MPW_CreatePath_c(char *host, int server_side_base_port, int num_streams) {
    return MPW_CreatePath(host, server_side_base_port, num_streams);
}

void MPW_SendRecv1_c(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize,
                     int base_channel) {
    need(MPW_SendRecv(sendbuf, sendsize, recvbuf, recvsize, base_channel));
}

void MPW_SendRecv_c(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize,
                    int *base_channel, int num_channels) {
    need(MPW_SendRecv(sendbuf, sendsize, recvbuf, recvsize, base_channel, num_channels));
}

void MPW_PSendRecv_c(char **sendbuf, long long int *sendsize, char **recvbuf, long long int *recvsize,
                     int *channel, int num_channels) {
    need(MPW_PSendRecv(sendbuf, sendsize, recvbuf, recvsize, channel, num_channels));
}

}  // extern "C"
