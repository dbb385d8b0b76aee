import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlotMoves, generationIn } from '../../../src/redis/slot-moves.js'

/** Two nodes, of which the first has all hash slots. */
function cluster () {
  /** @type {Map<string, string | undefined>} */
  const generations = new Map([['a', 'ga'], ['b', 'gb']])
  /** @type {Record<number, string>} */
  const moved = { 1: 'b' }
  let refreshes = 0
  const moves = createSlotMoves({
    ownerOf: (slot) => moved[slot] ?? 'a',
    ask: async (node) => generations.get(node),
    refresh: () => { refreshes++ }
  })
  return { moves, generations, moved, refreshes: () => refreshes }
}

/** Polls until a slot's node is known. @param {ReturnType<typeof cluster>} nodes */
async function lookedAt (nodes) {
  await nodes.moves.look()
  await nodes.moves.look()
}

test('a slot seen on another node, after both were known, has moved: before and after the next look at the cluster', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  assert.equal(nodes.refreshes(), 1)
  assert.equal(await nodes.moves.of(7, 'ga', 'gb'), 'ga>gb')
  nodes.moved[7] = 'b'
  await nodes.moves.look()
  assert.equal(await nodes.moves.of(7, 'ga', 'gb'), 'ga>gb')
  nodes.moved[7] = 'a'
  await nodes.moves.look()
  assert.equal(await nodes.moves.of(7, 'gb', 'ga'), 'gb>ga')
})

test('a slot that stays on its node has not moved, and the first look alone proves nothing', async () => {
  const nodes = cluster()
  await nodes.moves.look()
  assert.equal(await nodes.moves.of(7, 'ga', 'gb'), '')
  await nodes.moves.look()
  assert.equal(await nodes.moves.of(1, 'ga', 'gb'), '')
  assert.equal(await nodes.moves.of(7, 'other', 'gb'), '')
})

test('a node with another generation than before proves nothing, for either of the two', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  assert.equal(await nodes.moves.of(7, 'ga', 'gb2'), '')
  nodes.generations.set('a', 'ga2')
  assert.equal(await nodes.moves.of(7, 'ga', 'gb'), '')
  nodes.generations.set('a', undefined)
  assert.equal(await nodes.moves.of(7, 'ga', 'gb'), '')
})

test('a node is checked again after a reconnect', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  nodes.moves.forget('b')
  nodes.generations.set('b', 'gb2')
  await lookedAt(nodes)
  assert.deepEqual([await nodes.moves.of(7, 'ga', 'gb'), await nodes.moves.of(7, 'ga', 'gb2')], ['', 'ga>gb2'])
})

test('only a master has a generation', () => {
  const id = 'd58427ca38360f8553d09e908b80569174567a51'
  assert.equal(generationIn(`# Replication\r\nrole:master\r\nmaster_replid:${id}\r\n`), id.slice(0, 20))
  assert.equal(generationIn(`# Replication\r\nrole:slave\r\nmaster_replid:${id}\r\n`), undefined)
  assert.equal(generationIn('role:master\r\n'), undefined)
})
