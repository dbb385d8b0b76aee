import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { frameOf, readFrames } from '../../../packages/load/frames.js'
import { packetCodec, valueOf } from '../../../packages/load/packets.js'
import { planOf } from '../../../packages/load/plan.js'
import { plotsOf, reportOf } from '../../../packages/load/report.js'
import { Samples } from '../../../packages/load/samples.js'
import { Histogram } from '../../../packages/load/histogram.js'

/** @returns {import('../../../packages/load/report.js').Result} */
function result () {
  const samples = new Samples()
  for (const [at, usage] of /** @type {[number, any[]][]} */ ([
    [1, []], [2, [{ name: 'gateway-0', cores: 0.5, memory: 5e6 }]]
  ])) {
    samples.add({
      at,
      phase: 'hold',
      usage,
      snapshots: [{
        seconds: 1, open: 1, opened: 1, reconnects: 0, left: 0, expired: 0, errors: { '</script><b>': 1 },
        counts: { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 },
        latencies: new Histogram().take(), handshakes: new Histogram().take()
      }]
    })
  }
  return {
    run: 'ab12', started: '2026-01-01T00:00:00.000Z', seconds: 2, target: 'http://127.0.0.1:3000', processes: 1,
    plan: planOf('hold', { tiers: [{ name: '</script>', share: 1 }] }), ok: false, problems: ['1 <delivery> is missing'],
    published: { everyone: 0, documents: 0 }, missing: { documents: 0, everyone: 1, closed: 0, surplus: 0 },
    unconfirmed: 0, summary: samples.summary(), samples: samples.samples
  }
}

test('the report is one file, with the plots and without foreign markup', () => {
  const html = reportOf([{ name: 'hold', result: result() }])
  assert.doesNotMatch(html, /<(?:script|link|img)[^>]+(?:src|href)=/)
  assert.match(html, /1 &#60;delivery&#62; is missing/)
  assert.match(html, /<dt>protocol<\/dt><dd>Socket\.IO<\/dd>.*<dt>connections held<\/dt><dd>1 of 1,000<\/dd>/)
  assert.ok(!html.includes('</script><b>'))
  assert.equal(html.match(/<\/script>/g)?.length, 3)
  const [, data] = /** @type {RegExpExecArray} */ (/id="data">(.*?)<\/script>/s.exec(html))
  const [{ at, plots }] = JSON.parse(data)
  assert.deepEqual(at, [1, 2])
  for (const { lines } of plots) for (const { values } of lines) assert.equal(values.length, at.length)
})

test('a process that the server did not list has no value in its plots', () => {
  const plots = plotsOf(result().samples)
  assert.deepEqual(plots.map(({ title }) => title), [
    'Connections', 'Connections per second', 'Deliveries', 'Latency', 'CPU of the server\'s processes',
    'Memory of the server\'s processes', 'Holes', 'Reconnects and errors'
  ])
  assert.deepEqual(plots[5].lines, [{ label: 'gateway-0', values: [null, 5] }])
})

test('the numbers of a record are read from JSON and MessagePack packets', () => {
  const value = valueOf({ run: 'ab12', number: 7, at: 1234.5, document: 3, size: 500 })
  assert.equal(value.length, 500)
  const record = { run: 'ab12', number: 7, at: 1234.5, document: 3, offset: 9, ack: 4 }
  const meta = { guid: 'load-ab12-3', offset: 9, traceId: 'x', ts: 1 }
  const json = Buffer.from(`424["load",${value},${JSON.stringify(meta)}]`)
  assert.deepEqual(packetCodec(false).read(json, false), { kind: 'record', record })
  const packed = encode({ type: 2, nsp: '/', id: 4, data: ['load', JSON.parse(value), meta] })
  assert.deepEqual(packetCodec(true).read(Buffer.from(packed), true), { kind: 'record', record })
  const everyone = Buffer.from(`42["load",${valueOf({ ...record, document: -1, size: 10 })},{"traceId":"x","ts":1}]`)
  assert.deepEqual(packetCodec(false).read(everyone, false), {
    kind: 'record', record: { ...record, document: -1, offset: undefined, ack: undefined }
  })
})

test('frames of all lengths are masked, and read in pieces', () => {
  for (const length of [0, 1, 125, 126, 40_000]) {
    const frame = frameOf('x'.repeat(length))
    assert.equal(frame[1] & 0x80, 0x80)
    const header = length < 126 ? Buffer.from([0x81, length]) : Buffer.from([0x81, 126, length >> 8, length & 255])
    const bytes = Buffer.concat([header, Buffer.alloc(length, 'x')])
    /** @type {string[]} */
    const read = []
    const rest = readFrames(bytes.subarray(0, 1), (_, payload) => read.push(String(payload)))
    const end = readFrames(Buffer.concat([rest, bytes.subarray(1)]), (_, payload) => read.push(String(payload)))
    assert.equal(end.length, 0)
    assert.deepEqual(read, ['x'.repeat(length)])
  }
  assert.throws(() => frameOf('x'.repeat(70_000)), RangeError)
})
