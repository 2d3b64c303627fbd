// SPDX-License-Identifier: MIT
//
// The hash where somebody may want two contents to look alike: keys of compiled units, which get
// executed, and seals of checkpoints, which become the memory of a run.
#ifndef SALTUS_BASE_SHA256_H
#define SALTUS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32

typedef struct Digest {
  uint8_t bytes[DIGEST_BYTES];
} Digest;

typedef struct Sha256 {
  uint32_t state[8];
  uint64_t length;  // bytes so far
  uint8_t pending[64];
} Sha256;

void sha256_init(Sha256* hash);
void sha256_add(Sha256* hash, const void* data, size_t length);
Digest sha256_digest(Sha256* hash);
/// The digest that only who has the key can make; keys have at most 64 bytes.
Digest sha256_hmac(const void* key, size_t key_size, const void* data, size_t length);

#endif
