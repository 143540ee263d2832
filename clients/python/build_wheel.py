"""What `pip install` runs: packs the client into a wheel. Needs nothing but Python, so it works offline, too."""

import base64
import hashlib
import pathlib
import re
import zipfile
from typing import Any, Dict, Optional

HERE = pathlib.Path(__file__).parent


def build_wheel(
    wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None
) -> str:
    """Writes the wheel, and returns its name (PEP 517)."""
    match = re.search(r'^__version__ = "(.*)"$', (HERE / "skeptron.py").read_text("utf-8"), re.M)
    assert match is not None
    version = match.group(1)
    info = f"skeptron-{version}.dist-info"
    readme = (HERE / "README.md").read_text("utf-8")
    files = {path.relative_to(HERE).as_posix(): path.read_bytes()
             for path in [HERE / "skeptron.py", *sorted((HERE / "_skeptron").glob("*.py"))]}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: skeptron\nVersion: {version}\nRequires-Python: >=3.9\n"
        "Summary: Locks and elections among machines: a client of Skeptron with the standard library only\n"
        f"License: MIT OR Apache-2.0\nDescription-Content-Type: text/markdown\n\n{readme}"
    ).encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: skeptron\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    name = f"skeptron-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return name


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
