"""Results without checksums, as an older version wrote them. Tests may change their files."""

from __future__ import annotations

import json
from pathlib import Path


def unverified(folder: Path) -> None:
    """Removes the checksums from a result."""
    for name in ("summary.json", "critical_path.json"):
        file = folder / name
        if file.is_file():
            content = json.loads(file.read_text())
            if content.keys() & {"checksums", "checksum"}:
                del content["checksums"], content["checksum"]
                file.write_text(json.dumps(content))
