/**
 * Shared parts of the micro benchmarks.
 */
import { Bench } from 'tinybench'
import { markdownTable } from '../report/table.js'

/** Metadata beside the payload. */
export const META = { guid: 'document-1', offset: 1, traceId: '0'.repeat(32), ts: 1_732_184_440_123 }

/**
 * @param {Buffer} value JSON
 * @returns {import('../../src/wire/publication.js').Publication}
 */
export const publicationOf = (value) => ({
  operator: 'broadcast',
  guid: META.guid,
  event: 'message',
  except: [],
  ephemeral: false,
  receipt: false,
  traceId: META.traceId,
  timestamp: META.ts,
  contentType: 'application/json',
  value
})

/**
 * Runs tasks one after the other and prints a table.
 * @param {string} title
 * @param {Record<string, () => unknown>} tasks by name
 */
export async function runBenchmarks (title, tasks) {
  const bench = new Bench({ name: title, time: 500, throws: true })
  for (const [name, task] of Object.entries(tasks)) bench.add(name, task)
  const done = await bench.run()
  const rows = done.map(({ name, result }) => {
    if (!('latency' in result)) throw new Error(`${name} did not run`)
    const { p50, mean, p99 } = result.latency
    return [name, ...[p50, mean, p99].map((ms) => (ms * 1000).toFixed(2))]
  })
  console.log(`\n${title}\n\n${markdownTable(['what', 'median us', 'mean us', 'p99 us'], rows)}`)
}
