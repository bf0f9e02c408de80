// simulator calls the worker.
const worker = new Worker("worker.js");
const waiting = new Map();
let last = 0;

// took has the milliseconds of the last call of each method, in the worker.
export const took = {};

let begin, fail, loading = () => {};
export const ready = new Promise((resolve, reject) => { begin = resolve; fail = reject; });

// onLoading calls a function with how much of the simulator is loaded, in words.
export function onLoading(report) { loading = report; }

worker.onerror = (e) => fail(new Error(e.message || "worker.js does not load"));
worker.onmessage = ({ data: { id, loaded, answer, problem, took: ms } }) => {
  if (loaded) return loading(loaded);
  if (id === 0) return problem ? fail(new Error(problem)) : begin();
  const { resolve, reject, method } = waiting.get(id);
  waiting.delete(id);
  took[method] = ms;
  if (problem) reject(new Error(problem));
  else resolve(answer);
};

export function ask(method, args) {
  return new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject, method });
    worker.postMessage({ id: last, method, args });
  });
}
