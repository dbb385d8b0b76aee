import assert from 'node:assert/strict'
import { World } from '../../simulation/world/world.js'

/**
 * @param {(client: import('../../simulation/world/sim-process.js').SimProcess) => Promise<void>} play in the turns of
 *   a process of a world
 * @returns {Promise<void>}
 */
export async function inWorld (play) {
  const world = new World(7)
  const client = world.process('client', { name: 'client', step: 0 })
  let isOver = false
  /** @type {unknown} */
  let failure
  client.enter('play', () => play(client).catch((error) => { failure = error }).finally(() => { isOver = true }))
  await world.run(120_000, () => isOver)
  if (failure !== undefined) throw failure
  assert.deepEqual(world.violations, [])
  assert.ok(isOver, 'all was done in time')
}
