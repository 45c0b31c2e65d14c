// The calls of MPWide over paths of Ligament. docs/faces/mpwide.md says which differ, and how. A stream and a
// path are numbers, as there. Calls that return an `int` return a negative error number after a failure, with
// the reason on the standard error; calls without one end the program with status 1, as MPWide does.

#ifndef MPWIDE_H
#define MPWIDE_H

#include <cassert>
#include <iostream>
#include <string>

// MPWide's own header has this line, and programs lean on it.
using namespace std;

#define PacingMode 1
#define MPW_PacingMode 1
#define OptimizeStreamCount 1

// The IPv4 address of a host as text, or its IPv6 address if it has no other; NULL if it has none. The text
// is overwritten by the thread's next call. A name that begins with a digit is returned as it is.
char *MPW_DNSResolve(char *host);
char *MPW_DNSResolve(std::string host);

// Tells if paths that are made from now on get MPWide's own pacing rate; true at first.
void MPW_setAutoTuning(bool automatic);
bool MPW_AutoTuning();

// Prints number, port and host of each stream to the standard error.
void MPW_Print();

// One more than the highest number of a stream.
int MPW_NumChannels();

// Makes a path and gives its number, or a negative error number. Host "0" means that this end only listens.
int MPW_CreatePath(std::string host, int server_side_base_port, int num_streams);
int MPW_CreatePathWithoutConnect(std::string host, int server_side_base_port, int streams_in_path);

// Connects a path. With `server_wait`, this end listens if nobody does at the other one, and waits for it;
// otherwise the call fails if nobody listens there.
int MPW_ConnectPath(int path_id, bool server_wait);

// Closes a path and frees its number and those of its streams. Bytes under way arrive first.
int MPW_DestroyPath(int path);

// Sends and receives byte streams; sizes in bytes. Bytes that were sent by one call may be received by
// several, and the other way round.
int MPW_Send(char *sendbuf, long long int sendsize, int path);
int MPW_Recv(char *recvbuf, long long int recvsize, int path);
int MPW_SendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int path);

// Sends a message with its length, and receives one of at most `maxrecvsize` bytes, whose length is returned.
int MPW_DSendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int maxrecvsize, int path);

// Makes streams, each with a host and a port, and connects them as MPW_ConnectPath does with `server_wait`.
// Ports of the client's side are not used. A host without a port is refused.
int MPW_Init(std::string *url, int *server_side_ports, int *client_side_ports, int num_channels);
int MPW_Init(std::string *url, int *server_side_ports, int num_channels);
int MPW_Init(std::string url, int port);
int MPW_Init(std::string url);
int MPW_Init();

// Windows of TCP follow from the link here: the number is checked, and nothing else happens.
void MPW_setWin(int channel, int size);
void MPW_setPathWin(int path, int size);

// Closes streams, and connects them again.
void MPW_CloseChannels(int *channels, int num_channels);
void MPW_ReOpenChannels(int *channels, int num_channels);

// Closes everything. Bytes under way arrive first. Returns 1, as MPWide does.
int MPW_Finalize();

// The same over streams. The bytes are divided evenly among the streams, in order; MPW_PSendRecv takes parts
// that are divided already. Over several streams, both ends divide the same bytes.
int MPW_PSendRecv(char **sendbuf, long long int *sendsize, char **recvbuf, long long int *recvsize,
                  int *channel, int num_channels);
int MPW_SendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int *channel,
                 int num_channels);
long long int MPW_DSendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int maxrecvsize,
                            int *channel, int num_channels);
void MPW_Send(char *buf, long long int size, int *channels, int num_channels);
void MPW_Recv(char *buf, long long int size, int *channels, int num_channels);

// Passes on what comes from each stream of one set to the stream of the other set, both ways, until the other
// ends are closed.
void MPW_Relay(int *channels, int *channels2, int num_channels);

// Sends over one set of streams and receives over another at the same time. The lengths of MPW_DCycle travel
// with the bytes; it returns the received one.
long long int MPW_DCycle(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize,
                         int *ch_send, int num_ch_send, int *ch_recv, int num_ch_recv);
void MPW_Cycle(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int *ch_send,
               int num_ch_send, int *ch_recv, int num_ch_recv);

// Divides a buffer evenly into `num_chunks` parts; the first ones are one byte longer where it does not go
// even.
void MPW_splitBuf(char *buf, long long int bsize, int num_chunks, char **split_buf,
                  long long int *chunk_sizes);

// Waits until the other end of a stream, or of all streams, calls it as well.
void MPW_Barrier(int channel);
void MPW_Barrier();

// Pieces follow from the link here: the sizes are checked, and nothing else happens.
void MPW_setChunkSize(int sending, int receiving);

// Begins MPW_SendRecv and gives its number, or a negative error number. The buffers stay as they are until
// MPW_Wait has returned.
int MPW_ISendRecv(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize, int path);
// True if the exchange is over. (MPWide's own returns the opposite.)
bool MPW_Has_NBE_Finished(int NBE_id);
void MPW_Wait(int NBE_id);

// Highest rate of each stream over a long distance, bytes per second; -1: no limit.
double MPW_getPacingRate();
void MPW_setPacingRate(double rate);

extern "C" {
int MPW_Init_c(char **url, int *ports, int numsockets);
int MPW_Init1_c(char *url, int port);
int MPW_CreatePath_c(char *host, int server_side_base_port, int num_streams);
// `base_channel` is the number of a path, as in MPWide.
void MPW_SendRecv1_c(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize,
                     int base_channel);
void MPW_SendRecv_c(char *sendbuf, long long int sendsize, char *recvbuf, long long int recvsize,
                    int *base_channel, int num_channels);
void MPW_PSendRecv_c(char **sendbuf, long long int *sendsize, char **recvbuf, long long int *recvsize,
                     int *channel, int num_channels);
}

#endif
