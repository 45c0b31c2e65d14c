// A wide-area link between two network namespaces, emulated in user space where the kernel has no netem: delay,
// a rate with a bounded queue, random loss, jitter, cuts and firewalls, for IPv4. Each side is a TUN device;
// one thread per direction reads packets from one and writes them to the other when their time has come. Needs
// root and /dev/net/tun.
//
// Both namespaces belong to this process: they are gone when it is, whatever ended it.
//     gcc -O2 -o wan_emulator wan_emulator.c -lpthread
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64; typedef uint32_t u32; typedef uint16_t u16; typedef uint8_t u8;
#define VH ((int)sizeof(struct virtio_net_hdr))
#define MAXPKT (65536 + 64)
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

static const char *USAGE =
"usage: wan_emulator [options] [-a CMD] [-b CMD]\n"
"  Side a has 10.77.1.1..N, side b 10.77.2.1..N (device wan0); lo is up.\n"
"  CMDs run under /bin/sh in their namespace, with WAN_A, WAN_B, WAN_SELF and\n"
"  WAN_PEER set to the addresses.  -a starts first, -b after --b-after seconds.\n"
"  The run ends when -b ends (see --until); the exit status is that command's.\n"
"  With neither CMD it serves until a signal comes.\n"
"path (both directions alike unless a -ab/-ba form is given):\n"
"  --rtt MS             round trip; half of it each way          (default 20)\n"
"  --delay-ab MS, --delay-ba MS   one-way delay                 \n"
"  --rate MBIT          cap, at IP level; 0 = none              (default 1000)\n"
"  --rate-ab M, --rate-ba M\n"
"  --queue BYTES[k|m]   drop-tail queue before the cap   (default 1 BDP, >= 256k)\n"
"  --burst BYTES[k|m]   token bucket depth                      (default 0)\n"
"  --loss PCT, --loss-ab, --loss-ba   random loss per wire segment (default 0)\n"
"  --jitter MS          uniform extra delay, order kept         (default 0)\n"
"  --cut T:D            link dead from T s after start, for D s (repeatable)\n"
"  --cut-every P:D      link dead for D s at the end of every P s\n"
"                       (kill -USR1 PID: link down / up again by hand)\n"
"  --mtu N              (default 1500; up to 65000)\n"
"  --no-gso             one wire packet per read/write (slower, plainest)\n"
"hosts and firewall:\n"
"  --hosts N            addresses per side                      (default 1)\n"
"  --fw SIDE[:ALLOW,..] nobody may open a flow INTO side a or b, save to ALLOW\n"
"                       (PORT, ADDR or ADDR:PORT): TCP SYN, first UDP datagram\n"
"  --fw-out SIDE[:ADDR,..] nobody on SIDE may open a flow out, save from ADDR\n"
"  --no-udp             UDP never passes\n"
"run:\n"
"  --cc NAME            tcp_congestion_control in both namespaces\n"
"  --sysctl K=V         in both namespaces (repeatable), e.g. net.ipv4.tcp_rmem='4096 131072 6291456'\n"
"  --b-after S          (default 0.5)   --until a|b|both (default b)\n"
"  --time S             stop everything after S seconds (status 124)\n"
"  --name NAME          also bind /run/netns/NAME-a, NAME-b (ip netns exec NAME-a ...)\n"
"  --no-rt              do not use SCHED_RR for the forwarding threads\n"
"  --tick US            batching interval                       (default 50)\n"
"  --seed N   --quiet   --stats-every S\n";

struct ring {
    u8 *buf;
    u64 size, head, tail;
};  // packets on their way, in the order in which they come out
struct rec { u64 due; u32 len; u32 segs; };

struct dir {
  const char *name; int from, to; int side_to;       // from, to: TUN devices; side_to: 0 is a, 1 is b
  double rate;                                       // bytes/ns; 0: as fast as it comes
  u64 delay, jitter; u64 queue, burst; u32 loss;     // ns, ns, bytes, bytes; loss as a share of 2^32
  double link_free;                                  // when the link will have sent what it has taken, ns
  u64 last_due; u64 rng; struct ring r; pthread_t th;
  _Atomic u64 pk, by, d_loss, d_queue, d_cut, d_fw, d_ring, d_werr, d_inflight; u64 maxq; u64 t_first, t_last;
  double cpu;
} D[2];

static int nsfd[2] = {-1, -1}, tunfd[2];
static volatile sig_atomic_t quit_sig, toggles;
static _Atomic bool stop_all; static _Atomic bool manual_cut;
static u64 T0;
static struct { double at, len; } cuts[64]; static int ncuts; static double cut_p, cut_d;
static bool gso = true, rt = true, no_udp, quiet; static int mtu = 1500, hosts = 1; static u64 tick = 50000;
static struct fw { bool on; int n; u32 addr[32]; u16 port[32]; } fwin[2], fwout[2];
static _Atomic u64 flows[65536];  // UDP: the hash of a flow (upper bits) and when it was seen, s (lower 24)

static u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *f, ...) {
    va_list ap;
    va_start(ap, f);
    fprintf(stderr, "wan_emulator: ");
    vfprintf(stderr, f, ap);
    if (errno) fprintf(stderr, ": %s", strerror(errno));
    fputc('\n', stderr);
    exit(2);
}
static u64 rnd(struct dir *d) { u64 x = d->rng; x ^= x << 13; x ^= x >> 7; x ^= x << 17; return d->rng = x; }

static bool link_cut(u64 now) {
  if (atomic_load_explicit(&manual_cut, memory_order_relaxed)) return true;
  double t = (now - T0) * 1e-9;
  for (int i = 0; i < ncuts; i++) if (t >= cuts[i].at && t < cuts[i].at + cuts[i].len) return true;
  if (cut_p > 0) { double ph = t - cut_p * (u64)(t / cut_p); if (ph >= cut_p - cut_d) return true; }
  return false;
}

// ---- packets on their way --------------------------------------------------
static void ring_init(struct ring *r, u64 size) {
  size = (size + 0xfffff) & ~0xfffffull; r->size = size; r->head = r->tail = 0;
  r->buf = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (r->buf == MAP_FAILED) die("mmap ring");
}
// A record is contiguous. If it does not fit before the end of the buffer, a mark (len = ~0) leads to the
// begin.
static struct rec *ring_push(struct ring *r, u32 len) {
  u64 need = sizeof(struct rec) + ((len + 15) & ~15ull), off = r->tail % r->size, left = r->size - off;
  u64 total = need + (left < need ? left : 0);
  if (r->tail - r->head + total > r->size) return NULL;
  if (left < need) {
      if (left >= sizeof(struct rec)) ((struct rec *)(r->buf + off))->len = ~0u;
      r->tail += left;
      off = 0;
  }
  struct rec *x = (struct rec *)(r->buf + off); x->len = len; r->tail += need; return x;
}
static struct rec *ring_peek(struct ring *r) {
  while (r->head != r->tail) {
    u64 off = r->head % r->size, left = r->size - off; struct rec *x = (struct rec *)(r->buf + off);
    if (left < sizeof(struct rec) || x->len == ~0u) { r->head += left; continue; }
    return x;
  }
  return NULL;
}
static void ring_pop(struct ring *r, struct rec *x) {
    r->head += sizeof(struct rec) + ((x->len + 15) & ~15ull);
}

// ---- flows through a firewall -----------------------------------------------
static bool fw_lists(struct fw *f, u32 a, u16 p) {
    for (int i = 0; i < f->n; i++)
        if ((!f->addr[i] || f->addr[i] == a) && (!f->port[i] || f->port[i] == p)) return true;
    return false;
}
static u32 fhash(u32 a, u16 p, u32 b, u16 q) {
    u64 h = ((u64)a << 32 | b) * 0x9E3779B97F4A7C15ull;
    h ^= ((u64)p << 16 | q) * 0xC2B2AE3D27D4EB4Full;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ull;
    return h >> 24;
}
static bool fw_pass(struct dir *d, const u8 *p, int len) {
  const struct iphdr *ip = (const void *)p; int ihl = ip->ihl * 4;
  if (ip->protocol == IPPROTO_UDP && no_udp) return false;
  struct fw *in = &fwin[d->side_to], *out = &fwout[!d->side_to];
  if (!in->on && !out->on && !fwin[!d->side_to].on && !fwout[d->side_to].on) return true;
  if ((ntohs(ip->frag_off) & 0x1fff) || len < ihl + 8) return true;
  if (ip->protocol == IPPROTO_TCP) {
    const struct tcphdr *t = (const void *)(p + ihl);
    if (!t->syn || t->ack) return true;
    if (in->on && !fw_lists(in, ip->daddr, t->dest)) return false;
    if (out->on && !fw_lists(out, ip->saddr, 0)) return false;
  } else if (ip->protocol == IPPROTO_UDP) {
    const struct udphdr *u = (const void *)(p + ihl); u64 sec = (now_ns() / 1000000000ull) & 0xffffff;
    u32 back = fhash(ip->daddr, u->dest, ip->saddr, u->source);
    u64 f = atomic_load_explicit(&flows[back & 0xffff], memory_order_relaxed);
    bool reply = (u32)(f >> 24) == back && ((sec - (f & 0xffffff)) & 0xffffff) < 60;
    if (!reply) {
      if (in->on && !fw_lists(in, ip->daddr, u->dest)) return false;
      if (out->on && !fw_lists(out, ip->saddr, 0)) return false;
    }
    u32 h = fhash(ip->saddr, u->source, ip->daddr, u->dest);
    atomic_store_explicit(&flows[h & 0xffff], (u64)h << 24 | sec, memory_order_relaxed);
  }
  return true;
}

// ---- one direction of the link ---------------------------------------------
static u16 csum16(const void *v, int n) {
    const u8 *p = v;
    u32 s = 0;
    for (; n > 1; n -= 2, p += 2) s += p[0] << 8 | p[1];
    while (s >> 16) s = (s & 0xffff) + (s >> 16);
    return htons(~s);
}

// Returns true if a segment of n bytes gets onto the link. *due is then the time at which it has crossed the
// link.
static bool admit(struct dir *d, u64 now, u32 n, u64 *due) {
  atomic_fetch_add_explicit(&d->pk, 1, memory_order_relaxed);
  if (d->loss && (u32)(rnd(d) >> 32) < d->loss) { d->d_loss++; return false; }
  double out = now;
  if (d->rate > 0) {
    double floor_ = (double)now - d->burst / d->rate; if (d->link_free < floor_) d->link_free = floor_;
    double backlog = (d->link_free - now) * d->rate; if (backlog < 0) backlog = 0;
    if (backlog + n > d->queue) { d->d_queue++; return false; }
    if (backlog + n > d->maxq) d->maxq = backlog + n;
    d->link_free += n / d->rate; if (d->link_free > out) out = d->link_free;
  }
  u64 x = (u64)out + d->delay; if (d->jitter) x += (rnd(d) >> 11) % d->jitter;
  if (x < d->last_due) x = d->last_due;              // nothing overtakes
  d->last_due = *due = x;
  atomic_fetch_add_explicit(&d->by, n, memory_order_relaxed);
  return true;
}
static void enqueue(struct dir *d, const u8 *hdr, int hlen, const u8 *pay, int plen, u64 due, u32 segs) {
  struct rec *x = ring_push(&d->r, hlen + plen);
  if (!x) { d->d_ring += segs; return; }
  x->due = due;
  x->segs = segs;
  u8 *q = (u8 *)(x + 1);
  memcpy(q, hdr, hlen);
  if (plen) memcpy(q + hlen, pay, plen);
}
static void ingest(struct dir *d, u8 *buf, int n, u64 now, bool cut) {
  int vh = gso ? VH : 0; u8 *p = buf + vh; int len = n - vh;
  if (len < 20 || (p[0] >> 4) != 4) return;
  if (!d->t_first) d->t_first = now;
  d->t_last = now;
  struct virtio_net_hdr *v = (void *)buf;
  bool udp = gso && v->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4,
       big = gso && (udp || v->gso_type == VIRTIO_NET_HDR_GSO_TCPV4) && v->gso_size;
  if (!fw_pass(d, p, len)) { d->d_fw++; return; }
  u64 due;
  if (!big) {
      if (cut) {
          d->d_cut++;
          return;
      }
      if (admit(d, now, len, &due)) enqueue(d, buf, n, NULL, 0, due, 1);
      return;
  }
  struct iphdr *ip = (void *)p;
  int ihl = ip->ihl * 4;
  struct tcphdr *t = (void *)(p + ihl);
  int thl = udp ? 8 : t->doff * 4, h = ihl + thl;
  int mss = v->gso_size, pay = len - h, nseg = (pay + mss - 1) / mss;
  if (cut) { d->d_cut += nseg; return; }
  // The kernel passes several segments as one. They are sent in pieces that occupy the link for at most 250 us,
  // so that a loss or a full queue affects single segments.
  int maxrun = d->rate > 0 ? (int)(d->rate * 250000 / (mss + h)) : nseg; if (maxrun < 1) maxrun = 1;
  u8 hd[VH + 120]; u32 seq0 = udp ? 0 : ntohl(t->seq); u16 id0 = ntohs(ip->id);
  for (int i = 0; i < nseg;) {
    int j = i; u64 last = 0;
    for (; j < nseg && j - i < maxrun; j++) {
        int sl = j == nseg - 1 ? pay - j * mss : mss;
        if (!admit(d, now, sl + h, &due)) break;
        last = due;
    }
    if (j > i) {
      int off = i * mss, end = j * mss < pay ? j * mss : pay, pl = end - off;
      memcpy(hd, buf, VH + h);
      struct virtio_net_hdr *v2 = (void *)hd;
      struct iphdr *i2 = (void *)(hd + VH);
      struct tcphdr *t2 = (void *)(hd + VH + ihl);
      if (j - i == 1) { v2->gso_type = VIRTIO_NET_HDR_GSO_NONE; v2->gso_size = 0; }
      i2->tot_len = htons(h + pl); i2->id = htons(id0 + i); i2->check = 0; i2->check = csum16(i2, ihl);
      u32 s = (i2->saddr & 0xffff) + (i2->saddr >> 16) + (i2->daddr & 0xffff) + (i2->daddr >> 16) +
              htons(ip->protocol) + htons(thl + pl);
      while (s >> 16)
          s = (s & 0xffff) + (s >> 16);  // the kernel adds the rest: so far only the pseudo header is summed
      if (udp) { struct udphdr *u2 = (void *)t2; u2->len = htons(8 + pl); u2->check = s;
      } else {
          t2->seq = htonl(seq0 + off);
          t2->check = s;
          if (end < pay) {
              t2->fin = 0;
              t2->psh = 0;
          }
          if (i > 0) t2->res2 &= ~2;
      }  // only the first may say CWR
      enqueue(d, hd, VH + h, p + h + off, pl, last, j - i);
    }
    if (j < nseg && j - i < maxrun) j++;             // segment j is lost; go on behind it
    i = j;
  }
}
static void *run_dir(void *arg) {
  struct dir *d = arg; static __thread u8 buf[MAXPKT + 256];
  prctl(PR_SET_TIMERSLACK, 1000); pthread_setname_np(pthread_self(), d->name);
  if (rt) {
      struct sched_param sp = {.sched_priority = 5};
      pthread_setschedparam(pthread_self(), SCHED_RR, &sp);
  }
  while (!stop_all) {
    u64 now = now_ns(); bool cut = link_cut(now); int got = 0, sent = 0;
    for (; got < 256; got++) {
        ssize_t n = read(d->from, buf, sizeof buf);
        if (n <= 0) break;
        ingest(d, buf, n, now, cut);
    }
    now = now_ns(); struct rec *x; u64 wait = 200000000;
    while ((x = ring_peek(&d->r))) {
      if (x->due > now) { wait = x->due - now; break; }
      if (cut) d->d_inflight += x->segs; else if (write(d->to, x + 1, x->len) < 0) d->d_werr += x->segs;
      ring_pop(&d->r, x); if ((++sent & 31) == 0) { now = now_ns(); if (sent >= 512) { wait = 0; break; } }
    }
    if (got >= 256 || wait == 0) continue;
    if (got || sent) {
        u64 w = wait < tick ? wait : tick;
        struct timespec ts = {0, (long)w};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
        continue;
    }
    struct pollfd pf = {d->from, POLLIN, 0};
    struct timespec ts = {wait / 1000000000, wait % 1000000000};
    ppoll(&pf, 1, &ts, NULL);
  }
  struct rusage ru; getrusage(RUSAGE_THREAD, &ru);
  d->cpu = ru.ru_utime.tv_sec + ru.ru_stime.tv_sec + (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e-6;
  return NULL;
}

// ---- making the two sides --------------------------------------------------
static void wr(const char *path, const char *val, bool must) {
    int f = open(path, O_WRONLY);
    if (f < 0 || write(f, val, strlen(val)) < 0) {
        if (must) die("%s = %s", path, val);
    }
    if (f >= 0) close(f);
    errno = 0;
}
static void ifup(int s, const char *dev) {
    struct ifreq r = {0};
    strcpy(r.ifr_name, dev);
    if (ioctl(s, SIOCGIFFLAGS, &r)) die("flags %s", dev);
    r.ifr_flags |= IFF_UP | IFF_RUNNING;
    if (ioctl(s, SIOCSIFFLAGS, &r)) die("up %s", dev);
}
static void sa(struct sockaddr *x, u32 a) {
    struct sockaddr_in *i = (void *)x;
    memset(x, 0, sizeof *x);
    i->sin_family = AF_INET;
    i->sin_addr.s_addr = a;
}
static u32 addr_of(int side, int i) { return htonl(10u << 24 | 77 << 16 | (u32)(side + 1) << 8 | i); }

static void make_side(int side, const char *cc, char **sysctls, int nsys) {
  if (unshare(CLONE_NEWNET)) die("unshare(CLONE_NEWNET) (need root)");
  if ((nsfd[side] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) < 0) die("ns fd");
  wr("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1", false);
  wr("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1", false);
  int f = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC); if (f < 0) die("/dev/net/tun");
  struct ifreq r = {0};
  strcpy(r.ifr_name, "wan0");
  r.ifr_flags = IFF_TUN | IFF_NO_PI | (gso ? IFF_VNET_HDR : 0);
  if (ioctl(f, TUNSETIFF, &r)) die("TUNSETIFF");
  if (gso) {
      int sz = VH;
      ioctl(f, TUNSETVNETHDRSZ, &sz);
      if (ioctl(f, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_USO4 | TUN_F_USO6) &&
          ioctl(f, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4))
          die("TUNSETOFFLOAD");
      errno = 0;
  }
  int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); ifup(s, "lo");
  r.ifr_mtu = mtu; strcpy(r.ifr_name, "wan0"); if (ioctl(s, SIOCSIFMTU, &r)) die("mtu %d", mtu);
  r.ifr_qlen = 20000; ioctl(s, SIOCSIFTXQLEN, &r);
  for (int i = 1; i <= hosts; i++) {
      memset(&r, 0, sizeof r);
      if (i == 1) strcpy(r.ifr_name, "wan0");
      else snprintf(r.ifr_name, IFNAMSIZ, "wan0:%d", i);
      sa(&r.ifr_addr, addr_of(side, i));
      if (ioctl(s, SIOCSIFADDR, &r)) die("address");
      sa(&r.ifr_netmask, htonl(0xffffffff));
      ioctl(s, SIOCSIFNETMASK, &r);
  }
  ifup(s, "wan0");
  struct rtentry rt_ = {0};
  sa(&rt_.rt_dst, htonl(10u << 24 | 77 << 16 | (u32)(2 - side) << 8));
  sa(&rt_.rt_genmask, htonl(0xffffff00));
  rt_.rt_flags = RTF_UP; rt_.rt_dev = "wan0"; if (ioctl(s, SIOCADDRT, &rt_)) die("route"); close(s);
  if (cc) {  // some may not be the default of a namespace, but may be set for a route
      wr("/proc/sys/net/ipv4/tcp_congestion_control", cc, false);
      char now[32] = "", cmd[200];
      int f2 = open("/proc/sys/net/ipv4/tcp_congestion_control", O_RDONLY);
      if (f2 >= 0) {
          ssize_t n = read(f2, now, 31);
          now[n > 0 ? n - 1 : 0] = 0;
          close(f2);
      }
      if (strcmp(now, cc)) {
          snprintf(cmd, sizeof cmd, "ip route replace 10.77.%d.0/24 dev wan0 congctl %s", 2 - side, cc);
          if (system(cmd)) {
              errno = 0;
              die("cannot set congestion control %s", cc);
          }
      }
  }
  for (int i = 0; i < nsys; i++) {
      char path[256] = "/proc/sys/", *e = strchr(sysctls[i], '=');
      if (!e) die("--sysctl wants K=V: %s", sysctls[i]);
      int n = strlen(path);
      for (char *c = sysctls[i]; c < e && n < 250; c++) path[n++] = *c == '.' ? '/' : *c;
      path[n] = 0;
      wr(path, e + 1, true);
  }
  tunfd[side] = f; errno = 0;
}
static int guard_fd(void);
static pid_t spawn(int side, const char *cmd) {
  pid_t p = fork(); if (p < 0) die("fork");
  if (p) {
      setpgid(p, p);
      if (write(guard_fd(), &p, sizeof p) < 0) { /* the guard is only a help */
      }
      return p;
  }
  setpgid(0, 0); prctl(PR_SET_PDEATHSIG, SIGKILL); signal(SIGPIPE, SIG_DFL);
  sigset_t ss; sigemptyset(&ss); sigprocmask(SIG_SETMASK, &ss, NULL);
  if (setns(nsfd[side], CLONE_NEWNET)) _exit(126);
  char A[] = "10.77.1.1", B[] = "10.77.2.1";
  setenv("WAN_A", A, 1);
  setenv("WAN_B", B, 1);
  setenv("WAN_SELF", side ? B : A, 1);
  setenv("WAN_PEER", side ? A : B, 1);
  setenv("WAN_SIDE", side ? "b" : "a", 1);
  execl("/bin/sh", "sh", "-c", cmd, (char *)NULL); _exit(127);
}
// Ends all processes in the two namespaces, including those that have left its process group.
static void kill_ns(pid_t spare) {
  struct stat a, b, x; if (fstat(nsfd[0], &a) || fstat(nsfd[1], &b)) return;
  DIR *d = opendir("/proc"); struct dirent *e;
  while (d && (e = readdir(d))) {
      pid_t p = atoi(e->d_name);
      char path[64];
      if (p <= 1 || p == getpid() || p == spare) continue;
      snprintf(path, sizeof path, "/proc/%d/ns/net", p);
      if (stat(path, &x)) continue;
      if (x.st_dev == a.st_dev && (x.st_ino == a.st_ino || x.st_ino == b.st_ino)) kill(p, SIGKILL);
  }
  if (d) closedir(d);
}
// A process that notices when this one is killed. It then ends its commands, and exits.
static int guard_w = -1;
static pid_t guard_pid;
static const char *guard_name;
static void named(const char *name, int side, bool make);
static void guard_start(const char *name) {
  int p[2]; if (pipe2(p, O_CLOEXEC)) die("pipe"); guard_name = name; pid_t g = fork(); if (g < 0) die("fork");
  if (g) { close(p[0]); guard_w = p[1]; guard_pid = g; return; }
  setsid();
  close(p[1]);
  close(tunfd[0]);
  close(tunfd[1]);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  prctl(PR_SET_NAME, "wan_guard");
  int nul = open("/dev/null", O_RDWR); dup2(nul, 0); dup2(nul, 1); dup2(nul, 2);
  pid_t k[8];
  int n = 0;
  pid_t x;
  while (read(p[0], &x, sizeof x) == sizeof x) {
      if (x == 0) _exit(0);
      if (n < 8) k[n++] = x;
  }
  for (int i = 0; i < n; i++) kill(-k[i], SIGKILL);
  kill_ns(0);
  if (guard_name) { named(guard_name, 0, false); named(guard_name, 1, false); }
  _exit(0);
}
static int guard_fd(void) { return guard_w; }
static u64 tx_dropped(int side) {                    // packets that did not fit into the TUN device's own queue
  u64 drop = 0; if (setns(nsfd[side], CLONE_NEWNET)) return 0;
  FILE *f = fopen("/proc/thread-self/net/dev", "r"); char l[512];
  while (f && fgets(l, sizeof l, f)) {
      char *q = strstr(l, "wan0:");
      if (q) {
          unsigned long long v[12];
          if (sscanf(q + 5, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", v, v + 1, v + 2,
                     v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9, v + 10, v + 11) == 12)
              drop = v[11];
      }
  }
  if (f) fclose(f);
  return drop;
}
static void stats(FILE *o) {
    for (int i = 0; i < 2; i++) {
        struct dir *d = &D[i];
        double s = d->t_last > d->t_first ? (d->t_last - d->t_first) * 1e-9 : 0;
        fprintf(o,
                "wan %s: segs %llu bytes %llu mean %.1f Mbit/s  dropped: loss %llu queue %llu cut %llu+%llu fw "
                "%llu ring %llu write %llu  max queue %llu B\n",
                d->name, (unsigned long long)d->pk, (unsigned long long)d->by, s > 0 ? d->by * 8e-6 / s : 0.0,
                (unsigned long long)d->d_loss, (unsigned long long)d->d_queue, (unsigned long long)d->d_cut,
                (unsigned long long)d->d_inflight, (unsigned long long)d->d_fw, (unsigned long long)d->d_ring,
                (unsigned long long)d->d_werr, (unsigned long long)d->maxq);
    }
  fflush(o);
}
static void on_sig(int s) { quit_sig = s; }
static void on_usr1(int s) {
    (void)s;
    toggles++;
}
static void on_chld(int s) { (void)s; }

static u64 bytes_arg(const char *s) {
    char *e;
    double v = strtod(s, &e);
    if (*e == 'k' || *e == 'K') v *= 1e3;
    else if (*e == 'm' || *e == 'M') v *= 1e6;
    else if (*e == 'g' || *e == 'G') v *= 1e9;
    return (u64)v;
}
static void fw_arg(struct fw *tab, const char *s0) {
    char *s = strdup(s0), *c = strchr(s, ':');
    if ((s[0] != 'a' && s[0] != 'b') || (s[1] && s[1] != ':')) die("firewall side must be a or b: %s", s0);
    struct fw *f = &tab[s[0] == 'b'];
    f->on = true;
    if (!c) return;
    for (char *t = strtok(c + 1, ","); t && f->n < 32; t = strtok(NULL, ",")) {
        char *k = strchr(t, ':');
        u32 a = 0;
        u16 p = 0;
        if (k) {
            *k = 0;
            p = atoi(k + 1);
        }
        if (strchr(t, '.')) a = inet_addr(t);
        else p = atoi(t);
        f->addr[f->n] = a;
        f->port[f->n] = htons(p);
        f->n++;
    } }
// The names are made as `ip netns` makes them, under its lock: the folder is a mount of its own. A later mount
// would hide the names in it.
static void names_folder(void) {
    mkdir("/run/netns", 0755);
    int d = open("/run/netns", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d < 0) die("/run/netns");
    flock(d, LOCK_EX);
    if (mount("", "/run/netns", "none", MS_SHARED | MS_REC, NULL) &&
        (errno != EINVAL || mount("/run/netns", "/run/netns", "none", MS_BIND | MS_REC, NULL) ||
         mount("", "/run/netns", "none", MS_SHARED | MS_REC, NULL)))
        die("mount /run/netns");
    close(d); }
static void named(const char *name, int side, bool make) {
  char p[300]; snprintf(p, sizeof p, "/run/netns/%s-%c", name, side ? 'b' : 'a');
  if (!make) { umount2(p, MNT_DETACH); unlink(p); return; }
  names_folder(); int f = open(p, O_CREAT | O_EXCL | O_RDONLY, 0444); if (f < 0) die("%s", p); close(f);
  char src[64];
  snprintf(src, sizeof src, "/proc/self/fd/%d", nsfd[side]);
  if (mount(src, p, "none", MS_BIND, NULL)) {
      unlink(p);
      die("mount %s", p);
  }
}

int main(int argc, char **argv) {
    double rtt = 20, dl[2] = {-1, -1}, rate = 1000, rt_[2] = {-1, -1}, loss = 0, ls[2] = {-1, -1}, jit = 0,
           b_after = 0.5, limit = 0, every = 0;
    u64 queue = 0, burst = 0, seed = 0;
    const char *cmd[2] = {0}, *cc = NULL, *until = "b", *name = NULL;
    char *sysc[32];
    int nsys = 0;
    enum {
        RTT = 256,
        DAB,
        DBA,
        RATE,
        RAB,
        RBA,
        QUEUE,
        BURST,
        LOSS,
        LAB,
        LBA,
        JIT,
        CUT,
        CUTE,
        MTU,
        NOGSO,
        HOSTS,
        FW,
        FWO,
        NOUDP,
        CC,
        SYS,
        BAFT,
        UNTIL,
        TIME,
        NAME,
        NORT,
        TICK,
        SEED,
        QUIET,
        EVERY
    };
    static struct option lo[] = {
        {"rtt", 1, 0, RTT},           {"delay-ab", 1, 0, DAB},   {"delay-ba", 1, 0, DBA},
        {"rate", 1, 0, RATE},         {"rate-ab", 1, 0, RAB},    {"rate-ba", 1, 0, RBA},
        {"queue", 1, 0, QUEUE},       {"burst", 1, 0, BURST},    {"loss", 1, 0, LOSS},
        {"loss-ab", 1, 0, LAB},       {"loss-ba", 1, 0, LBA},    {"jitter", 1, 0, JIT},
        {"cut", 1, 0, CUT},           {"cut-every", 1, 0, CUTE}, {"mtu", 1, 0, MTU},
        {"no-gso", 0, 0, NOGSO},      {"hosts", 1, 0, HOSTS},    {"fw", 1, 0, FW},
        {"fw-out", 1, 0, FWO},        {"no-udp", 0, 0, NOUDP},   {"cc", 1, 0, CC},
        {"sysctl", 1, 0, SYS},        {"b-after", 1, 0, BAFT},   {"until", 1, 0, UNTIL},
        {"time", 1, 0, TIME},         {"name", 1, 0, NAME},      {"no-rt", 0, 0, NORT},
        {"tick", 1, 0, TICK},         {"seed", 1, 0, SEED},      {"quiet", 0, 0, QUIET},
        {"stats-every", 1, 0, EVERY}, {"help", 0, 0, 'h'},       {0, 0, 0, 0}};
    for (int c; (c = getopt_long(argc, argv, "a:b:h", lo, NULL)) != -1;) switch (c) {
            case 'a':
                cmd[0] = optarg;
                break;
            case 'b':
                cmd[1] = optarg;
                break;
            case RTT:
                rtt = atof(optarg);
                break;
            case DAB:
                dl[0] = atof(optarg);
                break;
            case DBA:
                dl[1] = atof(optarg);
                break;
            case RATE:
                rate = atof(optarg);
                break;
            case RAB:
                rt_[0] = atof(optarg);
                break;
            case RBA:
                rt_[1] = atof(optarg);
                break;
            case QUEUE: queue = bytes_arg(optarg); break; case BURST: burst = bytes_arg(optarg); break;
            case LOSS:
                loss = atof(optarg);
                break;
            case LAB:
                ls[0] = atof(optarg);
                break;
            case LBA:
                ls[1] = atof(optarg);
                break;
            case JIT:
                jit = atof(optarg);
                break;
            case CUT:
                if (ncuts == 64 || sscanf(optarg, "%lf:%lf", &cuts[ncuts].at, &cuts[ncuts].len) != 2)
                    die("--cut T:D");
                ncuts++;
                break;
            case CUTE:
                if (sscanf(optarg, "%lf:%lf", &cut_p, &cut_d) != 2) die("--cut-every P:D");
                break;
            case MTU:
                mtu = atoi(optarg);
                break;
            case NOGSO:
                gso = false;
                break;
            case HOSTS:
                hosts = atoi(optarg);
                break;
            case FW:
                fw_arg(fwin, optarg);
                break;
            case FWO:
                fw_arg(fwout, optarg);
                break;
            case NOUDP:
                no_udp = true;
                break;
            case CC:
                cc = optarg;
                break;
            case SYS:
                if (nsys < 32) sysc[nsys++] = optarg;
                break;
            case BAFT:
                b_after = atof(optarg);
                break;
            case UNTIL:
                until = optarg;
                break;
            case TIME:
                limit = atof(optarg);
                break;
            case NAME:
                name = optarg;
                break;
            case NORT:
                rt = false;
                break;
            case TICK:
                tick = atof(optarg) * 1000;
                break;
            case SEED:
                seed = strtoull(optarg, 0, 0);
                break;
            case QUIET:
                quiet = true;
                break;
            case EVERY:
                every = atof(optarg);
                break;
            case 'h':
                fputs(USAGE, stdout);
                return 0;
            default:
                fputs(USAGE, stderr);
                return 2; }
  if (optind < argc || hosts < 1 || hosts > 200 || mtu < 576 || mtu > 65000) { fputs(USAGE, stderr); return 2; }
  if (!seed) seed = now_ns();

  make_side(0, cc, sysc, nsys); make_side(1, cc, sysc, nsys);     // from here on this process is in namespace b
  if (name) { named(name, 0, true); named(name, 1, true); }
  for (int i = 0; i < 2; i++) { struct dir *d = &D[i];
    d->name = i ? "b->a" : "a->b"; d->from = tunfd[i]; d->to = tunfd[!i]; d->side_to = !i;
    d->rate = (rt_[i] >= 0 ? rt_[i] : rate) * 1e6 / 8 / 1e9;
    d->delay = (dl[i] >= 0 ? dl[i] : rtt / 2) * 1e6;
    d->jitter = jit * 1e6;
    d->burst = burst;
    double l = (ls[i] >= 0 ? ls[i] : loss) / 100; d->loss = l >= 1 ? ~0u : (u32)(l * 4294967296.0);
    u64 bdp = (u64)(d->rate * rtt * 1e6); d->queue = queue ? queue : bdp > 256000 ? bdp : 256000;
    d->rng = (seed + i + 1) * 0x9E3779B97F4A7C15ull | 1;
    ring_init(&d->r, d->rate > 0 ? (u64)(d->rate * (d->delay + d->jitter)) * 2 + d->queue * 3 + (16u << 20)
                                 : 1u << 30);
  }
  if (!quiet)
      fprintf(stderr,
              "wan pid %d: a=10.77.1.1 b=10.77.2.1 delay %.3f/%.3f ms rate %.0f/%.0f Mbit/s queue %llu/%llu B "
              "loss %.4g%%/%.4g%% mtu %d %s; enter with: nsenter --net=/proc/%d/fd/%d (a) %d (b)\n",
              getpid(), D[0].delay * 1e-6, D[1].delay * 1e-6, D[0].rate * 8e3, D[1].rate * 8e3,
              (unsigned long long)D[0].queue, (unsigned long long)D[1].queue, D[0].loss / 42949672.96,
              D[1].loss / 42949672.96, mtu, gso ? "gso" : "no-gso", getpid(), nsfd[0], nsfd[1]);
  struct sigaction s = {.sa_handler = on_sig};
  sigaction(SIGINT, &s, 0);
  sigaction(SIGTERM, &s, 0);
  sigaction(SIGHUP, &s, 0);
  s.sa_handler = on_usr1; sigaction(SIGUSR1, &s, 0); s.sa_handler = on_chld; sigaction(SIGCHLD, &s, 0);
  guard_start(name); signal(SIGPIPE, SIG_IGN);
  sigset_t blk, old; sigfillset(&blk); sigprocmask(SIG_BLOCK, &blk, &old);
  T0 = now_ns(); for (int i = 0; i < 2; i++) pthread_create(&D[i].th, NULL, run_dir, &D[i]);
  sigprocmask(SIG_SETMASK, &old, NULL);

  pid_t kid[2] = {0, 0};
  int status[2] = {0, 0};
  bool done[2] = {!cmd[0], !cmd[1]};
  int rc = 0;
  double last = 0;
  int seen = 0;
  if (cmd[0]) kid[0] = spawn(0, cmd[0]);
  for (;;) {
    double t = (now_ns() - T0) * 1e-9;
    if (cmd[1] && !kid[1] && t >= (cmd[0] ? b_after : 0)) kid[1] = spawn(1, cmd[1]);
    int st;
    pid_t p;
    while ((p = waitpid(-1, &st, WNOHANG)) > 0)
        for (int i = 0; i < 2; i++)
            if (p == kid[i]) {
                done[i] = true;
                status[i] = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
            }
    if (toggles != seen) {
        seen = toggles;
        manual_cut = seen & 1;
        if (!quiet) fprintf(stderr, "wan: %.3f s link %s\n", t, manual_cut ? "down" : "up");
    }
    if (quit_sig) { rc = 128 + quit_sig; break; }
    if (limit > 0 && t >= limit) { rc = 124; break; }
    if (cmd[0] || cmd[1]) {
        bool fin = until[0] == 'a'          ? done[0]
                   : !strcmp(until, "both") ? done[0] && done[1]
                   : cmd[1]                 ? done[1]
                                            : done[0];
        if (fin) {
            rc = until[0] == 'a' || !cmd[1] ? status[0]
                 : status[1]                ? status[1]
                 : !strcmp(until, "both")   ? status[0]
                                            : 0;
            break;
        }
    }
    if (every > 0 && t - last >= every) { last = t; stats(stderr); }
    struct timespec ts = {0, 20000000}; nanosleep(&ts, NULL);
  }
  for (int i = 0; i < 2; i++) if (kid[i]) kill(-kid[i], SIGTERM);
  for (int k = 0; k < 50; k++) {
      bool all = true;
      pid_t p;
      while ((p = waitpid(-1, NULL, WNOHANG)) > 0)
          for (int i = 0; i < 2; i++)
              if (p == kid[i]) done[i] = true;
      for (int i = 0; i < 2; i++)
          if (kid[i] && !done[i]) all = false;
      if (all) break;
      struct timespec ts = {0, 20000000};
      nanosleep(&ts, NULL);
  }
  for (int i = 0; i < 2; i++) if (kid[i]) kill(-kid[i], SIGKILL);
  kill_ns(guard_pid);
  stop_all = true; for (int i = 0; i < 2; i++) pthread_join(D[i].th, NULL);
  if (!quiet) {
      stats(stderr);
      fprintf(stderr, "wan: TUN drops a %llu b %llu; forwarding cpu %.2f + %.2f s in %.2f s\n",
              (unsigned long long)tx_dropped(0), (unsigned long long)tx_dropped(1), D[0].cpu, D[1].cpu,
              (now_ns() - T0) * 1e-9);
  }
  if (name) { named(name, 0, false); named(name, 1, false); }
  pid_t z = 0;
  if (write(guard_w, &z, sizeof z) < 0) errno = 0;  // tells the guard that there is nothing left to do
  close(guard_w); waitpid(guard_pid, NULL, 0);
  return rc;
}
