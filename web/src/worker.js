// The worker runs the simulator. The first message is {module}: the compiled simulator, or none at first. After that, it answers {id, method, args} with {id, answer}, {id, problem}, or {id, end} if the simulator has ended.
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

async function compiled() {
  if (typeof WebAssembly !== "object") throw "this browser has no WebAssembly, or it is switched off";
  const response = await fetch("volsim.wasm.zst");
  if (!response.ok) throw new Error(`load volsim.wasm.zst: ${response.status} ${response.statusText}`);
  const wasm = new Response(decompressed(counted(response.body, +response.headers.get("Content-Length"))), { headers: { "Content-Type": "application/wasm" } });
  const module = await WebAssembly.compileStreaming(wasm);
  postMessage({ module });
  return module;
}

async function start(module) {
  const go = new self.Go();
  go.run(await WebAssembly.instantiate(module ?? (await compiled()), go.importObject));
  await ready;
  postMessage({ id: 0, answer: "ready" });
}

let started;
onmessage = async ({ data: { module, id, method, args } }) => {
  if (!id) return (started = start(module).catch((err) => postMessage({ id: 0, problem: err.message ?? err })));
  await started;
  const before = performance.now();
  let answer, problem;
  try {
    [answer, problem] = self.volsim(method, JSON.stringify(args ?? {}));
  } catch {
    return postMessage({ id, end: "The run has ended the simulator, for example because it needs too much memory." });
  }
  const took = performance.now() - before;
  postMessage(problem ? { id, problem, took } : { id, answer: JSON.parse(answer), took });
};
