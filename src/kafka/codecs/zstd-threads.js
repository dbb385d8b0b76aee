import { Worker } from 'node:worker_threads'

/**
 * Timeout of a batch without the start of the thread, ms; 64 MB take less than a second of CPU. A slower thread is
 * terminated. Well below the time after which Kafka drops a member of a group without heartbeats (10 s): fetches and
 * heartbeats wait for the batch, and a member that is dropped would get the same batch again.
 */
const TIMEOUT = 5000
/** Number of threads: while one is busy with a bad batch, the other serves the rest. */
const THREADS = 2

/**
 * @typedef {object} Job
 * @property {Uint8Array} source
 * @property {number} limit
 * @property {(result: Buffer) => void} resolve
 * @property {(error: Error) => void} reject
 */

/**
 * Decompresses in threads, which start on demand and do not keep the process alive. Jobs are queued in order, one per
 * broker and consumer at most, because a response is read batch by batch.
 *
 * @param {object} options
 * @param {number} [options.timeout] ms
 * @param {number} [options.threads]
 * @param {Pick<import('../../base/common/clock.js').Clock, 'timer' | 'soon'>} options.clock
 * @returns {(source: Buffer, limit: number) => Promise<Buffer>} rejects when the source is corrupt or too large, or
 *   takes too long
 */
export function createZstdThreads ({ timeout = TIMEOUT, threads = THREADS, clock }) {
  /** @type {Job[]} */
  const waiting = []
  /** @type {Worker[]} */
  const idle = []
  let busy = 0

  function next () {
    while (waiting.length > 0 && busy < threads) run(idle.pop(), /** @type {Job} */ (waiting.shift()))
  }

  /** @param {Worker | undefined} started @param {Job} job */
  function run (started, { source, limit, resolve, reject }) {
    // errors must be handled while it is idle as well
    const worker = started ?? new Worker(new URL('zstd-worker.js', import.meta.url)).on('error', () => {})
    /** @type {import('../../base/common/clock.js').Timer | undefined} */
    let timer
    /** @type {Pick<import('../../base/common/clock.js').Timer, 'stop'> | undefined} */
    let look
    busy++
    worker.ref()
    /** @param {() => void} tell @param {boolean} [reusable] */
    const end = (tell, reusable = false) => {
      timer?.stop()
      look?.stop()
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      if (reusable) {
        worker.unref()
        idle.push(worker)
      } else {
        worker.terminate()
      }
      busy--
      tell()
      next()
    }
    const tooSlow = () => end(() => reject(new Error(`it takes longer than ${timeout} ms`)))
    const limitTime = () => {
      // first read a result that has arrived, because this process itself may have been slow
      timer = clock.timer(timeout, () => { look = clock.soon(tooSlow) })
    }
    /** @param {{ ready?: true, result: Uint8Array, error?: { code?: string, message: string } }} answer */
    const onMessage = ({ ready, result, error }) => {
      if (ready) return limitTime()
      end(() => {
        if (error === undefined) resolve(Buffer.from(result.buffer, result.byteOffset, result.byteLength))
        else reject(Object.assign(new Error(error.message), { code: error.code }))
      }, true)
    }
    /** @param {Error} error */
    const onError = (error) => end(() => reject(error))
    const onExit = () => end(() => reject(new Error('its thread ended')))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    if (started !== undefined) limitTime()
    const copy = new Uint8Array(source) // transferring a slice would take the whole response along
    worker.postMessage({ source: copy, limit }, [copy.buffer])
  }

  return (source, limit) => new Promise((resolve, reject) => {
    waiting.push({ source, limit, resolve, reject })
    next()
  })
}
