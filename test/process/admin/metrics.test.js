import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VERSION } from '../../../src/base/process/version.js'
import { startAdmin } from '../../helpers/admin.js'

/** @param {string} url of ADMIN_PORT */
async function read (url) {
  const text = await (await fetch(`${url}/metrics`)).text()
  /** @type {Map<string, number>} by name and labels without the role */
  const values = new Map()
  for (const [, name, labels, value] of text.matchAll(/^([a-z]\w*)\{(.*)\} (\S+)$/gm)) {
    const shown = labels.split(',').filter((label) => !label.startsWith('role=')).sort().join()
    values.set(shown === '' ? name : `${name}{${shown}}`, Number(value))
  }
  return { text, values, get: (/** @type {string} */ series) => values.get(series) ?? assert.fail(`no ${series}`) }
}

test('/metrics has the versions of inkcast and Node, and the metrics of Node under the names of prom-client', async (t) => {
  const { get } = await read((await startAdmin(t)).url)
  assert.equal(get(`inkcast_build_info{node="${process.versions.node}",version="${VERSION}"}`), 1)
  for (const name of [
    'process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_heap_size_used_bytes',
    'nodejs_eventloop_lag_seconds', 'nodejs_eventloop_lag_p99_seconds'
  ]) assert.ok(get(name) >= 0, name)
  const age = Date.now() / 1000 - get('process_start_time_seconds')
  assert.ok(age >= 0 && age < 3600, `started ${age} s ago`)
})

test('durations are in seconds', async (t) => {
  const { url, metrics } = await startAdmin(t)
  for (const ms of [0.5, 16, 256, 300, 1000, 99_999]) metrics.stage_seconds.labels('produced_written').observe(ms / 1000)
  metrics.canary_age_seconds.set({ partition: 3 }, 0.7)
  const { get, values } = await read(url)
  assert.equal(get('inkcast_canary_age_seconds{partition="3"}'), 0.7)
  const stage = 'stage="produced_written"'
  const counts = [[0.0005, 1], [0.008, 1], [0.016, 2], [0.256, 3], [0.512, 4], [1.024, 5], [16.384, 5]]
  for (const [seconds, count] of counts)
    assert.equal(get(`inkcast_stage_seconds_bucket{le="${seconds}",${stage}}`), count)
  assert.equal(get(`inkcast_stage_seconds_bucket{le="+Inf",${stage}}`), 6)
  assert.equal(get(`inkcast_stage_seconds_count{${stage}}`), 6)
  assert.equal(get(`inkcast_stage_seconds_sum{${stage}}`), 101.5715)
  const isFormer = (/** @type {string} */ name) => /_milliseconds|^inkcast_(?:process|nodejs)_/.test(name)
  assert.deepEqual([...values.keys()].filter(isFormer), [])
})
