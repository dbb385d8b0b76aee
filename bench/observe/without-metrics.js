/** Loaded before inkcast: nothing is counted or measured. The clock is still read. */
import { Counter, Gauge, Histogram } from 'prom-client'
import { TalliedCounter } from '../../src/observe/metrics/tallied-counter.js'
import { TalliedHistogram } from '../../src/observe/metrics/tallied-histogram.js'

const nothing = () => {}
const NOTHING = { inc: nothing, dec: nothing, set: nothing, observe: nothing }
for (const { prototype } of [Counter, Gauge, Histogram, TalliedCounter, TalliedHistogram])
  for (const name of /** @type {const} */ (['inc', 'dec', 'set', 'observe', 'count']))
    if (name in prototype) Object.assign(prototype, { [name]: nothing })
for (const { prototype } of [Counter, Gauge, Histogram, TalliedHistogram])
  Object.assign(prototype, { labels: () => NOTHING })
