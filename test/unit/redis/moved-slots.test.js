import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlotMoves } from '../../../src/redis/identity/moved-slots.js'

/** Two nodes, of which the first has all hash slots. */
function cluster () {
  /** @type {Map<string, string | undefined>} */
  const generations = new Map([['a', 'ga'], ['b', 'gb']])
  /** @type {Record<number, string>} */
  const moved = { 1: 'b' }
  let refreshes = 0
  const moves = createSlotMoves({
    owners: () => Array.from({ length: 16_384 }, (_, slot) => moved[slot] ?? 'a'),
    ask: async (node) => generations.get(node),
    refresh: () => { refreshes++ }
  })
  return { moves, generations, moved, refreshes: () => refreshes }
}

/**
 * The answer to a script that has found a document of another generation.
 * @param {ReturnType<typeof cluster>} nodes
 * @param {number} slot @param {string} noted @param {string} current
 */
const answer = ({ moves }, slot, noted, current) => moves.answer(slot, async (move) => {
  if (move === '?') throw new Error(`GENERATION ${noted} ${current}`)
  return move
})

/** Polls until a slot's node is known. @param {ReturnType<typeof cluster>} nodes */
async function lookedAt (nodes) {
  await nodes.moves.look()
  await nodes.moves.look()
}

test('a slot seen on another node, after both were known, has moved: before and after the next look at the cluster', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  assert.equal(nodes.refreshes(), 1)
  assert.equal(await answer(nodes, 7, 'ga', 'gb'), 'ga>gb')
  nodes.moved[7] = 'b'
  await nodes.moves.look()
  assert.equal(await answer(nodes, 7, 'ga', 'gb'), 'ga>gb')
  nodes.moved[7] = 'a'
  await nodes.moves.look()
  assert.equal(await answer(nodes, 7, 'gb', 'ga'), 'gb>ga')
})

test('of slots that moved together each one has moved', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  for (const slot of [7, 8, 9]) nodes.moved[slot] = 'b'
  await nodes.moves.look()
  const answers = await Promise.all([7, 8, 9].map((slot) => answer(nodes, slot, 'ga', 'gb')))
  assert.deepEqual(answers, ['ga>gb', 'ga>gb', 'ga>gb'])
})

test('a slot that stays on its node has not moved, and the first look alone proves nothing', async () => {
  const nodes = cluster()
  await nodes.moves.look()
  assert.equal(await answer(nodes, 7, 'ga', 'gb'), '')
  await nodes.moves.look()
  assert.equal(await answer(nodes, 1, 'ga', 'gb'), '')
  assert.equal(await answer(nodes, 7, 'other', 'gb'), '')
})

test('a node with another generation than before proves nothing, for either of the two', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  assert.equal(await answer(nodes, 7, 'ga', 'gb2'), '')
  nodes.generations.set('a', 'ga2')
  assert.equal(await answer(nodes, 7, 'ga', 'gb'), '')
  nodes.generations.set('a', undefined)
  assert.equal(await answer(nodes, 7, 'ga', 'gb'), '')
})

test('a node is checked again after a reconnect', async () => {
  const nodes = cluster()
  await lookedAt(nodes)
  nodes.moves.forget('b')
  nodes.generations.set('b', 'gb2')
  await lookedAt(nodes)
  assert.deepEqual([await answer(nodes, 7, 'ga', 'gb'), await answer(nodes, 7, 'ga', 'gb2')], ['', 'ga>gb2'])
})
