// simulator calls the worker.
const waiting = new Map();
let worker, compiled, last = 0;

// took has the milliseconds of the last call of each method, in the worker.
export const took = {};

let begin, fail, loading = () => {}, ended = () => {};
export const ready = new Promise((resolve, reject) => { begin = resolve; fail = reject; });

// onLoading calls a function with how much of the simulator is loaded, in words.
export function onLoading(report) { loading = report; }

// onEnd calls a function with the reason when a simulator has ended. Another one has begun, without the runs of the first.
export function onEnd(report) { ended = report; }

function start() {
  worker = new Worker("worker.js");
  worker.onerror = (e) => fail(new Error(e.message || "worker.js does not load"));
  worker.onmessage = ({ data: { module, id, loaded, answer, problem, end, took: ms } }) => {
    if (module) return (compiled = module);
    if (loaded) return loading(loaded);
    if (id === 0) return problem ? fail(new Error(problem)) : begin();
    if (end) return restart(end);
    const { resolve, reject, method } = waiting.get(id);
    waiting.delete(id);
    took[method] = ms;
    if (problem) reject(new Error(problem));
    else resolve(answer);
  };
  worker.postMessage({ module: compiled });
}
start();

// restart ends the simulator, whatever it does, and begins another one.
export function restart(reason) {
  worker.terminate();
  const calls = [...waiting.values()];
  waiting.clear();
  start();
  ended(reason);
  for (const { reject } of calls) reject(new Error(reason));
}

export function ask(method, args) {
  return new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject, method });
    worker.postMessage({ id: last, method, args });
  });
}
