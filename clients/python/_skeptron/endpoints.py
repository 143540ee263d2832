"""Where nodes are, and which addresses that nodes tell may be followed."""

import ipaddress
import re
from typing import Iterable, List, NamedTuple, Optional, Sequence, Union

USUAL_PORT = 7470
USUAL_ENDPOINT = f"http://127.0.0.1:{USUAL_PORT}"


class Endpoint(NamedTuple):
    """The API of a node. `scheme` is `http`, `https` or `unix`; `host` is the path of a Unix socket."""

    scheme: str
    host: str
    port: int = 0

    def __str__(self) -> str:
        return f"unix:{self.host}" if self.scheme == "unix" else f"{self.scheme}://{self.authority}"

    @property
    def is_near(self) -> bool:
        """Whether it is on the machine that says so."""
        try:
            is_loopback = ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            is_loopback = self.host == "localhost"
        return self.scheme == "unix" or is_loopback

    @property
    def authority(self) -> str:
        """As in a header `Host`."""
        if self.scheme == "unix":
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse(text: str, bare: str = "http") -> Endpoint:
    """Reads `http://HOST:PORT`, `https://HOST:PORT` or `unix:PATH`; `HOST` or `HOST:PORT` alone is `bare`."""
    scheme, _, rest = text.partition(":")
    endpoint: Optional[Endpoint]
    if scheme == "unix":
        path = rest[2:] if rest.startswith("//") else rest
        endpoint = Endpoint("unix", path) if path else None
    elif scheme in ("http", "https"):
        is_url = rest.startswith("//")
        endpoint = _address(scheme, re.sub("/$", "", rest[2:])) if is_url else None
    else:
        endpoint = _address(bare, text)
    if endpoint is None:
        raise ValueError(
            f"`{text}` is not an endpoint; use {USUAL_ENDPOINT}, https://HOST:PORT or unix:PATH"
        )
    return endpoint


def parse_all(texts: Union[str, Iterable[str]], bare: str) -> List[Endpoint]:
    """Reads several, in a list or separated by commas; each once."""
    if isinstance(texts, str):
        texts = texts.split(",")
    endpoints = list(dict.fromkeys(parse(text.strip(), bare) for text in texts))
    if not endpoints:
        raise ValueError("no endpoint was given; one looks like " + USUAL_ENDPOINT)
    return endpoints


def _address(scheme: str, authority: str) -> Optional[Endpoint]:
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?", authority)
    if match is None:
        return None
    host, port = match.group(1), int(match.group(2) or USUAL_PORT)
    if host.startswith("["):
        host = host[1:-1]
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            return None
    return Endpoint(scheme, host, port) if 0 < port < 65536 else None


def is_admitted(endpoint: Endpoint, given: Sequence[Endpoint], has_token: bool) -> bool:
    """Whether a client that was given these endpoints may follow an address that a node told. What was
    protected stays so, and a token goes unprotected only if it already does."""
    schemes = {it.scheme for it in given}
    if endpoint.scheme == "https":
        is_safe = "https" in schemes
    elif endpoint.scheme == "http":
        is_safe = "https" not in schemes and (not has_token or "http" in schemes)
    else:
        return False  # A file of another machine.
    # The loopback interface of another machine is not this one's.
    return is_safe and (not endpoint.is_near or any(it.is_near for it in given))
