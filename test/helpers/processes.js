import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { waitFor } from './wait.js'

/**
 * @param {number} pid
 * @returns {Promise<{ pid: number, role: string }[]>} its running child processes, oldest first
 */
export async function childrenOf (pid) {
  const found = process.platform === 'linux' ? listedChildren(pid) : await shownChildren(pid)
  return found.map(({ pid, args }) => ({
    pid, role: path.basename(args.find((arg) => arg.endsWith('.js') && !arg.startsWith('file:')) ?? '', '.js')
  }))
}

/**
 * From files: tests look often, and a start of `ps` takes longer than what it does.
 * @param {number} parent
 */
function listedChildren (parent) {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).sort((one, other) => one - other).flatMap((pid) => {
    // the name of a program, in parentheses, may have any character
    const [state, ppid] = textOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
    return Number(ppid) !== parent || state === 'Z' ? [] : [{ pid, args: textOf(`/proc/${pid}/cmdline`).split('\0') }]
  })
}

/** @param {number} pid */
async function shownChildren (pid) {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='])
  return stdout.split('\n').flatMap((line) => {
    const [own, parent, state, ...args] = line.trim().split(/\s+/)
    return Number(parent) !== pid || state.startsWith('Z') ? [] : [{ pid: Number(own), args }]
  })
}

/** @param {string} file @returns {string} empty when its process has ended */
function textOf (file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Kills gateways of a cluster, one at a time.
 *
 * @param {number} cluster its process id
 * @param {number} workers as many as it keeps running
 */
export function gatewayKiller (cluster, workers) {
  /** In the process table for a moment longer. @type {Set<number>} */
  const killed = new Set()
  /** @type {{ pid: number, role: string }[]} */
  let running = []
  return {
    /** Waits until all workers run. */
    allRun: () => waitFor(async () => {
      running = (await childrenOf(cluster)).filter(({ role, pid }) => role === 'gateway' && !killed.has(pid))
      return running.length === workers
    }, { timeout: 30_000, message: () => running }),

    /** Kills one of those that ran. @param {number} turn */
    kill (turn) {
      const { pid } = running[turn % workers]
      killed.add(pid)
      process.kill(pid, 'SIGKILL')
    }
  }
}

/** @param {number} pid @returns {boolean} */
export function isAlive (pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
