"""The models that the tests of the C and C++ faces run: a teller with an echo, and a boss with three
workers."""

SETTINGS = """settings:
  flag: true
  count: 3
  ratio: 0.25
  title: a title
  integers: [1, -2]
  numbers: [0.5, 1.5]
  grid: [[1.0, 2.0], [3.0, 4.0]]
"""


def echoed(program, echo, arguments=()):
    """A macro model with the ports out and in, and a micro model that sends back each message."""
    return f"""ymmsl_version: v0.1
model:
  name: echoed
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
    echo: {{implementation: echo, ports: {{f_init: in, o_f: out}}}}
  conduits:
    macro.out: echo.in
    echo.out: macro.in
implementations:
  macro: {{executable: {program}, args: [{', '.join(arguments)}]}}
  echo: {{executable: {echo}}}
"""


def bossed(boss, worker):
    """A boss with vector ports to three workers, ports that are not connected, and settings of every type."""
    return f"""ymmsl_version: v0.1
model:
  name: bossed
  components:
    boss: {{implementation: boss, ports: {{o_i: [tasks, spare], s: [results, nowhere]}}}}
    worker: {{implementation: worker, multiplicity: 3, ports: {{s: in, o_i: out}}}}
  conduits:
    boss.tasks: worker.in
    worker.out: boss.results
{SETTINGS}implementations:
  boss: {{executable: {boss}}}
  worker: {{executable: {worker}}}
"""


def served(program):
    """A server that computes for a client with the settings of each request, and answers with the same
    settings."""
    return f"""ymmsl_version: v0.1
model:
  name: served
  components:
    client: {{implementation: client, ports: {{o_i: requests, s: answers}}}}
    server: {{implementation: server, ports: {{f_init: in, o_f: out}}}}
    worker: {{implementation: worker, ports: {{f_init: in, o_f: out}}}}
  conduits:
    client.requests: worker.in
    worker.out: server.in
    server.out: client.answers
settings:
  k: 1
implementations:
  client: {{executable: {program}, args: [client]}}
  worker: {{executable: {program}, args: [worker]}}
  server: {{executable: {program}, args: [server]}}
"""


def dealt(dealer, player):
    """Two components that are joined by vector ports in both directions. The programs get their role as an
    argument."""
    return f"""ymmsl_version: v0.1
model:
  name: dealt
  components:
    dealer: {{implementation: dealer, ports: {{o_i: deal, s: back}}}}
    player: {{implementation: player, ports: {{s: deal, o_i: back}}}}
  conduits:
    dealer.deal: player.deal
    player.back: dealer.back
implementations:
  dealer: {{executable: {dealer}, args: [dealer]}}
  player: {{executable: {player}, args: [player]}}
"""


def overlaid(program):
    """Settings that are sent to a component, and that its messages carry further."""
    return f"""ymmsl_version: v0.1
model:
  name: overlaid
  components:
    giver: {{implementation: giver, ports: {{o_i: settings}}}}
    taker: {{implementation: taker, ports: {{o_f: out}}}}
    asker: {{implementation: asker, ports: {{f_init: in}}}}
  conduits:
    giver.settings: taker.muscle_settings_in
    taker.out: asker.in
settings:
  k: 1
implementations:
  giver: {{executable: {program}, args: [giver]}}
  taker: {{executable: {program}, args: [taker]}}
  asker: {{executable: {program}, args: [asker]}}
"""
