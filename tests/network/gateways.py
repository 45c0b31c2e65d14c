"""Two sites of two hosts each. A site's hosts are in a network of its own with its gateway. Both networks have
the same private addresses. Only the gateways, and a third machine `meet`, are in the network outside. No
machine can connect into a site."""


class TwoSites:
    """The hosts `a1` and `a2` with their gateway `ga`, and the same for b. With `outwards`, the hosts can open
    connections to the network outside through their gateway, which gives them its address; otherwise they reach
    only their gateway. Each gateway accepts connections to the ports that `open_door` opens."""

    def __init__(self, network, outwards):
        self.outside = network("meet", lan=89)
        self.hosts = {"meet": self.outside["meet"]}
        for number, site in enumerate("ab", 2):
            gateway = f"g{site}"
            inside = network(f"{site}1", f"{site}2", gateway)
            self.hosts.update(inside.hosts)
            inside[gateway].outside = self.outside.join(inside[gateway], number)
            if outwards:
                self._lead_out(inside, gateway)
            self.open_door(gateway)

    def __getitem__(self, name):
        return self.hosts[name]

    def _lead_out(self, inside, gateway):
        host = inside[gateway]
        host.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for rule in (
            "add table ip out", "add chain ip out leaving { type nat hook postrouting priority 100 ; }",
                     "add rule ip out leaving oifname outside masquerade",
                     "add chain ip out through { type filter hook forward priority 0 ; policy drop ; }",
                     "add rule ip out through ct state established,related accept",
                     "add rule ip out through iifname eth0 oifname outside accept"):
            host.run("nft", rule)
        for one in inside.hosts.values():
            if one is not host:
                one.run("ip", "route", "add", "default", "via", host.v4)

    def open_door(self, gateway, *ports):
        """Closes a gateway to connections from outside and inside, except to these ports."""
        self[gateway].wall(*ports)
