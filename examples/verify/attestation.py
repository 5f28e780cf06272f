"""Attestations: a decision as an in-toto statement in a DSSE envelope (docs/formats.md, "Attestation").

https://github.com/secure-systems-lab/dsse, https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from collections import namedtuple

import decision
import ed25519
import forms
import jcs
import note
from verdict import Invalid, quote, text_of

PAYLOAD_TYPE = 'application/vnd.in-toto+json'
STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
PREDICATE_TYPE = 'urn:countersign:promotion-decision:v1'
SIGNATURES_MAX = 100

VerifiedAttestation = namedtuple('VerifiedAttestation', 'decision signers')


def pre_authentication_encoding(payload_type, payload):
    """The signed bytes: type and payload, each with its length, so that neither can be read as part of the other."""
    kind = payload_type.encode('utf-8')
    return b'DSSEv1 %d %s %d %s' % (len(kind), kind, len(payload), payload)


def statement(response):
    """The in-toto statement of a decision. `response` is the response of the promotion check."""
    return {
        '_type': STATEMENT_TYPE,
        'subject': [{'name': f'decision:{response["decision_id"]}', 'digest': {'sha256': response['response_sha256']}}],
        'predicateType': PREDICATE_TYPE,
        'predicate': response,
    }


def verify(data, keys):
    """Returns the decision in an envelope, and the keys that signed the envelope and were not retired before the time of the decision.

    Raises Invalid if there is no such key, or if the envelope or its payload is invalid.
    """
    try:
        envelope = jcs.read(text_of(data))
        payload, signatures = _open_envelope(envelope)
        signers = _signers(pre_authentication_encoding(PAYLOAD_TYPE, payload), signatures, keys)
        # The payload is read only after its signature was verified.
        response = _decision_in(payload)
    except jcs.JcsError as error:
        raise Invalid([(error.code, str(error))]) from None
    # The envelope has no time, so the time of the decision counts: it must not be after the key was retired. Times are compared as text.
    decided_at = response['timestamp']
    signers_in_time = [key for key in signers if key.retired_at is None or forms.is_instant(decided_at) and decided_at <= key.retired_at]
    if not signers_in_time:
        names = note.line_of_keys(signers)
        message = f'the decision was made at {quote(decided_at)}, when every key that signed it was already retired: {names}'
        raise Invalid([('key_retired', message)])
    return VerifiedAttestation(response, signers_in_time)


def _open_envelope(envelope):
    if not isinstance(envelope, dict):
        raise Invalid([('not_an_object', 'the envelope is not a JSON object')])
    if envelope.get('payloadType') != PAYLOAD_TYPE:
        raise Invalid([('unknown_payload_type', f'payloadType is {quote(envelope.get("payloadType"))}, not {PAYLOAD_TYPE}')])
    payload, signatures = _bytes_of(envelope.get('payload')), envelope.get('signatures')
    if payload is None:
        raise Invalid([('bad_envelope', 'payload is not base64')])
    if not isinstance(signatures, list) or not 0 < len(signatures) <= SIGNATURES_MAX:
        raise Invalid([('bad_envelope', f'signatures is not an array of 1 to {SIGNATURES_MAX} signatures')])
    for signature in signatures:
        if not isinstance(signature, dict) or not isinstance(signature.get('keyid', ''), str) or _bytes_of(signature.get('sig')) is None:
            raise Invalid([('bad_envelope', 'a signature is not an object with a base64 sig and an optional string keyid')])
    return payload, [(signature.get('keyid'), _bytes_of(signature['sig'])) for signature in signatures]


def _bytes_of(text):
    # Accepts only the standard alphabet with padding, so each value has exactly one spelling.
    return note.from_base64(text) if isinstance(text, str) else None


def _signers(message, signatures, keys):
    """The keys that signed. keyid is only a hint: every key is tried, and a signature that matches no key is ignored."""
    signers = []
    for _, signature in signatures:
        signers += [key for key in keys if key not in signers and ed25519.verify(key.public_key, message, signature)]
    if signers:
        return signers
    known = {note.thumbprint(key.public_key) for key in keys}
    if not any(keyid in known for keyid, _ in signatures):
        names = ', '.join(quote(keyid, 50) for keyid, _ in signatures[:3])
        raise Invalid([('unknown_signer', f'none of the given keys signed the envelope; its signatures name the keys {names}')])
    raise Invalid([('signature_mismatch', 'the signature does not match: the payload was changed or replaced, or the signature is forged')])


def _decision_in(payload):
    parsed = jcs.read(text_of(payload))
    if not isinstance(parsed, dict) or parsed.get('_type') != STATEMENT_TYPE or parsed.get('predicateType') != PREDICATE_TYPE:
        raise Invalid([('unknown_statement', f'the payload is not an in-toto statement v1 with the predicate type {PREDICATE_TYPE}')])
    response = parsed.get('predicate')
    decision.checked_digest(response)
    expected = statement(response)
    if parsed != expected:
        has_its_subject = parsed.get('subject') == expected['subject']
        message = 'the statement has an unknown member' if has_its_subject else 'the subject is not the decision in the predicate'
        raise Invalid([('subject_mismatch', message)])
    if jcs.canonicalize(parsed) != payload:
        raise Invalid([('not_canonical', 'the payload is not in canonical form')])
    return response
