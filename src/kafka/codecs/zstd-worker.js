import { parentPort } from 'node:worker_threads'
import { decompressZstdInJs } from './zstd-js.js'

/** Thread of zstd-threads.js: reports that it is ready, then works on one job at a time. */
parentPort?.on('message', (/** @type {{ source: Uint8Array, limit: number }} */ { source, limit }) => {
  try {
    const result = decompressZstdInJs(source, limit)
    parentPort?.postMessage({ result }, [/** @type {ArrayBuffer} */ (result.buffer)])
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    parentPort?.postMessage({ error: { code, message } })
  }
})
parentPort?.postMessage({ ready: true })
