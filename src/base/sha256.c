// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4) and HMAC (RFC 2104).
#include "base/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t value, uint32_t by) {
  return value >> by | value << (32 - by);
}

static void take_block(Sha256* hash, const uint8_t* block) {
  uint32_t w[64];
  for (uint32_t i = 0; i < 16; i++) {
    const uint8_t* at = block + 4 * (size_t)i;
    w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (uint32_t i = 16; i < 64; i++) {
    uint32_t low = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t high = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  uint32_t s[8];
  memcpy(s, hash->state, sizeof s);
  for (uint32_t i = 0; i < 64; i++) {
    uint32_t mix = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25);
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t first = s[7] + mix + choice + constants[i] + w[i];
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (uint32_t i = 0; i < 8; i++) {
    hash->state[i] += s[i];
  }
}

void sha256_init(Sha256* hash) {
  *hash = (Sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                             0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(Sha256* hash, const void* data, size_t length) {
  const uint8_t* from = data;
  size_t held = hash->length % sizeof hash->pending;
  hash->length += length;
  while (length > 0) {
    if (held == 0 && length >= sizeof hash->pending) {
      take_block(hash, from);
      from += sizeof hash->pending;
      length -= sizeof hash->pending;
      continue;
    }
    size_t part = sizeof hash->pending - held;
    if (part > length) part = length;
    memcpy(hash->pending + held, from, part);
    from += part;
    length -= part;
    held += part;
    if (held < sizeof hash->pending) return;
    take_block(hash, hash->pending);
    held = 0;
  }
}

Digest sha256_digest(Sha256* hash) {
  static const uint8_t padding[64] = {0x80};
  uint64_t bits = hash->length * 8;
  size_t held = hash->length % sizeof hash->pending;
  sha256_add(hash, padding, held < 56 ? 56 - held : 120 - held);
  uint8_t length[8];
  for (uint32_t i = 0; i < 8; i++) {
    length[i] = (uint8_t)(bits >> (56 - 8 * i));
  }
  sha256_add(hash, length, sizeof length);
  Digest key;
  for (uint32_t i = 0; i < DIGEST_BYTES; i++) {
    key.bytes[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return key;
}

Digest sha256_hmac(const void* key, size_t key_size, const void* data, size_t length) {
  uint8_t block[64] = {0};
  Sha256 inner;
  Sha256 outer;
  if (key_size > sizeof block) key_size = sizeof block;
  if (key_size) memcpy(block, key, key_size);
  for (size_t i = 0; i < sizeof block; i++)
    block[i] ^= 0x36;
  sha256_init(&inner);
  sha256_add(&inner, block, sizeof block);
  sha256_add(&inner, data, length);
  Digest first = sha256_digest(&inner);
  for (size_t i = 0; i < sizeof block; i++)
    block[i] ^= 0x36 ^ 0x5c;
  sha256_init(&outer);
  sha256_add(&outer, block, sizeof block);
  sha256_add(&outer, &first, sizeof first);
  return sha256_digest(&outer);
}
