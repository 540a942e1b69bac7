"""Signatures of minisign: Ed25519, over a file or its BLAKE2b hash. A good one names the author and approves nothing.

Format: https://jedisct1.github.io/minisign/
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from engine.catalogue.entries import TrustedKey
from engine.core.validation.bounds import NAME_PATTERN
from engine.errors import CatalogueError

SUFFIX = ".minisig"
UNKNOWN = "unknown"
_PLAIN, _PREHASHED = b"Ed", b"ED"
_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "


def signer_of(content: bytes, signature: bytes, keys: Iterable[TrustedKey], *, path: Path) -> str:
    """Return who signed a file, as `Pack.key`.

    Args:
        content: The signed file.
        signature: The content of its signature file.
        keys: The trusted keys.
        path: The signature file, for messages.

    Raises:
        CatalogueError: If the signature is malformed, or its key is trusted and it does not fit the file.
    """
    try:
        untrusted, signed, trusted, global_signed = signature.decode().replace("\r\n", "\n").rstrip("\n").split("\n")
        signature_block, global_signature = _decode(signed, 74), _decode(global_signed, 64)
    except ValueError as error:
        raise CatalogueError(f"{path} is not a signature of minisign; nothing was added") from error
    algorithm, key_id, file_signature = signature_block[:2], signature_block[2:10], signature_block[10:]
    if not untrusted.startswith(_UNTRUSTED) or not trusted.startswith(_TRUSTED):
        raise CatalogueError(f"{path} is not a signature of minisign; nothing was added")
    if algorithm not in (_PLAIN, _PREHASHED):
        raise CatalogueError(f"{path} is signed in another way than minisign does; nothing was added")
    shown_id = key_id[::-1].hex().upper()
    for key in keys:
        public_key = _decode(key.key, 42)
        if public_key[2:10] != key_id:
            continue
        signed_content = hashlib.blake2b(content).digest() if algorithm == _PREHASHED else content
        try:
            verifier = Ed25519PublicKey.from_public_bytes(public_key[10:])
            verifier.verify(file_signature, signed_content)
            verifier.verify(global_signature, file_signature + trusted.removeprefix(_TRUSTED).encode())
        except (InvalidSignature, ValueError) as error:
            hint = f"the file was changed, or not signed by {key.name}; nothing was added"
            raise CatalogueError(f"{path} is wrong: {hint}") from error
        return f"{key.name} {shown_id}"
    return f"{UNKNOWN} {shown_id}"


def check_key(name: str, key: str) -> None:
    """Check the name of a key and the key itself.

    Raises:
        CatalogueError: If the name cannot be used, or this is not a public key of minisign.
    """
    if not re.fullmatch(NAME_PATTERN, name) or name == UNKNOWN:
        raise CatalogueError(f"a key cannot be named {name!r:.60}; use letters, digits, '_' and '-'")
    try:
        if _decode(key, 42)[:2] != _PLAIN:
            raise ValueError
    except ValueError as error:
        raise CatalogueError("this is not a public key of minisign; give the second line of its file .pub") from error


def _decode(text: str, size: int) -> bytes:
    """Return the bytes of a text in base64; raises ValueError unless there are `size` of them."""
    try:
        content = base64.b64decode(text.strip().encode("ascii"), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if len(content) != size:
        raise ValueError(f"{len(content)} bytes")
    return content
