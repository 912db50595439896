"""Classification of IP addresses as public or not.

Based on IANA's registries of special-purpose addresses (iana-ipv4-special-registry, iana-ipv6-special-registry) rather
than `ipaddress.is_global`, whose tables change with the version of Python and allow relays and translators. Globally
reachable networks for a single protocol (AS112, AMT, anycast of PCP and TURN) are not public either: no planner runs
there.
"""

import ipaddress

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The range that IANA allocates from. Outside it are loopback, link-local, unique local, multicast, IPv4-mapped
(::ffff:0:0/96), IPv4-translated (::ffff:0:0:0/96), IPv4-compatible (::/96), NAT64 (64:ff9b::/96, 64:ff9b:1::/48),
discard-only (100::/64, 100:0:0:1::/64), segment routing (5f00::/16) and unassigned addresses, such as 4000::/3."""

_SPECIAL_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID, AMT, anycast
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, with any embedded IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)

_SPECIAL_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared, behind a provider's NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, where clouds serve credentials
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

_ISATAP = 0x00005EFE
"""First half of an interface identifier that embeds an IPv4 address (RFC 5214, section 6.1)."""
_UNIVERSAL_AND_GROUP_BITS = 0x03000000


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet; a zone (`%eth0`) is ignored.

    Raises:
        ValueError: it is not an IP address.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _SPECIAL_V4)
    special = any(parsed in network for network in _SPECIAL_V6)
    isatap = (int(parsed) >> 32) & 0xFFFFFFFF & ~_UNIVERSAL_AND_GROUP_BITS == _ISATAP
    return parsed in _GLOBAL_UNICAST and not special and not isatap
