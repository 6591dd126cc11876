"""The vocabulary that distinguishes secret keys and plain values, as data (SAOP guide, 5.4).

Suffixes are compared with the key in lower case without `_`, `.` and `-`.
"""

from __future__ import annotations

SECRET_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "secretkeybase",
    "accountkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "authkey",
    "credential",
)
SECRET_PART = "pass"
HEADER_KEYS = ("authorization", "proxy-authorization", "cookie", "set-cookie")
BASIC_PART = "auth"
DIRECTORY_KEYS = ("pwd", "oldpwd")  # not secret if the value is a path

# Words before `token` of keys that are no secret: of a model's vocabulary, and of counts.
VOCABULARY = ("eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop")
COUNTED = ("first", "last", "next", "per")

# Keys whose values look random and are public.
PUBLIC_ENDINGS = (
    "id",
    "ids",
    "hash",
    "sha",
    "digest",
    "checksum",
    "etag",
    "integrity",
    "fingerprint",
    "commit",
    "revision",
    "nonce",
)
PUBLIC_PARTS = ("h1", "md5", "sha1", "sha224", "sha256", "sha384", "sha512")
PUBLIC_BEGINNINGS = ("/", "sha1-", "sha256-", "sha384-", "sha512-")
IMAGE_BEGINNINGS = ("iVBORw0KGgo", "R0lGOD", "UklGR", "PHN2Zy")  # PNG, GIF, WebP, SVG in base64

# Whole values that are no secret, in any case.
LITERALS = ("null", "none", "nil", "undefined", "true", "false", "str", "string", "bytes")
# The same, and types, if `,`, `)`, `]`, `;`, `=`, `|` or the end follows.
TYPES = (*LITERALS, "int", "bool", "float")
# Texts that tools print instead of a value they hide.
HIDDEN = ("sensitive", "sensitive value", "known after apply")
