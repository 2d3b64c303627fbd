// SPDX-License-Identifier: MIT
//
// The engine: a child process of `saltus serve`, or WebAssembly in a worker. Requests are answered one after the
// other; see docs/notes/workbench.md for what can be asked.

import { byId } from "./dom";
import { ofTab } from "./memory";

export interface Answer {
  json: any;
  numbers: Float64Array;
}

/** Words for the user. */
export class EngineError extends Error {
  constructor(
    message: string,
    readonly ended: boolean, // the engine has lost what it knew
  ) {
    super(message);
  }
}

export abstract class Engine {
  private last: Promise<unknown> = Promise.resolve();
  private asked = 0; // when the present request was sent; 0: there is none
  private ending: Promise<void> | null = null;
  private lost = false; // it was started anew, or will be, and knows nothing

  /** Tells a new engine what the one before it knew. */
  restore: (ask: (request: object) => Promise<Answer>) => Promise<void> = () => Promise.resolve();

  /** For how many milliseconds the engine has been at one request. */
  get busy(): number {
    return this.asked ? performance.now() - this.asked : 0;
  }

  /** Ask when all earlier requests are answered. */
  ask(request: object): Promise<Answer> {
    const answer = this.last.then(async () => {
      await this.ending; // or it would end the new one
      if (this.lost) {
        this.lost = false;
        await this.restore((r) => this.exchange(r)).catch(() => undefined);
      }
      return this.exchange(request);
    });
    this.last = answer.catch(() => undefined).then(() => (this.asked = 0));
    return answer;
  }

  private async exchange(request: object): Promise<Answer> {
    this.asked = performance.now();
    try {
      return read(await this.send(new TextEncoder().encode(JSON.stringify(request))));
    } catch (error) {
      this.lost ||= error instanceof EngineError && error.ended;
      throw error;
    }
  }

  /** End it at once, whatever it does; the next request starts it anew. */
  end(): Promise<void> {
    this.lost = true;
    this.ending ??= this.stop().finally(() => (this.ending = null));
    return this.ending;
  }

  protected abstract stop(): Promise<void>;
  protected abstract send(body: Uint8Array): Promise<ArrayBuffer>;
}

const FORGOTTEN = "there is no model"; // it was asked about: the server has given this page's engine to another one

function read(buffer: ArrayBuffer): Answer {
  const length = new DataView(buffer).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const begin = Math.ceil((4 + length) / 8) * 8;
  if (json.error === FORGOTTEN) throw new EngineError("the engine has ended; it is started anew", true);
  if (json.error) throw new EngineError(json.error, false);
  return { json, numbers: new Float64Array(buffer, begin) };
}

/** `saltus serve`: the server of this page. */
export class ServedEngine extends Engine {
  private readonly page = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => (b % 36).toString(36)).join("");

  constructor(
    private readonly token: string,
    readonly folder: string, // a number that stands for it
  ) {
    super();
    addEventListener("pagehide", () => void this.end());
  }

  request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), "X-Saltus-Token": this.token };
    return fetch(path, { ...init, headers }).catch(() => {
      throw new EngineError("`saltus serve` does not answer; is it still running?", true);
    });
  }

  protected async stop(): Promise<void> {
    await this.request(`/engine?page=${this.page}`, { method: "DELETE", keepalive: true }).catch(() => undefined);
  }

  protected async send(body: Uint8Array): Promise<ArrayBuffer> {
    const response = await this.request(`/engine?page=${this.page}`, { method: "POST", body: body as BodyInit });
    if (response.ok) return response.arrayBuffer();
    throw new EngineError((await response.text()).trim(), response.status >= 500);
  }
}

/** WebAssembly in a worker: nothing leaves the page. */
export class WorkerEngine extends Engine {
  private worker: Worker | null = null;
  private waiting: { resolve(b: ArrayBuffer): void; reject(e: Error): void } | null = null;

  constructor(
    private readonly script: string,
    private readonly code: Promise<ArrayBuffer>,
  ) {
    super();
  }

  protected async stop(): Promise<void> {
    this.worker?.terminate();
    this.worker = null;
    this.waiting?.reject(new EngineError("the engine was stopped", true));
    this.waiting = null;
  }

  private async start(): Promise<Worker> {
    const url = URL.createObjectURL(new Blob([this.script], { type: "text/javascript" }));
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    const code = await this.code;
    worker.onmessage = (event: MessageEvent): void => {
      const waiting = this.waiting;
      this.waiting = null;
      if (event.data instanceof ArrayBuffer) {
        waiting?.resolve(event.data);
      } else {
        worker.terminate();
        this.worker = null;
        waiting?.reject(new EngineError(`the engine has failed (${String(event.data)}); it is started anew`, true));
      }
    };
    worker.onerror = (event): void => {
      this.worker = null;
      this.waiting?.reject(new EngineError(`the engine has failed (${event.message}); it is started anew`, true));
      this.waiting = null;
    };
    worker.postMessage({ code });
    return worker;
  }

  protected async send(body: Uint8Array): Promise<ArrayBuffer> {
    if (!this.worker) this.worker = await this.start();
    const worker = this.worker;
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      worker.postMessage({ request: body });
    });
  }
}

/** The engine inside of the page, or the one behind it; `watches`: a program in C is looked at. */
export function openEngine(): { engine: Engine; server: ServedEngine | null; watches: boolean } {
  const code = byId("engine-code").textContent ?? "";
  if (code) {
    const packed = atob(code);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
    const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    return { engine: new WorkerEngine(byId("engine-script").textContent ?? "", unpacked), server: null, watches: false };
  }
  const given = /^#token=([0-9a-f]+)(&watch)?(?:&folder=([0-9a-f]+))?/.exec(location.hash);
  if (given) {
    ofTab.set("saltus.token", given[1]);
    ofTab.set("saltus.watch", given[2] ? "yes" : "");
    ofTab.set("saltus.folder", given[3] ?? "");
    history.replaceState(null, "", location.pathname);
  }
  const server = new ServedEngine(ofTab.get("saltus.token") ?? "", ofTab.get("saltus.folder") ?? "");
  return { engine: server, server, watches: ofTab.get("saltus.watch") === "yes" };
}
