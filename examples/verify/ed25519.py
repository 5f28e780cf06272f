"""Verification of Ed25519 signatures, RFC 8032, section 5.1 (https://www.rfc-editor.org/rfc/rfc8032#section-5.1).

Verification only. It handles no secrets, so it does not need to run in constant time.
"""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493  # L in the RFC
D = -121665 * pow(121666, -1, P) % P
TWICE_D = 2 * D % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

# Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z (section 5.1.4).
IDENTITY = (0, 1, 1, 0)


def decode(encoded):
    """Decodes 32 bytes to a point (section 5.1.3). Returns None if they are not the canonical encoding of a point on the curve."""
    if len(encoded) != 32:
        return None
    y = int.from_bytes(encoded, 'little')
    odd = y >> 255
    y &= 2**255 - 1
    if y >= P:
        return None
    # x^2 = u / v; the root is found with one exponentiation, for P = 5 (mod 8).
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P != u:
        x = x * ROOT_OF_MINUS_ONE % P
        if v * x * x % P != u:
            return None
    if x == 0 and odd:
        return None
    if x & 1 != odd:
        x = P - x
    return x, y, 1, x * y % P


def encode(point):
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return (y * inverse % P | (x * inverse % P & 1) << 255).to_bytes(32, 'little')


def add(one, other):
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = t1 * t2 % P * TWICE_D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def double(point):
    x, y, z, _ = point
    a, b, c = x * x % P, y * y % P, 2 * z * z % P
    h = a + b
    e, g = h - (x + y) * (x + y) % P, a - b
    f = c + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def negate(point):
    x, y, z, t = point
    return P - x, y, z, P - t


def sum_of_multiples(m, one, n, other):
    """m * one + n * other, both in one pass over the bits."""
    both = add(one, other)
    total = IDENTITY
    for bit in range(max(m.bit_length(), n.bit_length()) - 1, -1, -1):
        total = double(total)
        if m >> bit & 1:
            total = add(total, both if n >> bit & 1 else one)
        elif n >> bit & 1:
            total = add(total, other)
    return total


# y = 4/5 and an even x (section 5.1).
BASE = decode((4 * pow(5, -1, P) % P).to_bytes(32, 'little'))


def is_public_key(encoded):
    """Whether these bytes are an acceptable key: a point on the curve that is not one of the eight points of small order.

    Under a key of small order, one signature fits many messages. No honest signer has such a key, but RFC 8032 does not forbid it.
    """
    point = decode(encoded)
    return point is not None and encode(double(double(double(point)))) != encode(IDENTITY)


def verify(public_key, message, signature):
    """Whether the 64 bytes are a valid signature of the key over the message (section 5.1.7, without the cofactor)."""
    if len(signature) != 64 or not is_public_key(public_key):
        return False
    s = int.from_bytes(signature[32:], 'little')
    if s >= ORDER:
        return False  # without this check, s + L would be a second valid signature of the message
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), 'little') % ORDER
    # Bytes are compared, not points: this rejects other encodings of R.
    return encode(sum_of_multiples(s, BASE, k, negate(decode(public_key)))) == signature[:32]
