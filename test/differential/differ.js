import { createHash } from 'node:crypto'
import { SCRIPTS } from '../../src/redis/scripts.js'
import { countingScripts, countsIn } from './branches.js'
import { difference } from './compare.js'
import { Peer } from './peer.js'
import { Player } from './play.js'
import { parseMessages } from './resp.js'
import { scenarios } from './scenarios.js'
import { drawSequence } from './sequence.js'

/** @typedef {import('./peer.js').Server} Server */
/** @typedef {import('./sequence.js').Sequence} Sequence */

/** Most replays to shorten a sequence that differs. */
const REPLAYS = 2000
/** In each sequence of which this divides the seed, scripts count their branches. */
const COUNTED = 3

/**
 * Plays a few scenarios and then random sequences on two servers.
 * @param {Server} one real Redis
 * @param {Server} other
 * @param {object} options
 * @param {number} options.seed of the first sequence; each next one has the next seed
 * @param {number} options.sequences
 * @param {number} [options.most] differences after which it ends
 * @param {(played: number, steps: number) => void} [options.onPlayed]
 * @param {(report: string) => void} options.onDifference
 * @param {Map<string, number>} [options.branches] of scripts, which get how often they ran in a part of the sequences
 * @returns {Promise<number>} differences
 */
export async function differ (one, other, options) {
  const { seed, sequences, most = 1, onPlayed = () => {}, onDifference, branches = new Map() } = options
  const counting = countingScripts()
  const shas = [shasOf(SCRIPTS), shasOf(counting.scripts)]
  const names = new Map(shas.flatMap((those) => [...those].map(([name, sha]) => [sha, name])))
  for (const branch of counting.branches) branches.set(branch, 0)
  for (const server of [one, other]) await prepare(server, [...SCRIPTS, ...counting.scripts])
  const players = [new Player(one), new Player(other)]
  const compare = async (/** @type {Sequence} */ sequence) => {
    const [these, those] = await Promise.all(players.map((player) => player.play(sequence)))
    for (const [branch, count] of countsIn(these.keys)) branches.set(branch, (branches.get(branch) ?? 0) + count)
    return difference(these, those)
  }
  let [found, steps] = [0, 0]
  try {
    const play = async (/** @type {string} */ name, /** @type {Sequence} */ sequence) => {
      steps += sequence.steps.length
      if (await compare(sequence) === undefined) return
      found++
      const short = await shrink(sequence, async (shorter) => await compare(shorter) !== undefined)
      onDifference(report(name, short, await compare(short), [one, other], names))
    }
    for (const sequence of scenarios(shas[1])) await play('a scenario', sequence)
    for (let i = 0; i < sequences && found < most; i++) {
      await play(`seed ${seed + i}`, drawSequence(seed + i, shas[Number((seed + i) % COUNTED === 0)]))
      onPlayed(i + 1, steps)
    }
  } finally {
    for (const player of players) player.close()
  }
  return found
}

/** @param {readonly { name: string, lua: string }[]} scripts @returns {Map<string, string>} */
const shasOf = (scripts) => new Map(scripts.map(({ name, lua }) => [name, createHash('sha1').update(lua).digest('hex')]))

/**
 * Loads the scripts, and asks for the server's generation.
 * @param {Server} server
 * @param {{ lua: string }[]} scripts
 */
async function prepare (server, scripts) {
  const peer = new Peer(server)
  const loads = scripts.map(({ lua }) => ['SCRIPT', 'LOAD', Buffer.from(lua).toString('latin1')])
  const replies = parseMessages(await peer.send([['INFO', 'replication'], ['DEBUG', 'SET-ACTIVE-EXPIRE', '0'], ['FLUSHALL'], ...loads]))
  peer.close()
  for (const reply of replies.slice(3)) if (reply.type === '-') throw new Error('text' in reply ? reply.text : 'no reply')
  const info = 'text' in replies[0] ? replies[0].text : ''
  server.generation = /master_replid:(.{20})/.exec(info)?.[1]
}

/**
 * Drops steps for as long as the sequence still differs: halves first, then ever smaller parts.
 * @param {Sequence} sequence
 * @param {(shorter: Sequence) => Promise<boolean>} differs
 * @returns {Promise<Sequence>}
 */
async function shrink (sequence, differs) {
  let { steps } = sequence
  let left = REPLAYS
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < steps.length && left > 0;) {
      const shorter = steps.toSpliced(at, size)
      left--
      if (await differs({ ...sequence, steps: shorter })) steps = shorter
      else at += size
    }
  }
  return { ...sequence, steps }
}

/**
 * @param {string} name
 * @param {Sequence} sequence
 * @param {{ lines: string[] } | undefined} found
 * @param {Server[]} servers
 * @param {Map<string, string>} names of scripts by SHA
 */
function report (name, { start, steps }, found, servers, names) {
  const shown = steps.map((step) => {
    if ('pass' in step) return `   ${step.pass / 1000} ms pass`
    const args = step.args.map((arg) => names.get(arg) ?? arg)
    return `${step.on}: ${args.map((arg) => /^[\w:{}./*-]+$/.test(arg) ? arg : JSON.stringify(arg)).join(' ')}`
  })
  return [
    `${name}, from ${start / 1000} ms:`, ...shown, `${servers[0].name} (-) and ${servers[1].name} (+) differ:`,
    ...(found?.lines ?? ['no more: the difference does not repeat']).map((line) => line.length > 2000 ? `${line.slice(0, 2000)}…` : line)
  ].join('\n')
}
