import { setImmediate as turn } from 'node:timers/promises'
import { systemRandom } from '../../src/base/common/random.js'
import { Feeds } from '../../src/documents/feeds.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { recordingLog } from './recording-log.js'
import { systemClock } from '../../src/base/common/clock.js'
import { ScriptedBus } from './scripted-bus.js'

/** Feeds over a scripted bus. */
export function feedsOnScriptedBus () {
  /** Sleeps end at once. */
  const time = { slept: 0 }
  /** @type {import('../../src/base/common/clock.js').Clock} */
  const clock = {
    ...systemClock,
    sleep: async (ms, signal) => {
      time.slept += ms
      await turn()
      signal?.throwIfAborted()
    }
  }
  const bus = new ScriptedBus()
  const metrics = createMetrics({ processMetrics: false })
  const { log, lines } = recordingLog()
  const feeds = new Feeds({
    bus: /** @type {any} */ (bus), createDelivery: (record) => record, metrics, log, clock, random: systemRandom
  })
  return {
    bus, feeds, metrics, lines, time,
    /**
     * @param {import('./scripted-bus.js').FakeMember} member
     * @param {import('../../src/wire/position.js').Position} [since]
     * @param {() => boolean} [wanted]
     * @param {number} [last]
     */
    join: (member, since, wanted = () => true, last = undefined) =>
      feeds.join('doc', member, since && { ...since }, wanted, last),
    /** Appends and delivers. @param {number} count */
    publish (count) { for (const record of bus.appendMany(count)) feeds.receive(record) }
  }
}
