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

// counted returns a stream that reports each megabyte that passes.
function counted(body, total) {
  let loaded = 0, reported = 0;
  const megabytes = (n) => (n / 1e6).toFixed(1);
  return body.pipeThrough(new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.length;
      if (Math.floor(loaded / 1e6) > reported) {
        reported = Math.floor(loaded / 1e6);
        postMessage({ loaded: `Loading the simulator: ${megabytes(loaded)}${total >= loaded ? ` of ${megabytes(total)}` : ""} MB` });
      }
      controller.enqueue(chunk);
    },
  }));
}

async function start() {
  if (typeof WebAssembly !== "object") throw "this browser has no WebAssembly, or it is switched off";
  const response = await fetch("volsim.wasm.zst");
  if (!response.ok) throw new Error(`load volsim.wasm.zst: ${response.status} ${response.statusText}`);
  const go = new self.Go();
  const wasm = new Response(decompressed(counted(response.body, +response.headers.get("Content-Length"))), { headers: { "Content-Type": "application/wasm" } });
  const { instance } = await WebAssembly.instantiateStreaming(wasm, go.importObject);
  go.run(instance);
  await ready;
  postMessage({ id: 0, answer: "ready" });
}

const started = start().catch((err) => postMessage({ id: 0, problem: err.message ?? err }));

onmessage = async ({ data: { id, method, args } }) => {
  await started;
  const before = performance.now();
  let answer, problem;
  try {
    [answer, problem] = self.volsim(method, JSON.stringify(args ?? {}));
  } catch {
    problem = "The simulator has ended, for example because the run needs too much memory. Copy your text, and reload the page.";
  }
  const took = performance.now() - before;
  postMessage(problem ? { id, problem, took } : { id, answer: JSON.parse(answer), took });
};
