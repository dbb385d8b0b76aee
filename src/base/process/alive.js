/**
 * @param {number} pid of this machine
 * @returns {boolean} whether the process exists, of any user
 */
export function isAlive (pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH'
  }
}
