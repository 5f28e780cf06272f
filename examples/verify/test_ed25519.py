"""Tests of Ed25519 verification: the vectors of RFC 8032, section 7.1, and altered signatures and keys."""

import sys

sys.dont_write_bytecode = True

import hashlib
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

import ed25519
import proof_vectors

LONG_MESSAGE = (
    '08b8b2b733424243760fe426a4b54908632110a66c2f6591eabd3345e3e4eb98fa6e264bf09efe12ee50f8f54e9f77b1e355f6c50544e23fb1433ddf'
    '73be84d879de7c0046dc4996d9e773f4bc9efe5738829adb26c81b37c93a1b270b20329d658675fc6ea534e0810a4432826bf58c941efb65d57a338b'
    'bd2e26640f89ffbc1a858efcb8550ee3a5e1998bd177e93a7363c344fe6b199ee5d02e82d522c4feba15452f80288a821a579116ec6dad2b3b310da9'
    '03401aa62100ab5d1a36553e06203b33890cc9b832f79ef80560ccb9a39ce767967ed628c6ad573cb116dbefefd75499da96bd68a8a97b928a8bbc10'
    '3b6621fcde2beca1231d206be6cd9ec7aff6f6c94fcd7204ed3455c68c83f4a41da4af2b74ef5c53f1d8ac70bdcb7ed185ce81bd84359d44254d9562'
    '9e9855a94a7c1958d1f8ada5d0532ed8a5aa3fb2d17ba70eb6248e594e1a2297acbbb39d502f1a8c6eb6f1ce22b3de1a1f40cc24554119a831a9aad6'
    '079cad88425de6bde1a9187ebb6092cf67bf2b13fd65f27088d78b7e883c8759d2c4f5c65adb7553878ad575f9fad878e80a0c9ba63bcbcc2732e694'
    '85bbc9c90bfbd62481d9089beccf80cfe2df16a2cf65bd92dd597b0707e0917af48bbb75fed413d238f5555a7a569d80c3414a8d0859dc65a46128ba'
    'b27af87a71314f318c782b23ebfe808b82b0ce26401d2e22f04d83d1255dc51addd3b75a2b1ae0784504df543af8969be3ea7082ff7fc9888c144da2'
    'af58429ec96031dbcad3dad9af0dcbaaaf268cb8fcffead94f3c7ca495e056a9b47acdb751fb73e666c6c655ade8297297d07ad1ba5e43f1bca32301'
    '651339e22904cc8c42f58c30c04aafdb038dda0847dd988dcda6f3bfd15c4b4c4525004aa06eeff8ca61783aacec57fb3d1f92b0fe2fd1a85f672451'
    '7b65e614ad6808d6f6ee34dff7310fdc82aebfd904b01e1dc54b2927094b2db68d6f903b68401adebf5a7e08d78ff4ef5d63653a65040cf9bfd4aca7'
    '984a74d37145986780fc0b16ac451649de6188a7dbdf191f64b5fc5e2ab47b57f7f7276cd419c17a3ca8e1b939ae49e488acba6b965610b5480109c8'
    'b17b80e1b7b750dfc7598d5d5011fd2dcc5600a32ef5b52a1ecc820e308aa342721aac0943bf6686b64b2579376504ccc493d97e6aed3fb0f9cd71a4'
    '3dd497f01f17c0e2cb3797aa2a2f256656168e6c496afc5fb93246f6b1116398a346f1a641f3b041e989f7914f90cc2c7fff357876e506b50d334ba7'
    '7c225bc307ba537152f3f1610e4eafe595f6d9d90d11faa933a15ef1369546868a7f3a45a96768d40fd9d03412c091c6315cf4fde7cb68606937380d'
    'b2eaaa707b4c4185c32eddcdd306705e4dc1ffc872eeee475a64dfac86aba41c0618983f8741c5ef68d3a101e8a3b8cac60c905c15fc910840b94c00'
    'a0b9d0'
)

# Name, seed, public key, message, signature; https://www.rfc-editor.org/rfc/rfc8032#section-7.1
RFC_8032 = [
    (
        'TEST 1',
        '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
        'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
        '',
        'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    ),
    (
        'TEST 2',
        '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
        '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
        '72',
        '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    ),
    (
        'TEST 3',
        'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
        'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
        'af82',
        '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
    ),
    (
        'TEST 1024',
        'f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5',
        '278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e',
        LONG_MESSAGE,
        '0aab4c900501b3e24d7cdf4663326a3a87df5e4843b2cbdb67cbf6e460fec350aa5371b1508f9f4528ecea23c436d94b5e8fcd4f681e30a6ac00a9704a188a03',
    ),
    (
        'TEST SHA(abc)',
        '833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42',
        'ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf',
        hashlib.sha512(b'abc').hexdigest(),
        'dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704',
    ),
]

# The eight points of small order, and encodings that are not canonical.
SMALL_ORDER = [
    '0100000000000000000000000000000000000000000000000000000000000000',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0000000000000000000000000000000000000000000000000000000000000080',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
]
NOT_CANONICAL = [
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',  # y = p + 1
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',  # y = p
    'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',  # y = 2^255 - 1
    '0100000000000000000000000000000000000000000000000000000000000080',  # y = 1, x = 0 with a sign
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',  # y = -1, x = 0 with a sign
]
OFF_THE_CURVE = '0200000000000000000000000000000000000000000000000000000000000000'


class PublishedSignatures(unittest.TestCase):
    def test_every_signature_of_rfc_8032_is_valid_and_proof_vectors_computes_it(self):
        for name, seed, public_key, message, signature in RFC_8032:
            with self.subTest(name):
                key, text, signed = (bytes.fromhex(part) for part in (public_key, message, signature))
                self.assertTrue(ed25519.verify(key, text, signed))
                self.assertEqual(proof_vectors.public_key(bytes.fromhex(seed)), key)
                self.assertEqual(proof_vectors.sign(bytes.fromhex(seed), text), signed)

    @unittest.skipUnless(shutil.which('openssl'), 'needs openssl')
    def test_openssl_agrees_on_valid_and_invalid_signatures(self):
        chance = random.Random(8032)
        with tempfile.TemporaryDirectory() as folder:
            key_file, message_file, signature_file = (pathlib.Path(folder) / name for name in ('key', 'message', 'signature'))
            for round_number in range(6):
                seed, message = chance.getrandbits(256).to_bytes(32, 'big'), chance.getrandbits(800).to_bytes(100, 'big')
                key, signature = proof_vectors.public_key(seed), bytearray(proof_vectors.sign(seed, message))
                if round_number % 2:
                    signature[chance.randrange(64)] ^= 1 << chance.randrange(8)
                # SubjectPublicKeyInfo of an Ed25519 key, RFC 8410.
                key_file.write_bytes(bytes.fromhex('302a300506032b6570032100') + key)
                message_file.write_bytes(message)
                signature_file.write_bytes(signature)
                command = ['openssl', 'pkeyutl', '-verify', '-rawin', '-pubin', '-keyform', 'DER', '-inkey', key_file]
                command += ['-in', message_file, '-sigfile', signature_file]
                process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(process.returncode == 0, ed25519.verify(key, message, bytes(signature)), process)
                self.assertEqual(process.returncode == 0, round_number % 2 == 0)


class AlteredSignatures(unittest.TestCase):
    def setUp(self):
        _, _, public_key, message, signature = RFC_8032[2]
        self.key, self.message, self.signature = (bytes.fromhex(part) for part in (public_key, message, signature))

    def test_a_changed_bit_is_detected(self):
        for bit in range(0, 512, 7):
            altered = bytearray(self.signature)
            altered[bit // 8] ^= 1 << bit % 8
            self.assertFalse(ed25519.verify(self.key, self.message, bytes(altered)), bit)

    def test_another_message_or_key_is_rejected(self):
        self.assertFalse(ed25519.verify(self.key, self.message + b'\x00', self.signature))
        self.assertFalse(ed25519.verify(bytes.fromhex(RFC_8032[1][2]), self.message, self.signature))

    def test_s_beyond_the_order_is_rejected(self):
        s = int.from_bytes(self.signature[32:], 'little')
        for other in (s + ed25519.ORDER, s + 7 * ed25519.ORDER, 2**256 - 1):
            self.assertFalse(ed25519.verify(self.key, self.message, self.signature[:32] + other.to_bytes(32, 'little')))

    def test_invalid_keys_are_rejected(self):
        for encoded in [*SMALL_ORDER, *NOT_CANONICAL, OFF_THE_CURVE, '', '00' * 31, '00' * 33]:
            with self.subTest(encoded):
                self.assertFalse(ed25519.is_public_key(bytes.fromhex(encoded)))
                self.assertFalse(ed25519.verify(bytes.fromhex(encoded), self.message, self.signature))
        for encoded in [*NOT_CANONICAL, OFF_THE_CURVE]:
            self.assertIsNone(ed25519.decode(bytes.fromhex(encoded)))
        for encoded in SMALL_ORDER:
            self.assertIsNotNone(ed25519.decode(bytes.fromhex(encoded)))

    def test_a_signature_that_would_be_valid_for_every_message_is_rejected(self):
        # A and R are the identity, s is 0: the equation holds for every message.
        identity = bytes.fromhex(SMALL_ORDER[0])
        self.assertFalse(ed25519.verify(identity, b'anything', identity + bytes(32)))

    def test_a_signature_of_another_length_is_rejected(self):
        for signature in (b'', self.signature[:-1], self.signature + b'\x00', self.signature * 2):
            self.assertFalse(ed25519.verify(self.key, self.message, signature))


if __name__ == '__main__':
    unittest.main()
