/**
 * For `node --import`: the process answers on a unix socket, `<SOAK_PROBE>/<pid>`, with its memory after a full garbage
 * collection, and writes heap snapshots. Each connection is one question, a line of JSON.
 */
import net from 'node:net'
import path from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'

/**
 * @typedef {object} Memory bytes
 * @property {number} heapUsed
 * @property {number} code compiled code and bytecode in heapUsed, which grow whenever a path runs for the first time
 * @property {number} heapTotal
 * @property {number} external outside of V8's heap, buffers included
 * @property {number} resident
 * @property {number} lag longest delay of the event loop since the last question, ms; without the collection
 *
 * @typedef {{ snapshot?: string }} Question snapshot: file to write
 */

const RESOLUTION = 20
const directory = process.env.SOAK_PROBE

if (directory !== undefined) {
  v8.setFlagsFromString('--expose-gc')
  const collect = /** @type {() => void} */ (vm.runInNewContext('gc'))
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  delays.enable()

  /** @param {Question} question @returns {Promise<Memory>} */
  const answer = async ({ snapshot }) => {
    const lag = Math.max(0, delays.max / 1e6 - RESOLUTION)
    // finalizers and weak references run between two collections
    for (let times = 0; times < 3; times++) {
      collect()
      await turn()
    }
    const { heapUsed, heapTotal, external, rss } = process.memoryUsage()
    const { code_and_metadata_size: compiled, bytecode_and_metadata_size: bytecode } = v8.getHeapCodeStatistics()
    if (snapshot !== undefined) v8.writeHeapSnapshot(snapshot)
    delays.reset()
    return { heapUsed, code: compiled + bytecode, heapTotal, external, resident: rss, lag }
  }

  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    let text = ''
    socket.setEncoding('utf8')
    socket.on('error', () => {})
    socket.on('data', (chunk) => { text += chunk })
    socket.on('end', () => {
      answer(JSON.parse(text)).then((memory) => socket.end(JSON.stringify(memory)), () => socket.destroy())
    })
  })
  server.on('error', () => {})
  // exclusive: a worker of node:cluster would listen in its parent
  server.listen({ path: path.join(directory, String(process.pid)), exclusive: true })
  server.unref()
}
