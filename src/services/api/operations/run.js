import { InkcastError } from '../../../base/common/errors.js'
import { FairReads } from '../../../documents/fair-reads.js'
import { userOfDevice } from './sessions.js'

/**
 * Runs operations for callers. Every door has one, so that a right is checked in one place: a publication where it is
 * published, so that each item of a batch or a stream is; other operations here.
 */
export class OperationRunner {
  #reads = new FairReads()
  #parts

  /**
   * @param {object} parts
   * @param {import('../callers/callers.js').Callers} parts.callers
   * @param {import('./operation.js').Backend} parts.backend
   * @param {number} parts.maxRecordBytes config.limits
   * @param {number} parts.timeout of an operation, ms
   * @param {import('../../../base/common/clock.js').Clock} parts.clock
   * @param {import('../../../wire/headers.js').TraceIdSource} parts.random
   */
  constructor (parts) {
    this.#parts = parts
  }

  /**
   * @param {import('./operation.js').Operation} operation
   * @param {import('./operation.js').Given} given
   * @param {import('../callers/caller.js').Caller} caller
   * @param {import('../request-limit.js').Permit} permit held until the operation has ended, also after its timeout
   * @returns {Promise<object | Buffer>} rejects with forbidden, rate_limited, unauthorized or token_expired, with
   *   `timeout`, or with what the operation rejects with
   */
  run (operation, given, caller, permit) {
    const running = this.#handle(operation, given, caller, permit)
    permit.hold()
    running.catch(() => {}).finally(() => permit.release())
    return withinTime(running, this.#parts.timeout, this.#parts.clock)
  }

  /** @type {OperationRunner['run']} */
  async #handle (operation, given, caller, permit) {
    const { callers, backend, maxRecordBytes, clock, random } = this.#parts
    const { name } = caller
    const publishes = operation.publishes ?? operation.answer === undefined
    if (!publishes) {
      const { guid, sid, device } = given.params
      const uid = device === undefined ? given.params.uid : userOfDevice(device, given.query)
      const { prefix } = /** @type {{ prefix?: string }} */ (given.query ?? {})
      callers.admit(caller, { operation: operation.operation, guid, uid, sid, prefix })
    }
    return operation.handle({
      ...backend,
      ...given,
      bus: this.#reads.of(backend.bus, name),
      publish: callers.publishFor(caller, backend.publish),
      caller: name,
      now: clock.now(),
      random,
      answering: (bytes) => permit.answer(bytes),
      admit: (publication) => callers.admitPublication(caller, publication, maxRecordBytes),
      refused: (count) => callers.rates.refused(name, count),
      decoding: (bytes, decode) => callers.rates.decoding(name, bytes, decode)
    })
  }
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {import('../../../base/common/wait.js').Timers} clock
 * @returns {Promise<T>} rejects with `timeout` when it takes longer
 */
function withinTime (promise, ms, clock) {
  /** @type {import('../../../base/common/clock.js').Timer | undefined} */
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = clock.timer(ms, () => reject(new InkcastError('timeout'))).unref()
  })
  return /** @type {Promise<T>} */ (Promise.race([promise, late])).finally(() => timer?.stop())
}
