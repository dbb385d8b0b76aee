import { readFileSync, readlinkSync } from 'node:fs'
import os from 'node:os'
import { isAlive } from './alive.js'

/**
 * The process that a role runs in, and its machine: what its parts know or use of them. A simulation has many in one
 * process.
 *
 * @typedef {object} Host
 * @property {string} name host name of the machine
 * @property {string} machine processes with the same one reach each other's unix sockets, and know which of them run
 * @property {number} pid
 * @property {(pid: number) => boolean} isAlive whether the machine has a process with this pid
 * @property {(code: number) => void} exit ends this process at once
 * @property {(listener: (message: any, handle?: any) => void) => () => void} onMessage called with each message of
 *   the launcher; returns a function that removes the listener
 * @property {(message: object) => void} send to the launcher; lost if there is none
 */

/** @type {Host} */
export const systemHost = {
  name: os.hostname(),
  machine: nameOfMachine(),
  pid: process.pid,
  isAlive,
  exit: process.exit,
  onMessage (listener) {
    process.on('message', listener)
    return () => { process.off('message', listener) }
  },
  // the end of the launcher is detected elsewhere
  send (message) { process.send?.(message, undefined, undefined, () => {}) }
}

/**
 * The host name alone is not enough: copies of a virtual machine share it, and so do containers in the host's network.
 */
function nameOfMachine () {
  return [
    os.hostname(),
    linux(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
    linux(() => readlinkSync('/proc/self/ns/pid')),
    process.getuid?.() ?? ''
  ].join(':')
}

/** @param {() => string} read @returns {string} empty on systems without it */
function linux (read) {
  try {
    return read()
  } catch {
    return ''
  }
}
