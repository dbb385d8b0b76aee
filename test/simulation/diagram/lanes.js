/**
 * @typedef {import('../world/trace.js').Story} Story
 * @typedef {import('../world/trace.js').StoryProcess} StoryProcess
 *
 * A horizontal line of a diagram, for a process and those that replace it. @typedef {object} Lane
 * @property {string} name of its first process
 * @property {'client' | 'cluster' | 'store'} tier
 * @property {StoryProcess[]} processes by time; no two at once
 */

const TIERS = /** @type {const} */ (['client', 'cluster', 'store'])
const STORES = new Set(['redis', 'kafka'])

/** @param {string} process its name @returns {Lane['tier']} */
export const tierOf = (process) =>
  process.includes('/') ? 'cluster' : STORES.has(slotOf(process).replace(/-.*$/, '')) ? 'store' : 'client'

/** A process that replaces another one has its name with a number. @param {string} process */
const slotOf = (process) => process.replace(/\.\d+$/, '')

/**
 * @param {readonly StoryProcess[]} processes
 * @returns {Lane[]} clients above, then the cluster, and what it stores in at the bottom
 */
export function lanesOf (processes) {
  /** @type {Lane[]} */
  const lanes = []
  for (const process of processes.toSorted((a, b) => a.begin - b.begin)) {
    const name = slotOf(process.name)
    // in a reload two processes of a slot are alive
    const free = lanes.find((lane) =>
      lane.name === name && lane.processes.every(({ end }) => end !== null && end <= process.begin))
    if (free === undefined) lanes.push({ name, tier: tierOf(name), processes: [process] })
    else free.processes.push(process)
  }
  return lanes.sort((a, b) =>
    TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || a.name.localeCompare(b.name, 'en', { numeric: true }) ||
    a.processes[0].begin - b.processes[0].begin)
}
