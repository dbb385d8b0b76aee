import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf } from '../../../packages/demo/page/js/hop-parts.js'

const HOPS = [
  { hop: 'produced', at: 1002, process: 'api-0' },
  { hop: 'ingested', at: 1003, ms: 1, process: 'api-0' },
  { hop: 'logged', at: 1005, ms: 2, process: 'api-0' },
  { hop: 'received', at: 1006, process: 'gateway-0' },
  { hop: 'received', at: 1009, process: 'gateway-1' },
  { hop: 'written', at: 1007, ms: 0.5, process: 'gateway-0' },
  { hop: 'written', at: 1010, ms: 1.5, process: 'gateway-1' }
]

test('the hops of a record add up to the time from its publisher to the page', () => {
  const parts = partsOf(HOPS, 'gateway-1', 1012, 1000)
  assert.deepEqual(parts?.map(({ name, ms }) => [name, ms]), [
    ['publisher → api', 2], ['api-0', 1], ['log in Redis', 2], ['→ gateway-1', 4], ['to the socket', 1.5], ['→ this page', 1.5]
  ])
  assert.equal(parts?.reduce((sum, { ms }) => sum + ms, 0), 12)
})

test('the worker of the page is unknown: any of them', () => {
  assert.deepEqual(partsOf(HOPS, '', 1008)?.map(({ name }) => name), [
    'api-0', 'log in Redis', '→ gateway-0', 'to the socket', '→ this page'
  ])
})

test('the slowest client of the worker was later than this page', () => {
  const slow = HOPS.map((hop) => hop.hop === 'written' ? { ...hop, ms: 40 } : hop)
  assert.deepEqual(partsOf(slow, 'gateway-1', 1012)?.slice(-2).map(({ ms }) => ms), [3, 0])
})

test('with Kafka, ingest is a hop', () => {
  const kafka = HOPS.map((hop) => hop.process === 'api-0' ? { ...hop, process: 'ingest-0' } : hop)
  assert.equal(partsOf(kafka, '', 1008)?.[0].name, 'Kafka → ingest-0')
})

test('a record of which hops are missing has no parts', () => {
  for (const { hop } of HOPS) assert.equal(partsOf(HOPS.filter((one) => one.hop !== hop), '', 1012), null, hop)
})
