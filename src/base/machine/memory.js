import os from 'node:os'

/**
 * @returns {number} memory that the processes of this machine or container may use together, bytes
 */
export function memoryLimit () {
  // without a limit 0, or a value larger than the machine's memory
  return Math.min(process.constrainedMemory() || Infinity, os.totalmem())
}
