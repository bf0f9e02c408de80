// The service worker keeps the files of the page, so that it opens without a network. VERSION changes with every build.
const cacheName = "volsim-VERSION";
const files = ["./", "index.html", "app.css", "app.js", "worker.js", "wasm_exec.js", "volsim.wasm.zst", "lessons.json"];

addEventListener("install", (e) => e.waitUntil(caches.open(cacheName).then((c) => c.addAll(files)).then(() => skipWaiting())));
addEventListener("activate", (e) => e.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith("volsim-") && name !== cacheName) await caches.delete(name);
  await clients.claim();
})()));
addEventListener("fetch", (e) => e.respondWith(caches.match(e.request, { ignoreSearch: true }).then((found) => found ?? fetch(e.request))));
