// SPDX-License-Identifier: MIT
//
// The worker's side: takes the code of the engine, then requests, one after the other.
let engine = null;
let starting = null;

async function answer(request) {
  if (!engine) engine = await starting;
  const place = engine._malloc(request.length + 1);
  engine.HEAPU8.set(request, place);
  engine.HEAPU8[place + request.length] = 0;
  const from = engine._web_take(place, request.length);
  if (!from) throw new Error("out of memory");
  const bytes = engine.HEAPU8.slice(from, from + engine._web_size()).buffer;
  postMessage(bytes, [bytes]);
}

onmessage = ({ data }) => {
  if (data.code) starting = SaltusEngine({ wasmBinary: data.code });
  else answer(data.request).catch((error) => postMessage(String(error?.message ?? error)));
};
