// The worker runs the simulator. It answers {id, method, args} with {id, answer} or {id, problem}.
import { Decompress } from "fzstd";

self.importScripts("wasm_exec.js");

const ready = new Promise((resolve) => { self.volsimReady = resolve; });

// decompressed returns the stream of a response whose body is compressed with Zstandard, which browsers do not decompress by themselves.
function decompressed(body) {
  let out;
  const decoder = new Decompress((chunk) => out.enqueue(chunk));
  return body.pipeThrough(new TransformStream({
    start(controller) { out = controller; },
    transform(chunk) { decoder.push(chunk); },
    flush() { decoder.push(new Uint8Array(0), true); },
  }));
}

async function start() {
  const response = await fetch("volsim.wasm.zst");
  if (!response.ok) throw new Error(`load volsim.wasm.zst: ${response.status} ${response.statusText}`);
  const go = new self.Go();
  const wasm = new Response(decompressed(response.body), { headers: { "Content-Type": "application/wasm" } });
  const { instance } = await WebAssembly.instantiateStreaming(wasm, go.importObject);
  go.run(instance);
  await ready;
  postMessage({ id: 0, answer: "ready" });
}

const started = start().catch((err) => postMessage({ id: 0, problem: String(err) }));

onmessage = async ({ data: { id, method, args } }) => {
  await started;
  const before = performance.now();
  const [answer, problem] = self.volsim(method, JSON.stringify(args ?? {}));
  const took = performance.now() - before;
  postMessage(problem ? { id, problem, took } : { id, answer: JSON.parse(answer), took });
};
