import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import v8 from 'node:v8'
import { currentWorld } from './now.js'
import './patched-random.js'
import './patched-timers.js'
import { real } from './real.js'

/**
 * While a world runs, Node's timers, times and random values are the world's, for libraries too. To be imported before
 * everything else: libraries keep what they have imported. What a machine or process measures (its CPU time, its
 * memory) is a constant: it would differ from run to run.
 */

// as where inkcast runs: some libraries look at it while they load
process.env.NODE_ENV = 'production'

const now = () => {
  const world = currentWorld()
  return world === undefined ? real.now() : Math.floor(world.wall + (world.current?.machine.step ?? 0))
}
const WorldDate = new Proxy(Date, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new real.Date(now()).toString(),
  get: (target, name) => name === 'now' ? now : Reflect.get(target, name)
})
globalThis.Date = WorldDate
Date.prototype.constructor = WorldDate

const formats = /** @type {any} */ (Intl.DateTimeFormat.prototype)
const { formatToParts } = formats
const { get: formatOf } = /** @type {any} */ (Object.getOwnPropertyDescriptor(formats, 'format'))
Object.defineProperty(formats, 'format', {
  configurable: true,
  get () {
    const format = formatOf.call(this)
    return (date = now()) => format(date)
  }
})
formats.formatToParts = function (date = now()) { return formatToParts.call(this, date) }

/** Time since the process began, ms. @returns {number | undefined} undefined: Node's own */
const uptime = () => {
  const world = currentWorld()
  return world && 1000 + world.time - (world.current?.born ?? 0)
}
performance.now = () => uptime() ?? real.performanceNow()
const { timeOrigin } = performance
Object.defineProperty(performance, 'timeOrigin', {
  configurable: true,
  get () { return currentWorld() === undefined ? timeOrigin : now() - performance.now() }
})
const { get: timeStamp } = /** @type {any} */ (Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp'))
Object.defineProperty(Event.prototype, 'timeStamp', {
  configurable: true, enumerable: true, get () { return uptime() ?? timeStamp.call(this) }
})

const { hrtime, cpuUsage, memoryUsage, uptime: processUptime } = process
const { bigint } = hrtime
process.hrtime = /** @type {any} */ ((/** @type {[number, number] | undefined} */ before) => {
  const ms = uptime()
  if (ms === undefined) return hrtime(before)
  const seconds = Math.floor(ms / 1000)
  const nanoseconds = Math.floor((ms - seconds * 1000) * 1e6)
  if (before === undefined) return [seconds, nanoseconds]
  const [s, ns] = [seconds - before[0], nanoseconds - before[1]]
  return ns < 0 ? [s - 1, ns + 1e9] : [s, ns]
})
process.hrtime.bigint = () => {
  const ms = uptime()
  return ms === undefined ? bigint() : BigInt(Math.floor(ms * 1e6))
}
process.uptime = () => {
  const ms = uptime()
  return ms === undefined ? processUptime() : ms / 1000
}
const { uptime: machineUptime } = os
os.uptime = () => {
  const world = currentWorld()
  return world === undefined ? machineUptime() : Math.floor(world.time / 1000) + 3600
}

const MB = 2 ** 20
process.cpuUsage = (before) => currentWorld() === undefined ? cpuUsage(before) : { user: 0, system: 0 }
const { threadCpuUsage } = /** @type {any} */ (process)
// Node from 23.9 on
if (threadCpuUsage !== undefined) Object.assign(process, {
  threadCpuUsage: (/** @type {any} */ before) =>
    currentWorld() === undefined ? threadCpuUsage(before) : { user: 0, system: 0 }
})
const { rss } = memoryUsage
process.memoryUsage = Object.assign(
  () => currentWorld() === undefined
    ? memoryUsage()
    : { rss: 150 * MB, heapTotal: 80 * MB, heapUsed: 60 * MB, external: 4 * MB, arrayBuffers: 2 * MB },
  { rss: () => currentWorld() === undefined ? rss() : 150 * MB }
)
const { getHeapStatistics } = v8
v8.getHeapStatistics = () => {
  const world = currentWorld()
  if (world === undefined) return getHeapStatistics()
  const limit = 2048 * MB
  return {
    ...getHeapStatistics(), heap_size_limit: limit, used_heap_size: (world.current?.heapShare ?? 0.1) * limit
  }
}

AbortSignal.timeout = (ms) => {
  const controller = new AbortController()
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  setTimeout(() => controller.abort(reason), ms).unref()
  return controller.signal
}
syncBuiltinESMExports()
