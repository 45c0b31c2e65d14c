"""Two sites of two hosts each. A site's hosts are in a network of its own with its gateway, and both networks
have the same private addresses; only the gateways are in the network outside, with a third machine, `meet`.
Nobody connects inwards."""


class TwoSites:
    """`a1`, `a2`, their gateway `ga`, and the same for b. With `outwards` the hosts open connections to the
    network outside, by their gateway, which gives them its address; else they reach no more than their gateway.
    Each gateway lets in who comes to its door (`open_door`)."""

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
        """Nobody connects to a gateway, from outside or inside, save to these ports."""
        self[gateway].wall(*ports)
