import { InkcastError } from '../../base/common/errors.js'
import { publishOnce } from './idempotency/publish-once.js'
import { resultOf } from './publish.js'

/**
 * The publish path for several publications of one lane, which go to the sink together: batches and streams. Each one
 * has its idempotency key, as in publish.js.
 *
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('./publish.js').PublishResult} PublishResult
 *
 * @callback PublishLane
 * @param {(Publication | Error)[]} entries of one lane (`laneOf`), checked; an error stands for a publication that was
 *   refused before
 * @param {object} [options]
 * @param {boolean} [options.atomic] publish all or none: if one is refused, the others are with `batch_refused`.
 *   Default: each by itself
 * @returns {Promise<(PublishResult | Error)[]>} one for each
 */

/**
 * @param {object} dependencies
 * @param {import('./publish.js').Sink} dependencies.sink
 * @param {import('./idempotency/redis-requests.js').Requests} dependencies.requests
 * @returns {PublishLane}
 */
export function createPublishLane ({ sink, requests }) {
  return async (entries, { atomic = false } = {}) => {
    /** @type {Gathered[]} */
    const gathered = []
    let undecided = entries.length
    let refused = false

    function decided () {
      if (--undecided > 0 || gathered.length === 0) return
      if (atomic && refused) for (const { reject } of gathered) reject(new InkcastError('batch_refused'))
      else {
        // keys are looked up at the same time
        gathered.sort((a, b) => a.index - b.index)
        sink(gathered.map(({ publication }) => publication)).then(
          (taken) => { for (const [i, { resolve }] of gathered.entries()) resolve(taken[i]) },
          (error) => { for (const { reject } of gathered) reject(error) }
        )
      }
    }

    return Promise.all(entries.map(async (entry, index) => {
      let isDecided = false
      const decide = () => {
        if (isDecided) return
        isDecided = true
        decided()
      }
      const gather = async (/** @type {Publication} */ publication) => resultOf(
        publication,
        await new Promise((resolve, reject) => {
          gathered.push({ index, publication, resolve, reject })
          decide()
        })
      )
      try {
        if (entry instanceof Error) throw entry
        const { idempotencyKey } = entry
        return idempotencyKey === undefined
          ? await gather(entry)
          : await publishOnce(requests, { ...entry, idempotencyKey }, gather)
      } catch (error) {
        if (!isDecided) refused = true
        return /** @type {Error} */ (error)
      } finally {
        decide()
      }
    }))
  }
}

/**
 * @typedef {object} Gathered
 * @property {number} index
 * @property {Publication} publication
 * @property {(taken: import('./publish.js').Taken) => void} resolve
 * @property {(error: unknown) => void} reject
 */
