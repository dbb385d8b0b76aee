import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

const RECORDS = 400
const LAST = 5

/**
 * @param {number[]} offsets
 * @param {{ from: number, to: number }} opened offsets of the end of the log before and after `open`
 */
function assertWhole (offsets, { from, to }) {
  const [first] = offsets
  const begins = [from, to].map((end) => Math.max(1, end - LAST + 1))
  assert.ok(first >= begins[0] && first <= begins[1], `began with ${first}, opened at ${from} to ${to}`)
  assert.deepEqual(offsets, Array.from({ length: RECORDS - first + 1 }, (_, i) => first + i))
}

test('pages that begin with the newest records get each later one once, under kills of workers, cuts and reloads', () =>
  inCluster({ workers: 2, kafka: true }, async (cluster) => {
    let published = 0
    const publishing = (async () => {
      while (published < RECORDS) {
        await cluster.produce({ 'x-operator': 'broadcast', 'x-guid': 'doc' }, ++published)
        await cluster.pass(15)
      }
    })()
    /** @type {{ offsets: number[], values: number[], opened: { from: number, to: number }, page: any }[]} */
    const seen = []
    const open = async (/** @type {string} */ uid) => {
      const page = await cluster.page(uid)
      /** @type {typeof seen[0]} */
      const one = { offsets: [], values: [], opened: { from: published - 20, to: 0 }, page }
      const doc = await page.open('doc', { last: LAST })
      one.opened.to = published
      page.enter(() => {
        doc.on('message', (payload, meta) => { one.values.push(payload); one.offsets.push(Number(meta.offset)) })
        doc.on('resync', () => { one.offsets.push(NaN) })
      })
      seen.push(one)
      return page
    }
    for (let i = 0; published < RECORDS - 60; i++) {
      const page = await open(`user-${i % 4}`)
      await cluster.pass(150)
      if (i % 3 === 0) cluster.kill(cluster.gateways[i % 2])
      if (i % 3 === 1) page.cut()
      // a reload is another page
      if (i % 3 === 2) await open(`user-${i % 4}`)
    }
    await publishing
    await cluster.until(() => seen.every(({ offsets }) => offsets.at(-1) === RECORDS), {
      timeout: 60_000, message: () => seen.map(({ offsets }) => offsets.at(-1))
    })
    await cluster.pass(1000)
    assert.ok(seen.length >= 8, `${seen.length} pages`)
    for (const { offsets, values, opened } of seen) {
      assertWhole(offsets, opened)
      assert.deepEqual(values, offsets)
    }
  }))
